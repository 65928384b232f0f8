"""What a supervisor keeps: what must outlive it, and how it stands. One document, and a history."""

from __future__ import annotations

from msgspec import field

from perdure.records.record import Record
from perdure.supervise.ends import End, Reason
from perdure.supervise.patience import Marks, Patience
from perdure.supervise.space import Growth
from perdure.supervise.verdict import State


class Process(Record):
    """A process that cannot be mistaken for a later one of its number.

    `started` is the system's own count of when it began, `boot` names the sitting of the machine;
    both are empty where the system does not tell.
    """

    pid: int
    started: str = ""
    boot: str = ""
    host: str = ""


class Kept(Record):
    """What must outlive a supervisor.

    `attempt` is the number of the last attempt that was begun, `judged` of the last one whose end
    was decided about. `slowest_s` is the slowest step that was seen, `worked_s` the time of all
    attempts. `counted` says which predicates have given a unit. `stopping` is why the attempt is
    being ended, `climbed` how many steps towards that were taken. `grown_from` is the first look at
    free space and units.
    """

    attempt: int = 0
    judged: int = 0
    marks: Marks = Marks()
    patience: Patience = Patience()
    slowest_s: float = 0.0
    worked_s: float = 0.0
    counted: tuple[str, ...] = ()
    last_end: End | None = None
    stopping: Reason = Reason.NONE
    climbed: int = 0
    grown_from: Growth | None = None


class Attempt(Record):
    """An attempt as its keeper tells it: who it is, then its end.

    `tail` is its last output, `log_fault` why its log could not be written, if it could not.
    """

    number: int
    keeper: Process
    run: Process | None = None
    end: End | None = None
    tail: str = ""
    log_fault: str = ""


class Standing(Record):
    """How a supervisor stands. Wall-clock times are for people.

    `left_s` is an estimate from what was seen lately. `why` says why the state is what it is.
    """

    format: int
    state: State
    why: str
    command: str
    supervisor: Process
    kept: Kept
    run: Process | None = None
    target: int | None = None
    progress: int | None = None
    artifact: int | None = None
    attempts_left: int = 0
    patience_left_s: float = 0.0
    rate_per_s: float | None = None
    left_s: float | None = None
    last_end: str = ""
    log: str = ""
    drift: str = ""
    health: dict[str, str] = field(default_factory=dict)
    faults: dict[str, str] = field(default_factory=dict)
    free_bytes: int | None = None
    needed_bytes: int = 0
    since_s: float = 0.0
    written_s: float = 0.0
    advanced_s: float | None = None
    next_s: float | None = None
    code: int | None = None


STANDING_FORMAT = 1
