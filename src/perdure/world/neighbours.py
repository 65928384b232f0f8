"""Who knows whom in a world, as lists of neighbours that are made once; and who follows whom."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import groupby

from perdure.records.people import People

FOLLOWED = 1.0
_NOBODY: Mapping[str, float] = {}


class Neighbours:
    """The ties and communities of a population. They never change."""

    def __init__(self, people: People) -> None:
        self.people = people

    @property
    def has_graph(self) -> bool:
        """Whether anything is known of who knows whom."""
        return bool(self.people.graph)

    @cached_property
    def communities(self) -> Mapping[str, int]:
        """The community of each persona that is in one."""
        return {
            persona.id: node.community
            for persona, node in zip(self.people.personas, self.people.graph, strict=False)
            if node.community is not None
        }

    @cached_property
    def _ties(self) -> Mapping[str, Mapping[str, float]]:
        ties: dict[str, dict[str, float]] = {}
        for persona, node in zip(self.people.personas, self.people.graph, strict=False):
            own = ties.setdefault(persona.id, {})
            for other, strength in node.ties.items():
                own[other] = strength
                ties.setdefault(other, {})[persona.id] = strength
        # In an order of their own: a graph that is read back from a record has another one.
        return {persona: dict(sorted(known.items())) for persona, known in ties.items()}

    def of(self, persona: str) -> Mapping[str, float]:
        """Give those whom a persona knows, with the strength of each tie."""
        return self._ties.get(persona, _NOBODY)

    def are_near(self, one: str, other: str) -> bool:
        """Say whether two personas are of one community."""
        community = self.communities.get(one)
        return community is not None and community == self.communities.get(other)


class Acquaintance:
    """Ties as they are at some tick: those of the graph, and whom people follow by now."""

    def __init__(self, neighbours: Neighbours) -> None:
        self._neighbours = neighbours
        self._followed: dict[str, dict[str, float]] = {}

    def follow(self, persona: str, other: str) -> None:
        """Count somebody as tied from now on, in one direction, as strongly as can be."""
        if persona != other:
            self._followed.setdefault(persona, {})[other] = FOLLOWED

    def tie(self, persona: str, other: str) -> float:
        """Say how strong a persona's tie to somebody is; 0 for none."""
        if other in self._followed.get(persona, _NOBODY):
            return FOLLOWED
        return self._neighbours.of(persona).get(other, 0.0)

    def nearest_first(self, persona: str) -> Iterator[tuple[str, ...]]:
        """List those to whom a persona has a tie, strongest first, those of one strength together.

        Somebody to whom the tie has no strength is not among them.
        """
        ties = {**self._neighbours.of(persona), **self._followed.get(persona, _NOBODY)}
        ranked = sorted((-strength, other) for other, strength in ties.items() if strength > 0)
        for _, together in groupby(ranked, key=lambda pair: pair[0]):
            yield tuple(other for _, other in together)
