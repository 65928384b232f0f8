"""Wires the real parts together: the one place where they are chosen.

Everything that can be refused is refused before the run's folder is touched: plug-ins are loaded,
models are made ready and the endpoint is asked whether it is there, and only then is anything
created.
"""

from __future__ import annotations

import asyncio
import os
import platform
import threading
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path

from perdure.base.canonical import encode
from perdure.base.clock import Clock, SystemClock
from perdure.base.crashpoints import crashpoint
from perdure.base.errors import PluginError
from perdure.base.ids import new_run_id
from perdure.inference.host import InferenceHost
from perdure.inference.journaled import JournaledHost
from perdure.records.fingerprint import Fingerprint
from perdure.records.registry import LogPayload, RunEntry, RunForced, TransportMoved
from perdure.records.result import RunResult
from perdure.runner.config import RunConfig
from perdure.runner.garbage import collecting_seldom
from perdure.runner.history import History, look_back
from perdure.runner.meter import Observer
from perdure.runner.plugins import PluginParts
from perdure.runner.reconcile import reconcile
from perdure.runner.respondents import host_for
from perdure.runner.session import Session, conduct
from perdure.study.identity import Cell, expand, input_hashes
from perdure.trace.files import make_folder
from perdure.trace.journal import Journal
from perdure.trace.lock import GovernorLock
from perdure.trace.partitions import FolderPartitions
from perdure.trace.registry import Registry
from perdure.trace.schema import FORMAT


def run(config: RunConfig, *, observer: Observer | None = None) -> RunResult:
    """Run a study to its end, or to where it stops; give how each world stands.

    `observer` is shown the run's progress a few times a second. In the main thread, the first
    Ctrl-C finishes the open ticks and the second stops at once. Where an event loop is running
    already (in a notebook), the run has a thread of its own.

    Raises:
        UsageError: a model cannot be made ready; says what mends it.
        PluginError: the study's own world or agent cannot be loaded.
        EndpointUnreachableError: the model endpoint is not there.
        KeyOrModelRefusedError: it refuses the key, or does not know the model.
        HeldError: the folder holds something else, or another process works on it.
        MovedError: what decides the run moved since it began.
        StorageError: the run's folder cannot be written.
        StopRequestedError: it was stopped at once, by a second Ctrl-C.

    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return _run_here(config, observer)
    results: list[RunResult] = []
    failures: list[BaseException] = []

    def elsewhere() -> None:
        try:
            results.append(_run_here(config, observer))
        except BaseException as error:  # noqa: BLE001 - raised again in the caller's thread
            failures.append(error)

    thread = threading.Thread(target=elsewhere, name="perdure-run")
    thread.start()
    thread.join()
    if failures:
        raise failures[0]
    return results[0]


def _run_here(config: RunConfig, observer: Observer | None) -> RunResult:
    try:
        with collecting_seldom(), asyncio.Runner(loop_factory=_event_loop) as runner:
            return runner.run(run_async(config, observer=observer))
    except SystemExit as error:
        raise PluginError(
            f"The study's own code ended the program (SystemExit {error.code}).",
            where=config.study_path,
            remedy="A world or agent raises an error of its own instead.",
        ) from error


def _event_loop() -> asyncio.AbstractEventLoop:
    """Make the fastest event loop that there is: uvloop does not exist for every system."""
    try:
        import uvloop  # noqa: PLC0415 - heavy, and not always there
    except ImportError:
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()


async def run_async(
    config: RunConfig, *, observer: Observer | None = None, clock: Clock | None = None
) -> RunResult:
    """Do what `run` does, on the caller's event loop."""
    clock = clock or SystemClock()
    past = look_back(config)
    if past.result is not None:
        return past.result
    cells = expand(config.study, config.population)
    parts = parts_of(config)
    host = host_for(config.study.models)
    await host.open()
    try:
        await host.check()
        return await _govern(config, past, cells, parts, host, clock=clock, observer=observer)
    finally:
        await host.close()


def parts_of(config: RunConfig) -> PluginParts:
    """Load the classes that a run's study names.

    Raises:
        PluginError: one of them cannot be loaded.

    """
    return PluginParts(
        config.study.agent.agent,
        [scenario.world for scenario in config.study.scenarios],
        Path(config.study_path).resolve().parent,
    )


async def _govern(
    config: RunConfig,
    past: History,
    cells: Sequence[Cell],
    parts: PluginParts,
    host: InferenceHost,
    *,
    clock: Clock,
    observer: Observer | None,
) -> RunResult:
    folder = Path(config.out)
    make_folder(folder)
    lock = await GovernorLock.acquire(folder, clock)
    try:
        registry = await _registry(config, past, cells)
        journal = None
        try:
            partitions = FolderPartitions(folder)
            journal = await _journal(folder, registry.epoch)
            journaled = JournaledHost(host, journal)
            log = past.log
            if past.begun:
                log = await _take_up(past, journaled, registry, partitions)
            result = await conduct(
                Session(
                    config=config,
                    cells=cells,
                    parts=parts,
                    host=journaled,
                    registry=registry,
                    partitions=partitions,
                    clock=clock,
                    observer=observer,
                    folder=folder,
                    log=log,
                )
            )
            await journal.finish()
            return result
        finally:
            if journal is not None:
                await journal.close()
            await registry.close()
    finally:
        lock.release()


async def _journal(folder: Path, epoch: int) -> Journal:
    if await Journal.has(folder):
        return await Journal.open(folder, epoch)
    return await Journal.create(folder, epoch)


async def _take_up(
    past: History, host: JournaledHost, registry: Registry, partitions: FolderPartitions
) -> tuple[LogPayload, ...]:
    """Settle what an earlier sitting left, before anything else; give the run log after it."""
    reading = partitions.read()
    try:
        await reconcile(
            host=host,
            registry=registry,
            reading=reading,
            log=past.log,
            afresh=bool(past.forced),
        )
        if past.forced:
            await registry.log(RunForced(moved=past.forced, fingerprint=past.code))
        if past.carried:
            await registry.log(TransportMoved(moved=past.carried))
        return await asyncio.to_thread(lambda: reading.log)
    finally:
        reading.close()


async def _registry(config: RunConfig, past: History, cells: Sequence[Cell]) -> Registry:
    folder = Path(config.out)
    if past.begun:
        return await Registry.open(folder)
    registry = await Registry.create(
        folder,
        entry=entry_for(config, past.code),
        worlds=[cell.entry for cell in cells],
        personas=config.population.personas,
        held_out=config.held_out.values,
    )
    crashpoint("run.created")
    return registry


def entry_for(config: RunConfig, code: Fingerprint | None = None) -> RunEntry:
    """Describe a run for its registry. A path or a version here is for people, never compared."""
    study_path = Path(config.study_path).resolve()
    return RunEntry(
        format=FORMAT,
        run_id=new_run_id(),
        study=encode(config.study).decode(),
        study_path=str(study_path),
        study_path_relative=os.path.relpath(study_path, Path(config.out).resolve()),
        hashes=input_hashes(config.study, config.population, config.held_out),
        currency=config.study.currency,
        flags=config.flags,
        versions={
            "perdure": metadata.version("perdure"),
            "python": platform.python_version(),
        },
        fingerprint=code,
    )
