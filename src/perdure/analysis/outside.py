"""What a run cost outside its closed ticks, by its run log and its call journal. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from perdure.records.journal import OpenTick
from perdure.records.record import Record
from perdure.records.registry import (
    AnswersRescored,
    CallsLost,
    CallsOrphaned,
    LogPayload,
    TickDiscarded,
)
from perdure.trace.sittings import JournalLoss, journal_losses, may_hold_open

LOST = "lost"
ORPHANED = "orphaned"
KEPT = "kept"
UNSETTLED = "unsettled"
ESTIMATED = "estimated"
RESCORED = "rescored"

# Why each kind is outside, and what it counts.
MEANING = {
    LOST: ("attempt", "sent and never answered, charged at the worst case"),
    ORPHANED: ("attempt", "answered and not needed by the record"),
    RESCORED: ("attempt", "made to score answers again"),
    KEPT: ("attempt", "kept in the call journal for ticks that are open"),
    UNSETTLED: ("attempt", "sent, with no answer in the call journal"),
    ESTIMATED: ("tick", "that may have been open when the call journal was lost, at an estimate"),
}


class OutsidePart(Record):
    """One kind of what is outside: how many attempts or ticks, and what they cost."""

    kind: str
    count: int
    amount: int
    unknown: int


class Outside(Record):
    """What is in no closed tick: the sum of known amounts, and how many amounts are unknown.

    `attempts` counts attempts: a call may take several. `discarded` counts the ticks that were open
    when the run was killed. `open` says that ticks may be open and that there is no call journal
    that can be used, so that their calls, if there are any, are not on record: what they cost is
    unknown, not zero. `journal_fault` says why it cannot be used; empty if it can, or is missing.
    `losses` lists the call journals that were lost, each with what is estimated for it.
    """

    attempts: int
    amount: int
    unknown: int
    discarded: int
    open: bool
    parts: tuple[OutsidePart, ...]
    journal_fault: str = ""
    losses: tuple[JournalLoss, ...] = ()


def outside(
    log: Sequence[LogPayload], journal: Sequence[OpenTick] | None = None, fault: str = ""
) -> Outside:
    """Sum what a run log and a call journal say of calls outside closed ticks.

    `journal` holds the open ticks that are in no record yet; None if the run has no journal, or
    none that can be used: `fault` says why not.
    """
    parts = tuple(part for part in (*_logged(log), *_journaled(log, journal or ())) if part.count)

    def counted(noun: str) -> int:
        return sum(part.count for part in parts if MEANING[part.kind][0] == noun)

    return Outside(
        attempts=counted("attempt"),
        amount=sum(part.amount for part in parts),
        unknown=sum(part.unknown for part in parts),
        discarded=sum(isinstance(row, TickDiscarded) and not row.journal_lost for row in log),
        open=journal is None and may_hold_open(log),
        parts=parts,
        journal_fault=fault,
        losses=journal_losses(log),
    )


_OF_CALLS: tuple[tuple[str, type[CallsLost | CallsOrphaned | AnswersRescored]], ...] = (
    (LOST, CallsLost),
    (ORPHANED, CallsOrphaned),
    (RESCORED, AnswersRescored),
)


def _logged(log: Sequence[LogPayload]) -> Iterable[OutsidePart]:
    for kind, cls in _OF_CALLS:
        rows = [row for row in log if isinstance(row, cls)]
        yield OutsidePart(
            kind=kind,
            count=sum(row.calls for row in rows),
            amount=sum(row.cost for row in rows),
            unknown=sum(row.unknown_costs for row in rows),
        )
    losses = journal_losses(log)
    yield OutsidePart(
        kind=ESTIMATED,
        count=sum(loss.ticks for loss in losses),
        amount=sum(loss.amount for loss in losses),
        unknown=sum(loss.unknown for loss in losses),
    )


def _journaled(log: Sequence[LogPayload], journal: Sequence[OpenTick]) -> Iterable[OutsidePart]:
    charged = {(row.world_id, row.tick, row.epoch) for row in log if isinstance(row, CallsLost)}
    kept: list[int | None] = []
    unsettled: list[int | None] = []
    for tick in journal:
        for call in tick.model_calls:
            place = (tick.opening.world, tick.opening.tick, call.epoch)
            if call.settled is not None:
                kept.append(call.settled.amount)
            elif place not in charged:
                # What it may cost at most is known, what it did cost is not.
                unsettled.append(None)
    for kind, amounts in ((KEPT, kept), (UNSETTLED, unsettled)):
        yield OutsidePart(
            kind=kind,
            count=len(amounts),
            amount=sum(amount for amount in amounts if amount is not None),
            unknown=amounts.count(None),
        )
