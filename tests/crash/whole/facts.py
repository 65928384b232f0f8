"""What a run says to the outside while it goes on: kept where no kill of the run can reach it.

A fact is a tuple of a word and its details, told at the moment at which it became true and written
at once. A kill loses nothing that was written: the system keeps it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

Fact = tuple[Any, ...]
Tell = Callable[..., None]

_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(tuple[Any, ...])
# As it was before anybody listens to it.
_write = os.write


class Teller:
    """Appends facts to a file."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)

    def __call__(self, *fact: Any) -> None:
        _write(self._file, _encoder.encode(fact) + b"\n")


def read_facts(path: Path) -> list[Fact]:
    """Read the facts that were told, in order."""
    if not path.exists():
        return []
    return [_decoder.decode(line) for line in path.read_bytes().splitlines()]


def write_facts(path: Path, facts: list[Fact]) -> None:
    """Write facts down as if they had been told."""
    path.write_bytes(b"".join(_encoder.encode(fact) + b"\n" for fact in facts))
