"""What the registry and the run log hold: the run, its worlds, and what happened between ticks."""

from __future__ import annotations

from enum import StrEnum
from typing import get_args

from perdure.records.budget import Budget, Rung
from perdure.records.fingerprint import Fingerprint
from perdure.records.population import PopulationManifest
from perdure.records.record import Record


class WorldState(StrEnum):
    """Where a world stands."""

    NOT_STARTED = "not_started"
    PARTIAL = "partial"
    COMPLETED = "completed"
    FAILED = "failed"


class RunState(StrEnum):
    """Where a run stands: completed exactly if all its worlds are, else partial with its cause."""

    RUNNING = "running"
    COMPLETED = "completed"
    PARTIAL = "partial"


class RunEntry(Record):
    """A run as asked. `study` is the canonical JSON of the study with the flags applied.

    `hashes` names each input of the run and its hash. `versions` are for people: perdure, python,
    agent (of the persona agent), and the table of prices if one was used. `fingerprint` holds the
    code that decides the run, as text. `population` says how its people were drawn, what was given
    up for it, and what its gates found. `weights` has how many people each persona stands for, in
    the order of the personas: empty if the study has no weights, or if its draw went by them.
    """

    format: int
    run_id: str
    study: str
    study_path: str
    study_path_relative: str
    hashes: dict[str, str]
    currency: str
    flags: dict[str, str] = {}
    versions: dict[str, str] = {}
    fingerprint: Fingerprint | None = None
    population: PopulationManifest | None = None
    weights: tuple[float, ...] = ()


class WorldEntry(Record):
    """One world of a run, in the order of the run's cells."""

    world_id: str
    scenario: str
    variant: str
    replicate_seed: int
    world_seed: str
    horizon: int


class RungAt(Record):
    """A rung of the ladder: the tick from which it has effect, and the one from which no more."""

    rung: Rung
    tick: int
    lifted: int | None = None


class WorldOutcome(Record):
    """How a world ended, or where it stands. `cause` is a sentence; empty if it is completed.

    `cost` is in nano-units: the sum of known amounts; `unknown_costs` counts the rest. `rungs` are
    those that its record tells of, in the order in which they were taken. `calls` counts calls
    whatever became of them, `attempts` what was sent for them, `tokens` those charged.
    """

    world_id: str
    state: WorldState = WorldState.NOT_STARTED
    tick: int = -1
    cause: str = ""
    exit_status: int = 0
    calls: int = 0
    turns: int = 0
    turns_failed: int = 0
    cost: int = 0
    unknown_costs: int = 0
    attempts: int = 0
    tokens: int = 0
    digest: str = ""
    rungs: tuple[RungAt, ...] = ()


class RunOpened(Record):
    """A governor took the run under this epoch."""

    epoch: int


class RunPaused(Record):
    """The run stopped cleanly before its end; it can be continued.

    `holds_open` says that ticks are open in the call journal, which holds what their calls cost.
    """

    cause: str
    exit_status: int
    holds_open: bool = False


class RunClosed(Record):
    """The run ended; no world of it will go on by itself.

    `holds_open` says that ticks are open in the call journal: those at which worlds failed.
    """

    state: RunState
    exit_status: int
    holds_open: bool = False


class WorldFailed(Record):
    """A world failed by itself; the others went on."""

    world_id: str
    tick: int
    exit_status: int
    cause: str


class Moved(Record):
    """One compared thing that is not what it was, with its old and new hash or version.

    `parts` says what of it moved: the modules of code, the files, or the fields of an input with
    their old and new value. Where there is too much of it, the last part counts the rest.
    """

    name: str
    was: str
    now: str
    parts: tuple[str, ...] = ()


class RunForced(Record):
    """The run went on past what had moved. Its results are marked for ever.

    `ticks` has the last closed tick of each world that had one: what is up to there was made
    before. `study` and `flags` are those from here on, as in the run as asked, if an input was
    among what moved; `fingerprint` is that of the code from here on, if code was.
    """

    moved: tuple[Moved, ...]
    fingerprint: Fingerprint | None = None
    study: str = ""
    flags: dict[str, str] = {}
    ticks: dict[str, int] = {}


class WorldDiverged(Record):
    """A world does not step through a tick from before a force as that tick is recorded.

    Once for each world and first difference. `event` is the id of the first event that would be
    another one, `wrong` its field with the old and the new value. The world went on from the
    recorded turns.
    """

    world_id: str
    tick: int
    event: str
    wrong: str


class TransportMoved(Record):
    """Code or packages moved that only carry bytes, or moved back (`moved` is empty).

    The run went on.
    """

    moved: tuple[Moved, ...]


class TickDiscarded(Record):
    """A tick was open when the run was killed; nothing of it is in the record. Once per loss.

    `epoch` is that of the governor that was killed. `kept` calls are finished and in the call
    journal, so the tick will have their answers when it is run again. With `journal_lost` nobody
    knows whether the tick was open: it may have been, and `estimate` is what it is taken to have
    cost, in nano-units; absent if that is unknown. `epoch` is then the last before the loss.
    """

    world_id: str
    tick: int
    epoch: int
    kept: int = 0
    journal_lost: bool = False
    estimate: int | None = None


class JournalLost(Record):
    """The call journal was missing or could not be used, and a new one was begun under `epoch`.

    `file` is the name under which the old one is kept; empty if it was missing. `why` is what was
    wrong with it, if that is known. The ticks that may have been open are `discarded` with this
    row.
    """

    epoch: int
    file: str = ""
    why: str = ""


class CallsLost(Record):
    """Attempts that were sent under `epoch` and never came to anything: each at its worst case.

    At most one row for each world, tick and epoch. `cost` is the sum of known amounts in
    nano-units; `unknown_costs` counts the other attempts. `tokens` are those charged.
    """

    world_id: str
    tick: int
    epoch: int
    calls: int
    cost: int = 0
    unknown_costs: int = 0
    tokens: int = 0


class CallsOrphaned(Record):
    """Attempts that came to something and that the record of their tick did not need.

    `epoch` is that under which the tick was opened; at most one row for each world, tick and epoch.
    `cost` is the sum of known amounts in nano-units; `unknown_costs` counts the other attempts.
    `tokens` are those charged, in and out.
    """

    world_id: str
    tick: int
    epoch: int
    calls: int
    cost: int = 0
    unknown_costs: int = 0
    tokens: int = 0


class RungTaken(Record):
    """The run takes a rung of its ladder: it has effect from this tick on, in every live world.

    `ticks` names the worlds in which it has effect from another tick on. In a world that no
    `worlds_live` has let in by then, though there is such a row, it has effect from tick 0 on.
    """

    rung: Rung
    tick: int
    ticks: dict[str, int] = {}


class RungLifted(Record):
    """A rung is lifted, the budget having been raised: it has no effect from this tick on.

    `ticks`, and worlds that are not let in yet, are as where a rung is taken.
    """

    rung: Rung
    tick: int
    ticks: dict[str, int] = {}


class WorldsLive(Record):
    """These worlds are live now, side by side, and no other is let in until all of them ended.

    There is a row for each such group if not all worlds of a run may be live at once.
    """

    worlds: tuple[str, ...]


class BudgetChanged(Record):
    """The budget was changed by somebody. What was spent stays spent."""

    budget: Budget


class AnswersRescored(Record):
    """Answers to a question were scored again, beside the record, which is as it was.

    `id` is that of the scores, which are beside the record. `construct`, `version` and
    `anchors_hash` are those of the anchors, `model` gave the vectors. `calls` counts the attempts
    that it took, `cost` is the sum of their known amounts in nano-units and `unknown_costs` counts
    the others; `tokens` are those charged.
    """

    id: str
    question: str
    construct: str
    version: str
    anchors_hash: str
    model: str
    answers: int
    scored: int
    calls: int = 0
    cost: int = 0
    unknown_costs: int = 0
    tokens: int = 0


LogPayload = (
    RunOpened
    | RunPaused
    | RunClosed
    | WorldFailed
    | TickDiscarded
    | JournalLost
    | CallsLost
    | CallsOrphaned
    | RunForced
    | WorldDiverged
    | TransportMoved
    | RungTaken
    | RungLifted
    | WorldsLive
    | BudgetChanged
    | AnswersRescored
)

LOG_KIND_OF: dict[type[Record], str] = {
    RunOpened: "opened",
    RunPaused: "paused",
    RunClosed: "closed",
    WorldFailed: "world_failed",
    TickDiscarded: "discarded",
    JournalLost: "journal_lost",
    CallsLost: "lost",
    CallsOrphaned: "orphaned",
    RunForced: "forced",
    WorldDiverged: "diverged",
    TransportMoved: "transport_moved",
    RungTaken: "rung_taken",
    RungLifted: "rung_lifted",
    WorldsLive: "worlds_live",
    BudgetChanged: "budget_changed",
    AnswersRescored: "rescored",
}
# What the log of a run that ended by itself ends with.
ENDED = (RunClosed, RunPaused)
LOG_TYPE_OF: dict[str, type[Record]] = {kind: cls for cls, kind in LOG_KIND_OF.items()}

assert set(LOG_KIND_OF) == set(get_args(LogPayload))


class LogHead(Record):
    """Where the run log ends: the last seq (-1 if none) and its chain hash (hex)."""

    seq: int
    chain: str
