"""Selects who is drawn from those who can take part: audiences, quotas, and the way down. Pure.

Rows are looked at in a seeded order, and each is taken if its audience and all its quotas have
room. If that gives too few, one thing is given up at a time: the last quota, then the one before
it, then filters of audiences that their author lets go. Every step is in the result.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from perdure.population.audiences import audience_of, passes, shared_out
from perdure.records.persona import Persona
from perdure.records.population import Relaxation
from perdure.records.study import Audience

Shares = Mapping[str, float]


@dataclass(frozen=True)
class Selected:
    """Who was taken, by id, and for which audience; what was given up; who is still lacking."""

    taken: dict[str, str]
    relaxations: tuple[Relaxation, ...]
    lacking: dict[str, int]


def select(
    ordered: Sequence[Persona],
    count: int,
    audiences: Sequence[Audience],
    quotas: Mapping[str, Shares],
) -> Selected:
    """Take `count` personas in the order given.

    `quotas` has the shares of each quota's codes, the most important quota first.
    """
    asked = audiences or (Audience(id="", share=1.0),)
    return _Selection(ordered, count, asked, quotas).made()


class _Selection:
    def __init__(
        self,
        ordered: Sequence[Persona],
        count: int,
        audiences: Sequence[Audience],
        quotas: Mapping[str, Shares],
    ) -> None:
        self._audiences = audiences
        self._left = [(persona, audience_of(persona, audiences)) for persona in ordered]
        parts = shared_out(count, {one.id: one.share for one in audiences})
        self._room = [parts[one.id] for one in audiences]
        self._quotas = {name: Counter(shared_out(count, due)) for name, due in quotas.items()}
        self._dropped: list[list[str]] = [[] for _ in audiences]
        self._taken: dict[str, str] = {}

    def made(self) -> Selected:
        self._take()
        relaxations = []
        for dropped, audience in self._steps():
            lacking = sum(self._room)
            self._take()
            gained = lacking - sum(self._room)
            relaxations.append(
                Relaxation(dropped=dropped, audience=audience, lacking=lacking, gained=gained)
            )
        left = zip(self._audiences, self._room, strict=True)
        return Selected(
            taken=self._taken,
            relaxations=tuple(relaxations),
            lacking={one.id: room for one, room in left if room},
        )

    def _steps(self) -> Iterator[tuple[str, str]]:
        """Give up one thing after the other, as long as anybody is lacking."""
        for name in reversed(list(self._quotas)):
            if not any(self._room):
                return
            del self._quotas[name]
            yield name, ""
        for place, audience in enumerate(self._audiences):
            for name in audience.relax:
                if not self._room[place]:
                    break
                self._dropped[place].append(name)
                yield name, audience.id

    def _take(self) -> None:
        left = []
        for persona, own in self._left:
            place = self._place(persona, own)
            if place is None or not self._has_quota(persona):
                left.append((persona, own))
                continue
            self._room[place] -= 1
            for name, room in self._quotas.items():
                room[_code(persona, name)] -= 1
            self._taken[persona.id] = self._audiences[place].id
        self._left = left

    def _place(self, persona: Persona, own: int | None) -> int | None:
        """Give the place that a persona can fill: in its own audience, else in a relaxed one."""
        if own is not None and self._room[own]:
            return own
        for place, dropped in enumerate(self._dropped):
            relaxed = dropped and self._room[place]
            if relaxed and passes(persona, self._audiences[place].where, dropped):
                return place
        return None

    def _has_quota(self, persona: Persona) -> bool:
        return all(room[_code(persona, name)] > 0 for name, room in self._quotas.items())


def _code(persona: Persona, attribute: str) -> str:
    return str(persona.attributes.get(attribute, ""))
