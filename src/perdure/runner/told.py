"""Our errors as records, and back: an error keeps its class and its words from process to process.

Every class of the tree has its code, and one table says which further fields a class has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from perdure.agent import CallFailedError
from perdure.agent.drive.ports import ModelFailedError
from perdure.agent.drive.tools.signature import ArgumentsError
from perdure.base.errors import (
    BudgetReachedError,
    InternalError,
    InvalidStudyError,
    MovedError,
    PerdureError,
    Problem,
)
from perdure.records.record import Record
from perdure.records.request import FailureCause
from perdure.runner.endings import named, told

# What a plain Python error of the wrong type is called: a user's own code gave what no record is.
_WRONG_TYPE = "wrong-type"


class ToldProblem(Record):
    """One problem of a study."""

    file: str
    line: int
    wrong: str
    remedy: str


class Told(Record):
    """An error: the code of its class, what it says, and what else its class has."""

    code: str
    wrong: str
    where: str = ""
    remedy: str = ""
    limit: str = ""
    moved: tuple[str, ...] = ()
    diffs: tuple[str, ...] = ()
    problems: tuple[ToldProblem, ...] = ()
    cause: FailureCause | None = None


def tell(error: Exception) -> Told:
    """Put an error into a record. One that is not ours is our bug, or the wrong type of a value."""
    if isinstance(error, PerdureError):
        return Told(
            code=error.code,
            wrong=error.wrong,
            where=error.where,
            remedy=error.remedy,
            limit=getattr(error, "limit", ""),
            moved=getattr(error, "moved", ()),
            diffs=getattr(error, "diffs", ()),
            problems=tuple(
                ToldProblem(file=one.file, line=one.line, wrong=one.wrong, remedy=one.remedy)
                for one in (error.problems if isinstance(error, InvalidStudyError) else ())
            ),
            cause=getattr(error, "cause", None),
        )
    if isinstance(error, msgspec.MsgspecError | TypeError):
        return Told(code=_WRONG_TYPE, wrong=told(error))
    return Told(code=InternalError.code, wrong=named(error))


def error_of(what: Told) -> Exception:
    """Make the error that a record tells of."""
    if what.code == _WRONG_TYPE:
        return TypeError(what.wrong)
    cls = {one.code: one for one in tree()}.get(what.code)
    if cls is None:
        return InternalError(f"{what.wrong} ({what.code})", where=what.where, remedy=what.remedy)
    return _MAKE.get(cls, _plain)(cls, what)


def tree(root: type[PerdureError] = PerdureError) -> Iterator[type[PerdureError]]:
    """Go through all classes of our errors."""
    yield root
    for cls in root.__subclasses__():
        yield from tree(cls)


def _plain(cls: Any, what: Told) -> PerdureError:
    error: PerdureError = cls(what.wrong, where=what.where, remedy=what.remedy)
    return error


def _call_failed(cls: Any, what: Told) -> PerdureError:
    assert what.cause is not None, "a failed call has its cause"
    error: PerdureError = cls(what.cause)
    return error


def _model_failed(cls: Any, what: Told) -> PerdureError:
    assert what.cause is not None, "a failed call has its cause"
    error: PerdureError = cls(
        what.cause, again=False, detail=what.wrong, where=what.where, remedy=what.remedy
    )
    return error


def _arguments(cls: Any, what: Told) -> PerdureError:
    error: PerdureError = cls([what.wrong])
    return error


def _invalid_study(cls: Any, what: Told) -> PerdureError:
    error: PerdureError = cls(
        [
            Problem(file=one.file, line=one.line, wrong=one.wrong, remedy=one.remedy)
            for one in what.problems
        ]
    )
    return error


def _budget_reached(cls: Any, what: Told) -> PerdureError:
    error: PerdureError = cls(what.wrong, limit=what.limit, where=what.where, remedy=what.remedy)
    return error


def _moved(cls: Any, what: Told) -> PerdureError:
    error: PerdureError = cls(
        what.wrong, moved=what.moved, diffs=what.diffs, where=what.where, remedy=what.remedy
    )
    return error


_MAKE: dict[type[PerdureError], Callable[[Any, Told], PerdureError]] = {
    CallFailedError: _call_failed,
    ModelFailedError: _model_failed,
    ArgumentsError: _arguments,
    InvalidStudyError: _invalid_study,
    BudgetReachedError: _budget_reached,
    MovedError: _moved,
}
