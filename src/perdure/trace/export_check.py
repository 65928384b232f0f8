"""Checking what an export holds beside the record: its files, its manifest, its derived tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import zip_longest
from pathlib import Path

from perdure.base.canonical import encode
from perdure.base.errors import PerdureError
from perdure.records.record import Record
from perdure.records.registry import WorldEntry
from perdure.trace.comparability import comparability
from perdure.trace.derived import Derived
from perdure.trace.export_rows import TOOL_KINDS, tool_rows, turn_rows
from perdure.trace.export_store import ExportStore
from perdure.trace.export_tables import HELD_OUT, TOOLS, held_out_rows, turn_columns
from perdure.trace.forced import marks
from perdure.trace.manifest import (
    HELD_OUT_NAME,
    MANIFEST_NAME,
    TOOLS_NAME,
    TURNS_NAME,
    ExportedWorld,
    world_file,
)
from perdure.trace.parquet_table import Columns, Row
from perdure.trace.reader import RunReader
from perdure.trace.rows import read_head
from perdure.trace.verify_registry import Finding


def check_export(reader: RunReader, store: ExportStore) -> Iterator[Finding]:
    """Find what is wrong with an export beside the record that it holds.

    The record itself is checked as that of any run.
    """
    yield from _files(store)
    try:
        wrong = _manifest(reader, store)
        if wrong is not None:
            yield Finding(where=MANIFEST_NAME, wrong=wrong)
        for name, columns, rows in _derived(reader):
            if name not in store.manifest.files:
                yield Finding(where=name, wrong="The table is missing.")
            elif (place := _first_other(store, name, columns, rows)) is not None:
                yield Finding(
                    where=f"{name}: row {place}", wrong="It is not what follows from the record."
                )
    except PerdureError as error:
        yield Finding.of(error, MANIFEST_NAME)


def _files(store: ExportStore) -> Iterator[Finding]:
    named = set(store.manifest.files)
    there = {
        path.relative_to(store.folder).as_posix()
        for path in store.folder.rglob("*")
        if not path.is_dir()
    }
    for name in sorted(named):
        if not _is_inside(name):
            yield Finding(where=MANIFEST_NAME, wrong=f"It names a file outside, {name!r}.")
            continue
        try:
            store.check(name)
        except PerdureError as error:
            yield Finding.of(error, name)
    for name in sorted(there - named - {MANIFEST_NAME}):
        yield Finding(where=name, wrong="The manifest does not name this file.")


def _is_inside(name: str) -> bool:
    path = Path(name)
    return not path.is_absolute() and ".." not in path.parts


def _manifest(reader: RunReader, store: ExportStore) -> str | None:
    """Hold what the manifest says of the run against the record."""
    said, marked = store.manifest, marks(reader.log)
    turns = {world.world_id: world.turns for world in said.worlds}
    worlds = tuple(
        _world(reader, world, turns.get(world.world_id, 0))
        for world in reader.worlds
        if reader.store.has(world.world_id)
    )
    finished = len(worlds) == len(reader.worlds) and all(
        world.tick == world.horizon - 1 for world in worlds
    )
    alike: tuple[tuple[str, object, object], ...] = (
        ("run_id", said.run_id, reader.entry.run_id),
        ("hashes", said.hashes, reader.entry.hashes),
        ("forced", _text(said.forced), _text(marked.forced)),
        ("diverged", _text(said.diverged), _text(marked.diverged)),
        ("worlds", said.worlds, worlds),
        ("finished", said.finished, finished),
        (
            "comparability",
            encode(said.comparability),
            encode(comparability(reader.worlds, reader.outcomes)),
        ),
    )
    for name, told, found in alike:
        if told != found:
            return f"Its field `{name}` is not what the record says."
    return None


def _text(records: Iterable[Record]) -> list[bytes]:
    return [encode(one) for one in records]


def _world(reader: RunReader, world: WorldEntry, turns: int) -> ExportedWorld:
    head, _ = read_head(reader.partition(world.world_id))
    return ExportedWorld(
        world_id=world.world_id,
        tick=head.tick,
        horizon=world.horizon,
        chain=head.chain,
        digest=head.digest,
        events=head.seq + 1,
        turns=turns,
    )


def _derived(reader: RunReader) -> Iterator[tuple[str, Columns, Iterator[Row]]]:
    """Make the tables again that say in columns what the record says already."""
    derived = Derived.of(reader)
    yield from derived.tables()
    if reader.held_out:
        yield HELD_OUT_NAME, HELD_OUT, held_out_rows(reader.held_out, derived.outcome)
    for world in reader.worlds:
        if reader.store.has(world.world_id):
            scenario = reader.header(world.world_id).scenario
            rows = turn_rows(reader.entry, world, scenario, reader.events(world.world_id))
            yield world_file(TURNS_NAME, world.world_id), turn_columns(scenario), rows
            if reader.header(world.world_id).agent.turn_calls_max:
                events = reader.events(world.world_id, TOOL_KINDS)
                yield (
                    world_file(TOOLS_NAME, world.world_id),
                    TOOLS,
                    tool_rows(reader.entry, world, events),
                )


def _first_other(
    store: ExportStore, name: str, columns: Columns, rows: Iterator[Row]
) -> int | None:
    """Find the first row of a table that is not the one that it should be."""
    names = tuple(column.name for column in columns)
    due = (tuple(row.get(one) for one in names) for row in rows)
    for place, (one, other) in enumerate(zip_longest(store.read(name, columns, names), due)):
        if one != other:
            return place
    return None
