"""Wires the real parts together: the one place where they are chosen.

Everything that can be refused is refused before the run's folder is touched: plug-ins are loaded,
models are made ready and the endpoint is asked whether it is there, and only then is anything
created.
"""

from __future__ import annotations

import asyncio
import os
import platform
import sys
import threading
from collections.abc import Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from perdure.agent import AGENT_VERSION
from perdure.base.canonical import encode
from perdure.base.clock import Clock, SystemClock
from perdure.base.crashpoints import crashpoint
from perdure.base.errors import HeldError, PluginError, StorageError
from perdure.base.ids import new_run_id
from perdure.closure.loaded import Watch
from perdure.inference.host import InferenceHost
from perdure.inference.journaled import JournaledHost
from perdure.records.fingerprint import Fingerprint
from perdure.records.registry import RunEntry
from perdure.records.result import RunResult
from perdure.runner.config import RunConfig
from perdure.runner.crew import Crew
from perdure.runner.endings import CONCERNS_THE_RUN
from perdure.runner.garbage import collecting_seldom
from perdure.runner.governor import paused_by
from perdure.runner.history import History, classes_of, look_again, look_back, plugins_of
from perdure.runner.live import live_now
from perdure.runner.loaded_log import LoadedLog
from perdure.runner.loop import event_loop
from perdure.runner.meter import Observer, latest
from perdure.runner.notice import Notice, unheard
from perdure.runner.only import chosen
from perdure.runner.plugins import PluginParts
from perdure.runner.respondents import host_for
from perdure.runner.session import Session, conduct
from perdure.runner.spendable import graph_library, require_spendable, tables_used
from perdure.runner.spending import hold_to_budget
from perdure.runner.stacks import AlsoAsked, forget_unasked, stacks_on_request
from perdure.runner.taking_up import take_up
from perdure.runner.wire import Setup
from perdure.runner.world_run import Guard
from perdure.study.identity import Cell, expand, input_hashes
from perdure.trace.files import make_folder
from perdure.trace.journal import Journal
from perdure.trace.lock import GovernorLock
from perdure.trace.partitions import FolderPartitions
from perdure.trace.registry import Registry
from perdure.trace.schema import FORMAT
from perdure.trace.sittings import may_hold_open
from perdure.trace.workers_lock import wait_for_workers


def run(
    config: RunConfig, *, observer: Observer | None = None, notice: Notice = unheard
) -> RunResult:
    """Run a study to its end, or to where it stops; give how each world stands.

    `observer` is shown the run's progress a few times a second, and `notice` is told in a sentence
    what should be known of how the run goes on. In the main thread, the first Ctrl-C finishes the
    open ticks and the second stops at once. Where an event loop is running already (in a notebook),
    the run has a thread of its own.

    Raises:
        InvalidStudyError: a model has no price, and the study does not accept unknown spend; or a
            gate of the draw fails, and the study does not accept that.
        UsageError: a model cannot be made ready, a call is dearer than is allowed, something is
            forced that cannot be, a cell is named that is not there, or the folder is on a network
            file system; says what mends it.
        PluginError: the study's own world or agent cannot be loaded.
        EndpointUnreachableError: the model endpoint is not there.
        KeyOrModelRefusedError: it refuses the key, or does not know the model.
        HeldError: the folder holds something else, or another process works on it.
        MovedError: what decides the run moved since it began, or is not what was compared.
        StorageError: the run's folder cannot be written.
        StopRequestedError: it was stopped at once, by a second Ctrl-C.

    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return _run_here(config, observer, notice)
    results: list[RunResult] = []
    failures: list[BaseException] = []

    def elsewhere() -> None:
        try:
            results.append(_run_here(config, observer, notice))
        except BaseException as error:  # noqa: BLE001 - raised again in the caller's thread
            failures.append(error)

    thread = threading.Thread(target=elsewhere, name="perdure-run")
    thread.start()
    thread.join()
    if failures:
        raise failures[0]
    return results[0]


def _run_here(config: RunConfig, observer: Observer | None, notice: Notice) -> RunResult:
    try:
        with collecting_seldom(), asyncio.Runner(loop_factory=event_loop) as runner:
            return runner.run(run_async(config, observer=observer, notice=notice))
    except SystemExit as error:
        raise PluginError(
            f"The study's own code ended the program (SystemExit {error.code}).",
            where=config.study_path,
            remedy="A world or agent raises an error of its own instead.",
        ) from error
    except (asyncio.CancelledError, RuntimeError) as error:
        if isinstance(error, RuntimeError) and not str(error).startswith("Event loop stopped"):
            raise
        raise PluginError(
            "The study's own code stopped the event loop of the run, or cancelled its tasks.",
            where=config.study_path,
            remedy="Closed ticks are kept. With --workers 1 it ends its own world, by name.",
        ) from error


async def run_async(
    config: RunConfig,
    *,
    observer: Observer | None = None,
    notice: Notice = unheard,
    clock: Clock | None = None,
) -> RunResult:
    """Do what `run` does, on the caller's event loop."""
    clock = clock or SystemClock()
    watch = Watch(config.study_file.parent, config.study.files, plugins_of(config.study))
    past = look_back(config, now_s=clock.wall_s())
    driven = chosen(config.only, expand(config.study, config.population))
    if past.result is not None:
        return past.result
    watch.begin(past.code, clock)
    config = require_spendable(config, past.priced, begun=past.begun)
    cells = expand(config.study, config.population)
    parts = parts_of(config)
    host = host_for(config.study.models, config.study.currency)
    await host.open()
    try:
        await host.check()
        # Everything is imported by now that a run always needs.
        watch.look()
        for sentence in past.notices():
            notice(sentence)
        sitting = _Sitting(
            config=config,
            clock=clock,
            observer=observer,
            notice=notice,
            guard=watch.look,
            driven=driven,
        )
        return await _govern(sitting, past, cells, parts, host)
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
        config.study_file.parent,
    )


@dataclass(frozen=True, kw_only=True)
class _Sitting:
    """What is run, who is shown and told what, the time, what guards each tick, which cells."""

    config: RunConfig
    clock: Clock
    observer: Observer | None
    notice: Notice
    guard: Guard
    driven: Sequence[Cell]


async def _govern(
    sitting: _Sitting,
    past: History,
    cells: Sequence[Cell],
    parts: PluginParts,
    host: InferenceHost,
) -> RunResult:
    config = sitting.config
    folder = config.folder
    make_folder(folder)
    async with AsyncExitStack() as open_now:
        open_now.callback((await GovernorLock.acquire(folder, sitting.clock)).release)
        await wait_for_workers(folder, sitting.clock)
        asked_for_stacks: AlsoAsked = []
        if config.tells_stacks:
            open_now.callback(forget_unasked, folder)
            asked_for_stacks = open_now.enter_context(stacks_on_request(folder, "run"))
        past = look_again(config, past, now_s=sitting.clock.wall_s())
        if past.result is not None:
            return past.result
        registry = await _registry(config, past, cells)
        open_now.push_async_callback(registry.close)
        loaded = LoadedLog(folder, "governor")
        open_now.callback(loaded.note, "end")
        # Beside all else: the run needs nothing of it.
        open_now.push_async_callback(asyncio.gather, asyncio.to_thread(loaded.note, "start"))
        try:
            if past.begun:
                journal, log = await take_up(
                    config, past, host, registry, open_now=open_now, notice=sitting.notice
                )
            else:
                journal = await Journal.create(folder, registry.epoch, run=registry.entry.run_id)
                open_now.push_async_callback(journal.close)
                log = past.log
        except (*CONCERNS_THE_RUN, HeldError) as error:
            # No tick was opened in this sitting: what may be open is what was before it.
            with suppress(StorageError):
                await registry.log(paused_by(error, holds_open=may_hold_open(past.log)))
            raise
        journaled = JournaledHost(host, journal)
        said = latest(folder) if past.begun else None
        spending = await hold_to_budget(
            config.study,
            cells,
            journaled,
            log,
            registry.outcomes.values(),
            personas=len(config.population.personas),
            clock=sitting.clock,
            worked_s=said.worked_s if said is not None else 0.0,
        )
        live_max, said_of_files = live_now(config.study, len(cells))
        if said_of_files:
            sitting.notice(said_of_files)
        crew = _crew(sitting, past, folder, registry.epoch)
        if crew is not None:
            asked_for_stacks.append(crew.ask_for_stacks)
        result = await conduct(
            Session(
                config=config,
                cells=sitting.driven,
                parts=parts,
                host=journaled,
                spending=spending,
                registry=registry,
                partitions=FolderPartitions(folder),
                clock=sitting.clock,
                observer=sitting.observer,
                folder=folder,
                log=log,
                guard=sitting.guard,
                notice=sitting.notice,
                live_max=live_max,
                crew=crew,
            )
        )
        await journal.finish()
        return result


def _crew(sitting: _Sitting, past: History, folder: Path, epoch: int) -> Crew | None:
    config = sitting.config
    if not config.workers:
        return None
    agent, *worlds = classes_of(config.study)
    setup = Setup(
        path=tuple(map(os.path.abspath, sys.path)),
        run_folder=str(folder),
        study_folder=str(config.study_file.parent),
        files=tuple(config.study.files),
        agent=agent,
        worlds=tuple(worlds),
        plugins=plugins_of(config.study),
        fingerprint=past.code,
        people=config.population.people,
        epoch=epoch,
        memory_bytes=config.worker_bytes,
        python_path=os.environ.get("PYTHONPATH"),
        tells_stacks=config.tells_stacks,
    )
    return Crew(
        config.workers,
        setup,
        limit_s=config.step_limit_s,
        clock=sitting.clock,
        notice=sitting.notice,
        guard=sitting.guard,
    )


async def _registry(config: RunConfig, past: History, cells: Sequence[Cell]) -> Registry:
    folder = Path(config.out)
    if past.begun:
        registry = await Registry.open(folder)
        # The log was read before the lock was taken; opening has put one row behind it.
        if registry.log_head.seq != len(past.log):
            await registry.close()
            raise HeldError(
                "Another process worked on this run just now.",
                where=config.out,
                remedy="Run it again.",
            )
        return registry
    registry = await Registry.create(
        folder,
        entry=entry_for(config, past.code),
        worlds=[cell.entry for cell in cells],
        personas=config.population.personas,
        held_out=config.held_out.values,
        graph=config.population.graph,
    )
    crashpoint("run.created")
    return registry


def entry_for(config: RunConfig, code: Fingerprint | None = None) -> RunEntry:
    """Describe a run for its registry. A path or a version here is for people, never compared."""
    study_path = config.study_file
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
            "agent": str(AGENT_VERSION),
            **tables_used(config.study),
            **graph_library(config.population),
        },
        fingerprint=code,
        population=config.population.manifest,
        weights=config.population.weights,
    )
