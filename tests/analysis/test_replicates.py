"""Which worlds count as replicates, which repeat one another, and which are named beside them."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from perdure.analysis.answers import Answer, marks
from perdure.analysis.questions import TickShares
from perdure.analysis.report import Report, build_report
from perdure.records.budget import Rung
from perdure.records.outcome import TurnFailureCause, UnscorableCause
from perdure.records.registry import RungAt, WorldOutcome, WorldState
from perdure.records.request import FailureCause

ANSWERS = st.dictionaries(
    st.sampled_from("pqrstuv"),
    st.sampled_from(
        [
            Answer(),
            Answer(choice="a"),
            Answer(choice="b"),
            Answer(unscorable=UnscorableCause.REFUSED),
            Answer(failed=TurnFailureCause.CALL_FAILED, call=FailureCause.TIMEOUT),
        ]
    ),
)


def at(report: Report, tick: int, scenario: str = "plain") -> TickShares:
    """Find what the seeds gave to the question of the waves at a tick."""
    (row,) = (
        row for row in report.questions[0].ticks if (row.scenario, row.tick) == (scenario, tick)
    )
    return row


def test_shares_over_seeds_by_hand(record_of):
    """Three worlds with 1, 2 and 4 of 4 for a: their mean, spread and extremes, each world once."""
    record = record_of(seeds=(1, 2, 3))
    for seed, said in ((1, "abbb"), (2, "aabb"), (3, "aaaa")):
        record.wave(f"plain-{seed}", 0, dict(zip(("p1", "p2", "p3", "p4"), said, strict=True)))
        record.wave(f"plain-{seed}", 2, {"p1": "a"})
    row = at(build_report(record), 0)
    found = row.between.spreads["a"]
    assert [(one.seed, one.scored, one.shares["a"]) for one in row.by_seed] == [
        (1, 4, 0.25),
        (2, 4, 0.5),
        (3, 4, 1.0),
    ]
    assert found.mean == pytest.approx(7 / 12)
    # Deviations -4/12, -1/12, 5/12: squares add up to 42/144, over 2.
    assert found.sd == pytest.approx((42 / 144 / 2) ** 0.5)
    assert (found.least, found.most, found.effective) == (0.25, 1.0, 3)
    assert row.between.identical == ()


def test_a_world_counts_once_however_many_of_its_answers_were_scored(record_of):
    """The mean is over worlds: one with few scored answers weighs as much as one with many."""
    record = record_of(seeds=(1, 2))
    record.wave("plain-1", 0, {"p1": "a", "p2": "a", "p3": "a", "p4": "a"})
    record.wave("plain-2", 0, {"p1": "b", "p2": UnscorableCause.REFUSED})
    row = at(build_report(record), 0)
    assert row.between.spreads["a"].mean == 0.5
    assert row.shares[0].share == 0.8


def test_seeds_that_made_no_difference_are_one_replicate(record_of):
    """Equal answers, person by person, are one replicate; its spread is exactly zero."""
    record = record_of(seeds=(1, 2, 3, 4))
    for seed in (1, 2, 3, 4):
        record.wave(f"plain-{seed}", 0, {"p1": "a", "p2": "b", "p3": "b"})
    between = at(build_report(record), 0).between
    assert (between.effective, between.identical) == (1, ((1, 2, 3, 4),))
    found = between.spreads["a"]
    assert (found.seeds, found.sd, found.least, found.most) == (4, 0.0, 1 / 3, 1 / 3)
    assert found.low is None
    assert found.no_interval == "the seeds made no difference"


def test_equal_shares_of_other_people_are_two_replicates(record_of):
    """Who said it counts: the same shares from other people are another replicate."""
    record = record_of(seeds=(1, 2, 3))
    record.wave("plain-1", 0, {"p1": "a", "p2": "b", "p3": "b"})
    record.wave("plain-2", 0, {"p1": "b", "p2": "a", "p3": "b"})
    record.wave("plain-3", 0, {"p1": "b", "p2": "b", "p3": "a"})
    between = at(build_report(record), 0).between
    assert (between.effective, between.identical) == (3, ())
    assert "came out the same" in between.spreads["a"].no_interval


def test_answers_outside_waves_have_a_spread(record_of):
    """Who was active is part of the answer: other people with the same choices are another one."""
    record = record_of(seeds=(1, 2, 3, 4), felt=("yes", "no"))
    for seed, people in ((1, "p1"), (2, "p2"), (3, "p1"), (4, "")):
        active = [people] if people else []
        said = dict.fromkeys(active, "yes")
        record.exposure(f"plain-{seed}", 1, active, said=said, claims=("C1",))
    (row,) = build_report(record).questions[0].ticks
    assert (row.wave, row.between.effective, row.between.identical) == (False, 2, ((1, 3),))
    assert row.between.spreads["yes"].mean == 1.0
    assert [(one.seed, one.why) for one in row.between.missing] == [(4, "nobody was asked")]


def test_answers_by_claim_have_a_spread_over_finished_worlds(record_of):
    """A claim's shares are over all ticks of a world, so one that is not at its end has none."""
    record = record_of(seeds=(1, 2, 3), felt=("yes", "no"))
    for seed in (1, 2, 3):
        answer = "yes" if seed == 1 else "no"
        record.exposure(f"plain-{seed}", 1, ["p1"], said={"p1": answer}, claims=("C1",))
    for seed in (1, 2):
        record.wave(f"plain-{seed}", 2, {"p1": "a"})
    (felt,) = (one for one in build_report(record).questions if one.id == "felt")
    (claim,) = felt.by_claim
    assert claim.answers.scored == 3
    assert [(one.seed, one.shares["yes"]) for one in claim.by_seed] == [(1, 1.0), (2, 0.0)]
    assert claim.between.spreads["yes"].mean == 0.5
    assert [one.seed for one in claim.between.missing] == [3]


def test_worlds_that_are_not_at_their_end_are_named(record_of):
    """One that has not closed the tick is not counted; one that has is, with where it stands."""
    record = record_of(seeds=(1, 2, 3, 4))
    record.wave("plain-1", 0, {"p1": "a"})
    record.wave("plain-1", 2, {"p1": "a"})
    record.wave("plain-2", 0, {"p1": "b"})
    record.wave("plain-3", 0, {"p1": "b"})
    record.stands["plain-3"] = WorldOutcome(
        world_id="plain-3", state=WorldState.FAILED, tick=0, cause="It broke."
    )
    report = build_report(record)
    first, last = at(report, 0).between, at(report, 2).between
    partial, failed = (
        "partial with 1 of 3 ticks closed",
        "failed with 1 of 3 ticks closed",
    )
    assert first.seeds == (1, 2, 3)
    assert [(one.seed, one.why) for one in first.unfinished] == [(2, partial), (3, failed)]
    assert [(one.seed, one.why) for one in first.missing] == [(4, "not started")]
    assert last.seeds == (1,)
    assert [(one.seed, one.world_id, one.why) for one in last.missing] == [
        (2, "plain-2", partial),
        (3, "plain-3", failed),
        (4, "plain-4", "not started"),
    ]
    assert last.spreads["a"].mean == 1.0
    assert last.spreads["a"].sd is None
    (seeds,) = report.seeds
    assert seeds.states == {"not_started": 1, "partial": 1, "completed": 1, "failed": 1}


def test_a_world_without_a_scored_answer_is_not_counted_as_zero(record_of):
    """A share of nothing is no share: the seed is named as missing."""
    record = record_of(seeds=(1, 2))
    record.wave("plain-1", 0, {"p1": "a"})
    record.wave("plain-2", 0, {"p1": UnscorableCause.REFUSED})
    between = at(build_report(record), 0).between
    assert between.spreads["a"].mean == 1.0
    assert [(one.seed, one.why) for one in between.missing] == [(2, "no answer could be scored")]


def degraded(record: Any, world: str, *rungs: RungAt) -> None:
    """Say under which rungs a world ran."""
    record.stands[world] = WorldOutcome(
        world_id=world, state=WorldState.COMPLETED, tick=2, rungs=rungs
    )


def test_worlds_under_unlike_rungs_are_marked(record_of):
    """From the tick at which rungs differ on, the worlds are sorted by them, without interval."""
    record = record_of(seeds=(1, 2, 3))
    for seed, said in ((1, "abb"), (2, "aab"), (3, "bbb")):
        for tick in (0, 2):
            record.wave(f"plain-{seed}", tick, dict(zip(("p1", "p2", "p3"), said, strict=True)))
    freeze = RungAt(rung=Rung.FREEZE, tick=1)
    degraded(record, "plain-1", RungAt(rung=Rung.WARN, tick=1), freeze)
    degraded(record, "plain-2", freeze)
    report = build_report(record)
    assert at(report, 0).between.unlike == ()
    assert at(report, 0).between.spreads["a"].low is not None
    last = at(report, 2).between
    assert [(one.rungs, one.world_ids) for one in last.unlike] == [
        ((freeze,), ("plain-1", "plain-2")),
        ((), ("plain-3",)),
    ]
    assert last.spreads["a"].mean == pytest.approx(1 / 3)
    assert last.spreads["a"].no_interval == "the worlds did not run under the same rungs"


def test_a_rung_that_was_lifted_before_differs_from_one_that_was_not(record_of):
    """When a rung was lifted is part of how a world ran, once it was; not before."""
    record = record_of(seeds=(1, 2), waves=(0, 1, 2))
    for seed in (1, 2):
        for tick in (0, 1, 2):
            record.wave(f"plain-{seed}", tick, {"p1": "a"})
    degraded(record, "plain-1", RungAt(rung=Rung.SUBSAMPLE, tick=1, lifted=2))
    degraded(record, "plain-2", RungAt(rung=Rung.SUBSAMPLE, tick=1))
    report = build_report(record)
    assert at(report, 1).between.unlike == ()
    assert len(at(report, 2).between.unlike) == 2


def test_worlds_that_are_the_same_event_by_event_are_named(record_of):
    """Equal digests at equal ticks are one replicate of a scenario, by the registry."""
    record = record_of(seeds=(1, 2, 3, 4))
    for seed, digest in ((1, "aa"), (2, "bb"), (3, "aa")):
        record.wave(f"plain-{seed}", 0, {"p1": "a"})
        record.stands[f"plain-{seed}"] = WorldOutcome(
            world_id=f"plain-{seed}", state=WorldState.PARTIAL, tick=0, digest=digest
        )
    (seeds,) = build_report(record).seeds
    assert (seeds.seeds, seeds.effective, seeds.identical) == ((1, 2, 3, 4), 2, ((1, 3),))


def test_accuracy_has_a_spread(record_of):
    """Each world's own accuracy: 2 of 3 right and 3 of 3 right."""
    record = record_of(seeds=(1, 2))
    record.wave("plain-1", 0, {"p1": "a", "p2": "b", "p3": "b", "p4": "a"})
    record.wave("plain-2", 0, {"p1": "a", "p2": "a", "p3": "b", "p4": "a"})
    (prediction,) = build_report(record).predictions
    assert prediction.accuracy.mean == pytest.approx(5 / 6)
    assert prediction.accuracy.sd == pytest.approx((1 / 3) / 2**0.5)
    assert prediction.accuracy.effective == 2


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(ANSWERS, ANSWERS)
def test_marks_are_equal_exactly_for_equal_answers(one, other):
    """A mark tells answers apart by who gave them, what they were and why there was none."""
    assert (marks(one) == marks(other)) == (one == other)
    assert marks(one) == marks(dict(reversed(one.items())))


def test_marks_tell_who_gave_which_answer():
    """One of many who answers otherwise is told from another one who does."""
    people = [f"p{number}" for number in range(200)]
    found = {marks({p: Answer(choice="b" if p == odd else "a") for p in people}) for odd in people}
    assert len(found) == len(people)
