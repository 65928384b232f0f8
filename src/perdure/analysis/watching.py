"""Several readers of one stream of events: each sees every event once, and none holds it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from perdure.records.events import Event


class Watcher(Protocol):
    """Something that looks at each event of a world as it passes."""

    def see(self, event: Event) -> None:
        """Look at one event."""
        ...


def watched(events: Iterable[Event], watchers: Sequence[Watcher]) -> Iterator[Event]:
    """Pass events on, each after every watcher saw it."""
    for event in events:
        for watcher in watchers:
            watcher.see(event)
        yield event
