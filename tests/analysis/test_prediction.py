"""Predicted shares, accuracy and Brier score, each with its denominators."""

import pytest

from perdure.analysis.answers import Answer
from perdure.analysis.prediction import Fit, fit
from perdure.analysis.report import build_report
from perdure.base.errors import UsageError
from perdure.records.outcome import UnscorableCause
from perdure.records.request import FailureCause


def test_probability_is_the_share_of_scored_answers_over_seeds():
    """Two seeds that disagree give a probability of one half, and half the squared error."""
    agree = {"p": Answer(choice="a")}
    disagree = {"p": Answer(choice="b")}
    assert fit([agree, agree], {"p": "a"}, ["a", "b"]).brier == 0.0
    assert fit([agree, disagree], {"p": "a"}, ["a", "b"]).brier == pytest.approx(0.5)
    assert fit([disagree], {"p": "a"}, ["a", "b"]).brier == pytest.approx(2.0)


def test_nothing_to_compare_is_absent_not_zero():
    """Without a scored answer or a real value there is no accuracy and no score."""
    nothing = Fit(compared=0, correct=0, personas=0, accuracy=None, brier=None)
    assert fit([{"p": Answer(choice="a")}], {}, ["a", "b"]) == nothing
    unscorable = Answer(unscorable=UnscorableCause.REFUSED)
    assert fit([{"p": unscorable}], {"p": "a"}, ["a", "b"]) == nothing


def test_denominators_count_every_asked_persona_once(record_of):
    """Asked = answered + failed; answered = scored + unscorable; causes are kept apart."""
    record = record_of(seeds=(1,))
    record.wave(
        "plain-1",
        0,
        {
            "p1": "a",
            "p2": UnscorableCause.UNDECIDED,
            "p3": FailureCause.TIMEOUT,
            "p4": "b",
        },
    )
    (prediction,) = build_report(record).predictions
    answers = prediction.overall.answers
    assert (answers.asked, answers.answered, answers.scored) == (4, 3, 2)
    assert answers.unscorable == {"undecided": 1}
    assert answers.failed == {"call_failed: timeout": 1}
    assert prediction.overall.fit.compared == 1, "p4 has no known real value"
    assert [(share.count, share.of) for share in prediction.overall.predicted] == [(1, 2), (1, 2)]
    assert [(share.count, share.of) for share in prediction.overall.real] == [(2, 3), (1, 3)]
    assert prediction.overall.real_unknown == 1


def test_groups_follow_the_scale_and_have_their_own_yardstick(record_of):
    """Groups stand in the order of the scale; the yardstick is judged on the same answers."""
    record = record_of(seeds=(1,))
    record.wave("plain-1", 0, {"p1": "a", "p2": "b", "p3": "b", "p4": "a"})
    report = build_report(record)
    (prediction,) = report.predictions
    assert report.grouped_by == "lean"
    assert [group.label for group in prediction.groups] == ["left", "right"]
    assert [group.always_choice for group in prediction.groups] == ["a", "b"]
    assert prediction.overall.fit.accuracy == pytest.approx(2 / 3)
    assert prediction.overall.always.accuracy == pytest.approx(2 / 3)
    assert prediction.always_by_group is not None
    assert prediction.always_by_group.accuracy == 1.0


def test_each_world_is_scored_by_itself(record_of):
    """The pooled fit stands beside that of every world, which is named by its id."""
    record = record_of()
    record.wave("plain-1", 0, {"p1": "a", "p2": "a", "p3": "b", "p4": "a"})
    record.wave("plain-2", 0, {"p1": "b", "p2": "b", "p3": "a", "p4": "a"})
    (prediction,) = build_report(record).predictions
    assert [world.world_id for world in prediction.by_world] == ["plain-1", "plain-2"]
    assert [world.fit.accuracy for world in prediction.by_world] == [1.0, 0.0]
    assert prediction.overall.fit.accuracy == pytest.approx(0.5)
    assert prediction.overall.fit.brier == pytest.approx(0.5)


def test_a_scenario_that_answers_the_same_is_pointed_out(record_of):
    """Scenarios of one variant share their draws: equal first waves are named, not repeated."""
    record = record_of(scenarios=("plain", "claims"), seeds=(1,))
    same = {"p1": "a", "p2": "b"}
    record.wave("plain-1", 0, same)
    record.wave("claims-1", 0, same)
    first, second = build_report(record).predictions
    assert (first.same_as, second.same_as) == ("", "plain")


def test_an_attribute_without_a_scale_cannot_group(record_of):
    """Asking for an unknown attribute, or a plain number, names those that would do."""
    for name in ("height", "age"):
        with pytest.raises(UsageError) as caught:
            build_report(record_of(), grouped_by=name)
        assert "lean" in caught.value.remedy
