"""The difference between scenarios of one variant is taken seed by seed, person by person."""

from typing import Any

import pytest

from perdure.analysis.difference import references
from perdure.analysis.report import build_report
from perdure.records.budget import Rung
from perdure.records.outcome import UnscorableCause
from perdure.records.registry import RungAt, WorldOutcome, WorldState
from perdure.records.scenario import Scenario

PEOPLE = ("p1", "p2", "p3", "p4")


def wave(record: Any, world: str, tick: int, said: str) -> None:
    """Let everybody say something."""
    record.wave(world, tick, dict(zip(PEOPLE, said, strict=True)))


def test_the_difference_is_taken_seed_by_seed(record_of):
    """What the seeds share falls out: shares vary by seed, differences hardly do."""
    record = record_of(seeds=(1, 2, 3), scenarios=("plain", "bold"))
    for seed, plain, bold in ((1, "bbbb", "abbb"), (2, "aabb", "aaab"), (3, "aaab", "aaab")):
        wave(record, f"plain-{seed}", 0, plain)
        wave(record, f"bold-{seed}", 0, bold)
    (found,) = build_report(record).differences
    assert (found.scenario, found.reference, found.question, found.tick) == (
        "bold",
        "plain",
        "vote",
        0,
    )
    assert [seed.change["a"] for seed in found.seeds] == [0.25, 0.25, 0.0]
    assert [(seed.paired, seed.moved) for seed in found.seeds] == [(4, 1), (4, 1), (4, 0)]
    over = found.between.spreads["a"]
    assert over.mean == pytest.approx(1 / 6)
    # Deviations 1/12, 1/12, -2/12: squares add up to 6/144, over 2.
    assert over.sd == pytest.approx((6 / 144 / 2) ** 0.5)
    assert found.between.effective == 3


def test_only_who_was_scored_under_both_counts(record_of):
    """Somebody who could not be scored under one of them moves nothing, and is counted."""
    record = record_of(seeds=(1, 2), scenarios=("plain", "bold"))
    for seed in (1, 2):
        record.wave(f"plain-{seed}", 0, {"p1": "a", "p2": UnscorableCause.REFUSED, "p3": "b"})
        record.wave(f"bold-{seed}", 0, {"p1": "a", "p2": "a", "p3": "b"})
    (found,) = build_report(record).differences
    assert [(seed.paired, seed.unpaired) for seed in found.seeds] == [(2, 1), (2, 1)]
    assert found.between.spreads["a"].mean == 0.0


def test_a_seed_that_one_of_them_has_not_reached_is_named(record_of):
    """A pair needs both worlds; the one that is behind is named with where it stands."""
    record = record_of(seeds=(1, 2), scenarios=("plain", "bold"))
    for world in ("plain-1", "bold-1", "plain-2"):
        wave(record, world, 0, "aabb")
    (found,) = build_report(record).differences
    assert [seed.seed for seed in found.seeds] == [1]
    assert [(one.world_id, one.why) for one in found.between.missing] == [("bold-2", "not started")]


def test_worlds_under_unlike_rungs_are_not_compared_unmarked(record_of):
    """A rung that one of two scenarios was under is no effect of the scenario: it is marked."""
    record = record_of(seeds=(1, 2, 3), scenarios=("plain", "bold"))
    for seed, bold in ((1, "abbb"), (2, "aabb"), (3, "aaab")):
        wave(record, f"plain-{seed}", 2, "bbbb")
        wave(record, f"bold-{seed}", 2, bold)
        record.stands[f"bold-{seed}"] = WorldOutcome(
            world_id=f"bold-{seed}",
            state=WorldState.COMPLETED,
            tick=2,
            rungs=(RungAt(rung=Rung.SUBSAMPLE, tick=1),),
        )
    (found,) = build_report(record).differences
    assert [one.world_ids for one in found.between.unlike] == [
        ("plain-1", "plain-2", "plain-3"),
        ("bold-1", "bold-2", "bold-3"),
    ]
    assert found.between.spreads["a"].mean == 0.5
    assert found.between.spreads["a"].low is None


def test_each_scenario_is_compared_with_the_first_of_its_variant():
    """As many comparisons as scenarios, at most: a large grid has no square of them."""
    scenarios = [
        Scenario(id=name, variant=name[0], horizon=1) for name in ("a1", "b1", "a2", "c1", "a3")
    ]
    assert references(scenarios) == {"a2": "a1", "a3": "a1"}
