"""The messages of a board: what was done with each, whose it is, and who knows it already."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from perdure.records.presentation import Stimulus

_NOTHING: Mapping[str, int] = {}


@dataclass(slots=True)
class Post:
    """A message on a board. `group` is the people whose message it is, None for everybody's.

    `done` counts what was done with it, by the group of who did it. `lot` orders it among messages
    of its tick.
    """

    place: int
    stimulus: Stimulus
    tick: int
    lot: int
    group: int | None
    done: dict[int, dict[str, int]] = field(default_factory=dict)

    @property
    def age_order(self) -> tuple[int, int]:
        """What to sort by for newest first."""
        return (-self.tick, self.lot)

    def done_by(self, group: int) -> Mapping[str, int]:
        """Give the counts of what a group did with it."""
        return self.done.get(group, _NOTHING)

    def count(self, group: int, action: str) -> None:
        """Count something that was done with it."""
        counts = self.done.setdefault(group, {})
        counts[action] = counts.get(action, 0) + 1


class Posts:
    """All messages of a board, in the order in which they were published."""

    def __init__(self) -> None:
        self._all: list[Post] = []
        self._by_id: dict[str, Post] = {}
        self._by_author: defaultdict[str, list[Post]] = defaultdict(list)
        self._passed_on: defaultdict[str, list[Post]] = defaultdict(list)
        self._known: defaultdict[str, set[int]] = defaultdict(set)

    def __iter__(self) -> Iterator[Post]:
        return iter(self._all)

    def __getitem__(self, stimulus: str) -> Post:
        return self._by_id[stimulus]

    def publish(self, stimulus: Stimulus, *, tick: int, lot: int, group: int | None) -> None:
        """Add a message. Its author knows it."""
        post = Post(place=len(self._all), stimulus=stimulus, tick=tick, lot=lot, group=group)
        self._all.append(post)
        self._by_id[stimulus.id] = post
        if stimulus.author:
            self._by_author[stimulus.author].append(post)
            self._known[stimulus.author].add(post.place)

    def pass_on(self, persona: str, post: Post) -> None:
        """Take note that a persona passed a message on to those who know it."""
        self._passed_on[persona].append(post)

    def by(self, author: str) -> Sequence[Post]:
        """List what somebody wrote."""
        return self._by_author.get(author, ())

    def passed_on_by(self, persona: str) -> Sequence[Post]:
        """List what somebody passed on."""
        return self._passed_on.get(persona, ())

    def known_to(self, persona: str) -> Collection[int]:
        """Give the places of the messages that a persona was shown or wrote."""
        return self._known.get(persona, ())

    def show(self, persona: str, post: Post) -> None:
        """Take note that a persona was shown a message."""
        self._known[persona].add(post.place)
