"""Which events of a world are wanted, and from where to where. Pure."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple


class Span(NamedTuple):
    """Numbers of events, the first and the last included."""

    first: int
    last: int


class Wanted(NamedTuple):
    """Which events are wanted: those of this persona and of these kinds, as far as they are given.

    With `text`, only those whose payload has these bytes in it. All events of the kinds in
    `besides` are wanted as well.
    """

    persona: str = ""
    kinds: Collection[str] = ()
    text: bytes = b""
    besides: Collection[str] = ()

    def holds(self, kind: str, persona: str, payload: bytes) -> bool:
        """Say whether an event with these columns is wanted."""
        if kind in self.besides:
            return True
        return (
            (not self.persona or persona == self.persona)
            and (not self.kinds or kind in self.kinds)
            and (not self.text or self.text in payload)
        )


EVERYTHING = Wanted()
