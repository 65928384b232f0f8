"""The page on the export lists every column that is written, with its type and its meaning."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from perdure.trace.export_tables import (
    BLOBS,
    DATE,
    EVENTS,
    HELD_OUT,
    LOG,
    OPEN,
    PEOPLE,
    PERSONA,
    RUN,
    TIES,
    TOOLS,
    TURNS,
    WORLDS,
)
from perdure.trace.parquet_table import TYPES, Columns

PAGE = Path(__file__).resolve().parents[2] / "docs" / "export.md"
TABLES = {
    "turns": TURNS,
    "tools": TOOLS,
    "events": EVENTS,
    "personas": (PERSONA,),
    "ties": TIES,
    "held_out": HELD_OUT,
    "run": RUN,
    "log": LOG,
    "worlds": WORLDS,
    "people": PEOPLE,
    "open": OPEN,
    "blobs": BLOBS,
}


def drawn(columns: Columns) -> str:
    """Draw columns as a table of the page."""
    rows = [f"| `{name}` | {TYPES[kind]} | {meaning} |" for name, kind, meaning in columns]
    return "\n".join(["| column | type | meaning |", "|---|---|---|", *rows])


@pytest.mark.parametrize("table", TABLES)
def test_the_page_lists_every_column(table: str) -> None:
    """The tables of the page are those that the columns' own list draws."""
    page = PAGE.read_text(encoding="utf-8")
    found = re.search(rf"<!-- columns: {table} -->\n\n((?:\|.*\n)+)", page)
    assert found is not None
    assert found[1].rstrip("\n") == drawn(TABLES[table])


def test_the_page_names_the_column_of_dates() -> None:
    """With a calendar, the turns have one more column, beside the tick; the page says so."""
    assert f"| `{DATE.name}` | {TYPES[DATE.kind]} | {DATE.meaning} |" in PAGE.read_text("utf-8")
