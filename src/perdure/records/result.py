"""What a run gives back, and how it looks while it works."""

from __future__ import annotations

from perdure.records.comparability import Comparability
from perdure.records.record import Record
from perdure.records.registry import RunState, WorldOutcome


class RunResult(Record):
    """The end of a run: its state is computed from its worlds. `cause` is empty if completed.

    `cost` is in nano-units of `currency`, the sum of known amounts; `unknown_costs` counts the
    attempts whose amount is unknown. `comparability` says which worlds ran alike.
    """

    run_id: str
    folder: str
    state: RunState
    exit_status: int
    worlds: tuple[WorldOutcome, ...]
    currency: str
    cause: str = ""
    cost: int = 0
    unknown_costs: int = 0
    comparability: Comparability = Comparability()


class Progress(Record):
    """A run at one moment. Rates are over all sittings; `left_s` is an estimate.

    `turns` are those of closed ticks; `calls` and `cost` are of every call that ended, open ticks
    included. `elapsed_s` is the time of this sitting, `worked_s` that of all sittings.
    """

    worlds: int
    worlds_done: int
    ticks: int
    ticks_closed: int
    turns: int
    turns_per_s: float
    calls: int
    in_flight: int
    retries: int
    cost: int
    unknown_costs: int
    currency: str
    elapsed_s: float
    worked_s: float = 0.0
    left_s: float | None = None
    pid: int = 0
