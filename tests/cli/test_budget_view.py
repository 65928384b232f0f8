"""What is said of a budget: that it was passed, what follows a change, which rungs had effect."""

from __future__ import annotations

import pytest

from perdure.cli.budget_view import budget_parts, rungs_text, standing_parts
from perdure.cli.output import show
from perdure.records.budget import Budget, Rung
from perdure.records.registry import RungAt

BUDGET = Budget(amount=5_000_000_000)


@pytest.mark.parametrize(("spent", "is_passed"), [(5_000_000_000, False), (5_250_000_000, True)])
def test_a_ceiling_that_was_passed_is_said(
    capsys: pytest.CaptureFixture[str], spent: int, *, is_passed: bool
) -> None:
    """P5: by how much, and how that can be; not where all of it was spent."""
    show(*standing_parts(BUDGET, (), (), "USD", spent))
    said = " ".join(capsys.readouterr().out.split())
    assert ("The run cost 0.250000 USD more than it may" in said) == is_passed


@pytest.mark.parametrize(
    ("spent", "is_over", "says"),
    [
        (0, False, "`perdure run` or `perdure resume` goes on."),
        (5_000_000_000, False, "5.00 USD are spent already"),
        (0, True, "The run is complete"),
    ],
)
def test_what_follows_a_change_is_said(
    capsys: pytest.CaptureFixture[str], spent: int, says: str, *, is_over: bool
) -> None:
    """Nothing is promised of a run that spends nothing more."""
    show(*budget_parts(Budget(amount=1), BUDGET, "USD", spent=spent, is_over=is_over))
    assert says in " ".join(capsys.readouterr().out.split())


def test_a_rung_that_never_had_effect_is_not_named() -> None:
    """Lifted at the tick at which it was taken, it held for no tick."""
    warn, pause = RungAt(rung=Rung.WARN, tick=2), RungAt(rung=Rung.PAUSE, tick=4, lifted=4)
    assert rungs_text((warn, pause)) == "warn from tick 2"
