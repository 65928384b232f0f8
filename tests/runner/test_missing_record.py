"""P3: a run whose records are missing is not begun again beside what was acknowledged of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.commands import kill_each
from tests.support.sample_study import PEOPLE, SAMPLE

from perdure.base.errors import EXIT_DONE, EXIT_STORAGE
from perdure.cli.entry import execute


@pytest.fixture(scope="module", params=["killed", "complete"])
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a run of four worlds that was killed, or came to its end, with one record missing."""
    place = tmp_path_factory.mktemp("missing")
    (place / "study.yaml").write_text(SAMPLE)
    (place / "people.csv").write_text(PEOPLE)
    if request.param == "killed":
        kill_each(place / "study.yaml", place / "run", {"s1@1": 3, "s1@2": 2, "s2@1": 1})
    else:
        study, out = str(place / "study.yaml"), str(place / "run")
        assert execute(["run", study, "--out", out, "--quiet"]) == EXIT_DONE
    path = min((place / "run" / "worlds").glob("*.db"))
    for file in path.parent.glob(f"{path.name}*"):
        file.unlink()
    return place / "run"


@pytest.mark.parametrize("command", ["resume", "export", "replay", "report", "ledger", "verify"])
def test_a_record_that_is_missing_is_named(
    run: Path, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """74 and the world, from every command that would rest on it; nothing is made in its place."""
    before = sorted(path.name for path in (run / "worlds").iterdir())
    capsys.readouterr()
    status = execute([command, str(run), "--json"])
    said = capsys.readouterr().out
    assert status == EXIT_STORAGE, said
    assert "record is missing, though events of it were acknowledged" in said
    assert {name.partition("-")[0] for name in before} == {
        path.name.partition("-")[0] for path in (run / "worlds").iterdir()
    }
