"""Which cells of a run can be compared follows from how they ended, and is said in words."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.records.budget import Rung
from perdure.records.comparability import Comparability, Unlike
from perdure.records.registry import RungAt, WorldEntry, WorldOutcome, WorldState
from perdure.trace.comparability import POINTS, comparability

DONE = WorldState.COMPLETED
HORIZON = 30


def found(*outcomes: WorldOutcome | None) -> Comparability:
    """Compare worlds named a, b, c and so on."""
    names = "abcdefghijkl"[: len(outcomes)]
    worlds = [
        WorldEntry(
            world_id=name,
            scenario="s",
            variant="v",
            replicate_seed=place,
            world_seed="",
            horizon=HORIZON,
        )
        for place, name in enumerate(names)
    ]
    return comparability(worlds, dict(zip(names, outcomes, strict=True)))


def cell(
    name: str, *rungs: RungAt, failed: int = 0, turns: int = 100, state: WorldState = DONE
) -> WorldOutcome:
    """Make the outcome of a cell that was asked `turns` and lost `failed` of them."""
    tick = HORIZON - 1 if state is DONE else 11
    return WorldOutcome(
        world_id=name,
        state=state,
        tick=tick,
        turns=turns - failed,
        turns_failed=failed,
        rungs=rungs,
    )


def at(rung: Rung, tick: int, lifted: int | None = None) -> RungAt:
    """Make a rung that a cell had."""
    return RungAt(rung=rung, tick=tick, lifted=lifted)


def test_cells_that_ran_alike_are_one_group() -> None:
    """Nothing is marked."""
    seen = found(cell("a"), cell("b", failed=3), cell("c"))
    assert [group.worlds for group in seen.groups] == [("a", "b", "c")]
    assert (seen.groups[0].failed_min, seen.groups[0].failed_max) == (0.0, 0.03)
    assert seen.unlike == ()


def test_cells_with_other_rungs_are_marked_with_both() -> None:
    """The same rung at another tick is another run; the largest group stands for the others."""
    early, late = at(Rung.FREEZE, 3), at(Rung.FREEZE, 7)
    seen = found(cell("a", early), cell("b", late), cell("c", late), cell("d"))
    assert [group.worlds for group in seen.groups] == [("b", "c"), ("a",), ("d",)]
    assert seen.unlike == (
        Unlike(
            world_id="a",
            why="It had freeze from tick 3; the largest group had freeze from tick 7.",
        ),
        Unlike(
            world_id="d",
            why="It had no restraining rung; the largest group had freeze from tick 7.",
        ),
    )


def test_what_restrains_nothing_tells_no_cells_apart() -> None:
    """A warning changes nothing, a pause lies between ticks, and a rung lifted at once has none."""
    none = at(Rung.SUBSAMPLE, 4, lifted=4)
    seen = found(
        cell("a"), cell("b", at(Rung.WARN, 2)), cell("c", at(Rung.PAUSE, 5, 5)), cell("d", none)
    )
    assert [group.worlds for group in seen.groups] == [("a", "b", "c", "d")]
    lifted = at(Rung.SUBSAMPLE, 4, lifted=9)
    assert len(found(cell("a"), cell("b", lifted)).groups) == 2


def test_cells_that_lost_other_shares_of_turns_are_marked_with_their_counts() -> None:
    """Less than five percentage points apart is alike; five is not."""
    seen = found(cell("a", failed=1), cell("b", failed=5), cell("c", failed=6))
    assert [group.worlds for group in seen.groups] == [("a", "b"), ("c",)]
    assert seen.unlike == (
        Unlike(
            world_id="c",
            why="6 of its 100 turns failed (6.0 %); in the largest group 1.0 % to 5.0 % did.",
        ),
    )


@pytest.mark.parametrize(
    ("state", "said"),
    [
        (WorldState.FAILED, "It failed: 12 of 30 ticks are closed."),
        (WorldState.PARTIAL, "It is not at its end: 12 of 30 ticks are closed."),
    ],
)
def test_a_cell_that_is_not_at_its_end_is_in_no_group(state: WorldState, said: str) -> None:
    """It says how far it came."""
    seen = found(cell("a"), cell("b", state=state), None)
    assert [group.worlds for group in seen.groups] == [("a",)]
    assert [one.why for one in seen.unlike] == [
        said,
        "It has not started: 0 of 30 ticks are closed.",
    ]


def test_a_run_in_which_nothing_is_at_its_end_has_no_group() -> None:
    """Every cell is marked."""
    seen = found(cell("a", state=WorldState.PARTIAL), None)
    assert seen.groups == ()
    assert [one.world_id for one in seen.unlike] == ["a", "b"]


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 2)), min_size=1, max_size=12))
def test_any_two_cells_of_a_group_are_alike(cells: list[tuple[int, int]]) -> None:
    """Groups part the cells; within one no two shares are five points apart, nor rungs other."""
    outcomes = {
        name: cell(name, *[at(Rung.FREEZE, tick)] * bool(tick), failed=failed)
        for name, (failed, tick) in zip("abcdefghijkl", cells, strict=False)
    }
    seen = found(*outcomes.values())
    assert sorted(name for group in seen.groups for name in group.worlds) == sorted(outcomes)
    for group in seen.groups:
        for one, other in combinations([outcomes[name] for name in group.worlds], 2):
            assert one.rungs == other.rungs == group.rungs
            assert abs(one.turns_failed - other.turns_failed) < POINTS
    sizes = [len(group.worlds) for group in seen.groups]
    assert sizes == sorted(sizes, reverse=True)
    assert len(seen.unlike) == len(outcomes) - sizes[0]
