"""That changing a budget is a recorded change, and leaves a run as it was in every other way."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.sample_study import PEOPLE, SAMPLE

from perdure import runner
from perdure.analysis.standing import standing
from perdure.base.errors import EXIT_DONE, EXIT_PAUSED, MovedError, UsageError
from perdure.population import load_study
from perdure.records.budget import Budget
from perdure.records.registry import BudgetChanged
from perdure.runner.config import RunConfig
from perdure.runner.rebudget import change_budget
from perdure.trace.reader import RunReader
from perdure.trace.verify import verify


def config_of(folder: Path, budget: str = "") -> RunConfig:
    """Make a run that costs nothing, of a rule: its first round makes 48 calls."""
    study = folder / "study"
    study.mkdir(exist_ok=True)
    path = study / "study.yaml"
    path.write_text(SAMPLE + (f"budget: {{{budget}}}\n" if budget else ""), encoding="utf-8")
    (study / "people.csv").write_text(PEOPLE, encoding="utf-8")
    loaded = load_study(path)
    return RunConfig(
        study=loaded.study,
        population=loaded.population,
        held_out=loaded.held_out,
        study_path=str(path),
        out=str(folder / "run"),
    )


def state(folder: Path) -> str:
    """Say where a run stands."""
    with RunReader.open(folder) as record:
        found = standing(record.entry, record.worlds, record.outcomes, record.log, held=False)
    return found.state.value


def test_a_paused_run_goes_on_and_says_so(tmp_path: Path) -> None:
    """It is paused before and after the change, sound, and goes on to its end."""
    config = config_of(tmp_path, "calls: 60")
    assert runner.run(config).exit_status == EXIT_PAUSED
    assert state(tmp_path / "run") == "paused"
    change_budget(tmp_path / "run", Budget(calls=10_000))
    assert state(tmp_path / "run") == "paused"
    assert verify(tmp_path / "run").is_sound
    assert runner.run(config).exit_status == EXIT_DONE
    assert verify(tmp_path / "run").is_sound
    with RunReader.open(tmp_path / "run") as record:
        changes = [row for row in record.log if isinstance(row, BudgetChanged)]
    assert changes == [BudgetChanged(budget=Budget(calls=10_000))]


def test_a_completed_run_stays_completed(tmp_path: Path) -> None:
    """A budget that comes too late is on record, and running again is a no-op as before."""
    config = config_of(tmp_path)
    whole = runner.run(config)
    change_budget(tmp_path / "run", Budget(amount=1))
    assert state(tmp_path / "run") == "completed"
    assert verify(tmp_path / "run").is_sound
    again = runner.run(config)
    assert (again.exit_status, again.worlds) == (whole.exit_status, whole.worlds)


def test_an_edited_budget_is_refused_and_names_the_command(tmp_path: Path) -> None:
    """There is one way to change a budget, and that is on record."""
    assert runner.run(config_of(tmp_path, "calls: 60")).exit_status == EXIT_PAUSED
    with pytest.raises(MovedError, match="perdure budget") as caught:
        runner.run(config_of(tmp_path, "calls: 61"))
    assert caught.value.moved == ("budget",)


@pytest.mark.parametrize(
    "budget",
    [
        Budget(amount=2, ceiling=1),
        Budget(amount=0),
        Budget(ceiling=1),
        Budget(unpriced_accepted=True),
        Budget(unpriced_accepted=True, calls=1, amount=1),
    ],
)
def test_a_budget_that_no_study_could_have_is_refused(tmp_path: Path, budget: Budget) -> None:
    """Nothing is recorded of it."""
    assert runner.run(config_of(tmp_path, "calls: 60")).exit_status == EXIT_PAUSED
    with pytest.raises(UsageError):
        change_budget(tmp_path / "run", budget)
    with RunReader.open(tmp_path / "run") as record:
        assert not any(isinstance(row, BudgetChanged) for row in record.log)
