"""What a drive may take at most, as it is given on a command line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from perdure.base.errors import UsageError
from perdure.cli.drive_wrong import Wrong
from perdure.records.alone import Bounds
from perdure.study.money_flags import NONE, amount_given
from perdure.study.number_flags import seconds_given, whole_given

T = TypeVar("T")

_TURNS_MAX = 1_000_000_000
_TOKENS_MAX = 10**15


@dataclass(frozen=True, slots=True)
class Ceilings:
    """The ceilings of a drive, as they were given; what was not is empty."""

    turns: str = ""
    tokens: str = ""
    budget: str = ""
    seconds: str = ""

    def given(self) -> bool:
        """Say whether any was."""
        return any((self.turns, self.tokens, self.budget, self.seconds))


def bounds_of(ceilings: Ceilings, before: Bounds, wrong: Wrong, *, priced: bool) -> Bounds:
    """Read ceilings; what is not given is as it was `before`, and `none` lifts what is there."""

    def changed(given: str, now: T | None, read: Callable[[str], T]) -> T | None:
        if not given:
            return now
        return None if given == NONE else wrong.tried(lambda: read(given))

    return Bounds(
        turns=changed(ceilings.turns, before.turns, _turns),
        tokens=changed(ceilings.tokens, before.tokens, _tokens),
        money=changed(ceilings.budget, before.money, partial(_money, priced=priced)),
        seconds=changed(ceilings.seconds, before.seconds, partial(seconds_given, "--seconds")),
    )


def _turns(given: str) -> int:
    return whole_given("--turns", given, least=1, most=_TURNS_MAX)


def _tokens(given: str) -> int:
    return whole_given("--tokens", given, least=1, most=_TOKENS_MAX)


def _money(given: str, *, priced: bool) -> int:
    """Read a budget, which holds nothing where nobody knows what a call costs."""
    amount = amount_given("--budget", given)
    if amount == 0:
        raise UsageError("--budget 0 is no budget.", remedy="Give what may be spent.")
    if not priced:
        raise UsageError(
            "A budget holds nothing where nobody knows what a call costs.",
            remedy="Give --price or --price-as, or bound it by --turns or --seconds.",
        )
    return amount
