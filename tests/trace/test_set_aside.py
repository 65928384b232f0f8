"""A call journal that cannot be used gets another name: all of it, and nothing is overwritten."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.folders import names_in

from perdure.base.errors import StorageError
from perdure.trace import files
from perdure.trace.set_aside import is_aside, name_aside, set_aside

ALL = ("", "-wal", "-shm", "-journal", "-head")


def test_a_journal_is_set_aside_with_all_that_lies_beside_it(tmp_path: Path) -> None:
    """Whatever has its name goes, under the epoch's name, with what it holds."""
    for suffix in ALL:
        (tmp_path / f"calls.db{suffix}").write_text(suffix)
    (tmp_path / "run.db").write_text("")
    set_aside(tmp_path, 3)
    assert names_in(tmp_path) == sorted(["run.db", *(f"{name_aside(3)}{suffix}" for suffix in ALL)])
    assert (tmp_path / f"{name_aside(3)}-wal").read_text() == "-wal"
    assert is_aside(tmp_path, 3)
    assert not is_aside(tmp_path, 2)


def test_nothing_is_ever_overwritten(tmp_path: Path) -> None:
    """Where a name is taken, by any file of it, the next one is used."""
    (tmp_path / f"{name_aside(2)}-wal").write_text("the first")
    for number in range(2):
        (tmp_path / "calls.db").write_text(str(number))
        set_aside(tmp_path, 2)
    assert names_in(tmp_path) == [
        "calls.db.damaged-2-wal",
        "calls.db.damaged-2.2",
        "calls.db.damaged-2.3",
    ]
    assert (tmp_path / "calls.db.damaged-2-wal").read_text() == "the first"


def test_where_nothing_is_nothing_is_done(tmp_path: Path) -> None:
    """A missing journal is no error here."""
    set_aside(tmp_path, 2)
    assert names_in(tmp_path) == []


def test_the_file_goes_before_its_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut short on the way, there is a log without a file, never a file without its log."""
    for suffix in ALL[:2]:
        (tmp_path / f"calls.db{suffix}").write_text(suffix)
    real = files.rename
    renamed: list[Path] = []

    def once(old: Path, new: Path) -> None:
        if renamed:
            raise StorageError("cut short")
        renamed.append(new)
        real(old, new)

    monkeypatch.setattr(files, "rename", once)
    with pytest.raises(StorageError):
        set_aside(tmp_path, 2)
    assert names_in(tmp_path) == ["calls.db-wal", "calls.db.damaged-2"]
