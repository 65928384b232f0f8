"""What a folder holds before a run begins there."""

from pathlib import Path

import pytest
from tests.support.town import town

from perdure.base.errors import HeldError
from perdure.runner.history import look_back


def test_what_a_run_leaves_before_its_registry_is_no_obstacle(tmp_path: Path):
    """A run that was killed, or met a full disk, before its first commit is begun again."""
    for name in ("governor.lock", "reserve", "status.json", "stop", "run.db.new", "run.db.new-wal"):
        (tmp_path / name).touch()
    (tmp_path / "worlds").mkdir()
    assert not look_back(town(2, out=str(tmp_path)), now_s=0.0).begun


@pytest.mark.parametrize("name", ["notes", "worlds", "data"])
def test_what_is_somebody_elses_is_left_alone(tmp_path: Path, name: str):
    """A folder that holds anything else is refused, and the thing is named."""
    (tmp_path / name / "one").mkdir(parents=True)
    with pytest.raises(HeldError, match=name):
        look_back(town(2, out=str(tmp_path)), now_s=0.0)
