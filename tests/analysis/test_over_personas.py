"""Waves over personas and by weight; calibration by group and bin; another run beside this one."""

import math
from typing import Any

import msgspec
import pytest

from perdure.analysis.prediction import LOG_FLOOR
from perdure.analysis.report import build_report
from perdure.base.errors import DamagedRecordError
from perdure.records.persona import Persona
from perdure.records.study import Study

SIX = tuple(Persona(id=f"p{n}", attributes={"lean": n % 2}) for n in range(6))


def with_weights(record: Any, weights: tuple[float, ...], **population: Any) -> None:
    """Give a record's study a column of weights, drawn as told, and these weights."""
    study = msgspec.json.decode(record.entry.study, type=Study)
    spec = msgspec.structs.replace(study.population, weight_column="w", **population)
    changed = msgspec.json.encode(msgspec.structs.replace(study, population=spec)).decode()
    record.entry = msgspec.structs.replace(record.entry, study=changed, weights=tuple(weights))


def answered(record_of: Any) -> Any:
    """Two of six say a."""
    record = record_of(personas=SIX, held_out={}, seeds=(1,))
    said = {one.id: "a" if place < 2 else "b" for place, one in enumerate(SIX)}
    record.wave("plain-1", 0, said)
    return record


def test_every_wave_has_an_interval_over_its_people(record_of):
    """Two of six: the share, its denominator, its world, and bounds around it; no weights."""
    report = build_report(answered(record_of))
    (row,) = report.over_personas
    assert (row.personas, row.answers, row.world_ids, row.weighted) == (6, 6, ("plain-1",), None)
    found = row.figures["a"]
    assert found.value == pytest.approx(1 / 3)
    assert found.low is not None
    assert found.high is not None
    assert found.low < 1 / 3 < found.high
    assert report.weighting.why == "the study has no survey weights"


def test_weighted_shares_stand_beside_unweighted(record_of):
    """The two who said a stand for five each: 10 of 14 by weight, of Kish's 196 / 54 people."""
    record = answered(record_of)
    with_weights(record, (5, 5, 1, 1, 1, 1))
    report = build_report(record)
    (row,) = report.over_personas
    assert row.figures["a"].value == pytest.approx(1 / 3)
    assert row.weighted is not None
    assert row.weighted.figures["a"].value == pytest.approx(10 / 14)
    assert row.weighted.effective == report.weighting.effective == pytest.approx(196 / 54)
    assert report.weighting.design == pytest.approx(6 * 54 / 196)


@pytest.mark.parametrize(
    ("draw", "why"),
    [
        ({"draw": 6, "draw_by": "weight"}, "in proportion to their weights"),
        ({"draw": 6, "quotas": ("lean",)}, "by weight already"),
        ({}, "before weights were kept"),
    ],
)
def test_weights_are_not_applied_twice(record_of, draw, why):
    """A draw by weight is self-weighting, and says so; so does one to shares by weight."""
    record = answered(record_of)
    with_weights(record, (), **draw)
    report = build_report(record)
    assert why in report.weighting.why
    assert report.over_personas[0].weighted is None


def test_a_weight_too_few_is_damage(record_of):
    """Weights that are not one for each persona cannot be used."""
    record = answered(record_of)
    with_weights(record, (1, 2))
    with pytest.raises(DamagedRecordError, match="2 survey weights for 6 personas"):
        build_report(record)


def test_a_difference_is_taken_person_by_person(record_of):
    """Two of six moved to a: a third of the people, on the seeds that both scenarios have."""
    record = record_of(personas=SIX, held_out={}, seeds=(1,), scenarios=("plain", "loud"))
    record.wave("plain-1", 0, dict.fromkeys((one.id for one in SIX), "b"))
    record.wave("loud-1", 0, {one.id: "a" if n < 2 else "b" for n, one in enumerate(SIX)})
    (row,) = (one for one in build_report(record).over_personas if one.reference)
    assert (row.scenario, row.reference, row.world_ids) == ("loud", "plain", ("loud-1", "plain-1"))
    assert row.figures["a"].value == pytest.approx(1 / 3)
    assert row.figures["b"].value == pytest.approx(-1 / 3)


def test_log_loss_has_a_stated_floor(record_of):
    """Half right over two seeds is ln 2; never named is the floor, which is counted."""
    record = record_of(seeds=(1, 2))
    record.wave("plain-1", 0, {"p1": "a", "p3": "a"})
    record.wave("plain-2", 0, {"p1": "b", "p3": "a"})
    fit = build_report(record).predictions[0].overall.fit
    assert fit.log_loss == pytest.approx((math.log(2) - math.log(LOG_FLOOR)) / 2)
    assert fit.floored == 1


def test_calibration_by_group_and_bin(record_of):
    """p1, p2 lean left and really chose a; the model says a for half of them: a gap of a half."""
    record = record_of(seeds=(1, 2))
    record.wave("plain-1", 0, {"p1": "a", "p2": "b", "p3": "b"})
    record.wave("plain-2", 0, {"p1": "a", "p2": "b", "p3": "a"})
    found = build_report(record).predictions[0].calibration
    rows = {
        (one.group, one.choice): (one.personas, one.predicted, one.real) for one in found.groups
    }
    assert rows["0", "a"] == (2, 0.5, 1.0)
    assert rows["1", "b"] == (1, 0.5, 1.0)
    assert found.group_gap == pytest.approx(0.5)
    assert [(one.low, one.pairs, one.predicted, one.real) for one in found.bins] == [
        (0.0, 2, 0.0, 0.5),
        (0.5, 2, 0.5, 0.5),
        (0.9, 2, 1.0, 0.5),
    ]
    assert found.bin_gap == pytest.approx(1 / 3)


def test_one_seed_has_no_bins_and_says_why(record_of):
    """With one seed every probability is 0 or 1: unmeasured, not perfect."""
    record = record_of(seeds=(1,))
    record.wave("plain-1", 0, {"p1": "a"})
    found = build_report(record).predictions[0].calibration
    assert found.bin_gap is None
    assert "one seed" in found.no_bins


def test_another_run_is_judged_on_the_same_people(record_of):
    """The other run lacks p3, so p3 counts for neither; both fits and the constant stand there."""
    own, other = record_of(seeds=(1,)), record_of(seeds=(1, 2), model="rule")
    own.wave("plain-1", 0, {"p1": "a", "p2": "b", "p3": "a"})
    other.wave("plain-1", 0, {"p1": "a", "p2": "a"})
    other.wave("plain-2", 0, {"p1": "a", "p2": "a"})
    found = build_report(own, beside=other).beside
    assert found is not None
    (row,) = found.rows
    assert (row.personas, row.world_ids, row.other_world_ids) == (
        2,
        ("plain-1",),
        ("plain-1", "plain-2"),
    )
    assert (row.own.accuracy, row.other.accuracy, row.always.accuracy) == (0.5, 1.0, 1.0)
    assert (found.models, found.why) == (("rule",), "")


def test_a_run_with_other_real_values_is_not_compared(record_of):
    """The same ids with other outcomes are other people: nothing is compared, with the reason."""
    own, other = record_of(seeds=(1,)), record_of(seeds=(1,), held_out={"p1": "b"})
    for record in (own, other):
        record.wave("plain-1", 0, {"p1": "a"})
    found = build_report(own, beside=other).beside
    assert found is not None
    assert found.rows == ()
    assert "not the same" in found.why
