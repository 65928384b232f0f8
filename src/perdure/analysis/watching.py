"""Several readers of one stream of events: each sees its events once, and none holds them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar, Protocol

from perdure.records.events import KIND_OF, Event
from perdure.records.record import Record


class Watcher(Protocol):
    """Something that looks at the events of a world as they pass, those of some kinds."""

    kinds: ClassVar[frozenset[type[Record]]]

    def see(self, event: Event) -> None:
        """Look at one event."""
        ...


def watched(events: Iterable[Event], watchers: Sequence[Watcher]) -> Iterator[Event]:
    """Pass events on, each after every watcher of its kind saw it."""
    watching: dict[type[Record], list[Watcher]] = {
        kind: [one for one in watchers if kind in one.kinds] for kind in KIND_OF
    }
    for event in events:
        for watcher in watching[type(event.payload)]:
            watcher.see(event)
        yield event
