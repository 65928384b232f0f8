"""What a folder holds before a run begins there: nothing, the finished run, or something else."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import msgspec

from perdure.closure.compare import Differences
from perdure.closure.compare import compare as compare_code
from perdure.closure.fingerprint import fingerprint
from perdure.inference.prices import Priced, priced
from perdure.records.fingerprint import Fingerprint
from perdure.records.registry import LogPayload, Moved, RunState
from perdure.records.result import RunResult
from perdure.records.study import Study
from perdure.runner.config import RunConfig
from perdure.runner.governor import result_of
from perdure.runner.inputs import Asked, holds_out_the_same, what_moved
from perdure.runner.ledger import spent_in, spent_outside
from perdure.runner.moved import (
    compare,
    moved_budget,
    moved_code,
    require_forceable,
    require_leave,
    told,
)
from perdure.runner.place import require_empty, require_folder, require_free
from perdure.study.identity import input_hashes
from perdure.trace.files import exists
from perdure.trace.forced import (
    code_in_force,
    hashes_in_force,
    study_in_force,
    transport_in_force,
)
from perdure.trace.mounts import require_local
from perdure.trace.reader import RunReader
from perdure.trace.registry_file import REGISTRY_NAME


@dataclass(frozen=True)
class History:
    """What went before: whether there is a run, its run log, its result if it has ended.

    `priced` is the study with its prices, as the run began if there is one. `code` is the code of
    now. `forced` lists what moved and is forced, `needless` what is forced and did not move.
    `transport` lists what moved and only carries bytes, None if that is on record already.
    """

    code: Fingerprint
    priced: Priced
    begun: bool = False
    log: tuple[LogPayload, ...] = ()
    result: RunResult | None = None
    forced: tuple[Moved, ...] = ()
    needless: tuple[str, ...] = ()
    transport: tuple[Moved, ...] | None = None

    def notices(self) -> Iterator[str]:
        """Say what is worth knowing of how the run goes on, before it does."""
        if self.forced:
            yield (
                f"The run goes on past what moved: {'; '.join(map(told, self.forced))}. "
                "This is recorded, and marks its results for ever."
            )
        for name in self.needless:
            why = "did not move" if self.begun else "cannot have moved, for the run begins"
            yield f"--force {name} changes nothing: {name} {why}."
        if self.transport:
            yield (
                f"What only carries bytes moved: {'; '.join(map(told, self.transport))}. "
                "The run goes on, and this is recorded."
            )


def look_back(config: RunConfig, *, now_s: float, holding: bool = False) -> History:
    """Look at what the folder holds, and whether it may be continued as it is asked now.

    `now_s` is the wall clock, in seconds since 1970. With `holding`, the run's lock is the caller's
    own.

    Raises:
        UsageError: something is forced that cannot be, or the folder is on a network file system.
        HeldError: another process works on the run, or the folder holds something else.
        MovedError: what decides the run moved; names all of it.
        DamagedRecordError: the run's registry cannot be read.
        StorageError: the folder cannot be looked into.

    """
    require_forceable(config.force)
    folder = Path(config.out)
    if not config.network_fs:
        require_local(folder)
    require_folder(folder)
    if not holding:
        require_free(folder)
    if not exists(folder / REGISTRY_NAME):
        require_empty(folder)
        return History(
            code=code_of(config),
            priced=priced(config.study, now_s=now_s),
            needless=tuple(dict.fromkeys(config.force)),
        )
    with RunReader.open(folder) as reader:
        return _compared(config, reader, now_s)


def _compared(config: RunConfig, reader: RunReader, now_s: float) -> History:
    code, log = code_of(config), reader.log
    then = code_in_force(reader.entry, log)
    found = compare_code(then, code) if then is not None else Differences()
    begun = msgspec.json.decode(study_in_force(reader.entry, log), type=Study)
    asked = priced(config.study, now_s=now_s, begun=begun)
    config = dataclasses.replace(config, study=asked.study)
    moved = (
        *_moved_inputs(config, reader, log),
        *moved_budget(begun.budget, config.study.budget, reader.entry.currency),
        *moved_code(found.refusing),
    )
    diffs = [one.diff for one in found.refusing if one.diff and one.part not in config.force]
    require_leave(moved, config.force, config.out, diffs)
    names = {one.name for one in moved}
    known = reader.outcomes
    outcomes = tuple(known[world.world_id] for world in reader.worlds)
    spent = sum(map(spent_in, outcomes), spent_outside(log))
    result = result_of(reader.entry, reader.worlds, config.out, outcomes, spent=spent)
    transport = moved_code(found.warning)
    return History(
        code=code,
        priced=asked,
        begun=True,
        log=log,
        result=result if result.state is RunState.COMPLETED else None,
        forced=moved,
        needless=tuple(name for name in dict.fromkeys(config.force) if name not in names),
        transport=None if transport == transport_in_force(log) else transport,
    )


def look_again(config: RunConfig, past: History, *, now_s: float) -> History:
    """Look once more, as the one who holds the run: `past` was seen before it was held.

    Between the two another process may have begun the run, gone on with it, or been killed at it.

    Raises:
        HeldError: the folder holds something else.
        MovedError: what decides the run moved; names all of it.
        DamagedRecordError: the run's registry cannot be read.
        StorageError: the folder cannot be looked into.

    """
    folder = Path(config.out)
    if exists(folder / REGISTRY_NAME) == past.begun:
        if not past.begun:
            return past
        with RunReader.open(folder) as reader:
            if reader.log == past.log:
                return past
    return look_back(config, now_s=now_s, holding=True)


def _moved_inputs(
    config: RunConfig, reader: RunReader, log: Sequence[LogPayload]
) -> tuple[Moved, ...]:
    @cache
    def then() -> Asked:
        return Asked.of(
            study_in_force(reader.entry, log), reader.personas, reader.held_out, reader.graph
        )

    people = config.population
    asked = Asked(config.study, people.personas, config.held_out.values, people.graph)
    was = hashes_in_force(reader.entry, log)
    now = {"graph": "", "anchors": "", **input_hashes(config.study, people, config.held_out)}
    if was.get("population") != now["population"] and holds_out_the_same(then(), asked):
        # Of other people other values are held out: that is no second thing that moved.
        now["held_out"] = was.get("held_out", "")
    return compare(was, now, lambda name: what_moved(then(), asked, name))


def code_of(config: RunConfig) -> Fingerprint:
    """Take the fingerprint of the code that would decide a run now, the study's own included.

    Raises:
        PluginError: a class that the study names cannot be found.
        UsageError: a declared data file is gone.
        SourceError: a module or a declared data file cannot be read.

    """
    return code_at(config.study_file.parent, code_of_study(config.study), config.study.files)


def code_at(folder: Path, classes: Iterable[str], files: Sequence[str] = ()) -> Fingerprint:
    """Take the fingerprint of the code that would decide a run with these worlds and agents now.

    `folder` is that of the study, where its own, and its data `files`, are looked for first.

    Raises:
        PluginError: a class that the study names cannot be found.
        UsageError: a declared data file is gone.
        SourceError: a module or a declared data file cannot be read.

    """
    return fingerprint(folder, _own(classes), files)


def plugins_of(study: Study) -> tuple[str, ...]:
    """Name what is not ours of a study's classes and tools, each once, as `module:name`."""
    return _own(code_of_study(study))


def code_of_study(study: Study) -> tuple[str, ...]:
    """Name the code that a study is driven with: its agent's, its worlds', its tools'."""
    worlds = (scenario.world for scenario in study.scenarios)
    return (*study.agent.code, *worlds)


def _own(classes: Iterable[str]) -> tuple[str, ...]:
    return tuple(name for name in dict.fromkeys(classes) if not name.startswith("perdure."))
