"""However a world stops short, its record is left in its one file, like that of any other."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.folders import names_in
from tests.support.golden import STUDIES, GoldenServer, copy_studies, start

from perdure.trace.verify import verify


@pytest.mark.parametrize(
    ("fault", "status"), [("", 1), ("status_402", 76), ("status_401", 77), ("status_400", 69)]
)
def test_a_world_that_stops_short_leaves_one_file(tmp_path: Path, fault: str, status: int) -> None:
    """A world whose own code fails, and one whose endpoint does, leave no log beside their file."""
    copy_studies(STUDIES, tmp_path)
    with GoldenServer(tmp_path) as server:
        study = tmp_path / "fire" / "study.yaml"
        server.serve(study)
        if fault:
            server.play(dict.fromkeys(range(15, 200), fault))
        process = start(["run", study, "--out", tmp_path / "run", "--quiet"], cwd=tmp_path)
        said, errors = process.communicate(timeout=100)
    assert process.returncode == status, said + errors
    names = names_in(tmp_path / "run" / "worlds")
    assert len(names) == 2
    assert all(name.endswith(".db") for name in names)
    assert verify(tmp_path / "run").is_sound
