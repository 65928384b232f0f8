"""What is said of a budget: that it was passed, what follows a change, which rungs had effect."""

from __future__ import annotations

import pytest

from perdure.cli.budget_view import budget_parts, rungs_text, standing_parts
from perdure.cli.output import show
from perdure.records.budget import Budget, Rung
from perdure.records.registry import RungAt, WorldOutcome

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


PAUSED = RungAt(rung=Rung.PAUSE, tick=4, lifted=4)
LIFTED = RungAt(rung=Rung.WARN, tick=0, lifted=2)
AGAIN = RungAt(rung=Rung.WARN, tick=3)


@pytest.mark.parametrize(
    ("run", "worlds", "says"),
    [
        # A pause that was over at its tick: nothing had effect, and nothing is said.
        ((PAUSED,), {"a": ((PAUSED,), 5)}, ""),
        ((AGAIN, PAUSED), {"a": ((AGAIN, PAUSED), 5)}, "Rungs taken by the run: warn from tick 3."),
        # A world that had come to its end by then keeps its rung, and one that has not come as far.
        (
            (LIFTED,),
            {"a": ((RungAt(rung=Rung.WARN, tick=0),), 3), "b": ((LIFTED,), 3)},
            (
                "Rungs taken by the run: warn at each world's own tick. a: warn from tick 0"
                " b: warn from tick 0 to before tick 2"
            ),
        ),
        (
            (LIFTED,),
            {"a": ((RungAt(rung=Rung.WARN, tick=0),), 1), "b": ((LIFTED,), 3)},
            (
                "Rungs taken by the run: warn from tick 0 to before tick 2. a: warn from tick 0"
                " b: warn from tick 0 to before tick 2"
            ),
        ),
        # Taken twice it is told twice, or once where worlds differ.
        (
            (LIFTED, AGAIN),
            {"a": ((LIFTED, AGAIN), 5)},
            "Rungs taken by the run: warn from tick 0 to before tick 2, warn from tick 3.",
        ),
        (
            (LIFTED, AGAIN),
            {"a": ((RungAt(rung=Rung.WARN, tick=1),), 5)},
            "Rungs taken by the run: warn at each world's own tick. a: warn from tick 1",
        ),
    ],
)
def test_the_rungs_of_a_run_are_told_as_its_worlds_had_them(
    capsys: pytest.CaptureFixture[str],
    run: tuple[RungAt, ...],
    worlds: dict[str, tuple[tuple[RungAt, ...], int]],
    says: str,
) -> None:
    """Each with its ticks, as far as they are those of every world; what never held is left out."""
    standing = [
        WorldOutcome(world_id=name, tick=tick, rungs=rungs)
        for name, (rungs, tick) in worlds.items()
    ]
    show(*standing_parts(Budget(), run, standing, "USD", 0))
    assert " ".join(capsys.readouterr().out.split()) == says
