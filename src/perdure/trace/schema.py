"""The tables of the four kinds of database, and the numbers that mark a file as ours.

Every column and every constant here is part of the format that `docs/format.md` describes. A change
that an older reader would misread raises `FORMAT`.
"""

from __future__ import annotations

from typing import NamedTuple

FORMAT = 1

# What one value may measure at most, written or read: 64 MiB.
VALUE_BYTES_MAX = 64 * 1024 * 1024


class Layout(NamedTuple):
    """One kind of database: its mark in the file's header, and its tables in order.

    `besides` is a table that only some of them have, after the others.
    """

    application_id: int
    name: str
    tables: tuple[str, ...]
    besides: str = ""


_ONE_ROW = "id INTEGER PRIMARY KEY CHECK (id = 1)"


def _table(name: str, *columns: str) -> str:
    return f"CREATE TABLE {name} ({', '.join(columns)}) STRICT"


# The mark is `PERW` in ASCII.
PARTITION = Layout(
    application_id=0x50455257,
    name="partition",
    tables=(
        _table("header", _ONE_ROW, "payload BLOB NOT NULL"),
        _table("lease", _ONE_ROW, "epoch INTEGER NOT NULL"),
        _table(
            "head",
            _ONE_ROW,
            "seq INTEGER NOT NULL",
            "chain BLOB NOT NULL",
            "content INTEGER NOT NULL",
            "digest BLOB NOT NULL",
            "tick INTEGER NOT NULL",
            "log_seq INTEGER NOT NULL",
            "log_chain BLOB NOT NULL",
        ),
        _table(
            "events",
            "seq INTEGER PRIMARY KEY",
            "tick INTEGER NOT NULL",
            "kind TEXT NOT NULL",
            "persona TEXT NOT NULL",
            "content INTEGER",
            "payload BLOB NOT NULL",
            "hash BLOB NOT NULL",
        ),
        _table("blobs", "sha256 BLOB PRIMARY KEY", "bytes BLOB NOT NULL"),
    ),
)

# The mark is `PERR` in ASCII.
REGISTRY = Layout(
    application_id=0x50455252,
    name="registry",
    tables=(
        _table("run", _ONE_ROW, "entry BLOB NOT NULL"),
        _table("lease", _ONE_ROW, "epoch INTEGER NOT NULL"),
        _table(
            "worlds",
            "position INTEGER PRIMARY KEY",
            "world_id TEXT NOT NULL UNIQUE",
            "entry BLOB NOT NULL",
            "witness BLOB",
            "outcome BLOB",
        ),
        _table(
            "personas",
            "position INTEGER PRIMARY KEY",
            "id TEXT NOT NULL UNIQUE",
            "payload BLOB NOT NULL",
        ),
        _table("held_out", "id TEXT PRIMARY KEY", "value TEXT NOT NULL"),
        _table(
            "log",
            "seq INTEGER PRIMARY KEY",
            "kind TEXT NOT NULL",
            "payload BLOB NOT NULL",
            "hash BLOB NOT NULL",
        ),
    ),
    # Runs whose population has no graph are as they were before there were any.
    besides=_table("graph", "position INTEGER PRIMARY KEY", "payload BLOB NOT NULL"),
)

# The mark is `PERC` in ASCII.
CALLS = Layout(
    application_id=0x50455243,
    name="call journal",
    tables=(
        _table("lease", _ONE_ROW, "epoch INTEGER NOT NULL"),
        _table(
            "head",
            _ONE_ROW,
            "run TEXT NOT NULL",
            "since INTEGER NOT NULL",
            "writes INTEGER NOT NULL",
            "sum INTEGER NOT NULL",
        ),
        _table(
            "ticks",
            "id INTEGER PRIMARY KEY",
            "epoch INTEGER NOT NULL",
            "opening BLOB NOT NULL",
            "closed INTEGER NOT NULL",
            "intents INTEGER NOT NULL",
            "results INTEGER NOT NULL",
            "sum INTEGER NOT NULL",
        ),
        _table(
            "intents",
            "id INTEGER PRIMARY KEY",
            "epoch INTEGER NOT NULL",
            "payload BLOB NOT NULL",
            "sum INTEGER NOT NULL",
        ),
        _table(
            "results",
            "id INTEGER PRIMARY KEY",
            "payload BLOB NOT NULL",
            "vectors BLOB",
            "sum INTEGER NOT NULL",
        ),
    ),
)

# The mark is `PERD` in ASCII.
DRIVE = Layout(
    application_id=0x50455244,
    name="drive's ledger",
    tables=(
        _table("asked", _ONE_ROW, "payload BLOB NOT NULL"),
        _table("lease", _ONE_ROW, "epoch INTEGER NOT NULL"),
        _table("head", _ONE_ROW, "seq INTEGER NOT NULL", "chain BLOB NOT NULL"),
        _table(
            "lines",
            "seq INTEGER PRIMARY KEY",
            "run TEXT NOT NULL",
            "kind TEXT NOT NULL",
            "payload BLOB NOT NULL",
            "hash BLOB NOT NULL",
        ),
        _table("blobs", "sha256 BLOB PRIMARY KEY", "bytes BLOB NOT NULL"),
    ),
)
