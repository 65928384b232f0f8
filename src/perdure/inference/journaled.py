"""An inference host with a memory: no finished call is ever made again, however often it is asked.

Around every call it looks for what the call journal holds of it. Around every attempt it makes the
intent durable before anything is sent, and the outcome before anybody sees it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping

import msgspec

from perdure.base.canonical import hash_hex
from perdure.base.crashpoints import crashpoint
from perdure.base.errors import InternalError
from perdure.inference import charges
from perdure.inference.charges import (
    NOTHING,
    Recalled,
    attempt_record,
    intent_of,
    is_final,
    recall,
)
from perdure.inference.effects import effect_of, remembered, settled_as
from perdure.inference.host import HostStats, InferenceHost, Sender
from perdure.inference.offer import Offer
from perdure.inference.reservations import NOTHING as NOTHING_SPENT
from perdure.inference.reservations import Amounts, Kind, Limit, Reservations
from perdure.records.journal import JournaledCall, OpenTick, Settled, TickOpening
from perdure.records.registry import CallsLost, CallsOrphaned
from perdure.records.request import (
    Attempt,
    CallKey,
    CallResult,
    ChatRequest,
    EmbedRequest,
    Failure,
    FailureCause,
)
from perdure.records.tools import Effect, ToolAnswer, ToolCall
from perdure.trace.journal_port import CallJournal


class _Tick:
    """An open tick: what earlier runs of it left in the journal, and how this one goes."""

    def __init__(self, calls: OpenTick) -> None:
        self.earlier: dict[CallKey, list[JournaledCall]] = defaultdict(list)
        for call in calls.model_calls:
            self.earlier[call.intent.key].append(call)
        # Of the tools outside the world: what earlier runs left, and the attempts of this one.
        self.effects: dict[CallKey, list[JournaledCall]] = defaultdict(list)
        for call in calls.effects:
            self.effects[call.intent.key].append(call)
        self.acting: dict[CallKey, int] = {}
        self.begun = _finished_kinds(calls.model_calls)
        self.in_flight = 0
        self.ended = 0
        # Some call ended otherwise than in an earlier run: what follows from it may differ too.
        self.differs = False
        # Some call was cut short, so that the journal may hold more than the tick's results.
        self.broken = False

    def recall(self, key: CallKey, request: str) -> Recalled:
        """Find what earlier runs left of a call.

        Raises:
            InternalError: they made it with another request, and nothing explains why.

        """
        if not self.earlier or key not in self.earlier:
            return NOTHING
        calls = self.earlier[key]
        found = recall(calls, request)
        if found is not None:
            return found
        self.require_differs(key)
        return Recalled(next_attempt=1 + max(call.intent.attempt for call in calls))

    def require_differs(self, key: CallKey) -> None:
        """Let a call be made with another request than before, if something explains why.

        Raises:
            InternalError: nothing does.

        """
        if not self.differs:
            raise InternalError(
                f"The call {key.purpose} {key.ordinal} of job {key.job} is asked for with another"
                " request than before, though everything before it was the same: the agent or the"
                " world is not deterministic.",
                where=f"world {key.world}, tick {key.tick}",
                remedy="Find what differs between two runs of the same tick: a clock, a random"
                " number, an order that is not fixed.",
            )


class JournaledHost:
    """Makes the model calls of a run through its inference host, and journals them all."""

    def __init__(self, host: InferenceHost, journal: CallJournal) -> None:
        self._host = host
        self._journal = journal
        self._ticks: dict[tuple[str, int], _Tick] = {}
        self._kept: dict[tuple[str, int], Counter[Kind]] = {}
        self._replayed = 0

    @property
    def stop_cause(self) -> FailureCause | None:
        """The failure that ends the run for every world, once there is one."""
        return self._host.stop_cause

    def refusal(self, world: str, tick: int) -> Limit | None:
        """Name the ceiling under which a call of a tick did not fit; such a tick cannot close."""
        return self._host.reservations.refused.get((world, tick))

    @property
    def reservations(self) -> Reservations:
        """What is spent and reserved, and under which ceilings."""
        return self._host.reservations

    @reservations.setter
    def reservations(self, reservations: Reservations) -> None:
        self._host.reservations = reservations

    @property
    def kept(self) -> Mapping[str, int]:
        """The tick that an earlier sitting left open, by world."""
        return dict(self._kept.keys())

    def begun(self, world: str, tick: int) -> Mapping[Kind, int]:
        """Count the calls of an open tick so far, by role and purpose."""
        open_tick = self._ticks.get((world, tick))
        return self._kept.get((world, tick), {}) if open_tick is None else open_tick.begun

    async def take_stock(self) -> Amounts:
        """Sum up what the journal holds of open ticks that came to something.

        Raises:
            DamagedRecordError: what the journal holds is not what was written.
            StorageError: storage failed.

        """
        spent = NOTHING_SPENT
        for tick in await self.open_ticks():
            self._kept[tick.opening.world, tick.opening.tick] = _finished_kinds(tick.model_calls)
            for call in tick.model_calls:
                if call.settled is not None:
                    spent += charges.spent(call.settled)
        return spent

    @property
    def holds_open(self) -> bool:
        """Whether the journal holds any tick open."""
        return bool(self._journal.open_ticks)

    @property
    def replayed(self) -> int:
        """How many calls were answered from the journal, and not made."""
        return self._replayed

    def stats(self) -> HostStats:
        """Count what was done and is in flight; a call answered from the journal is one call."""
        stats = self._host.stats()
        return msgspec.structs.replace(stats, calls=stats.calls + self._replayed)

    async def open_tick(self, opening: TickOpening) -> TickOpening:
        """Open a tick before its first call, and give the opening that holds.

        A tick that the journal has open already keeps its plan, and gets the answers of its
        finished calls.

        Raises:
            InternalError: it was opened with another input, or its calls are still in flight.
            DamagedRecordError: what the journal holds of it is not what was written.
            StorageFullError: there was no room; nothing was written, and it can be tried again.
            StorageError: storage failed.

        """
        place = opening.world, opening.tick
        running = self._ticks.get(place)
        if running is not None and running.in_flight:
            raise InternalError(
                f"The tick is opened again while {running.in_flight} of its calls are in flight.",
                where=f"world {opening.world}, tick {opening.tick}",
            )
        known = self._journal.is_open(*place)
        held = await self._journal.open_tick(opening)
        stored = await self._journal.calls(*place) if known else None
        self._ticks[place] = _Tick(stored or OpenTick(epoch=self._journal.epoch, opening=held))
        return held

    async def open_ticks(self) -> tuple[OpenTick, ...]:
        """List the ticks that the journal holds open, with all their attempts.

        Raises:
            DamagedRecordError: what the journal holds is not what was written.
            StorageError: storage failed.

        """
        found = [await self._journal.calls(one.world, one.tick) for one in self._journal.open_ticks]
        return tuple(tick for tick in found if tick is not None)

    async def close_tick(self, world: str, tick: int) -> None:
        """Give up what the journal holds of a tick: the record has it, or it is opened afresh.

        Call it when the tick's charges are in the run log.
        """
        self._ticks.pop((world, tick), None)
        await self._journal.close_tick(world, tick)

    async def lost(self, world: str, tick: int) -> tuple[CallsLost, ...]:
        """Charge the attempts of an open tick that came to nothing, a row for each epoch.

        Ask when a run is taken up again, before the tick is opened; and when the tick is in the
        record, before it is closed here. `charges.uncharged` leaves out what the log has already.

        Raises:
            DamagedRecordError: what the journal holds of the tick is not what was written.
            StorageError: storage failed.

        """
        if self._is_plain(world, tick):
            return ()
        stored = await self._journal.calls(world, tick)
        return () if stored is None else charges.lost(stored)

    async def orphans(
        self, world: str, tick: int, used: Collection[CallKey]
    ) -> CallsOrphaned | None:
        """Charge the finished attempts of an open tick that are not in the record; None if none.

        `used` are the calls in the record: ask when the tick is in it, or with no calls when the
        tick is given up and opened afresh.

        Raises:
            DamagedRecordError: what the journal holds of the tick is not what was written.
            StorageError: storage failed.

        """
        if self._is_plain(world, tick) and self._ticks[world, tick].ended == len(used):
            return None
        stored = await self._journal.calls(world, tick)
        return None if stored is None else charges.orphaned(stored, used)

    async def call(self, key: CallKey, request: ChatRequest | EmbedRequest) -> CallResult:
        """Make one call to its end, or give the end that it came to in an earlier run.

        Raises:
            InternalError: its tick is not open, nobody answers the request's role, or an earlier
                run of the tick made it with another request.
            StorageFullError: there was no room to journal it.
            StorageError: storage failed.

        """
        tick = self._open(key)
        digest = hash_hex(request)
        recalled = tick.recall(key, digest)
        if recalled.final is not None:
            self._replayed += 1
            tick.ended += 1
            return _finished(key, recalled.earlier, recalled.final)
        tick.begun[request.role, key.purpose] += 1
        sender = _JournaledSender(self._journal, self._host.sender, digest, recalled.next_attempt)
        tick.in_flight += 1
        try:
            result = await self._host.call(key, request, sender=sender)
        except BaseException:
            tick.broken = True
            raise
        finally:
            tick.in_flight -= 1
        tick.ended += 1
        if recalled is NOTHING:
            return result
        if recalled.earlier and recalled.earlier[-1].failed is not result.failed:
            tick.differs = True
        return msgspec.structs.replace(result, attempts=(*recalled.earlier, *result.attempts))

    async def begin_effect(self, key: CallKey, call: ToolCall, effect: Effect) -> ToolAnswer | None:
        """Make durable that a tool outside the world is about to be called; None is leave to do it.

        If an earlier run of the tick called it, its answer then is given. If that run was ended
        before there was one, what acts is answered as unknown, and what reads is read again.

        Raises:
            InternalError: its tick is not open, or an earlier run made another call in its place.
            StorageFullError: there was no room to journal it.
            StorageError: storage failed.

        """
        tick = self._open(key)
        digest = hash_hex(call)
        held = remembered(tick.effects[key], digest)
        if held.answer is not None:
            return held.answer
        if not held.same:
            tick.require_differs(key)
        await self._journal.intend(effect_of(key, held.next_attempt, effect, digest))
        tick.acting[key] = held.next_attempt
        crashpoint("effect.intended")
        return None

    async def end_effect(self, key: CallKey, answer: ToolAnswer) -> None:
        """Make durable what a tool outside the world has answered, before anybody goes by it.

        Raises:
            InternalError: its call was not begun.
            StorageFullError: there was no room to journal it.
            StorageError: storage failed.

        """
        crashpoint("effect.done")
        attempt = self._open(key).acting.pop(key, None)
        if attempt is None:
            raise InternalError(f"The call of a tool {key.ordinal} of job {key.job} was not begun.")
        await self._journal.settle(key, attempt, settled_as(answer))
        crashpoint("effect.settled")

    def _open(self, key: CallKey) -> _Tick:
        tick = self._ticks.get((key.world, key.tick))
        if tick is None:
            raise InternalError(f"World {key.world} makes a call of tick {key.tick}, not open.")
        return tick

    def _is_plain(self, world: str, tick: int) -> bool:
        """Say whether a tick ran once, here, and every call of it came to its end."""
        open_tick = self._ticks.get((world, tick))
        return open_tick is not None and not (
            open_tick.earlier or open_tick.broken or open_tick.in_flight
        )


class _JournaledSender:
    """Makes the attempts of one call, each between its intent and its outcome in the journal."""

    __slots__ = ("_digest", "_first", "_inner", "_journal")

    def __init__(self, journal: CallJournal, inner: Sender, digest: str, first: int) -> None:
        self._journal = journal
        self._inner = inner
        self._digest = digest
        self._first = first

    async def send(self, key: CallKey, attempt: int, offer: Offer, timeout_s: float) -> Settled:
        """Send the request once, within `timeout_s` seconds from when its intent is durable.

        Raises:
            StorageFullError: there was no room to journal it.
            StorageError: storage failed.

        """
        number = self._first + attempt
        await self._journal.intend(intent_of(key, number, offer, self._digest))
        crashpoint("call.intended")
        settled = await self._inner.send(key, number, offer, timeout_s)
        crashpoint("call.answered")
        # Nothing lets go between the outcome and this: who is cancelled here has it journaled.
        await self._journal.settle(key, number, settled)
        crashpoint("call.settled")
        return settled


def _finished_kinds(calls: Iterable[JournaledCall]) -> Counter[Kind]:
    return Counter(
        (call.intent.role, call.intent.key.purpose)
        for call in calls
        if call.settled is not None and is_final(call.settled)
    )


def _finished(key: CallKey, earlier: tuple[Attempt, ...], final: JournaledCall) -> CallResult:
    assert final.settled is not None, "a call that is final came to something"
    outcome = final.settled.outcome
    answer = None if isinstance(outcome, Failure) else outcome
    return CallResult(key=key, attempts=(*earlier, attempt_record(final)), answer=answer)
