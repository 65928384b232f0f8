"""How a reply is told to whoever watches, where it came in one piece."""

from __future__ import annotations

from collections.abc import Callable

from perdure.records.increment import Asked, Increment, Said
from perdure.records.request import Failure, Reply

OnIncrement = Callable[[Increment], None]


def tell_whole(outcome: Reply | Failure, on_increment: OnIncrement) -> None:
    """Tell a whole reply: its text, then its calls. Of a failure there is nothing to tell."""
    if isinstance(outcome, Failure):
        return
    if outcome.text:
        on_increment(Said(text=outcome.text))
    for index, call in enumerate(outcome.calls):
        on_increment(Asked(index=index, call=call))
