"""One Parquet file of an export, written and read a group of rows at a time."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, Self

from perdure.base.errors import DamagedRecordError

Row = dict[str, Any]

_ROWS_PER_GROUP = 5_000
# A group that holds large values ends earlier.
_GROUP_BYTES_MAX = 16 << 20
# So many rows at a time become Python's own values.
_ROWS_PER_BATCH = 1_000


class Column(NamedTuple):
    """One column: its name, its kind, what it means.

    A `name` is text of which few values occur, a `text` any other, `names` a list of them; a
    `count` is a whole number, a `number` any other, and `numbers` a list of them; `bytes` are none
    of these.
    """

    name: str
    kind: str
    meaning: str


Columns = tuple[Column, ...]

# The type of every kind, as pandas, Polars and DuckDB are told it.
TYPES = {
    "text": "string",
    "name": "dictionary of string",
    "names": "list of string",
    "count": "int64",
    "number": "double",
    "numbers": "list of double",
    "bytes": "binary",
    "truth": "bool",
}


class TableWriter:
    """Writes rows to a new file. Equal rows make equal bytes; memory does not grow with them.

    What a column means is written beside it, in the file's own schema; `about`, a JSON document of
    where the rows come from, is in the schema's metadata under `perdure`.
    """

    def __init__(self, path: Path, columns: Columns, about: bytes = b"{}") -> None:
        # Heavy, and needed by an export alone; it has no types.
        import pyarrow as pa  # type: ignore[import-untyped]  # noqa: PLC0415
        import pyarrow.parquet as pq  # type: ignore[import-untyped]  # noqa: PLC0415

        self.rows = 0
        self._batch = pa.RecordBatch
        self._schema = _schema(columns, about)
        self._group: list[Row] = []
        self._bytes = 0
        self._writer = pq.ParquetWriter(path, self._schema, compression="zstd")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, failed: object, *_: object) -> None:
        try:
            if failed is None:
                self._flush()
        finally:
            self._writer.close()

    def add(self, row: Row, size: int = 0) -> None:
        """Write a row; `size` is about how many bytes its large values have."""
        self._group.append(row)
        self._bytes += size
        self.rows += 1
        if len(self._group) >= _ROWS_PER_GROUP or self._bytes >= _GROUP_BYTES_MAX:
            self._flush()

    def _flush(self) -> None:
        if self._group:
            self._writer.write_batch(self._batch.from_pylist(self._group, schema=self._schema))
        self._group, self._bytes = [], 0


def write_table(path: Path, columns: Columns, rows: Iterable[Row], about: bytes = b"{}") -> int:
    """Write rows to a Parquet file, as `TableWriter` does, and give their number."""
    with TableWriter(path, columns, about) as writer:
        for row in rows:
            writer.add(row)
    return writer.rows


class ParquetTable:
    """Reads a file whose columns are known. `where` is told to whoever finds it damaged."""

    def __init__(self, path: Path, columns: Columns, where: str) -> None:
        """Open the file.

        Raises:
            DamagedRecordError: it is no Parquet file, or has other columns.

        """
        import pyarrow.parquet as pq  # noqa: PLC0415 - heavy

        self._where = where
        self._texts = frozenset(name for name, kind, _ in columns if kind == "text")
        with self._translated():
            self._file = pq.ParquetFile(path, pre_buffer=False)
            if not self._file.schema_arrow.equals(_schema(columns)):
                self._file.close()
                raise DamagedRecordError("Its columns are not those of an export.", where=where)

    @property
    def groups(self) -> int:
        """How many groups of rows there are."""
        return int(self._file.num_row_groups)

    @property
    def count(self) -> int:
        """How many rows there are."""
        return int(self._file.metadata.num_rows)

    def sizes(self) -> list[int]:
        """Give the number of rows of every group."""
        return [int(self._file.metadata.row_group(one).num_rows) for one in range(self.groups)]

    def group(self, number: int, names: Sequence[str], stored: Collection[str] = ()) -> Any:
        """Read columns of one group, as an Arrow table; texts in `stored` come as bytes.

        Raises:
            DamagedRecordError: it cannot be read.

        """
        import pyarrow as pa  # noqa: PLC0415 - heavy

        with self._translated():
            table = self._file.read_row_group(number, columns=list(names), use_threads=False)
            for place, name in enumerate(names):
                if name in stored and name in self._texts:
                    table = table.set_column(place, name, table.column(name).cast(pa.binary()))
        return table

    def rows(self, names: Sequence[str], stored: Collection[str] = ()) -> Iterator[tuple[Any, ...]]:
        """Go through the rows, of which these columns.

        Raises:
            DamagedRecordError: they cannot be read.

        """
        for number in range(self.groups):
            yield from self.values(self.group(number, names, stored), names)

    def values(self, table: Any, names: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        """Go through the rows of a group, or of a part of one.

        Raises:
            DamagedRecordError: they cannot be read.

        """
        for batch in table.to_batches(max_chunksize=_ROWS_PER_BATCH):
            with self._translated():
                columns = [batch.column(name).to_pylist() for name in names]
            yield from zip(*columns, strict=True)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    @contextmanager
    def _translated(self) -> Iterator[None]:
        import pyarrow as pa  # noqa: PLC0415 - heavy

        try:
            yield
        except (pa.ArrowException, OSError, ValueError, KeyError, EOFError) as error:
            said = " ".join(str(error).split())[:200]
            raise DamagedRecordError(
                f"It cannot be read as Parquet ({said}).", where=self._where
            ) from error


def _schema(columns: Columns, about: bytes = b"{}") -> Any:
    import pyarrow as pa  # noqa: PLC0415 - heavy

    types = {
        "text": pa.string(),
        "name": pa.dictionary(pa.int32(), pa.string()),
        "names": pa.list_(pa.string()),
        "count": pa.int64(),
        "number": pa.float64(),
        "numbers": pa.list_(pa.float64()),
        "bytes": pa.binary(),
        "truth": pa.bool_(),
    }
    return pa.schema(
        [
            pa.field(name, types[kind], metadata={"meaning": meaning})
            for name, kind, meaning in columns
        ],
        metadata={"perdure": about},
    )
