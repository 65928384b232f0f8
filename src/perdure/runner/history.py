"""What a folder holds before a run begins there: nothing, the finished run, or something else."""

from __future__ import annotations

from pathlib import Path

from perdure.base.errors import HeldError
from perdure.base.text import one_line
from perdure.records.registry import RunState
from perdure.records.result import RunResult
from perdure.runner.config import RunConfig
from perdure.runner.governor import result_of
from perdure.runner.ledger import spend_outside
from perdure.study.identity import input_hashes
from perdure.trace.files import exists
from perdure.trace.lock import LOCK_NAME, is_held
from perdure.trace.reader import RunReader
from perdure.trace.registry_file import REGISTRY_NAME

# What a run leaves that was killed before its registry was born.
_REMAINS = {LOCK_NAME}


def finished(config: RunConfig) -> RunResult | None:
    """Give the result of the run that the folder holds, if it is this one and has ended.

    None if there is no run yet.

    Raises:
        HeldError: the folder holds another run, one that has not ended, or something else.
        DamagedRecordError: the run's registry cannot be read.
        StorageError: the folder cannot be looked into.

    """
    folder = Path(config.out)
    _require_folder(folder)
    if not exists(folder / REGISTRY_NAME):
        _require_empty(folder)
        return None
    if is_held(folder):
        raise HeldError(
            "Another process works on this run.",
            where=config.out,
            remedy="Wait for it; `perdure status` shows how far it is.",
        )
    with RunReader.open(folder) as reader:
        moved = _moved(config, reader)
        if moved:
            raise HeldError(
                f"The folder holds another run: {', '.join(moved)} differ.",
                where=config.out,
                remedy="Give another folder.",
            )
        outcomes = tuple(reader.outcomes[world.world_id] for world in reader.worlds)
        outside = spend_outside(reader.log)
        result = result_of(reader.entry, config.out, outcomes, outside=outside)
    if result.state is not RunState.COMPLETED:
        raise HeldError(
            "The folder holds this run, and it did not come to its end.",
            where=config.out,
            remedy="What it recorded is kept and can be read, but this version cannot continue "
            "it. Give another folder.",
        )
    return result


def _moved(config: RunConfig, reader: RunReader) -> list[str]:
    """Name the inputs in which a run differs from what is asked now."""
    now = input_hashes(config.study, config.population, config.held_out)
    return [name for name, value in now.items() if reader.entry.hashes.get(name) != value]


def _require_folder(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise HeldError("This is not a folder.", where=str(folder), remedy="Give another one.")


def _require_empty(folder: Path) -> None:
    if not folder.exists():
        return
    others = sorted(
        item.name
        for item in folder.iterdir()
        if item.name not in _REMAINS and not item.name.startswith(REGISTRY_NAME)
    )
    if others:
        raise HeldError(
            f"The folder holds something else ({one_line(others[0], 40)!r}).",
            where=str(folder),
            remedy="Give a folder that is empty or does not exist yet.",
        )
