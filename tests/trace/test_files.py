"""What the system refuses beside SQLite is one of our errors, and names are made durable."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from perdure.base.errors import StorageError, StorageFullError
from perdure.trace import files

REFUSALS: dict[str, Callable[[Path], object]] = {
    "os.fsync": files.sync_folder,
    "pathlib.Path.rename": lambda folder: files.rename(folder / "a", folder / "b"),
    "pathlib.Path.unlink": lambda folder: files.remove(folder / "a"),
    "pathlib.Path.mkdir": lambda folder: files.make_folder(folder / "new" / "er"),
    "pathlib.Path.lstat": lambda folder: (files.size(folder / "a"), files.exists(folder / "a")),
}


@pytest.mark.parametrize("refused", REFUSALS)
@pytest.mark.parametrize(("code", "ours"), [(28, StorageFullError), (5, StorageError)])
def test_what_the_system_refuses_is_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, refused: str, code: int, ours: type
) -> None:
    """P9: each call to the system that fails says so in one sentence."""

    def refuse(*_: object, **__: object) -> None:
        raise OSError(code, "no")

    monkeypatch.setattr(refused, refuse)
    caught: list[type] = []
    try:
        REFUSALS[refused](tmp_path)
    except StorageError as error:
        caught.append(type(error))
    finally:
        monkeypatch.undo()
    assert caught == [ours]


def test_a_folder_is_made_with_its_parents(tmp_path: Path) -> None:
    """A run's folder may be as deep as one likes, and may be there."""
    files.make_folder(tmp_path / "a" / "b" / "c")
    files.make_folder(tmp_path / "a" / "b" / "c")
    assert (tmp_path / "a" / "b" / "c").is_dir()


def test_sizes_and_names(tmp_path: Path) -> None:
    """A missing file has no size; a broken link has a name."""
    assert files.size(tmp_path / "a") == 0
    (tmp_path / "a").symlink_to(tmp_path / "missing")
    assert files.exists(tmp_path / "a")
    assert not files.exists(tmp_path / "b")
    files.remove(tmp_path / "a")
    files.remove(tmp_path / "a")
    assert not files.exists(tmp_path / "a")
