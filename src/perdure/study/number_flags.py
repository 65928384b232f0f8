"""What flags say in numbers, read as a study file's values are: plain, bounded, never infinite."""

from __future__ import annotations

from typing import TypeVar

from perdure.base.errors import UsageError
from perdure.study.findings import Findings, quoted
from perdure.study.kinds import Number, ScalarKind, Whole
from perdure.study.nodes import Scalar

T = TypeVar("T")

_SECONDS = Number(0.001, 31_536_000)


def read_flag(flag: str, given: str, kind: ScalarKind[T], more: str = "") -> T:
    """Read what a flag gives, as one kind of value; `more` is said of it beside its range.

    Raises:
        UsageError: it is not of that kind.

    """
    value = kind.read_text(given.strip(), Scalar(0, flag), Findings(""))
    if value is None:
        raise UsageError(
            f"{flag} {quoted(given)} cannot be read.", remedy=f"Give {kind.shown}{more}."
        )
    return value


def whole_given(flag: str, given: str, *, least: int, most: int) -> int:
    """Read a whole number that a flag gives.

    Raises:
        UsageError: it is none, or out of its range.

    """
    return read_flag(flag, given, Whole(least, most))


def seconds_given(flag: str, given: str) -> float:
    """Read a span of time that a flag gives, of a year at most.

    Raises:
        UsageError: it is none.

    """
    return read_flag(flag, given, _SECONDS)
