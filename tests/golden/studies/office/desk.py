"""Tools outside the office: a book that is really written into, and a safe that sticks."""

from __future__ import annotations

from pathlib import Path

from perdure.agent.drive.tools.function import tool
from perdure.records.tools import Effect

BOOK = "book.txt"


@tool(effect=Effect.WRITE, subject="text")
def append_line(text: str) -> str:
    """Write a line into the office's book."""
    with Path(BOOK).open("a", encoding="utf-8") as book:
        book.write(f"{text}\n")
    return "It is written."


@tool()
def open_safe(tries: int = 1) -> dict[str, object]:
    """Open the safe, which takes two tries, and say what is in it."""
    if tries < 2:
        raise RuntimeError("The safe sticks.")
    return {"key": "sk-Zx81Kq0vTe7LmN42RfYw93Hd", "euros": 12}
