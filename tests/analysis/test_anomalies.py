"""Each rule of anomalies: found where planted, not where it is not; not asked is not none."""

from typing import Any

import msgspec
import pytest

from perdure.analysis.anomalies import (
    BACKLASH,
    DRIFT,
    FAILURES,
    HERDING,
    IDENTICAL,
    ONE_ANSWER,
    SATURATION,
    Anomalies,
    Anomaly,
    Rule,
)
from perdure.analysis.report import build_report
from perdure.records.events import BeliefsHeld, InterventionApplied, Probed, TickClosed, Turn
from perdure.records.persona import Persona
from perdure.records.presentation import Intervention, Plan
from perdure.records.registry import WorldOutcome, WorldState
from perdure.records.request import FailureCause
from perdure.records.scenario import Brief, Claim
from perdure.records.study import Study

from tests.analysis.conftest import presented  # isort: skip

CROWD = tuple(Persona(id=f"p{n}", attributes={"lean": n % 2}) for n in range(20))


def crowd(record_of: Any, seeds: int = 3) -> Any:
    """Make an empty record of twenty people who can meet the claim C1, answered by a model."""
    record = record_of(
        personas=CROWD, held_out={}, seeds=tuple(range(1, seeds + 1)), provider="http"
    )
    study = msgspec.json.decode(record.entry.study, type=Study)
    brief = Brief(title="T", text="T", claims=(Claim(id="C1", text="C1"),))
    changed = msgspec.json.encode(msgspec.structs.replace(study, brief=brief)).decode()
    record.entry = msgspec.structs.replace(record.entry, study=changed)
    return record


def believe(record: Any, world: str, tick: int, steps: list[int]) -> None:
    """Let the first people believe C1 so far at a tick, and close it."""
    for place, step in enumerate(steps):
        record.put(world, tick, BeliefsHeld(turn=0, beliefs={"C1": step}), f"p{place}")
    record.put(world, tick, TickClosed(plan=Plan(), jobs=0))


def judged(record: Any, name: str) -> tuple[Rule, tuple[Anomaly, ...]]:
    """Give a rule of the record's report, and what it found."""
    found: Anomalies = build_report(record).anomalies
    (rule,) = (one for one in found.rules if one.name == name)
    return rule, tuple(one for one in found.found if one.rule == name)


@pytest.mark.parametrize(("moves", "held"), [((0, 0, 0, 2), 1), ((0, 0, 0, 0), 0)])
def test_herding(record_of, moves, held):
    """All go two steps up while seeds lie within a twentieth; with no move there is nothing."""
    record = crowd(record_of)
    for seed in (1, 2, 3):
        for tick, step in enumerate(moves):
            believe(record, f"plain-{seed}", tick, [step] * 20 + [0] * 0)
            if tick == 3:
                break
    for seed in (1, 2):  # the seeds differ a little at the last tick
        record._events[f"plain-{seed}"].pop()
        for place in range(seed):
            step = BeliefsHeld(turn=0, beliefs={"C1": moves[-1] + 1})
            record.put(f"plain-{seed}", 3, step, f"p{place}")
        record.put(f"plain-{seed}", 3, TickClosed(plan=Plan(), jobs=0))
    rule, found = judged(record, HERDING)
    assert (rule.looked, rule.found) == (1, held)
    for one in found:
        assert (one.about, one.tick) == ("C1", 3)
        assert one.figure == pytest.approx((2 + 3 / 60) / 0.05)
        assert one.events[0] == "plain-1:63"


def test_herding_needs_a_spread(record_of):
    """With one seed there is nothing to compare a move with: not asked, which is not none."""
    record = crowd(record_of, seeds=1)
    for tick in range(4):
        believe(record, "plain-1", tick, [tick] * 20)
    rule, _ = judged(record, HERDING)
    assert rule.looked == 0
    assert "seeds that differ" in rule.why


@pytest.mark.parametrize(
    ("before", "after", "held"),
    [
        ([1] * 20, [2] * 12 + [-2] * 8, 1),
        ([1] * 20, [2] * 17 + [-2] * 3, 0),
        ([1] * 11 + [-1] * 9, [2] * 12 + [-2] * 8, 0),
    ],
)
def test_backlash_after_an_intervention(record_of, before, after, held):
    """Sides that were one and are two; a few are none; sides of before are not its doing."""
    record = crowd(record_of, seeds=1)
    believe(record, "plain-1", 0, before)
    record.put("plain-1", 1, InterventionApplied(intervention=Intervention(kind="promote")))
    believe(record, "plain-1", 1, after)
    rule, found = judged(record, BACKLASH)
    assert (rule.looked, rule.found) == (1, held)
    assert [one.figure for one in found] == [0.4] * held


@pytest.mark.parametrize(("ends", "held"), [(12, 1), (4, 0)])
def test_saturation(record_of, ends, held):
    """More than half at an end of the scale, or few."""
    record = crowd(record_of, seeds=1)
    believe(record, "plain-1", 0, [3] * (ends - 2) + [-3] * 2 + [1] * (20 - ends))
    rule, found = judged(record, SATURATION)
    assert (rule.looked, rule.found) == (1, held)
    for one in found:
        assert one.figure == 0.6
        assert one.events == ("plain-1:0",)


def say(record: Any, texts: list[str]) -> None:
    """Let people answer the question of the wave in these words."""
    for job, text in enumerate(texts):
        turn = Turn(job=job, presentation=presented(f"p{job}", "vote"), prompt=(), answer=text)
        record.put("plain-1", 0, turn, f"p{job}")
    record.close("plain-1", 0, len(texts))


def test_one_answer_for_all(record_of):
    """The same words from 12 of 20, whatever the case and the spaces; their events are named."""
    record = crowd(record_of, seeds=1)
    say(record, ["I  am for Ann."] * 6 + ["i am for ann."] * 6 + [f"Bob {n}" for n in range(8)])
    rule, (one,) = judged(record, ONE_ANSWER)
    assert (rule.looked, one.figure, one.about, one.tick) == (1, 0.6, "vote", 0)
    assert one.events == tuple(f"plain-1:{n}" for n in range(5))


def test_answers_of_ones_own_are_no_anomaly(record_of):
    """Twenty answers in twenty wordings; and those of a declared rule are not judged at all."""
    record = crowd(record_of, seeds=1)
    say(record, [f"My own words {n}." for n in range(20)])
    rule, found = judged(record, ONE_ANSWER)
    assert (rule.looked, found) == (1, ())
    ruled = record_of(personas=CROWD, held_out={}, seeds=(1,))
    say(ruled, ["The same."] * 20)
    rule, found = judged(ruled, ONE_ANSWER)
    assert (rule.looked, found) == (0, ())
    assert "declared rule" in rule.why


def test_identical_worlds(record_of):
    """Two of three worlds with one digest are named, with where they begin."""
    record = crowd(record_of)
    for seed, digest in ((1, "a"), (2, "b"), (3, "a")):
        record.wave(f"plain-{seed}", 0, {"p1": "a"})
        record.stands[f"plain-{seed}"] = WorldOutcome(
            world_id=f"plain-{seed}", state=WorldState.PARTIAL, tick=0, digest=digest
        )
    rule, (one,) = judged(record, IDENTICAL)
    assert (rule.looked, one.figure) == (1, 2.0)
    assert one.world_ids == ("plain-1", "plain-3")
    assert one.events == ("plain-1:0", "plain-3:0")


@pytest.mark.parametrize(("wrong", "held"), [((1, 10), 1), ((5, 6), 0), (None, 0)])
def test_drift_of_probes(record_of, wrong, held):
    """Agreement falls from 97 to 67 %, or hardly; without probes it is not asked."""
    record = crowd(record_of, seeds=1)
    for tick in (0, 1):
        for number in range(30 if wrong else 0):
            choice = "0" if wrong and number < wrong[tick] else "1"
            probe = Probed(turn=0, attribute="lean", code="1", prompt=(), choice=choice)
            record.put("plain-1", tick, probe, f"p{number % 20}")
        record.close("plain-1", tick, 0)
    rule, found = judged(record, DRIFT)
    assert (rule.looked, rule.found) == (int(wrong is not None), held)
    assert bool(rule.why) == (wrong is None)
    for one in found:
        assert one.figure == pytest.approx(0.3)
        assert one.events == ("plain-1:31",)


@pytest.mark.parametrize(("failing", "held"), [(12, 1), (2, 0)])
def test_ticks_that_fail_well_above_the_rate(record_of, failing, held):
    """Twelve of twenty fail at one tick of three and hardly anybody else; or two at each."""
    record = crowd(record_of, seeds=1)
    for tick in (0, 1, 2):
        failed = failing if tick == 1 or not held else 1
        record.wave(
            "plain-1",
            tick,
            {f"p{n}": FailureCause.TIMEOUT if n < failed else "a" for n in range(20)},
        )
    rule, found = judged(record, FAILURES)
    assert (rule.looked, rule.found) == (3, held)
    for one in found:
        assert one.tick == 1
        assert one.figure == pytest.approx(0.6 / (14 / 60))
        assert one.events[0] == "plain-1:40"


@pytest.mark.parametrize("lettered", [False, True])
def test_letters_that_stand_for_choices_are_no_words(record_of, lettered):
    """All say the same to one question: an anomaly, unless what they said is a letter's chance."""
    record = record_of(
        personas=CROWD,
        held_out={},
        seeds=(1,),
        provider="http",
        felt=("yes", "no"),
        lettered=lettered,
    )
    record.exposure("plain-1", 0, [one.id for one in CROWD])
    rule, found = judged(record, ONE_ANSWER)
    assert (rule.looked, len(found), bool(rule.why)) == (
        (0, 0, True) if lettered else (1, 1, False)
    )
    clustered = {one.question for one in build_report(record).verbatims}
    assert clustered == (set() if lettered else {"felt"})
