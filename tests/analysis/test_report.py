"""The report as a whole: partial runs, gaps, activations, models, and costs."""

from perdure.analysis.ledger import build_ledger
from perdure.analysis.report import build_report
from perdure.records.events import Reflected, ScoreGiven
from perdure.records.outcome import UnscorableCause
from perdure.records.registry import CostOutsideTicks, RunPaused
from perdure.records.request import FailureCause
from perdure.records.usage import CostSource


def test_a_partial_run_says_so_with_its_counts(record_of):
    """The sentence counts worlds and ticks; a finished run has none."""
    record = record_of(seeds=(1, 2))
    for tick in (0, 2):
        record.wave("plain-1", tick, {"p1": "a"})
    record.wave("plain-2", 0, {"p1": "a"})
    partial = build_report(record)
    assert partial.state == "partial"
    assert "1 of 2 worlds" in partial.partial
    assert "4 of 6 ticks" in partial.partial
    record.wave("plain-2", 2, {"p1": "a"})
    assert build_report(record).partial == ""


def test_an_empty_run_measures_nothing(record_of):
    """A run that has not closed a tick has no figures, only reasons."""
    report = build_report(record_of())
    assert report.predictions == ()
    assert ("prediction", "no wave has closed yet") in [(gap.what, gap.why) for gap in report.gaps]
    assert report.cost.total.attempts == 0


def test_gaps_name_causes_with_counts(record_of):
    """Unscorable answers, failed turns, missing real values: each with its cause and count."""
    record = record_of(seeds=(1,))
    said = {"p1": UnscorableCause.REFUSED, "p2": FailureCause.TIMEOUT, "p3": "a", "p4": "a"}
    record.wave("plain-1", 0, said)
    found = {(gap.what, gap.why): (gap.count, gap.of) for gap in build_report(record).gaps}
    assert found["answer, plain, tick 0", "unscorable: refused"] == (1, 4)
    assert found["answer, plain, tick 0", "call failed: timeout"] == (1, 4)
    assert found["turn, all ticks", "call failed: timeout"] == (1, 4)
    assert found["real value", "no held-out value for this persona"] == (1, 4)


def test_a_turn_without_a_score_is_counted(record_of):
    """An answer that no score event follows is neither scored nor unscorable."""
    record = record_of(seeds=(1,))
    record.wave("plain-1", 0, {"p1": ""})
    (prediction,) = build_report(record).predictions
    assert prediction.overall.answers.unjudged == 1
    assert prediction.overall.answers.scored == 0


def test_activations_scheduled_and_realised(record_of):
    """Scheduled is population times chance over closed exposure ticks; realised counts turns."""
    record = record_of(seeds=(1,))
    record.wave("plain-1", 0, {"p1": "a"})
    record.exposure("plain-1", 1, ["p1", "p3", "p4"])
    (world,) = build_report(record).worlds
    assert world.activation.ticks == 1
    assert world.activation.expected == 2.0
    assert world.activation.realised == 3


def test_unknown_costs_stand_beside_the_known_sum(record_of):
    """An unknown amount adds nothing to the sum and one to the count."""
    record = record_of(seeds=(1,))
    record.cost("plain-1", 100)
    record.cost("plain-1", None, purpose="reflection", usage=None)
    record.cost("plain-1", None, failed=FailureCause.TIMEOUT, served="")
    cost = build_report(record).cost
    assert (cost.total.amount, cost.total.unknown, cost.total.attempts) == (100, 2, 3)
    by_purpose = {part.name: (part.sum.amount, part.sum.unknown) for part in cost.by_purpose}
    assert by_purpose == {"turn": (100, 1), "reflection": (0, 1)}
    assert cost.total.usage_unknown == 1
    assert {part.name for part in cost.by_source} == {"price_table", "unknown"}


def test_the_baseline_says_that_it_is_a_rule(record_of):
    """The baseline is never shown as a language model; a model is named as it was served."""
    record = record_of(seeds=(1,))
    record.cost("plain-1", 0, served="other-name", source=CostSource.ESTIMATE)
    (use,) = build_report(record).models
    assert use.statement == "answers by a declared rule, not a language model"
    assert use.served == {"other-name": 1}
    (real,) = build_report(record_of(provider="http")).models
    assert real.statement == ""
    assert real.served == {}


def test_a_reflection_without_a_reply_is_counted(record_of):
    """A failed reflection is no reflection: it is a gap with its cause."""
    record = record_of(seeds=(1,))
    record.put("plain-1", 0, Reflected(turn=0, prompt=(), text="I see."), "p1")
    record.put("plain-1", 0, Reflected(turn=0, prompt=(), failed=FailureCause.TIMEOUT), "p2")
    report = build_report(record)
    assert report.worlds[0].reflections == 1
    found = {(gap.what, gap.why): (gap.count, gap.of) for gap in report.gaps}
    assert found["reflection", "no reply: timeout"] == (1, 2)


def test_unscorable_answers_to_other_questions_are_counted(record_of):
    """A closed question that is not the outcome's has its unscorable answers counted too."""
    record = record_of(seeds=(1,))
    for persona, cause in (("p1", None), ("p2", UnscorableCause.UNDECIDED)):
        score = ScoreGiven(turn=0, question="felt", choice="" if cause else "yes", unscorable=cause)
        record.put("plain-1", 1, score, persona)
    found = {(gap.what, gap.why): (gap.count, gap.of) for gap in build_report(record).gaps}
    assert found["answer to felt", "unscorable: undecided"] == (1, 2)


def test_calls_of_an_open_tick_are_not_taken_as_free(record_of):
    """A run that has not ended may have paid for a tick that is not on record: a gap, not zero."""
    record = record_of(seeds=(1,))
    record.log = ()
    (gap,) = (gap for gap in build_report(record).gaps if "open ticks" in gap.why)
    assert gap.what == "cost"
    assert build_ledger(record).outside.open


def test_calls_of_ticks_that_did_not_close_are_in_the_ledger(record_of):
    """What was spent outside closed ticks stands in ledger and report, unknown amounts counted."""
    record = record_of(seeds=(1,))
    lost = CostOutsideTicks(world_id="plain-1", tick=1, calls=5, cost=70, unknown_costs=2)
    record.log = (lost, RunPaused(cause="no reply", exit_status=69))
    outside = build_ledger(record).outside
    assert (outside.calls, outside.amount, outside.unknown) == (5, 70, 2)
    assert not outside.open
    report = build_report(record)
    assert report.cost.outside == outside
    (gap,) = (gap for gap in report.gaps if "outside closed ticks" in gap.why)
    assert gap.count == 2
