"""Reads a Parquet file as the rows of a CSV file are read: each value as the text it would be."""

from __future__ import annotations

import io
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from perdure.base.text import one_line
from perdure.population.rows import ROWS_MAX, EnoughError, Report, Row, check_fields
from perdure.study.findings import quoted

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]
    from pyarrow.parquet import ParquetFile  # type: ignore[import-untyped]

MAGIC = b"PAR1"
_BATCH_ROWS = 10_000
_COLUMNS_MAX = 10_000


def is_parquet(file: io.BufferedReader) -> bool:
    """Say whether a file begins as a Parquet file does. Its place in the file stays."""
    return file.peek(len(MAGIC))[: len(MAGIC)] == MAGIC


def read_parquet(file: io.BufferedReader, report: Report, wanted: Collection[str]) -> Iterator[Row]:
    """Read the names of the columns and then the rows of a Parquet file.

    Only the columns that are `wanted` are decoded; the others are empty. A row's line is its
    number, from 1 on. A null is an empty field, as in a CSV file.

    Raises:
        EnoughError: the file cannot be read on; the reason is in the report.

    """
    import pyarrow as pa  # noqa: PLC0415 - heavy
    from pyarrow.parquet import ParquetFile  # noqa: PLC0415 - heavy

    try:
        source = ParquetFile(file)
        yield from _rows(source, report, wanted)
    except (pa.ArrowException, OSError) as error:
        wrong = f"The file cannot be read as Parquet: {one_line(str(error), 200)}"
        report.add(0, wrong, "Write the file again.")
        raise EnoughError from None


def _rows(source: ParquetFile, report: Report, wanted: Collection[str]) -> Iterator[Row]:
    names = list(source.schema_arrow.names)
    if source.metadata.num_rows > ROWS_MAX:
        report.add(0, f"There are more than {ROWS_MAX:,} rows.", "Give fewer.")
        raise EnoughError
    if len(names) > _COLUMNS_MAX:
        report.add(0, f"There are more than {_COLUMNS_MAX:,} columns.", "Give fewer.")
        raise EnoughError
    yield Row(0, names)
    kept = [name for name in names if name in wanted]
    _require_plain(source.schema_arrow, kept, report)
    places = [place for place, name in enumerate(names) if name in wanted]
    number = 0
    for batch in source.iter_batches(batch_size=_BATCH_ROWS, columns=kept, use_threads=False):
        columns = [_texts(batch.column(name)) for name in kept]
        for values in zip(*columns, strict=True):
            number += 1
            fields = [""] * len(names)
            for place, value in zip(places, values, strict=True):
                fields[place] = value
            check_fields(number, values, report)
            yield Row(number, fields)


def _require_plain(schema: pa.Schema, kept: Collection[str], report: Report) -> None:
    """Refuse columns whose values have no one text."""
    from pyarrow import types  # noqa: PLC0415 - heavy

    sound = True
    for name in kept:
        kind = schema.field(name).type
        if types.is_dictionary(kind):
            kind = kind.value_type
        if types.is_nested(kind) or types.is_binary(kind) or types.is_large_binary(kind):
            wrong = f"The column {quoted(name)} holds {one_line(str(kind), 60)}."
            report.add(0, wrong, "Write it as numbers or text.")
            sound = False
    if not sound:
        raise EnoughError


def _texts(column: pa.Array) -> list[str]:
    return [_text(value) for value in column.to_pylist()]


def _text(value: object) -> str:
    """Write a value as a CSV file would have it. NaN is what pandas makes of a missing number."""
    if value is None or value != value:  # noqa: PLR0124 - NaN is not itself
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).strip()
