"""The orders in which the messages of a board come at one tick: one for each persona.

Where an order does not depend on the persona it is made once, and shared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from perdure.base.chance import Stream
from perdure.records.channels import Ranking
from perdure.world.interest import Interest
from perdure.world.neighbours import Acquaintance
from perdure.world.posts import Post, Posts
from perdure.world.ranking import heat, shuffled

if TYPE_CHECKING:
    from perdure.world.meanings import Rows

# Why something is shown, beside the name of the ranking.
PROMOTED = "promoted"
REPOSTED = "reposted"
# Why something cannot be ranked.
NO_VECTOR = "not embedded"
NO_PROFILE = "persona not embedded"

# Personas whose messages are ranked by interest together.
_TOGETHER = 256


@dataclass(frozen=True, slots=True)
class Ranked:
    """A message in somebody's order: why it is there, and who passed it on, if somebody did."""

    post: Post
    reason: str
    teller: str = ""


@dataclass(frozen=True)
class Ground:
    """What orders go by: the messages, the groups that see them, votes, ties, and interest.

    `room` is how many messages of an order are wanted.
    """

    channel: str
    seed: str
    posts: Posts
    group_of: Callable[[str], int]
    votes: Callable[[Mapping[str, int]], int]
    decay: float
    room: int
    acquaintance: Acquaintance
    interest: Interest | None


@dataclass(frozen=True)
class _Columns:
    """Messages that are compared with profiles: each with its number by place, and its vector.

    Those that are `lacking` one cannot be.
    """

    posts: Sequence[Post]
    lacking: Sequence[Post]
    places: Mapping[int, int]
    rows: Rows


class Orders:
    """The orders of one tick, over the messages that are in sight. Those promoted come first."""

    def __init__(
        self,
        ground: Ground,
        tick: int,
        ranking: Ranking,
        *,
        removed: frozenset[str],
        promoted: frozenset[str],
    ) -> None:
        self._ground = ground
        self._tick = tick
        self._ranking = ranking
        self._removed = removed
        in_sight = [one for one in ground.posts if one.stimulus.claim not in removed]
        self._newest = sorted(in_sight, key=lambda post: post.age_order)
        self._promoted = tuple(
            Ranked(post, PROMOTED)
            for post in self._newest
            if not post.stimulus.author and post.stimulus.claim in promoted
        )
        self._by_group: dict[int, Sequence[Post]] = {}
        self._runs: dict[int, Sequence[Sequence[Ranked]]] = {}
        self._columns: dict[int, _Columns] = {}

    def of(self, personas: Sequence[str]) -> Iterator[Iterable[Ranked]]:
        """Give the order of each persona. A message may be in it twice; the first place counts."""
        for order in self._ranked(personas):
            yield (*self._promoted, *order) if self._promoted else order

    def unranked(self, persona: str) -> tuple[str, Sequence[Post]]:
        """List what cannot be ranked for a persona, newest first, and say why."""
        if self._ranking is not Ranking.INTEREST:
            return "", ()
        group = self._ground.group_of(persona)
        if not self._has_profile(persona):
            return NO_PROFILE, self._seen_by(group)
        return NO_VECTOR, self._columns_of(group).lacking

    def _ranked(self, personas: Sequence[str]) -> Iterator[Iterable[Ranked]]:
        match self._ranking:
            case Ranking.RANDOM:
                return map(self._by_lot, personas)
            case Ranking.HOT:
                return map(self._by_heat, personas)
            case Ranking.NETWORK:
                return map(self._by_ties, personas)
            case Ranking.INTEREST:
                return self._by_interest(personas)

    def _seen_by(self, group: int) -> Sequence[Post]:
        """List the messages that a group sees, newest first."""
        if group not in self._by_group:
            self._by_group[group] = [p for p in self._newest if p.group is None or p.group == group]
        return self._by_group[group]

    def _by_lot(self, persona: str) -> Iterator[Ranked]:
        group = self._ground.group_of(persona)
        if group not in self._runs:
            self._runs[group] = [[Ranked(p, Ranking.RANDOM) for p in self._seen_by(group)]]
        return _evenly(self._lots_of(persona), self._runs[group])

    def _by_heat(self, persona: str) -> Iterator[Ranked]:
        group = self._ground.group_of(persona)
        if group not in self._runs:

            def coldness(one: Ranked) -> float:
                votes = self._ground.votes(one.post.done_by(group))
                return -heat(votes, one.post.tick, self._ground.decay)

            ranked = (Ranked(post, Ranking.HOT) for post in self._seen_by(group))
            self._runs[group] = _runs(ranked, coldness)
        return _evenly(self._lots_of(persona), self._runs[group])

    def _lots_of(self, persona: str) -> Stream:
        return Stream(self._ground.seed, self._tick, f"order:{self._ground.channel}", persona)

    def _by_ties(self, persona: str) -> Iterator[Ranked]:
        ground, group = self._ground, self._ground.group_of(persona)
        lots = self._lots_of(persona)
        for together in ground.acquaintance.nearest_first(persona):
            reached: dict[int, Ranked] = {}
            for other in together:
                for post in self._in_sight(ground.posts.by(other), group):
                    reached[post.place] = Ranked(post, Ranking.NETWORK)
            for other in together:
                for post in self._in_sight(ground.posts.passed_on_by(other), group):
                    reached.setdefault(post.place, Ranked(post, REPOSTED, other))
            yield from _evenly(lots, _runs(reached.values(), _age))
        if group not in self._runs:
            ranked = (Ranked(post, Ranking.NETWORK) for post in self._seen_by(group))
            self._runs[group] = _runs(ranked, _age)
        yield from _evenly(lots, self._runs[group])

    def _in_sight(self, posts: Sequence[Post], group: int) -> Iterator[Post]:
        for post in posts:
            if post.group in (None, group) and post.stimulus.claim not in self._removed:
                yield post

    @property
    def _interest(self) -> Interest:
        assert self._ground.interest is not None, "it is there where something is ranked by it"
        return self._ground.interest

    def _has_profile(self, persona: str) -> bool:
        return self._interest.profiles.get(persona, "") in self._interest.meanings

    def _by_interest(self, personas: Sequence[str]) -> Iterator[Iterable[Ranked]]:
        for start in range(0, len(personas), _TOGETHER):
            some = personas[start : start + _TOGETHER]
            orders = dict(self._of_some(some))
            yield from (orders.get(persona, ()) for persona in some)

    def _of_some(self, personas: Sequence[str]) -> Iterator[tuple[str, Sequence[Ranked]]]:
        by_group: dict[int, list[str]] = {}
        for persona in personas:
            if self._has_profile(persona):
                by_group.setdefault(self._ground.group_of(persona), []).append(persona)
        interest, wanted = self._interest, self._ground.room + len(self._promoted)
        for group, some in by_group.items():
            columns = self._columns_of(group)
            if not columns.places:
                continue
            profiles = interest.meanings.rows([interest.profiles[persona] for persona in some])
            scores = interest.meanings.likeness(profiles, columns.rows)
            for persona, row in zip(some, scores, strict=True):
                known = self._ground.posts.known_to(persona)
                seen = [columns.places[place] for place in known if place in columns.places]
                row[seen] = float("-inf")
                best = interest.meanings.best(row, wanted)
                yield persona, [Ranked(columns.posts[one], Ranking.INTEREST) for one in best]

    def _columns_of(self, group: int) -> _Columns:
        """Make the messages of a group that have a vector ready to be compared, newest first."""
        if group not in self._columns:
            meanings = self._interest.meanings
            posts = [p for p in self._seen_by(group) if p.stimulus.text in meanings]
            self._columns[group] = _Columns(
                posts=posts,
                lacking=[p for p in self._seen_by(group) if p.stimulus.text not in meanings],
                places={post.place: number for number, post in enumerate(posts)},
                rows=meanings.rows([post.stimulus.text for post in posts]),
            )
        return self._columns[group]


def _age(one: Ranked) -> float:
    return -one.post.tick


def _runs(ranked: Iterable[Ranked], key: Callable[[Ranked], float]) -> Sequence[Sequence[Ranked]]:
    """Sort messages, and put together those that are equal."""
    return [list(equal) for _, equal in groupby(sorted(ranked, key=key), key)]


def _evenly(lots: Stream, runs: Iterable[Sequence[Ranked]]) -> Iterator[Ranked]:
    """Give run after run, the equal messages of each in an order of this persona's own.

    In one order for everybody the same few of many equal messages would be seen by all, and get
    the votes that keep them ahead: a concentration that no vote has made.
    """
    for run in runs:
        yield from (run[place] for place in shuffled(lots, len(run)))
