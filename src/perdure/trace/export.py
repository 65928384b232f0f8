"""Exporting a run as Parquet: typed columns, one row per turn, and a manifest of digests.

What is exported has been checked on the way, events and registry alike. The files are written to a
temporary folder that then takes the place of an earlier export, so there is never a half of one.
Held-out values are left out unless they are asked for: a table that holds them beside the personas
could be fed to a model, or published, by mistake.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from perdure.base.canonical import encode
from perdure.records.comparability import Comparability
from perdure.records.events import Event, Head
from perdure.records.people import People
from perdure.records.record import Record
from perdure.records.registry import WorldDiverged, WorldEntry
from perdure.trace.comparability import comparability
from perdure.trace.export_rows import event_rows, turn_rows
from perdure.trace.export_tables import (
    EVENTS,
    HELD_OUT,
    TIES,
    TURNS,
    held_out_rows,
    persona_columns,
    persona_rows,
    tie_rows,
    write_table,
)
from perdure.trace.failures import translate_os
from perdure.trace.files import sync_folder
from perdure.trace.forced import ForceMark, Marks, marks, marks_of
from perdure.trace.reader import RunReader
from perdure.trace.verify_claims import asked

EXPORT_NAME = "export"
MANIFEST_NAME = "manifest.json"
HELD_OUT_NAME = "held_out.parquet"
TIES_NAME = "ties.parquet"
EXPORT_FORMAT = 1

_CHUNK_BYTES = 1 << 20


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
    forced past something that moved. `comparability` says which worlds ran alike.
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


def export(folder: Path, *, with_held_out: bool = False) -> Manifest:
    """Export a run into `export/` in its folder. Worlds that have not started have no files.

    Of a run that goes on meanwhile, each world is exported as it stood when it was come to.

    The real values that the study holds out are written only `with_held_out`, in a file of their
    own.

    Raises:
        DamagedRecordError: the record does not hold what was written; nothing is exported.
        StorageFullError: there was no room; an earlier export is left as it was, and no half of
            the new one.
        StorageError: storage failed.

    """
    unborn, final = folder / f"{EXPORT_NAME}.new", folder / EXPORT_NAME
    try:
        shutil.rmtree(unborn, ignore_errors=True)
        unborn.mkdir()
        with RunReader.open(folder) as reader:
            reader.check_registry()
            manifest = _write(reader, unborn, with_held_out=with_held_out)
        (unborn / MANIFEST_NAME).write_bytes(encode(manifest) + b"\n")
        _sync(unborn)
        _replace(unborn, final)
    except OSError as error:
        raise translate_os(error, final) from error
    finally:
        # A half of one would only take room where, as often as not, there is none.
        shutil.rmtree(unborn, ignore_errors=True)
    return manifest


class _About(Record):
    """What is in the metadata of every Parquet file: of which run it is, and what marks that."""

    run: str
    forced: tuple[ForceMark, ...]
    diverged: tuple[WorldDiverged, ...]


def _about(reader: RunReader, found: Marks) -> bytes:
    return encode(_About(run=reader.entry.run_id, forced=found.forced, diverged=found.diverged))


def _write(reader: RunReader, folder: Path, *, with_held_out: bool) -> Manifest:
    files: dict[str, ExportedFile] = {}
    marked = marks(reader.log)
    about = _about(reader, marked)
    ontology = asked(reader.entry).ontology
    specs = {spec.name: spec for spec in ontology.attributes} if ontology else {}
    people = People(personas=tuple(reader.personas), graph=tuple(reader.graph))
    columns = persona_columns(people, specs)
    rows = persona_rows(people, columns, specs)
    count = write_table(folder / "personas.parquet", columns, rows, about)
    files["personas.parquet"] = _describe(folder / "personas.parquet", count)
    if people.graph:
        count = write_table(folder / TIES_NAME, TIES, tie_rows(people), about)
        files[TIES_NAME] = _describe(folder / TIES_NAME, count)
    if with_held_out:
        outcome = ontology.outcome.name if ontology and ontology.outcome else ""
        real = held_out_rows(reader.held_out, outcome)
        count = write_table(folder / HELD_OUT_NAME, HELD_OUT, real, about)
        files[HELD_OUT_NAME] = _describe(folder / HELD_OUT_NAME, count)
    (folder / "turns.parquet").mkdir()
    (folder / "events.parquet").mkdir()
    worlds = []
    for world in reader.worlds:
        head = reader.head(world.world_id)
        if head is not None:
            own = _about(reader, marks_of(marked, world.world_id))
            worlds.append(_write_world(reader, world, head, _Target(folder, own, files)))
    return Manifest(
        format=EXPORT_FORMAT,
        run_id=reader.entry.run_id,
        finished=len(worlds) == len(reader.worlds)
        and all(world.tick == world.horizon - 1 for world in worlds),
        hashes=reader.entry.hashes,
        forced=marked.forced,
        diverged=marked.diverged,
        worlds=tuple(worlds),
        files=files,
        comparability=comparability(reader.worlds, reader.outcomes),
    )


@dataclass(frozen=True)
class _Target:
    """Where a world is written to: the folder, what every file says of itself, the files so far."""

    folder: Path
    about: bytes
    files: dict[str, ExportedFile]


def _write_world(
    reader: RunReader, world: WorldEntry, head: Head, target: _Target
) -> ExportedWorld:
    name, folder, files = world.world_id, target.folder, target.files
    # Both passes end at the same event, also where a live run goes on meanwhile.
    turns_path, events_path = f"turns.parquet/{name}.parquet", f"events.parquet/{name}.parquet"
    events = event_rows(reader.entry.run_id, name, _encoded(reader, name, head))
    event_count = write_table(folder / events_path, EVENTS, events, target.about)
    scenario = reader.header(name).scenario
    turns = turn_rows(reader.entry, world, scenario, _until(reader, name, head))
    turn_count = write_table(folder / turns_path, TURNS, turns, target.about)
    files[events_path] = _describe(folder / events_path, event_count)
    files[turns_path] = _describe(folder / turns_path, turn_count)
    return ExportedWorld(
        world_id=name,
        tick=head.tick,
        horizon=world.horizon,
        chain=head.chain,
        digest=head.digest,
        events=event_count,
        turns=turn_count,
    )


def _until(reader: RunReader, world_id: str, head: Head) -> Iterator[Event]:
    return (event for event in reader.events(world_id) if event.seq <= head.seq)


def _encoded(reader: RunReader, world_id: str, head: Head) -> Iterator[tuple[Event, bytes]]:
    return ((event, encode(event.payload)) for event in _until(reader, world_id, head))


def _describe(path: Path, rows: int) -> ExportedFile:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK_BYTES):
            digest.update(chunk)
    return ExportedFile(rows=rows, bytes=path.stat().st_size, sha256=digest.hexdigest())


def _sync(folder: Path) -> None:
    for path in folder.rglob("*"):
        if path.is_dir():
            sync_folder(path)
            continue
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    sync_folder(folder)


def _replace(unborn: Path, final: Path) -> None:
    old = final.with_name(f"{EXPORT_NAME}.old")
    shutil.rmtree(old, ignore_errors=True)
    if final.exists():
        final.rename(old)
    unborn.rename(final)
    sync_folder(final.parent)
    shutil.rmtree(old, ignore_errors=True)
