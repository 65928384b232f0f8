"""What a folder holds before a run begins there."""

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.town import town

from perdure.base.clock import SystemClock
from perdure.base.errors import HeldError
from perdure.runner import place
from perdure.runner.history import look_back
from perdure.trace.lock import GovernorLock, is_held


@pytest.fixture
def held(tmp_path: Path) -> Iterator[Path]:
    """Hold the lock of a folder."""
    lock = asyncio.run(GovernorLock.acquire(tmp_path, SystemClock()))
    yield tmp_path
    lock.release()


def test_what_a_run_leaves_before_its_registry_is_no_obstacle(tmp_path: Path):
    """A run that was killed, or met a full disk, before its first commit is begun again."""
    for name in ("governor.lock", "reserve", "status.json", "stop", "run.db.new", "run.db.new-wal"):
        (tmp_path / name).touch()
    (tmp_path / "worlds").mkdir()
    (tmp_path / "logs").mkdir()
    assert not look_back(town(2, out=str(tmp_path)), now_s=0.0).begun
    # It listens for who asks where it is from its first instant on, and may have been asked.
    (tmp_path / "logs" / "stacks-run.txt").write_text("Those were the threads.")
    assert not look_back(town(2, out=str(tmp_path)), now_s=0.0).begun


@pytest.mark.parametrize("name", ["notes", "worlds", "data", "logs"])
def test_what_is_somebody_elses_is_left_alone(tmp_path: Path, name: str):
    """A folder that holds anything else is refused, and the thing is named."""
    (tmp_path / name / "one").mkdir(parents=True)
    with pytest.raises(HeldError, match=name):
        look_back(town(2, out=str(tmp_path)), now_s=0.0)


def test_who_holds_a_run_is_named_before_its_registry_is_there(held: Path):
    """A run that another process is just beginning is not taken for something else."""
    with pytest.raises(HeldError, match=rf"process {os.getpid()} on"):
        look_back(town(2, out=str(held)), now_s=0.0)
    assert not look_back(town(2, out=str(held)), now_s=0.0, holding=True).begun


def test_a_run_that_begins_while_somebody_looks_is_named(
    held: Path, monkeypatch: pytest.MonkeyPatch
):
    """Between two looks at the folder another process takes it and writes its first files."""
    seen = [False]

    def not_at_first(folder: Path) -> bool:
        return is_held(folder) if not seen else seen.pop()

    monkeypatch.setattr(place, "is_held", not_at_first)
    (held / "calls.db").touch()
    with pytest.raises(HeldError, match=rf"process {os.getpid()} on"):
        look_back(town(2, out=str(held)), now_s=0.0)
