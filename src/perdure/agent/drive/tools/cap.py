"""How much of an answer a model is told: a cap in bytes, and a mark that says what is missing."""

from __future__ import annotations

import os
from typing import BinaryIO

import msgspec

from perdure.records.tools import ToolAnswer


def capped(answer: ToolAnswer, bytes_max: int) -> ToolAnswer:
    """Cut an answer to so many bytes of UTF-8, mark included; count what was cut away.

    The beginning is kept and, of what is left of room, the end: two thirds and one third. No
    character is cut in two. An answer that fits is given back as it is.
    """
    whole = answer.text.encode("utf-8", "replace")
    if len(whole) <= bytes_max:
        return answer
    # The mark's own length depends on a count that depends on it: its longest form is reserved.
    room = max(bytes_max - len(_mark(len(whole) + answer.dropped)), 0)
    head = _whole_start(whole[: room - room // 3])
    tail = _whole_end(whole[len(whole) - room // 3 :])
    dropped = len(whole) - len(head) - len(tail)
    text = (head + _mark(dropped + answer.dropped) + tail).decode()
    return msgspec.structs.replace(answer, text=text, dropped=answer.dropped + dropped)


def excerpt(file: BinaryIO, part_max: int) -> tuple[str, int]:
    """Read the beginning and the end of a file, and how many bytes between are left out."""
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    if size <= 2 * part_max:
        return file.read(2 * part_max).decode("utf-8", "replace"), 0
    head = _whole_start(file.read(part_max))
    file.seek(size - part_max)
    tail = _whole_end(file.read(part_max))
    dropped = size - len(head) - len(tail)
    return (head + _mark(dropped) + tail).decode("utf-8", "replace"), dropped


def _mark(dropped: int) -> bytes:
    return f"\n[… {dropped} bytes are left out here …]\n".encode()


def _whole_start(cut: bytes) -> bytes:
    return cut.decode("utf-8", "ignore").encode()


def _whole_end(cut: bytes) -> bytes:
    start = 0
    while start < len(cut) and cut[start] & 0xC0 == 0x80:  # noqa: PLR2004 - a continuation byte
        start += 1
    return cut[start:]
