"""What verifying finds, and how an error becomes a finding."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Self, TypeVar

from perdure.base.errors import PerdureError
from perdure.records.record import Record

T = TypeVar("T")


class Finding(Record):
    """One thing that is wrong: where (`<world>:<seq>`, `run log <seq>`, `registry`), and what."""

    where: str
    wrong: str

    @classmethod
    def of(cls, error: PerdureError, place: str) -> Self:
        """Make a finding of an error; `place` serves where the error names none."""
        return cls(where=error.where or place, wrong=error.wrong)


def read_or_find(read: Callable[[], T], findings: list[Finding], place: str) -> T | None:
    """Read something of a record; what is wrong with it goes to the findings."""
    try:
        return read()
    except PerdureError as error:
        findings.append(Finding.of(error, place))
        return None


def each_once(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Leave out what has been found already: one fault may stand in the way of several checks."""
    return tuple(dict.fromkeys(findings))
