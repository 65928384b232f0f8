"""Numbers written for people. What is not known reads `n/a`, never zero."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from perdure.analysis.figures import MEAN
from perdure.base.money import show

UNKNOWN = "n/a"
_MINUTE = 60
_HOUR = 3600


def percent(share: float | None, places: int = 1) -> str:
    """Write a share as a percentage."""
    return UNKNOWN if share is None else f"{100 * share:.{places}f} %"


def points(change: float | None, places: int = 1) -> str:
    """Write a difference of shares in percentage points, with its sign."""
    if change is None:
        return UNKNOWN
    rounded = round(100 * change, places)
    return f"{rounded + 0.0:+.{places}f}"


def hundredths(share: float | None, places: int = 1) -> str:
    """Write a share, or a deviation of shares, in hundredths, where a heading says that it is."""
    return UNKNOWN if share is None else f"{100 * share:.{places}f}"


def score(value: float | None) -> str:
    """Write a score such as Brier's."""
    return UNKNOWN if value is None else f"{value:.3f}"


def count(number: int) -> str:
    """Write a whole number with separators."""
    return f"{number:,}"


def amount(number: float) -> str:
    """Write a sum that is a whole number, or is not because probabilities were summed."""
    return count(int(number)) if number == int(number) else f"{number:,.1f}"


def plain(value: float | None) -> str:
    """Write a mean of points or numbers, to two decimals."""
    return UNKNOWN if value is None else f"{value:,.2f}"


def signed(value: float | None) -> str:
    """Write a difference of such means, with its sign."""
    return UNKNOWN if value is None else f"{round(value, 2) + 0.0:+,.2f}"


class Writing(NamedTuple):
    """How the figures of a question are written: shares, and the mean of points or numbers."""

    share: Callable[[float | None], str]
    mean: Callable[[float | None], str]

    def of(self, figure: str) -> Callable[[float | None], str]:
        """Say how a figure is written."""
        return self.mean if figure == MEAN else self.share


def figure_name(figure: str, choices: Mapping[str, str]) -> str:
    """Name a figure: a choice as it is called, or the mean."""
    return "mean" if figure == MEAN else choices.get(figure, figure)


def plural(number: int, noun: str) -> str:
    """Write a number with its noun."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def spend(amount: int, unknown: int, currency: str) -> str:
    """Write a sum of money beside how many amounts are unknown."""
    known = show(amount, currency)
    return f"{known} + {unknown:,} unknown" if unknown else known


def duration(seconds: float | None) -> str:
    """Write a duration as m:ss or h:mm:ss."""
    if seconds is None:
        return UNKNOWN
    whole = max(0, round(seconds))
    hours, rest = divmod(whole, _HOUR)
    minutes, left = divmod(rest, _MINUTE)
    return f"{hours}:{minutes:02}:{left:02}" if hours else f"{minutes}:{left:02}"


LEVELS = Writing(share=hundredths, mean=plain)
MOVES = Writing(share=points, mean=signed)
