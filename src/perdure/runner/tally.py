"""What a world's record adds up to, as far as it was read: its counts, its cost, its rungs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

import msgspec

from perdure.records.events import Event, Head
from perdure.records.request import CallKey
from perdure.runner.bill import Bill
from perdure.runner.past import PastTick, past_ticks
from perdure.runner.port import ModelHost, TickReport
from perdure.trace.port import Reading
from perdure.trace.rungs import Rungs, recorded_after


class Tally:
    """Adds up the ticks of one world's record, one after another.

    `rungs` are those that its events tell of. `last_calls` are the calls of the last tick.
    """

    def __init__(self, world_id: str, head: Head) -> None:
        """Begin. `head` is where the record ends."""
        self._report = TickReport(world_id=world_id, tick=-1, head=head)
        self._bill = Bill()
        self.rungs: Rungs = ()
        self.last_calls: set[CallKey] = set()

    def watched(self, events: Iterable[Event]) -> Iterator[Event]:
        """Pass events on, and follow which rungs they record: a pause is in no tick."""
        for event in events:
            self.rungs = recorded_after(self.rungs, event.tick, event.payload)
            yield event

    def add(self, past: PastTick) -> None:
        """Add a tick."""
        report = self._report
        self._bill.add(past.costs)
        self.last_calls = {
            CallKey(
                world=report.world_id,
                tick=past.tick,
                job=cost.job,
                purpose=cost.purpose,
                ordinal=cost.ordinal,
            )
            for cost in past.costs
        }
        self._report = msgspec.structs.replace(
            report,
            tick=past.tick,
            turns=report.turns + len(past.turns),
            turns_failed=report.turns_failed + past.turns_failed,
            calls=report.calls + past.calls,
        )

    def report(self) -> TickReport:
        """Tell where the record ends, and what it adds up to."""
        return self._bill.on(msgspec.structs.replace(self._report, rungs=self.rungs))


def tally(reading: Reading, world_id: str, head: Head) -> Tally:
    """Add up a whole record that ends at `head`, without living through any of it."""
    found = Tally(world_id, head)
    events = found.watched(reading.events(world_id))
    for past in past_ticks(events, partial(reading.blob, world_id)):
        found.add(past)
    return found


async def settled(host: ModelHost, report: TickReport, used: set[CallKey]) -> TickReport:
    """Add what the last tick of a record is still to be charged with; `used` are its calls.

    Its process may have died when the tick was in the record and nobody had been told.

    Raises:
        DamagedRecordError: what the journal holds of the tick is not what was written.
        StorageError: storage failed.

    """
    return msgspec.structs.replace(
        report,
        lost=await host.lost(report.world_id, report.tick),
        orphaned=await host.orphans(report.world_id, report.tick, used),
    )
