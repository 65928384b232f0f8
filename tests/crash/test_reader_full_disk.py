"""F7 and P11 for readers: nothing is needed in a run's folder to read it, however it was left."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.crash.test_disk_full import _own_mounts, why_no_mounts

from perdure.base.errors import EXIT_DONE, EXIT_STOPPED, EXIT_STORAGE

ROOT = Path(__file__).resolve().parents[2]
LEFT = ("closed", "no-index", "hot")


def read(*arguments: str) -> dict[str, Any]:
    """Read a run on a disk of its own, in a process of its own."""
    if why_no_mounts():
        pytest.skip(f"no disk of its own can be mounted: {why_no_mounts()}")
    command = [*_own_mounts(), sys.executable, "-m", "tests.crash.full_reader", *arguments]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    told: dict[str, Any] = json.loads(ended.stdout)
    return told


@pytest.mark.parametrize("left", LEFT)
@pytest.mark.parametrize("disk", ["full", "read-only"])
def test_a_run_is_read_without_room_in_its_folder(tmp_path: Path, disk: str, left: str) -> None:
    """A run on a full disk, or one that may not be written, is sound, and no copy stays."""
    told = read(disk, left, str(tmp_path))
    assert told["sound"], told["findings"]
    assert told["untouched"]
    assert told["status"] == EXIT_DONE
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("disk", "status"), [("full", EXIT_STOPPED), ("read-only", EXIT_STORAGE)])
def test_where_no_copy_can_be_made_one_sentence_says_so(disk: str, status: int) -> None:
    """Without room anywhere it is said that nothing is lost, and what helps."""
    told = read(disk, "hot", "nowhere")
    assert told["status"] == status
    assert "no folder for temporary files can take one. Nothing is lost." in told["said"]
    assert "TMPDIR" in told["said"]
    assert told["untouched"]


@pytest.mark.parametrize(
    ("disk", "left"), [("full", "closed"), ("full", "no-index"), ("read-only", "hot")]
)
def test_a_reader_without_a_copy_is_caught(tmp_path: Path, disk: str, left: str) -> None:
    """Control: a reader that only reads in place finds no sound run here."""
    assert not read(disk, left, str(tmp_path), "--plant", "never-copies")["sound"]
