"""What a run may spend, and how it degrades on the way there."""

from __future__ import annotations

from enum import StrEnum

from perdure.records.record import Record


class Rung(StrEnum):
    """One step of the ladder, in the order in which they are taken."""

    WARN = "warn"
    FREEZE = "freeze"
    SUBSAMPLE = "subsample"
    PAUSE = "pause"


class Ladder(Record):
    """At which fraction of the budget each rung is taken, and the share of full activation kept.

    `warn` changes nothing, `freeze` leaves out optional work, `subsample` multiplies activation by
    `share`. Past `subsample`, what does not fit under the ceiling pauses the run. A share of 1
    leaves subsampling out.
    """

    warn: float = 0.80
    freeze: float = 0.95
    subsample: float = 1.00
    share: float = 0.4


class Budget(Record):
    """What a run may spend over all its worlds and sittings; what is absent has no limit.

    `amount` and `ceiling` are in nano-units of the study's currency. The ladder is measured by
    `amount`; `ceiling` is never exceeded, and is `amount` unless it is set. `calls` counts
    attempts, `tokens` all tokens in and out, `wall_s` seconds in which the run was at work.
    `unpriced_accepted` says that calls without a known price may be made: there is then no
    ceiling in money, and one on calls or tokens is required.
    """

    amount: int | None = None
    ceiling: int | None = None
    calls: int | None = None
    tokens: int | None = None
    wall_s: float | None = None
    unpriced_accepted: bool = False
    ladder: Ladder = Ladder()

    @property
    def money_max(self) -> int | None:
        """The most that may be spent, in nano-units; None if there is no such limit."""
        return self.amount if self.ceiling is None else self.ceiling
