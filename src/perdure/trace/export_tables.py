"""The typed columns of an export, and how rows become a Parquet file in bounded memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from perdure.records.persona import Persona
from perdure.trace.export_rows import Row

_ROWS_PER_GROUP = 5_000

# Name and type of every column. `name` is text of which few values occur, `text` any other.
Columns = tuple[tuple[str, str], ...]

TURNS: Columns = (
    ("run", "text"),
    ("world", "text"),
    ("scenario", "name"),
    ("variant", "name"),
    ("seed", "count"),
    ("tick", "count"),
    ("wave", "count"),
    ("job", "count"),
    ("persona", "text"),
    ("question", "name"),
    ("channel", "name"),
    ("claims", "names"),
    ("answer", "text"),
    ("choice", "name"),
    ("unscorable", "name"),
    ("failure", "name"),
    ("call_failure", "name"),
    ("attempts", "count"),
    ("cost_nano", "count"),
    ("currency", "name"),
    ("unknown_costs", "count"),
    ("tokens_input_fresh", "count"),
    ("tokens_cache_write", "count"),
    ("tokens_cache_read", "count"),
    ("tokens_output", "count"),
)

EVENTS: Columns = (
    ("run", "text"),
    ("world", "text"),
    ("seq", "count"),
    ("tick", "count"),
    ("kind", "name"),
    ("persona", "text"),
    ("content", "count"),
    ("payload", "text"),
)


def persona_columns(personas: Sequence[Persona]) -> Columns:
    """Give the columns of a population: each attribute is of the narrowest type that holds it."""
    kinds: dict[str, set[type]] = {}
    for persona in personas:
        for name, value in persona.attributes.items():
            kinds.setdefault(name, set()).add(type(value))
    return (
        ("persona", "text"),
        *((attribute_column(name), _type_of(kinds[name])) for name in sorted(kinds)),
    )


def persona_rows(personas: Sequence[Persona], columns: Columns) -> Iterator[Row]:
    """Give one row per persona, in the order of the population."""
    texts = {name for name, kind in columns if kind == "text"}
    for persona in personas:
        row: Row = {"persona": persona.id}
        for name, value in persona.attributes.items():
            column = attribute_column(name)
            row[column] = str(value) if column in texts else value
        yield row


def attribute_column(name: str) -> str:
    """Give the column of an attribute: its own name, unless the persona's id has that."""
    return "attribute_persona" if name == "persona" else name


def write_table(path: Path, columns: Columns, rows: Iterable[Row]) -> int:
    """Write rows to a Parquet file and give their number. Equal rows make equal bytes."""
    # Heavy, and needed by an export alone; it has no types.
    import pyarrow as pa  # type: ignore[import-untyped]  # noqa: PLC0415
    import pyarrow.parquet as pq  # type: ignore[import-untyped]  # noqa: PLC0415

    types = {
        "text": pa.string(),
        "name": pa.dictionary(pa.int32(), pa.string()),
        "names": pa.list_(pa.string()),
        "count": pa.int64(),
        "number": pa.float64(),
    }
    schema = pa.schema([(name, types[kind]) for name, kind in columns])
    written = 0
    source = iter(rows)
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        while group := list(islice(source, _ROWS_PER_GROUP)):
            writer.write_batch(pa.RecordBatch.from_pylist(group, schema=schema))
            written += len(group)
    return written


def _type_of(kinds: set[Any]) -> str:
    if kinds == {int}:
        return "count"
    return "number" if kinds <= {int, float} else "text"
