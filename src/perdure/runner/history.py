"""What a folder holds before a run begins there: nothing, the finished run, or something else."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from perdure.base.errors import HeldError
from perdure.base.text import one_line
from perdure.closure import Differences, fingerprint
from perdure.closure import compare as compare_code
from perdure.records.fingerprint import Fingerprint
from perdure.records.registry import LogPayload, Moved, RunState
from perdure.records.result import RunResult
from perdure.runner.config import RunConfig
from perdure.runner.governor import result_of
from perdure.runner.ledger import spend_outside
from perdure.runner.meter import STATUS_NAME
from perdure.runner.moved import asked_then, code_then, compare, moved_code, require_leave
from perdure.study.identity import input_hashes
from perdure.trace.files import exists
from perdure.trace.lock import LOCK_NAME, held_error, is_held
from perdure.trace.mounts import require_local
from perdure.trace.reader import RunReader
from perdure.trace.registry_file import REGISTRY_NAME, WORLDS_NAME
from perdure.trace.reserve import RESERVE_NAME
from perdure.trace.stop_request import STOP_NAME

# What a run leaves that was killed before its registry was born.
_REMAINS = {LOCK_NAME, RESERVE_NAME, STOP_NAME, STATUS_NAME}


@dataclass(frozen=True)
class History:
    """What went before: whether there is a run, its run log, its result if it has ended.

    `code` is the code of now. `forced` lists what moved and is forced, `carried` what moved and
    only carries bytes.
    """

    code: Fingerprint
    begun: bool = False
    log: tuple[LogPayload, ...] = ()
    result: RunResult | None = None
    forced: tuple[Moved, ...] = ()
    carried: tuple[Moved, ...] = ()


def look_back(config: RunConfig) -> History:
    """Look at what the folder holds, and whether it may be continued as it is asked now.

    Raises:
        UsageError: the folder is on a network file system.
        HeldError: another process works on the run, or the folder holds something else.
        MovedError: what decides the run moved; names all of it.
        DamagedRecordError: the run's registry cannot be read.
        StorageError: the folder cannot be looked into.

    """
    folder = Path(config.out)
    if not config.network_fs:
        require_local(folder)
    _require_folder(folder)
    if not exists(folder / REGISTRY_NAME):
        _require_empty(folder)
        return History(code=code_of(config))
    if is_held(folder):
        raise held_error(folder)
    with RunReader.open(folder) as reader:
        code, log = code_of(config), reader.log
        then = code_then(reader.entry, log)
        found = compare_code(then, code) if then is not None else Differences()
        was = asked_then(reader.entry, log)
        now = input_hashes(config.study, config.population, config.held_out)
        moved = compare(was, now) + moved_code(found.refusing)
        diffs = [one.diff for one in found.refusing if one.diff]
        require_leave(moved, config.force, config.out, diffs)
        outcomes = tuple(reader.outcomes[world.world_id] for world in reader.worlds)
        result = result_of(reader.entry, config.out, outcomes, outside=spend_outside(log))
    completed = result.state is RunState.COMPLETED
    return History(
        code=code,
        begun=True,
        log=log,
        result=result if completed else None,
        forced=moved,
        carried=moved_code(found.warning),
    )


def code_of(config: RunConfig) -> Fingerprint:
    """Take the fingerprint of the code that would decide a run now, the study's own included.

    Raises:
        PluginError: a class that the study names cannot be found.
        UsageError: a declared data file is gone.
        SourceError: a module or a declared data file cannot be read.

    """
    study = config.study
    own = dict.fromkeys([study.agent.agent, *(scenario.world for scenario in study.scenarios)])
    plugins = [name for name in own if not name.startswith("perdure.")]
    return fingerprint(config.study_file.parent, plugins, study.files)


def _require_folder(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise HeldError("This is not a folder.", where=str(folder), remedy="Give another one.")


def _require_empty(folder: Path) -> None:
    if not folder.exists():
        return
    others = sorted(
        item.name
        for item in folder.iterdir()
        if item.name not in _REMAINS
        and not item.name.startswith(REGISTRY_NAME)
        and not (item.name == WORLDS_NAME and item.is_dir() and not any(item.iterdir()))
    )
    if others:
        raise HeldError(
            f"The folder holds something else ({one_line(others[0], 40)!r}).",
            where=str(folder),
            remedy="Give a folder that is empty or does not exist yet.",
        )
