"""The one tree of errors: what is wrong, where, and what to do.

Every error a user can meet derives from `PerdureError` and carries the exit status of DESIGN's
table, so that a caller can act on the number alone. Foreign errors are translated at the room that
owns the dependency, with the cause kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from perdure.base.text import one_line

# A place is a path or an id: foreign text, on one line.
_PLACE_MAX = 400

EXIT_DONE = 0
EXIT_SOME_FAILED = 1
EXIT_USAGE = 2
EXIT_INVALID_STUDY = 65
EXIT_UNREACHABLE = 69
EXIT_BUG = 70
EXIT_HELD = 73
EXIT_STORAGE = 74
EXIT_STOPPED = 75
EXIT_PAUSED = 76
EXIT_KEY_OR_MODEL = 77
EXIT_MOVED = 78

# Several at once: the first of these decides.
EXIT_PRECEDENCE = (
    EXIT_MOVED,
    EXIT_STORAGE,
    EXIT_BUG,
    EXIT_KEY_OR_MODEL,
    EXIT_UNREACHABLE,
    EXIT_PAUSED,
    EXIT_STOPPED,
    EXIT_SOME_FAILED,
)


def first_exit(statuses: list[int]) -> int:
    """Choose the exit status of a run from those of its parts; `EXIT_DONE` if all are done."""
    for status in EXIT_PRECEDENCE:
        if status in statuses:
            return status
    return EXIT_DONE


class PerdureError(Exception):
    """The root: a sentence that says what is wrong, where, and what to do.

    `usual_remedy` is what to do where nothing better is known.
    """

    exit_status: ClassVar[int] = EXIT_BUG
    code: ClassVar[str] = "error"
    usual_remedy: ClassVar[str] = ""

    def __init__(self, wrong: str, *, where: str = "", remedy: str = "") -> None:
        self.wrong = wrong
        self.where = where
        self.remedy = remedy or self.usual_remedy
        super().__init__(wrong)

    def __str__(self) -> str:
        place = f"{one_line(self.where, _PLACE_MAX)}: " if self.where else ""
        advice = f" {self.remedy}" if self.remedy else ""
        return f"{place}{self.wrong}{advice}"


class InternalError(PerdureError):
    """Our bug: an invariant of the program did not hold."""

    code = "internal"


class UsageError(PerdureError):
    """The command line asks for something that cannot be done."""

    exit_status = EXIT_USAGE
    code = "usage"


def refuse_all(problems: Sequence[PerdureError]) -> None:
    """Refuse what is wrong with a command line, all of it at once.

    Raises:
        PerdureError: the problem, if there is one; several are one UsageError, a line for each.

    """
    if len(problems) == 1:
        raise problems[0]
    if problems:
        listed = "".join(f"\n- {problem}" for problem in problems)
        raise UsageError(f"{len(problems)} things are wrong:{listed}")


class Problem:
    """One thing wrong with an input: file, line (from 1; 0 if unknown), what, what to write."""

    __slots__ = ("file", "line", "remedy", "wrong")

    def __init__(self, *, file: str, line: int, wrong: str, remedy: str) -> None:
        self.file = file
        self.line = line
        self.wrong = wrong
        self.remedy = remedy

    def __str__(self) -> str:
        file = one_line(self.file, _PLACE_MAX)
        place = f"{file}:{self.line}" if self.line else file
        return f"{place}: {self.wrong} {self.remedy}".rstrip()


class InvalidStudyError(PerdureError):
    """A study file, or a file it names, is not what a study needs; every problem at once.

    `within` says what the problems are in.
    """

    exit_status = EXIT_INVALID_STUDY
    code = "invalid-study"

    def __init__(self, problems: list[Problem], within: str = "the study") -> None:
        self.problems = tuple(problems)
        count = len(problems)
        super().__init__(f"{count} problem{'s' if count != 1 else ''} in {within}")

    def __str__(self) -> str:
        return "\n".join([*(str(problem) for problem in self.problems), f"{self.wrong}."])


class PluginError(PerdureError):
    """A user's world or agent broke its port's contract, or could not be loaded."""

    exit_status = EXIT_SOME_FAILED
    code = "plugin"


class HeldError(PerdureError):
    """Another process holds the run, or the place where it would be written is taken."""

    exit_status = EXIT_HELD
    code = "held"


class TakenError(HeldError):
    """The place where a run would be written holds something else, and always will."""

    code = "taken"


class StorageError(PerdureError):
    """Storage failed: an unwritable folder, an I/O error, a failed sync."""

    exit_status = EXIT_STORAGE
    code = "storage"


class StorageFullError(StorageError):
    """The disk is full. Everything acknowledged is kept; free space and continue."""

    exit_status = EXIT_STOPPED
    code = "storage-full"


class OutputError(StorageError):
    """Standard output, or the file for a report, cannot be written."""

    code = "output"


class StaleWriterError(StorageError):
    """A process whose epoch is over tried to write."""

    code = "stale-writer"


class DamagedRecordError(StorageError):
    """A record does not hold what was written. Names the first bad event."""

    code = "damaged-record"
    usual_remedy = "Restore the newest copy of the run."


class EndpointUnreachableError(PerdureError):
    """Too few calls of a tick got any reply. Nothing closed is lost; try again later."""

    exit_status = EXIT_UNREACHABLE
    code = "unreachable"


class KeyOrModelRefusedError(PerdureError):
    """The endpoint refused the key, or does not know the model."""

    exit_status = EXIT_KEY_OR_MODEL
    code = "key-or-model"


class ProviderPausedError(PerdureError):
    """The provider's own budget is used up (402). The run pauses and can be continued."""

    exit_status = EXIT_PAUSED
    code = "provider-paused"


class BudgetReachedError(PerdureError):
    """The run's budget has no room for what comes next. The run pauses and can be continued.

    `limit` names what it has no room for: money, calls, tokens or wall time.
    """

    exit_status = EXIT_PAUSED
    code = "budget-reached"

    def __init__(self, wrong: str, *, limit: str, where: str = "", remedy: str = "") -> None:
        self.limit = limit
        super().__init__(wrong, where=where, remedy=remedy)


class MovedError(PerdureError):
    """What decides the run is not what it was: going on would make two experiments of one record.

    `moved` names everything that moved; `diffs` show how code moved.
    """

    exit_status = EXIT_MOVED
    code = "moved"

    def __init__(
        self,
        wrong: str,
        *,
        moved: tuple[str, ...] = (),
        diffs: tuple[str, ...] = (),
        where: str = "",
        remedy: str = "",
    ) -> None:
        self.moved = moved
        self.diffs = diffs
        super().__init__(wrong, where=where, remedy=remedy)

    def __str__(self) -> str:
        return "\n".join([super().__str__(), *self.diffs])


class StopRequestedError(PerdureError):
    """Somebody asked the run to stop. It finished its open ticks and can be continued."""

    exit_status = EXIT_STOPPED
    code = "stopped"
