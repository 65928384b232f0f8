"""Whether a report says that its scenarios cannot be told apart: planted effects, and none."""

from typing import Any

import pytest

from perdure.analysis.report import build_report
from perdure.analysis.telling import Telling, Verdict, _holm
from perdure.base.chance import Stream
from perdure.records.persona import Persona
from perdure.records.scenario import QuestionType

MANY = tuple(Persona(id=f"p{n}", attributes={"lean": n % 2}) for n in range(40))


def town(record_of: Any, effect: float, seeds: int, label: str = "town") -> Telling:
    """Two scenarios whose people choose `a` with a chance of 0.5, and 0.5 + effect."""
    record = record_of(
        personas=MANY, held_out={}, seeds=tuple(range(seeds)), scenarios=("plain", "loud")
    )
    for scenario, chance in (("plain", 0.5), ("loud", 0.5 + effect)):
        for seed in range(seeds):
            draw = Stream(f"{label}{scenario}", 0, "said", seed)
            for tick in (0, 2):
                said = {one.id: "a" if draw.uniform() < chance else "b" for one in MANY}
                record.wave(f"{scenario}-{seed}", tick, said)
    return build_report(record).telling


def of_kind(record_of: Any, kind: QuestionType) -> Telling:
    """Eight seeds, and 40 points more under one of two scenarios who give the second choice."""
    record = record_of(
        personas=MANY, held_out={}, seeds=tuple(range(8)), scenarios=("plain", "loud"), kind=kind
    )
    for scenario, chance in (("plain", 0.3), ("loud", 0.7)):
        for seed in range(8):
            draw = Stream(f"second{scenario}", 0, "said", seed)
            for tick in (0, 2):
                said: dict[str, Any] = {}
                for one in MANY:
                    first, second = one.id < "p2", draw.uniform() < chance
                    several = ("a",) * first + ("b",) * second
                    said[one.id] = several if kind is QuestionType.SEVERAL else "ab"[second]
                record.wave(f"{scenario}-{seed}", tick, said)
    return build_report(record).telling


def test_a_planted_effect_is_found(record_of):
    """A difference of 40 points with eight seeds is told, and nothing is said of it."""
    found = town(record_of, 0.4, 8)
    assert found.verdict is Verdict.APART
    assert found.sentence == ""
    assert (found.differ, found.hold) == (1, 1)


def test_a_planted_null_is_not_found(record_of):
    """No difference: the report says so, with what it could have seen."""
    found = town(record_of, 0.0, 8)
    assert found.verdict is Verdict.NOT_APART
    assert "cannot tell its scenarios apart" in found.sentence
    (one,) = found.compared
    assert found.least == one.reach
    assert one.reach is not None
    assert f"{100 * one.reach:.1f} percentage points" in found.sentence
    assert abs(one.mean or 0.0) < one.reach


def test_two_seeds_cannot_say(record_of):
    """However large it is, with two seeds there is no interval: it cannot be said."""
    found = town(record_of, 0.5, 2)
    assert found.verdict is Verdict.CANNOT_SAY
    assert "takes 3 seeds that differ" in found.sentence
    assert found.least is None


def test_one_scenario_says_nothing(record_of):
    """There is nothing to be told apart."""
    record = record_of(seeds=(1, 2, 3))
    assert build_report(record).telling.verdict is Verdict.NOTHING_TO_COMPARE
    assert build_report(record).telling.sentence == ""


def test_nobody_answered_otherwise(record_of):
    """The same answers under both, with every seed: not told apart, and no false precision."""
    record = record_of(seeds=(1, 2, 3), scenarios=("plain", "loud"))
    for scenario in ("plain", "loud"):
        for seed in (1, 2, 3):
            said = {"p1": "a" if seed == 1 else "b", "p2": "b", "p3": "a" if seed == 2 else "b"}
            record.wave(f"{scenario}-{seed}", 0, said)
            record.wave(f"{scenario}-{seed}", 2, said)
    found = build_report(record).telling
    assert found.verdict is Verdict.NOT_APART
    assert found.sentence == (
        "This study cannot tell its scenarios apart: the one difference between them at the last "
        "wave is not clear of chance; each is 0, with every seed."
    )


def test_the_first_line_holds_for_the_waves_that_are_not_the_last(record_of):
    """Alike at the last wave and unlike before: it speaks of the last wave, and of no other."""
    record = record_of(seeds=(1, 2, 3), scenarios=("plain", "loud"))
    for scenario in ("plain", "loud"):
        for seed in (1, 2, 3):
            said = {"p1": "a" if seed == 1 else "b", "p2": "b", "p3": "a" if seed == 2 else "b"}
            before = {**said, "p2": "a"} if scenario == "loud" else said
            record.wave(f"{scenario}-{seed}", 0, before)
            record.wave(f"{scenario}-{seed}", 2, said)
    report = build_report(record)
    assert {one.between.spreads["a"].mean for one in report.differences} == {0.0, 1 / 3}
    assert "at the last wave" in report.telling.sentence
    assert "every figure" not in report.telling.sentence


@pytest.mark.parametrize(
    ("kind", "told"), [(QuestionType.ONE, ["a"]), (QuestionType.SEVERAL, ["a", "b"])]
)
def test_two_choices_mirror_each_other_only_where_an_answer_gives_one(record_of, kind, told):
    """Of two choices of which each answer gives one, one is compared; else both are."""
    assert [one.choice for one in of_kind(record_of, kind).compared] == told


def test_an_effect_on_the_second_of_several_choices_is_found(record_of):
    """Planted on it alone: an answer gives it or not, whatever it says of the first."""
    found = of_kind(record_of, QuestionType.SEVERAL)
    assert found.verdict is Verdict.APART
    assert [one.choice for one in found.compared if one.p is not None and one.p < 0.05] == ["b"]


@pytest.mark.parametrize(
    ("seeds", "verdict"), [(3, Verdict.NOT_APART), (5, Verdict.NOT_APART), (6, Verdict.APART)]
)
def test_the_same_difference_with_every_seed(record_of, seeds, verdict):
    """What unlike seeds show alike has no interval: its sign counts, from six seeds on."""
    people = tuple(Persona(id=f"p{n}", attributes={}) for n in range(seeds))
    record = record_of(
        personas=people, held_out={}, seeds=tuple(range(seeds)), scenarios=("plain", "loud")
    )
    for seed in range(seeds):
        loud = {one.id: "a" if at == seed else "b" for at, one in enumerate(people)}
        for tick in (0, 2):
            record.wave(f"plain-{seed}", tick, dict.fromkeys(loud, "b"))
            record.wave(f"loud-{seed}", tick, loud)
    found = build_report(record).telling
    assert found.verdict is verdict
    assert found.compared[0].p == 2 / 2**seeds
    assert found.least is None
    if verdict is Verdict.NOT_APART:
        assert "takes 6 seeds" in found.sentence


@pytest.mark.parametrize(
    ("chances", "held"), [((), 0), ((0.01,), 1), ((0.03, 0.03), 0), ((0.001, 0.04, 0.04), 1)]
)
def test_one_of_many_is_corrected_for(chances, held):
    """Holm by hand: the least of n has to be below 5 % / n, the next below 5 % / (n - 1)."""
    assert _holm(chances) == held
