"""The change between waves and its spread over seeds."""

import statistics

import pytest

from perdure.analysis.report import build_report
from perdure.records.outcome import UnscorableCause


def test_spread_is_the_standard_deviation_over_seeds(record_of):
    """Per-seed changes, their mean and their deviation with n - 1 are the textbook ones."""
    record = record_of(seeds=(1, 2, 3))
    for seed, after in ((1, "aaaa"), (2, "aabb"), (3, "abbb")):
        world = f"plain-{seed}"
        record.wave(world, 0, dict(zip(("p1", "p2", "p3", "p4"), "abbb", strict=True)))
        record.wave(world, 2, dict(zip(("p1", "p2", "p3", "p4"), after, strict=True)))
    (change,) = build_report(record).changes
    assert [seed.change["a"] for seed in change.seeds] == [0.75, 0.25, 0.0]
    assert [seed.moved for seed in change.seeds] == [3, 1, 0]
    (a, b) = change.choices
    assert a.mean == pytest.approx(1 / 3)
    assert a.sd == pytest.approx(statistics.stdev([0.75, 0.25, 0.0]))
    assert b.mean == pytest.approx(-1 / 3)
    assert change.unmeasured == ""
    assert change.identical == ()


def test_only_personas_scored_at_both_waves_count(record_of):
    """Someone who cannot be scored at one wave moves no share, and is counted as left out."""
    record = record_of(seeds=(1, 2))
    for seed in (1, 2):
        record.wave(f"plain-{seed}", 0, {"p1": "a", "p2": UnscorableCause.REFUSED, "p3": "b"})
        record.wave(f"plain-{seed}", 2, {"p1": "a", "p2": "a", "p3": "b"})
    (change,) = build_report(record).changes
    assert [(seed.paired, seed.unpaired) for seed in change.seeds] == [(2, 1), (2, 1)]
    assert [seed.change["a"] for seed in change.seeds] == [0.0, 0.0]


def test_one_seed_has_no_spread(record_of):
    """With fewer than two seeds the spread is not measurable, and the report says why."""
    record = record_of(seeds=(1,))
    record.wave("plain-1", 0, {"p1": "a"})
    record.wave("plain-1", 2, {"p1": "b"})
    report = build_report(record)
    (change,) = report.changes
    assert change.choices[0].mean == -1.0
    assert change.choices[0].sd is None
    assert "at least 2 seeds" in change.unmeasured
    assert any(gap.why == change.unmeasured for gap in report.gaps)


def test_identical_replicates_are_pointed_out(record_of):
    """Seeds that gave the same answers one by one are named: their spread of zero says nothing."""
    record = record_of(seeds=(7, 8, 9))
    for seed in (7, 8, 9):
        record.wave(f"plain-{seed}", 0, {"p1": "a", "p2": "b"})
        record.wave(f"plain-{seed}", 2, {"p1": "a", "p2": "a" if seed < 9 else "b"})
    (change,) = build_report(record).changes
    assert change.identical == change.between.identical == ((7, 8),)
    assert change.between.effective == 2


def test_a_wave_that_nobody_reached_is_not_a_change_of_zero(record_of):
    """A run that stopped before its last wave has no change, and says so."""
    record = record_of(seeds=(1, 2))
    record.wave("plain-1", 0, {"p1": "a"})
    (change,) = build_report(record).changes
    assert change.choices[0].mean is None
    assert change.unmeasured == "none of 2 worlds has reached the last wave"
