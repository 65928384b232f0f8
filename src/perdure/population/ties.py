"""Makes ties from attributes: neighbourhoods of people who are alike, and far ties to the popular.

Everyone stands on a ring, people who are alike near each other, and is tied to the next few (a
small world, after Watts and Strogatz). Some ties reach far instead, to somebody drawn in proportion
to the ties that they have (preferential attachment, after Barabási and Albert). With homophily a
far tie goes to the most alike of several so drawn, and without it places on the ring are by lot.
"""

from __future__ import annotations

from perdure.base.chance import Stream
from perdure.population.likeness import Likeness
from perdure.records.study import GraphSpec

Tie = tuple[int, int]

_CANDIDATES = 8
_TRIES_MAX = 20


def make_ties(count: int, likeness: Likeness, spec: GraphSpec) -> list[Tie]:
    """Tie `count` personas, by their places: the lower place first, in order, each tie once."""
    if count < 2:  # noqa: PLR2004 - a tie has two ends
        return []
    return _Maker(count, likeness, spec).made()


class _Maker:
    def __init__(self, count: int, likeness: Likeness, spec: GraphSpec) -> None:
        self._count = count
        self._likeness = likeness
        self._spec = spec
        self._chance = Stream(str(spec.seed), 0, "ties")
        self._ring = self._placed()
        self._known: list[set[int]] = [set() for _ in range(count)]
        # Everybody once, and once more for each far tie that came to them: drawn from, it prefers
        # the popular, and the few who are known far and wide become known by more.
        self._ends = list(range(count))

    def made(self) -> list[Tie]:
        order = list(range(self._count))
        self._chance.shuffle(order)
        wanted = round(self._count * self._spec.degree / 2)
        each, more = divmod(wanted, self._count)
        for rank, at in enumerate(order):
            self._tie_from(at, each + (rank < more))
        return sorted(
            (one, other) for one, known in enumerate(self._known) for other in known if one < other
        )

    def _tie_from(self, at: int, number: int) -> None:
        """Tie who stands at a place of the ring to so many more, near or far."""
        one = self._ring[at]
        near = (self._ring[(at + step) % self._count] for step in range(1, self._count))
        for _ in range(number):
            other = self._far_from(one) if self._chance.uniform() < self._spec.far else None
            if other is not None:
                self._ends.append(other)
            else:
                other = next((who for who in near if who not in self._known[one]), None)
            if other is not None:
                self._known[one].add(other)
                self._known[other].add(one)

    def _placed(self) -> list[int]:
        """Put everybody on the ring: in the order of likeness, but for some by lot."""
        people = list(range(self._count))
        self._chance.shuffle(people)
        people.sort(key=self._likeness.order_of)
        loose = [at for at in range(self._count) if self._chance.uniform() >= self._spec.homophily]
        moved = [people[at] for at in loose]
        self._chance.shuffle(moved)
        for at, who in zip(loose, moved, strict=True):
            people[at] = who
        return people

    def _far_from(self, one: int) -> int | None:
        """Draw somebody far: popular, and with homophily the most alike of a few."""
        choosy = self._chance.uniform() < self._spec.homophily
        found: list[int] = []
        for _ in range(_TRIES_MAX):
            other = self._ends[self._chance.below(len(self._ends))]
            if other != one and other not in self._known[one]:
                found.append(other)
                if len(found) == (_CANDIDATES if choosy else 1):
                    break
        if not found:
            return None
        return max(found, key=lambda other: self._likeness.between(one, other))
