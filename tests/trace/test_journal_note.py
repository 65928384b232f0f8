"""The note beside a call journal says how far it came, and is never believed when it is damaged."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from perdure.base.errors import StorageError
from perdure.trace.journal_note import JournalNote, Noted, note_path, read_note

RUN = "abcdef012345"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Give a journal that was written seven times, as its note says."""
    journal = tmp_path / "calls.db"
    note = JournalNote(journal, RUN, 3)
    for writes in range(8):
        note.write(writes)
    note.close()
    note.close()
    return journal


def test_a_note_is_read_as_it_was_written(path: Path) -> None:
    """The last word counts; of another run there is none."""
    assert read_note(path, RUN) == Noted(since=3, writes=7)
    assert read_note(path, "000000000000") is None


def test_a_note_that_is_gone_or_cut_says_nothing(path: Path) -> None:
    """What cannot be read is no reason to doubt the journal."""
    data = note_path(path).read_bytes()
    for size in range(len(data)):
        note_path(path).write_bytes(data[:size])
        assert read_note(path, RUN) is None
    note_path(path).unlink()
    assert read_note(path, RUN) is None


def test_a_note_with_a_flipped_bit_says_nothing(path: Path) -> None:
    """Every bit of it is under its sum."""
    data = note_path(path).read_bytes()
    for place in range(len(data) * 8):
        flipped = bytearray(data)
        flipped[place // 8] ^= 1 << place % 8
        note_path(path).write_bytes(flipped)
        assert read_note(path, RUN) is None


def test_only_a_plain_file_is_a_note(path: Path, tmp_path: Path) -> None:
    """A link or a pipe in its place is neither followed nor waited for."""
    note_path(path).rename(tmp_path / "elsewhere")
    note_path(path).symlink_to(tmp_path / "elsewhere")
    assert read_note(path, RUN) is None
    with pytest.raises(StorageError):
        JournalNote(path, RUN, 3)
    note_path(path).unlink()
    os.mkfifo(note_path(path))
    assert read_note(path, RUN) is None


def test_a_note_that_cannot_be_kept_up_stops_nobody(path: Path) -> None:
    """P9: a note that falls behind says less, and nothing that is not so."""
    note = JournalNote(path, RUN, 3)
    os.close(note._descriptor)
    note.write(8)
    assert read_note(path, RUN) == Noted(since=3, writes=7)
