"""Every closed question is reported: each wave, each exposure tick, each claim, with its counts."""

from perdure.analysis.report import build_report
from perdure.records.outcome import UnscorableCause
from perdure.records.request import FailureCause


def test_no_wave_vanishes(record_of):
    """A wave between the first and the last has its shares, its fit and its gaps."""
    record = record_of(seeds=(1,), waves=(0, 1, 2))
    record.wave("plain-1", 0, {"p1": "a", "p2": "a"})
    record.wave("plain-1", 1, {"p1": "a", "p2": UnscorableCause.NO_CHOICE, "p3": "b"})
    record.wave("plain-1", 2, {"p1": "b", "p2": "a"})
    report = build_report(record)
    assert [one.tick for one in report.predictions] == [0, 1, 2]
    (vote,) = report.questions
    rows = {row.tick: row for row in vote.ticks}
    assert all(row.wave for row in rows.values())
    assert [(share.choice, share.count, share.of) for share in rows[1].shares] == [
        ("a", 1, 2),
        ("b", 1, 2),
    ]
    found = {(gap.what, gap.why): (gap.count, gap.of) for gap in report.gaps}
    assert found["answer, plain, tick 1", "unscorable: no choice"] == (1, 3)
    (change,) = report.changes
    assert (change.first, change.last) == (0, 2)


def test_a_study_without_an_outcome_has_its_shares(record_of):
    """Shares, unscorable counts and the change need no real values; the comparison does."""
    record = record_of(seeds=(1, 2), outcome=False, held_out={})
    for world in ("plain-1", "plain-2"):
        record.wave(world, 0, {"p1": "a", "p2": UnscorableCause.REFUSED, "p3": "b"})
        record.wave(world, 2, {"p1": "b", "p2": "b", "p3": "b"})
    report = build_report(record)
    assert report.outcome is None
    assert report.predictions == ()
    (vote,) = report.questions
    assert vote.choices == {"a": "Ann", "b": "Bob"}
    assert [[share.share for share in row.shares] for row in vote.ticks] == [[0.5, 0.5], [0, 1]]
    assert vote.ticks[0].seeds == (1, 2)
    assert vote.ticks[0].answers.unscorable == {"refused": 2}
    (change,) = report.changes
    assert change.question == "vote"
    assert [choice.mean for choice in change.choices] == [-0.5, 0.5]
    found = {(gap.what, gap.why): (gap.count, gap.of) for gap in report.gaps}
    assert found["answer, plain, tick 0", "unscorable: refused"] == (2, 6)
    assert ("comparison with real values", "the study holds no outcome out") in found


def test_exposure_answers_are_shared_out_by_tick_and_claim(record_of):
    """An answer counts at its tick, and for every claim that was shown with the question."""
    record = record_of(seeds=(1,), felt=("agree", "disagree"))
    record.exposure("plain-1", 1, ["p1", "p2"], said={"p1": "agree"}, claims=("C1",))
    said = {"p1": "agree", "p2": "disagree"}
    record.exposure("plain-1", 2, ["p1", "p2"], said=said, claims=("C1", "C2"))
    report = build_report(record)
    (felt,) = report.questions
    assert [(row.tick, row.wave, row.answers.scored) for row in felt.ticks] == [
        (1, False, 1),
        (2, False, 2),
    ]
    assert felt.ticks[0].answers.unjudged == 1
    by_claim = {one.claim: [share.count for share in one.shares] for one in felt.by_claim}
    assert by_claim == {"C1": [2, 1], "C2": [1, 1]}
    found = {(gap.what, gap.why): (gap.count, gap.of) for gap in report.gaps}
    assert found["answer to felt", "no score on record"] == (1, 4)


def test_failed_turns_of_a_wave_are_asked_and_not_scored(record_of):
    """A failed call is in the count of those asked, under its cause, and in no share."""
    record = record_of(seeds=(1,))
    record.wave("plain-1", 0, {"p1": FailureCause.TIMEOUT, "p2": "a"})
    (vote,) = build_report(record).questions
    answers = vote.ticks[0].answers
    assert (answers.asked, answers.answered, answers.scored) == (2, 1, 1)
    assert answers.failed == {"call_failed: timeout": 1}
    assert vote.ticks[0].shares[0].share == 1.0
