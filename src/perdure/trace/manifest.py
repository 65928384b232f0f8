"""What an export says of itself: its files, the ends of its worlds, what marks its run."""

from __future__ import annotations

from pathlib import Path

from perdure.records.comparability import Comparability
from perdure.records.record import Record
from perdure.records.registry import WorldDiverged
from perdure.trace.forced import ForceMark

EXPORT_NAME = "export"
EXPORT_FORMAT = 2

MANIFEST_NAME = "manifest.json"
RUN_NAME = "run.parquet"
LOG_NAME = "log.parquet"
WORLDS_NAME = "worlds.parquet"
PEOPLE_NAME = "people.parquet"
PERSONAS_NAME = "personas.parquet"
TIES_NAME = "ties.parquet"
HELD_OUT_NAME = "held_out.parquet"
OPEN_NAME = "open.parquet"
TURNS_NAME = "turns.parquet"
TOOLS_NAME = "tools.parquet"
EVENTS_NAME = "events.parquet"
BLOBS_NAME = "blobs.parquet"


class ExportedWorld(Record):
    """A world as exported: where its record ends, and its rows.

    `tick` is its last tick; it is asked to go up to the tick `horizon` - 1.
    """

    world_id: str
    tick: int
    horizon: int
    chain: str
    digest: str
    events: int
    turns: int


class ExportedFile(Record):
    """A file of an export: its rows, its size and its hash."""

    rows: int
    bytes: int
    sha256: str


class Manifest(Record):
    """What an export holds, and of which record it is. `files` is by path in the folder.

    It is `finished` if every world of the run is there up to its horizon.
    `hashes` are those of the inputs as first asked; `forced` and `diverged` mark a run that was
    forced past something that moved. `comparability` says which worlds ran alike. `journal_fault`
    says why the run's call journal could not be used, if so.
    """

    format: int
    run_id: str
    finished: bool
    hashes: dict[str, str]
    forced: tuple[ForceMark, ...]
    diverged: tuple[WorldDiverged, ...]
    worlds: tuple[ExportedWorld, ...]
    files: dict[str, ExportedFile]
    comparability: Comparability = Comparability()
    journal_fault: str = ""


def world_file(table: str, world_id: str) -> str:
    """Name the file of one world in a table that has a file for each."""
    return f"{table}/{world_id}.parquet"


def is_export(folder: Path) -> bool:
    """Say whether a folder is an export, and no run's own."""
    return (folder / MANIFEST_NAME).is_file() and not (folder / "run.db").exists()
