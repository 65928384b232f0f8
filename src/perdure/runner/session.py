"""One sitting of a run: govern, work, watch, and close, over whatever parts are given.

The parts are ports: real ones and in-memory ones run through the same code.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from perdure.base.clock import Clock
from perdure.base.errors import EXIT_STOPPED, StopRequestedError
from perdure.records.registry import LogPayload
from perdure.records.result import Progress, RunResult
from perdure.records.scenario import Header
from perdure.runner.config import RunConfig
from perdure.runner.crew import Crew
from perdure.runner.failure_log import failure_log
from perdure.runner.governor import Governor
from perdure.runner.live import live_asked
from perdure.runner.meter import OBSERVE_EVERY_S, Meter, Observer, progress
from perdure.runner.notice import Notice, unheard
from perdure.runner.port import RunHost
from perdure.runner.readings import Readings
from perdure.runner.signals import stopping
from perdure.runner.spending import Spending
from perdure.runner.starting import Parts, Workshop
from perdure.runner.worker import drive
from perdure.runner.world_run import Guard, WorldRun, unguarded
from perdure.study.identity import Cell
from perdure.trace.forced import forced_until
from perdure.trace.port import Partitions, RunRegistry
from perdure.trace.stop_request import forget_request, is_asked_to_stop

STOPPED = "The run was asked to stop. It finished its open ticks, and can be continued."


@dataclass(frozen=True, kw_only=True)
class Session:
    """What a sitting works with: it drives `cells`, and leaves other worlds of the run as they are.

    Progress is shown to `observer`, and kept in `folder`.
    `log` is the run log up to where this sitting's own work begins. `guard` is called before each
    tick is written, and raises what forbids it. `notice` is told what a person should know.
    `live_max` is how many worlds may be live at once, if that is less than the study asks for. With
    a `crew`, the worlds are driven in processes of their own.
    """

    config: RunConfig
    cells: Sequence[Cell]
    parts: Parts
    host: RunHost
    registry: RunRegistry
    partitions: Partitions
    clock: Clock
    spending: Spending
    observer: Observer | None = None
    folder: Path | None = None
    log: tuple[LogPayload, ...] = ()
    guard: Guard = unguarded
    notice: Notice = unheard
    live_max: int = 0
    crew: Crew | None = None


async def conduct(session: Session) -> RunResult:
    """Run every cell to its end, or to where the run stops.

    Raises:
        StopRequestedError: a second stop signal cut it off.
        StorageError: what happened could not be recorded.

    """
    study = session.config.study
    governor = Governor(
        session.registry,
        skew=study.skew,
        order=study.order,
        live_max=session.live_max or live_asked(study),
        spending=session.spending,
        log=session.log,
        notice=session.notice,
        driven=[cell.entry.world_id for cell in session.cells],
    )
    meter = _meter(session, governor)
    loop = asyncio.get_running_loop()
    headers = [cell.header for cell in session.cells if governor.is_open(cell.entry.world_id)]
    crew = session.crew
    working = loop.create_task(
        _drive_here(session, headers, governor)
        if crew is None
        else crew.work(
            headers,
            governor=governor,
            host=session.host,
            registry=session.registry,
            partitions=session.partitions,
            log=session.log,
        )
    )
    asked: list[asyncio.Task[None]] = []

    def finish() -> None:
        asked.append(loop.create_task(governor.request_stop(STOPPED, EXIT_STOPPED)))

    beside = [loop.create_task(meter.watch())]
    if session.folder is not None:
        beside.append(loop.create_task(_obey(session.folder, session.clock, finish)))

    def cut() -> None:
        working.cancel()

    try:
        with stopping(finish, cut):
            await working
    except asyncio.CancelledError:
        if not asked:
            raise
        raise StopRequestedError(
            "The run was stopped at once.",
            where=session.config.out,
            remedy="Closed ticks are kept; calls in flight are lost.",
        ) from None
    finally:
        for task in beside:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
    result = await governor.close(session.config.out, holds_open=session.host.holds_open)
    meter.show(last=True)
    return result


async def _obey(folder: Path, clock: Clock, finish: Callable[[], None]) -> None:
    """Follow a request to stop that somebody leaves in the run's folder."""
    forget_request(folder)
    while not is_asked_to_stop(folder):
        await clock.sleep(OBSERVE_EVERY_S)
    forget_request(folder)
    finish()


def _workshop(session: Session) -> Workshop:
    return Workshop(
        parts=session.parts,
        people=session.config.population.people,
        host=session.host,
        partitions=session.partitions,
        readings=Readings(session.partitions),
        epoch=session.registry.epoch,
        guard=session.guard,
    )


async def _drive_here(session: Session, headers: Sequence[Header], governor: Governor) -> None:
    """Drive worlds in this process."""
    shop = _workshop(session)
    forced = forced_until(session.log)

    async def start(header: Header) -> WorldRun:
        world_id = header.world_id
        return await shop.start(
            header, session.registry.witnesses[world_id], forced.get(world_id, -1)
        )

    try:
        await drive(
            headers,
            start=start,
            recall=shop.recall,
            governor=governor,
            note_failure=failure_log(session.folder),
        )
    finally:
        shop.readings.close()


def _meter(session: Session, governor: Governor) -> Meter:
    def read(elapsed_s: float) -> Progress:
        stats = session.host.stats()
        return progress(
            session.registry.worlds,
            governor.outcomes,
            spent=session.spending.spent,
            calls=stats.calls,
            in_flight=stats.in_flight,
            retries=stats.retries,
            currency=session.config.study.currency,
            elapsed_s=elapsed_s,
            worked_s=session.spending.worked_s,
        )

    return Meter(read, folder=session.folder, clock=session.clock, observer=session.observer)
