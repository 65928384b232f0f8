"""The history of a workspace says why it could not be kept, in words that a caller can act on."""

from __future__ import annotations

import asyncio
import shutil
import stat
from pathlib import Path

import pytest

from perdure.agent.drive.tools.history import History, HistoryError
from perdure.base.errors import PerdureError, StorageFullError
from perdure.records.tools import Writes

FULL = "fatal: write error: No space left on device"


def commit(history: History) -> str:
    """Commit what is there."""
    return asyncio.run(history.commit(1_000, Writes(), "as it stands")).oid


@pytest.mark.parametrize(
    ("script", "kind"),
    [
        (f"echo '{FULL}' >&2; exit 128", StorageFullError),
        ("kill -XFSZ $$", StorageFullError),
        ("echo 'fatal: not today' >&2; exit 128", HistoryError),
    ],
)
def test_a_full_disk_is_no_refusal_of_git(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, kind: type[PerdureError]
) -> None:
    """Whatever git was doing, no room is no room; all else is what git says."""
    program = tmp_path / "bin" / "git"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    with pytest.raises(kind):
        asyncio.run(History(tmp_path / "history.git", tmp_path).begin())


def test_git_that_fails_where_nothing_is_left_failed_for_want_of_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Git does not always say why it could not write."""
    used = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: used._replace(free=4096))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    (tmp_path / "history.new").write_text("this is no folder")
    with pytest.raises(StorageFullError):
        asyncio.run(History(tmp_path / "history.git", tmp_path).begin())


def test_a_workspace_that_is_gone_is_said(tmp_path: Path) -> None:
    """It is no missing program, and no bug."""
    room = tmp_path / "room"
    room.mkdir()
    history = History(tmp_path / "history.git", room)
    asyncio.run(history.begin())
    assert commit(history)
    room.rmdir()
    with pytest.raises(HistoryError, match="is not there any more"):
        commit(history)


def test_it_is_made_without_hooks_and_begun_again_where_it_was_half_made(tmp_path: Path) -> None:
    """A template takes room; what a full disk left of a repository is no hindrance."""
    history = History(tmp_path / "history.git", tmp_path)
    half = tmp_path / "history.new"
    (half / "objects").mkdir(parents=True)
    (half / "HEAD").touch()
    asyncio.run(history.begin())
    asyncio.run(history.begin())
    assert commit(history)
    assert not half.exists()
    assert not (tmp_path / "history.git" / "hooks").exists()


def test_what_is_no_history_is_left_as_it_is(tmp_path: Path) -> None:
    """Nothing of anybody else's is removed to make room for it."""
    (tmp_path / "history.git").mkdir()
    (tmp_path / "history.git" / "mine").touch()
    with pytest.raises(HistoryError, match="something else"):
        asyncio.run(History(tmp_path / "history.git", tmp_path).begin())
    assert (tmp_path / "history.git" / "mine").exists()
