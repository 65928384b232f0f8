"""The worker processes of a run: employed, answered, watched, and followed by others if they die.

What a worker asks is passed on to the governor and the inference host of this process. `roster`
decides which world is in which process and what a death means.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Protocol

from perdure.base.clock import Clock
from perdure.base.errors import EXIT_SOME_FAILED, InternalError, PerdureError, StorageError
from perdure.base.running_time import RunningTime
from perdure.records.events import Head
from perdure.records.registry import LogPayload, WorldOutcome, WorldState
from perdure.records.scenario import Header
from perdure.runner.desk import CALL, LEAVES, Desk
from perdure.runner.endings import outcome_of
from perdure.runner.notice import Notice
from perdure.runner.port import GovernorPort, ModelHost, TickOpened, TickPaused, TickReport
from perdure.runner.roster import Roster, overdue
from perdure.runner.tally import Tally, settled, tally
from perdure.runner.told import error_of
from perdure.runner.wire import Alive, Answer, Ask, Ready, Setup, TakeWorld, Unable, Withdraw, frame
from perdure.runner.worker_process import WorkerProcess, manner
from perdure.runner.world_run import Guard, unguarded
from perdure.trace.forced import forced_until
from perdure.trace.port import Partitions, RunRegistry

_LOOKS_PER_LIMIT = 20
_LOOK_EVERY_S_MAX = 5.0
# How long a process may take to be ready, on whatever machine.
_START_S_MAX = 120.0


_SendOn = Callable[[str], None]


class Governs(GovernorPort, Protocol):
    """The governor, which also knows how each world stands."""

    @property
    def outcomes(self) -> tuple[WorldOutcome, ...]:
        """Where each world stands."""
        ...

    @property
    def is_stopping(self) -> bool:
        """Whether no world opens a tick any more, nor has anything to record of that."""
        ...


class Crew:
    """The workers of one sitting. All of it happens on one event loop.

    There are `size` of them. After one has died there may be as many more at work, and others when
    there is a place: the worlds that are furthest back come first. A world that gives no word for
    `limit_s` seconds, while it waits for nothing, hangs. `guard` is called before leave is
    given to open a tick, and raises what forbids it; each worker has its own before a tick is
    written.
    """

    def __init__(
        self,
        size: int,
        setup: Setup,
        *,
        limit_s: float,
        clock: Clock,
        notice: Notice,
        guard: Guard = unguarded,
    ) -> None:
        self._size = size
        self._roster = Roster(size)
        # Worlds that go on in a process of their own when there is a place for it, by its number.
        self._queue: dict[int, list[str]] = {}
        self._setup = frame(setup)
        self._limit_s = limit_s
        self._look_every_s = min(limit_s / _LOOKS_PER_LIMIT, _LOOK_EVERY_S_MAX)
        self._clock = clock
        self._time = RunningTime(clock.now_s(), gap_max_s=2 * self._look_every_s)
        self._notice = notice
        self._guard = guard
        self._workers: dict[int, WorkerProcess] = {}
        # What is being done for each world, whichever process asked. Leave to be live or to open a
        # tick is kept apart: it may be long in coming, and nothing has to wait for it.
        self._doing: dict[str, set[asyncio.Task[None]]] = defaultdict(set)
        self._leaves: set[asyncio.Task[None]] = set()

    def ask_for_stacks(self) -> None:
        """Have each worker write where it is."""
        for worker in tuple(self._workers.values()):
            worker.ask_for_stacks()

    async def work(
        self,
        headers: Sequence[Header],
        *,
        governor: Governs,
        host: ModelHost,
        registry: RunRegistry,
        partitions: Partitions,
        log: Sequence[LogPayload],
    ) -> None:
        """Have worlds driven until each has ended. `log` says which ticks are from before a force.

        `partitions` are read when a worker is gone, never written.

        Raises:
            StorageError: what happened could not be recorded.

        """
        self._headers = {header.world_id: header for header in headers}
        self._governor = governor
        self._host = host
        self._registry = registry
        self._partitions = partitions
        self._forced_until = forced_until(log)
        self._desk = Desk(_Relay(governor, self._roster, self._send_on, self._guard), host)
        watching = asyncio.get_running_loop().create_task(self._watch())
        try:
            async with asyncio.TaskGroup() as group:
                self._group = group
                for number, worlds in self._roster.deal(list(self._headers)).items():
                    self._employ(number, worlds)
        finally:
            watching.cancel()

    def _employ_next(self) -> None:
        """Start the processes that follow others, as long as no more of them work than may."""
        while self._queue:
            if self._governor.is_stopping:
                rest = [world for worlds in self._queue.values() for world in worlds]
                self._queue.clear()
                self._group.create_task(self._all_end(rest, _stays_as_it_is))
                return
            busy = sum(
                worker.is_busy(self._roster.worlds(one)) for one, worker in self._workers.items()
            )
            if busy >= 2 * self._size:
                return
            ticks = {one.world_id: one.tick for one in self._governor.outcomes}
            number = min(self._queue, key=lambda one: min(ticks[name] for name in self._queue[one]))
            self._employ(number, self._queue.pop(number))

    def _employ(self, number: int, worlds: Sequence[str]) -> None:
        worker = WorkerProcess(number, worlds, self._time.passed_s)
        self._workers[number] = worker
        self._group.create_task(self._accompany(worker))

    async def _accompany(self, worker: WorkerProcess) -> None:
        """Be with a worker from its start to its end, and see to the worlds that it leaves."""
        status = 0
        try:
            await worker.start(self._setup)
        except StorageError as error:
            worker.error = error
        else:
            try:
                await self._listen(worker)
            except BaseException:
                worker.kill()
                raise
            finally:
                status = await worker.gone()
        del self._workers[worker.number]
        await self._bury(worker, status)
        self._employ_next()
        if not self._workers:
            for task in self._leaves:
                task.cancel()

    async def _listen(self, worker: WorkerProcess) -> None:
        """Hear all that a worker says, until its line breaks."""
        try:
            while (message := await worker.line.receive()) is not None:
                self._heard(worker, message)
        except InternalError:
            # Whatever spoils its line (a study's code that writes where it should not) spoils it.
            worker.kill()

    def _heard(
        self, worker: WorkerProcess, message: Ready | Unable | Ask | Withdraw | Alive
    ) -> None:
        match message:
            case Ready():
                worker.came(self._time.passed_s)
                self._roster.came(worker.number)
                self._hand_over_all(worker)
            case Unable():
                worker.error = error_of(message.error)
                worker.kill()
            case Ask():
                self._asked(worker, message)
            case Withdraw():
                if message.id in worker.calls:
                    worker.calls[message.id].cancel()
            case Alive():
                worker.heard_s[message.world] = self._time.passed_s

    def _hand_over_all(self, worker: WorkerProcess) -> None:
        for world in worker.to_take:
            worker.open[world] += 1
            self._group.create_task(self._hand_over(worker, world))
        worker.to_take.clear()

    async def _hand_over(self, worker: WorkerProcess, world: str) -> None:
        """Give a worker a world, when all is done that another process asked for it.

        The calls that were in flight when that died have then ended, and are in the journal.
        """
        while self._doing[world]:
            await asyncio.wait(self._doing[world])
        taken = TakeWorld(
            header=self._headers[world],
            witness=self._registry.witnesses[world],
            forced_until=self._forced_until.get(world, -1),
        )
        worker.line.send(frame(taken))
        self._settled(worker, world)

    def _asked(self, worker: WorkerProcess, ask: Ask) -> None:
        worker.open[ask.world] += 1
        task = self._group.create_task(self._answer(worker, ask))
        if ask.method == CALL:
            worker.calls[ask.id] = task
        kept = self._doing[ask.world]
        if ask.method in LEAVES:
            kept = self._leaves
            worker.leaves.add(ask.world)
            self._employ_next()
        kept.add(task)
        task.add_done_callback(kept.discard)

    async def _answer(self, worker: WorkerProcess, ask: Ask) -> None:
        answer = Answer(id=ask.id)
        try:
            answer = await self._desk.answer(ask)
        finally:
            worker.calls.pop(ask.id, None)
            if ask.method in LEAVES:
                worker.leaves.discard(ask.world)
            worker.line.send(frame(answer))
            self._settled(worker, ask.world)
            self._employ_next()
        if worker.is_ready and not worker.to_take and not self._roster.worlds(worker.number):
            worker.dismiss()

    def _settled(self, worker: WorkerProcess, world: str) -> None:
        worker.open[world] -= 1
        worker.heard_s[world] = self._time.passed_s

    def _send_on(self, world: str) -> None:
        """Let a world that has ended where it was go on elsewhere."""
        number, is_new = self._roster.move(world)
        if is_new or number in self._queue:
            self._queue.setdefault(number, []).append(world)
            self._employ_next()
            return
        worker = self._workers[number]
        worker.to_take.append(world)
        worker.heard_s[world] = self._time.passed_s
        if worker.is_ready:
            self._hand_over_all(worker)

    async def _watch(self) -> None:
        """Kill the workers that hang."""
        while True:
            await self._clock.sleep(self._look_every_s)
            now_s = self._time.look(self._clock.now_s())
            for worker in self._workers.values():
                quiet_s = worker.quiet_s(self._roster.worlds(worker.number), now_s)
                limit_s = self._limit_s if worker.is_ready else max(self._limit_s, _START_S_MAX)
                culprit, hangs = overdue(quiet_s, limit_s)
                if hangs and not worker.is_hung:
                    worker.is_hung, worker.culprit = True, culprit
                    worker.kill()

    async def _bury(self, worker: WorkerProcess, status: int) -> None:
        """See to the worlds of a worker that is gone: they go on, or have ended with it."""
        worlds = self._roster.worlds(worker.number)
        if not worlds:
            return
        if worker.error is not None:
            await self._all_end(worlds, partial(outcome_of, error=worker.error))
            return
        fall = self._roster.died(worker.number, worker.culprit)
        how = manner(status)
        if worker.is_hung:
            how = f"was killed because it gave no word for {self._limit_s:g} s"
        if fall.again:
            count = sum(len(some) for _, some in fall.again)
            them = "its world goes on" if count == 1 else f"its {count} worlds go on"
            self._notice(
                f"A worker process {how}. All that was recorded is kept; {them}, one in a process "
                "until it has closed a tick."
            )
        self._queue.update((number, list(some)) for number, some in fall.again)
        for world in fall.failed:
            await self._end(world, partial(self._failed, world, how, worker))

    async def _all_end(
        self, worlds: Iterable[str], outcome: Callable[[str, int], WorldOutcome]
    ) -> None:
        for world in worlds:
            self._roster.ended(world)
        for world in sorted(worlds):
            await self._end(world, partial(outcome, world))

    async def _end(self, world: str, outcome: Callable[[int], WorldOutcome]) -> None:
        """Tell the governor how a world ended whose worker is gone, and where its record ends.

        The worker may have closed a tick that it could not tell of any more.
        """
        while self._doing[world]:
            await asyncio.wait(self._doing[world])
        try:
            witness = self._registry.witnesses[world]
            found = await asyncio.to_thread(self._beyond, world, witness)
            if found is not None:
                report = await settled(self._host, found.report(), found.last_calls)
                await self._governor.world_recalled(report)
                await self._host.close_tick(world, report.tick)
        except PerdureError as error:
            await self._governor.world_ended(outcome_of(world, self._tick(world), error))
            return
        await self._governor.world_ended(outcome(self._tick(world)))

    def _beyond(self, world: str, witness: Head | None) -> Tally | None:
        """Add up a world's record, if it ends beyond what was last noted."""
        reading = self._partitions.read()
        try:
            head = reading.head(world)
            if head is None or head.tick < 0 or (witness is not None and head.seq <= witness.seq):
                return None
            return tally(reading, world, head)
        finally:
            reading.close()

    def _failed(self, world: str, how: str, worker: WorkerProcess, tick: int) -> WorldOutcome:
        cause = (
            f"Its worker process {how}, for the third time in which it was alone there "
            f"and closed no tick (tick {tick + 1})."
        )
        if not worker.is_ready:
            cause = f"No worker comes to drive it: three processes in a row {how} before that."
        if worker.culprit is not None:
            cause = (
                f"It gave no word for {self._limit_s:g} s at tick {tick + 1}, and was ended: its "
                "step, or a turn of its agent, hangs. If it only takes long, give it more time "
                "with --step-limit."
            )
        return WorldOutcome(
            world_id=world,
            state=WorldState.FAILED,
            tick=tick,
            cause=cause,
            exit_status=EXIT_SOME_FAILED,
        )

    def _tick(self, world: str) -> int:
        return next(one.tick for one in self._governor.outcomes if one.world_id == world)


def _stays_as_it_is(world: str, tick: int) -> WorldOutcome:
    """Leave a world where its record ends: the run stops."""
    return WorldOutcome(world_id=world, state=WorldState.PARTIAL, tick=tick)


class _Relay:
    """The governor as workers reach it: what the roster must know is noted on the way."""

    def __init__(
        self, governor: GovernorPort, roster: Roster, send_on: _SendOn, guard: Guard
    ) -> None:
        self._governor = governor
        self._roster = roster
        self._send_on = send_on
        self._guard = guard
        self.ceiling_reached = governor.ceiling_reached
        self.pause_recorded = governor.pause_recorded
        self._ticks: dict[str, int] = {}

    async def admit(self, world_id: str) -> bool:
        """Wait until the world may be live. One that is not let in has nothing to do here."""
        is_let_in = await self._governor.admit(world_id)
        if is_let_in:
            self._roster.began(world_id)
        else:
            self._roster.ended(world_id)
        return is_let_in

    async def open_tick(self, world_id: str, tick: int) -> TickOpened | TickPaused | None:
        """Wait for leave to open a tick. A world that is to move gets none where it is."""
        if self._roster.is_moving(world_id):
            return None
        await asyncio.to_thread(self._guard)
        return await self._governor.open_tick(world_id, tick)

    async def world_recalled(self, report: TickReport) -> None:
        """Tell where a world's record ended when it was opened again."""
        await self._governor.world_recalled(report)
        self._closed(report)

    async def tick_closed(self, report: TickReport) -> None:
        """Tell of a tick that is durable in its partition."""
        await self._governor.tick_closed(report)
        self._closed(report)

    def _closed(self, report: TickReport) -> None:
        """Note a tick that is new, even if its process died before it could tell of it."""
        if report.tick > self._ticks.get(report.world_id, -1):
            self._ticks[report.world_id] = report.tick
            self._roster.closed(report.world_id)

    async def world_ended(self, outcome: WorldOutcome) -> None:
        """Tell that a world will not go on where it is."""
        world, stopped = outcome.world_id, outcome.state is WorldState.PARTIAL
        if self._roster.is_moving(world) and stopped and not outcome.exit_status:
            self._send_on(world)
            return
        self._roster.ended(world)
        await self._governor.world_ended(outcome)
