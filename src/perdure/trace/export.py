"""Exporting a run as Parquet: all of its record, and tables for analysis beside it.

What is exported has been checked on the way, events and registry alike. The files are written to a
temporary folder that then takes the place of an earlier export, so there is never a half of one.
Held-out values are left out unless they are asked for: a table that holds them beside the personas
could be fed to a model, or published, by mistake.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from perdure.base.canonical import encode
from perdure.base.errors import DamagedRecordError
from perdure.records.events import Event
from perdure.records.record import Record
from perdure.records.registry import WorldDiverged, WorldEntry
from perdure.trace.comparability import comparability
from perdure.trace.derived import Derived
from perdure.trace.export_rows import TOOL_KINDS, event_row, tool_rows, turn_rows
from perdure.trace.export_store import describe
from perdure.trace.export_tables import (
    BLOBS,
    EVENTS,
    HELD_OUT,
    LOG,
    OPEN,
    PEOPLE,
    RUN,
    TOOLS,
    WORLDS,
    held_out_rows,
    log_rows,
    open_rows,
    people_rows,
    turn_columns,
    world_rows,
)
from perdure.trace.failures import translate_os, undecodable
from perdure.trace.files import sync_folder
from perdure.trace.folder_store import FolderStore
from perdure.trace.forced import ForceMark, Marks, marks, marks_of
from perdure.trace.frozen import freeze
from perdure.trace.manifest import (
    BLOBS_NAME,
    EVENTS_NAME,
    EXPORT_FORMAT,
    EXPORT_NAME,
    HELD_OUT_NAME,
    LOG_NAME,
    MANIFEST_NAME,
    OPEN_NAME,
    PEOPLE_NAME,
    RUN_NAME,
    TOOLS_NAME,
    TURNS_NAME,
    WORLDS_NAME,
    ExportedFile,
    ExportedWorld,
    Manifest,
    world_file,
)
from perdure.trace.parquet_table import Columns, Row, TableWriter, write_table
from perdure.trace.reader import RunReader, event_of
from perdure.trace.rows import read_head
from perdure.trace.rules import cited
from perdure.trace.scores import SCORES_NAME, path_of, read_scores, score_ids
from perdure.trace.sittings import may_hold_open
from perdure.trace.stored import Unchecked
from perdure.trace.verify_world import missing_blob, wrong_blob


def export(folder: Path, *, with_held_out: bool = False) -> Manifest:
    """Export a run into `export/` in its folder. Worlds that have not started have no files.

    A run that goes on meanwhile is exported as of one moment.

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
        store = FolderStore.open(folder)
        try:
            reader = freeze(store)
            reader.check_registry()
            export = _Export(reader, unborn)
            export.copy_scores(folder)
            manifest = export.write(with_held_out=with_held_out)
        finally:
            store.close()
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


class _Export:
    """Writes the files of an export, one after the other."""

    def __init__(self, reader: RunReader, folder: Path) -> None:
        self._reader = reader
        self._folder = folder
        self._marked = marks(reader.log)
        self._about = _about(reader, self._marked)
        self._files: dict[str, ExportedFile] = {}

    def copy_scores(self, run: Path) -> None:
        """Copy what was scored again, each file as it is, once it is known to be whole."""
        for score_id in score_ids(run):
            answers = read_scores(run, score_id).end.answers
            source, place = path_of(run, score_id), path_of(self._folder, score_id)
            place.parent.mkdir(exist_ok=True)
            shutil.copyfile(source, place)
            self._describe(f"{SCORES_NAME}/{place.name}", answers)

    def write(self, *, with_held_out: bool) -> Manifest:
        """Write all files but the manifest, and give that."""
        reader, registry = self._reader, self._reader.store.registry
        entry = {"run": reader.entry.run_id, "entry": reader.entry_bytes.decode()}
        self._table(RUN_NAME, RUN, iter((entry,)))
        self._table(LOG_NAME, LOG, log_rows(registry.log()))
        self._people(with_held_out=with_held_out)
        for name in (TURNS_NAME, EVENTS_NAME, BLOBS_NAME):
            (self._folder / name).mkdir()
        begun = [world for world in reader.worlds if reader.head(world.world_id) is not None]
        if any(reader.header(world.world_id).agent.turn_calls_max for world in begun):
            (self._folder / TOOLS_NAME).mkdir()
        worlds = tuple(map(self._world, begun))
        with TableWriter(self._folder / WORLDS_NAME, WORLDS, self._about) as writer:
            for row in world_rows(registry.worlds(), self._begun):
                writer.add(row, len(row["header"] or ""))
        self._describe(WORLDS_NAME, writer.rows)
        ticks = reader.journal
        if ticks is not None and may_hold_open(reader.log):
            self._table(OPEN_NAME, OPEN, open_rows(ticks))
        return Manifest(
            format=EXPORT_FORMAT,
            run_id=reader.entry.run_id,
            finished=len(worlds) == len(reader.worlds)
            and all(world.tick == world.horizon - 1 for world in worlds),
            hashes=reader.entry.hashes,
            forced=self._marked.forced,
            diverged=self._marked.diverged,
            worlds=worlds,
            files=dict(sorted(self._files.items())),
            comparability=comparability(reader.worlds, reader.outcomes),
            journal_fault=reader.journal_fault,
        )

    def _people(self, *, with_held_out: bool) -> None:
        reader, derived = self._reader, Derived.of(self._reader)
        self._table(PEOPLE_NAME, PEOPLE, people_rows(derived.people))
        for name, columns, rows in derived.tables():
            self._table(name, columns, rows)
        if with_held_out:
            rows = held_out_rows(reader.held_out, derived.outcome)
            self._table(HELD_OUT_NAME, HELD_OUT, rows)

    def _world(self, world: WorldEntry) -> ExportedWorld:
        reader, name = self._reader, world.world_id
        about = _about(reader, marks_of(self._marked, name))
        head, _ = read_head(reader.partition(name))
        events, turns = world_file(EVENTS_NAME, name), world_file(TURNS_NAME, name)
        scenario = reader.header(name).scenario
        with TableWriter(self._folder / events, EVENTS, about) as writer:
            # The events pass once: each is written on its way to the turns.
            rows = turn_rows(reader.entry, world, scenario, self._passing(name, writer))
            columns = turn_columns(scenario)
            turn_count = write_table(self._folder / turns, columns, rows, about)
        self._describe(events, writer.rows)
        self._describe(turns, turn_count)
        if reader.header(name).agent.turn_calls_max:
            tools = world_file(TOOLS_NAME, name)
            rows = tool_rows(reader.entry, world, reader.events(name, TOOL_KINDS))
            self._describe(tools, write_table(self._folder / tools, TOOLS, rows, about))
        with TableWriter(self._folder / world_file(BLOBS_NAME, name), BLOBS, about) as blobs:
            for key, data in reader.partition(name).blobs():
                if (wrong := wrong_blob(key, data)) is not None:
                    raise DamagedRecordError(wrong, where=name)
                blobs.add({"sha256": key, "bytes": data}, len(data))
        self._describe(world_file(BLOBS_NAME, name), blobs.rows)
        return ExportedWorld(
            world_id=name,
            tick=head.tick,
            horizon=world.horizon,
            chain=head.chain,
            digest=head.digest,
            events=writer.rows,
            turns=turn_count,
        )

    def _passing(self, world_id: str, writer: TableWriter) -> Iterator[Event]:
        run_id, seen = self._reader.entry.run_id, set[str]()
        for row in self._reader.rows(world_id):
            event = event_of(row, world_id)
            wrong = missing_blob(self._reader.partition(world_id), cited(event), seen)
            if wrong is not None:
                raise DamagedRecordError(wrong, where=f"{world_id}:{event.seq}")
            try:
                written = event_row(run_id, world_id, row)
            except UnicodeDecodeError as error:
                raise undecodable(error, f"{world_id}:{event.seq}") from error
            writer.add(written, len(row[5]))
            yield event

    def _begun(self, world_id: str) -> tuple[bytes, Unchecked] | None:
        """Give the header and the head of a world, if it has a record."""
        if not self._reader.store.has(world_id):
            return None
        rows = self._reader.partition(world_id)
        return rows.header(), rows.head()

    def _table(self, name: str, columns: Columns, rows: Iterator[Row]) -> None:
        self._describe(name, write_table(self._folder / name, columns, rows, self._about))

    def _describe(self, name: str, rows: int) -> None:
        self._files[name] = describe(self._folder / name, rows)


def _about(reader: RunReader, found: Marks) -> bytes:
    return encode(_About(run=reader.entry.run_id, forced=found.forced, diverged=found.diverged))


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
