"""The report as a whole: partial runs, gaps, activations, models, and costs."""

from typing import Any

from perdure.analysis.ledger import build_ledger
from perdure.analysis.report import build_report
from perdure.records.events import Reflected, ScoreGiven, Started
from perdure.records.journal import Intent, JournaledCall, OpenTick, Settled, TickOpening
from perdure.records.outcome import UnscorableCause
from perdure.records.presentation import Plan
from perdure.records.registry import (
    CallsLost,
    CallsOrphaned,
    RunOpened,
    RunPaused,
    TickDiscarded,
)
from perdure.records.request import CallKey, FailureCause, Reply
from perdure.records.usage import CostSource, Usage


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


def test_activations_expected_and_realised(record_of):
    """Expected is population times chance over closed exposure ticks; realised counts turns."""
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
    record = record_of(seeds=(1,), felt=("yes", "no"))
    for persona, cause in (("p1", None), ("p2", UnscorableCause.UNDECIDED)):
        score = ScoreGiven(turn=0, question="felt", choice="" if cause else "yes", unscorable=cause)
        record.put("plain-1", 1, score, persona)
    found = {(gap.what, gap.why): (gap.count, gap.of) for gap in build_report(record).gaps}
    assert found["answer to felt", "unscorable: undecided"] == (1, 2)


def test_calls_of_an_open_tick_are_not_taken_as_free(record_of):
    """A run that has not ended may have paid for a tick that is not on record: a gap, not zero."""
    record = record_of(seeds=(1,))
    record.log = (RunOpened(epoch=1),)
    (gap,) = (gap for gap in build_report(record).gaps if "open ticks" in gap.why)
    assert gap.what == "cost"
    assert build_ledger(record).outside.open


def test_calls_of_ticks_that_did_not_close_are_in_the_ledger(record_of):
    """What was spent outside closed ticks stands in ledger and report, unknown amounts counted."""
    record = record_of(seeds=(1,))
    lost = CallsLost(world_id="plain-1", tick=1, epoch=1, calls=5, cost=70, unknown_costs=2)
    record.log = (lost, RunPaused(cause="no reply", exit_status=69))
    outside = build_ledger(record).outside
    assert (outside.attempts, outside.amount, outside.unknown) == (5, 70, 2)
    assert not outside.open
    report = build_report(record)
    assert report.cost.outside == outside
    (gap,) = (gap for gap in report.gaps if "outside closed ticks" in gap.why)
    assert gap.count == 2


def test_every_kind_of_call_outside_ticks_is_counted_apart(record_of):
    """Lost, orphaned, kept and unsettled attempts each have a line; calls are no attempts."""
    record = record_of(seeds=(1,))
    place: dict[str, Any] = {"world_id": "plain-1", "tick": 1, "epoch": 1}
    record.log = (
        TickDiscarded(**place, kept=1),
        CallsLost(**place, calls=2, cost=10, unknown_costs=1),
        CallsOrphaned(**place, calls=3, cost=100),
        RunPaused(cause="no reply", exit_status=69),
    )
    record.open_ticks = (
        OpenTick(
            epoch=1,
            opening=TickOpening(world="plain-1", tick=1, plan=Plan(), input_hash=""),
            # One kept, one that the log has charged as lost already, one that is new.
            calls=(call(1, amount=1000), call(1), call(2)),
        ),
    )
    found = build_report(record).cost.outside
    parts = {part.kind: (part.count, part.amount, part.unknown) for part in found.parts}
    assert parts == {
        "lost": (2, 10, 1),
        "orphaned": (3, 100, 0),
        "kept": (1, 1000, 0),
        "unsettled": (1, 0, 1),
    }
    assert (found.attempts, found.discarded) == (7, 1)
    assert (found.amount, found.unknown) == (1110, 2)


def call(epoch: int, amount: int | None = None) -> JournaledCall:
    """Make one journaled attempt; settled if it has an amount."""
    key = CallKey(world="plain-1", tick=1, job=0, purpose="turn", ordinal=0)
    reply = Reply(text="Ann", served="m-1")
    settled = Settled(outcome=reply, amount=amount, source=CostSource.PRICE_TABLE)
    return JournaledCall(
        epoch=epoch,
        intent=Intent(key=key, attempt=0, request="", worst=Usage()),
        settled=None if amount is None else settled,
    )


def test_the_bundled_weights_are_called_what_they_are(record_of):
    """The answers of the bundled small model are named a test of the machinery; others' are not."""
    small = record_of(seeds=(1,), provider="local", model="smollm2-135m-instruct")
    (use,) = build_report(small).models
    assert use.statement == (
        "a very small model; its answers are a test of the machinery, not a finding"
    )
    (own,) = build_report(record_of(seeds=(1,), provider="local", model="mine")).models
    assert own.statement == ""


def test_every_scenario_counts_its_own_gaps(record_of):
    """Two scenarios that were answered the same have two gaps, not one."""
    record = record_of(scenarios=("plain", "claims"), seeds=(1,))
    for name in ("plain-1", "claims-1"):
        record.wave(name, 0, {"p1": UnscorableCause.REFUSED, "p2": "a"})
    whats = [gap.what for gap in build_report(record).gaps if gap.why == "unscorable: refused"]
    assert whats == ["answer, plain, tick 0", "answer, claims, tick 0"]


def test_events_are_counted_as_verify_counts_them(record_of):
    """Every event of a world's record is in its line, whatever the report makes of it."""
    record = record_of(seeds=(1,))
    record.put("plain-1", 0, Started())
    record.wave("plain-1", 0, {"p1": "a"})
    (world,) = build_report(record).worlds
    assert world.events == 4
