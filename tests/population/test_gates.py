"""Proves that the gates pass sound draws and fail skewed ones, with the evidence that they give."""

from __future__ import annotations

import math

import pytest

from perdure.base.chance import Stream
from perdure.population.build import Gathered, draw
from perdure.population.gates import evidence, judged, refusals
from perdure.population.statistics import chi_squared_tail, kolmogorov_tail
from perdure.records.persona import AttributeSpec, Ontology, Persona
from perdure.records.population import Gate, GateState, PopulationManifest
from perdure.records.study import Audience, Filter, PopulationSpec

ONTOLOGY = Ontology(
    attributes=(
        AttributeSpec(name="class", label="Class", scale={"a": "A", "b": "B", "c": "C"}),
        AttributeSpec(name="age", label="Age"),
        AttributeSpec(name="town", label="Town", text=True),
    )
)
CLASSES = "aaabbc"


def gathered(count: int, seed: int = 0, weights: list[float] | None = None) -> Gathered:
    """Give people with a class, an age and a town, each by chance."""
    stream = Stream(str(seed), 0, "people")
    people = [
        Persona(
            id=f"p{number}",
            attributes={
                "class": stream.choice(CLASSES),
                "age": 18 + stream.below(70),
                "town": f"town {number}",
            },
        )
        for number in range(count)
    ]
    return Gathered(personas=people, weights=weights or [1.0] * count, rows=count)


def spec(**changes: object) -> PopulationSpec:
    """Give what a study asks of its population."""
    return PopulationSpec(file="f", id_column="id", columns={}, **changes)  # type: ignore[arg-type]


def manifest(found: Gathered, asked: PopulationSpec) -> PopulationManifest:
    """Draw, and give what is recorded of it."""
    return draw(found, asked, ONTOLOGY).population.manifest


@pytest.mark.parametrize(
    ("statistic", "freedom", "chance"),
    [
        (0, 3, 1.0),
        (3.841458820694124, 1, 0.05),
        (6.634896601021213, 1, 0.01),
        (18.307038053275146, 10, 0.05),
        (2.0, 10, 0.9963401531726563),
        (140.16948944231362, 100, 0.005),
        (1000.0, 2, 0.0),
    ],
)
def test_chi_squared_is_that_of_the_tables(statistic: float, freedom: int, chance: float) -> None:
    """The tail of chi-squared agrees with printed tables, in both of its series."""
    assert chi_squared_tail(statistic, freedom) == pytest.approx(chance, abs=1e-10)


@pytest.mark.parametrize(("scaled", "chance"), [(1.3581, 0.05), (1.6276, 0.01), (0.1, 1.0)])
def test_kolmogorov_is_that_of_the_tables(scaled: float, chance: float) -> None:
    """The tail of Kolmogorov's distribution agrees with printed tables."""
    count = 1_000_000
    distance = scaled / (math.sqrt(count) + 0.12 + 0.11 / math.sqrt(count))
    assert kolmogorov_tail(distance, count) == pytest.approx(chance, abs=2e-5)


def test_sound_draws_fail_as_rarely_as_is_said() -> None:
    """Of many draws by chance, no more fail any gate than `alpha` allows."""
    found = gathered(4_000)
    failed = 0
    for seed in range(300):
        gates = manifest(found, spec(draw=200, draw_seed=seed, alpha=0.05)).gates
        assert [gate.name for gate in gates] == ["class", "age"]
        failed += any(gate.state is GateState.FAILED for gate in gates)
    # 15 are expected at most; 4 standard deviations more are 30. None at all would be no test.
    assert 1 <= failed <= 30


def test_a_skewed_draw_fails_and_says_by_how_much() -> None:
    """A draw that ignores what a census says of its people fails, and is refused in a sentence."""
    asked = spec(draw=300, targets={"class": {"a": 0.2, "b": 0.3, "c": 0.5}})
    drawn = manifest(gathered(4_000), asked)
    classes, age = drawn.gates
    assert classes.declared
    assert classes.state is GateState.FAILED
    assert classes.p == 0.0
    assert not age.declared
    assert age.state is GateState.PASSED
    assert sum(level.drawn for level in classes.levels) == classes.compared == 300
    assert [level.target for level in classes.levels] == [0.2, 0.3, 0.5]
    (problem,) = refusals(drawn, "study.yaml")
    share = classes.levels[2].drawn / 300
    assert f"code `c` has {share:.1%} for 50.0%" in problem.wrong
    assert "accept: [class]" in problem.remedy


def test_a_quota_meets_the_same_census() -> None:
    """With a quota on it the same target is met, and the gate passes with nothing to say."""
    asked = spec(draw=300, quotas=("class",), targets={"class": {"a": 0.2, "b": 0.3, "c": 0.5}})
    drawn = manifest(gathered(4_000), asked)
    assert [level.drawn for level in drawn.gates[0].levels] == [60, 90, 150]
    assert drawn.gates[0].p == 1.0
    assert not refusals(drawn, "s")


def test_a_failure_that_is_accepted_is_recorded_and_refuses_nothing() -> None:
    """An accepted gate still says failed, and that the study lets it."""
    targets = {"class": {"a": 0.2, "b": 0.3, "c": 0.5}}
    drawn = manifest(gathered(4_000), spec(draw=300, targets=targets, accept=("class", "age")))
    classes, age = drawn.gates
    assert classes.state is GateState.FAILED
    assert classes.accepted
    assert not age.accepted  # it did not fail
    assert not refusals(drawn, "s")


def test_numbers_that_are_too_old_fail() -> None:
    """A number's distribution is compared as a whole, by weight if there are weights."""
    found = gathered(4_000)
    ages = [float(one.attributes["age"]) for one in found.personas]
    heavy = Gathered(found.personas, [1.0 if age < 50 else 6.0 for age in ages], rows=4_000)
    by_chance = manifest(heavy, spec(draw=200, weight_column="w"))
    by_weight = manifest(heavy, spec(draw=200, weight_column="w", draw_by="weight"))
    gate = by_chance.gates[1]
    assert gate.test == "Kolmogorov-Smirnov"
    assert gate.state is GateState.FAILED
    assert gate.target_mean is not None
    assert gate.drawn_mean is not None
    assert gate.target_mean - gate.drawn_mean > 8
    assert "the mean" in evidence(gate)
    assert by_weight.gates[1].state is GateState.PASSED


def test_the_target_follows_the_shares_of_the_audiences() -> None:
    """Who wants half of the draw young is not told that the file has fewer."""
    young = Audience(id="young", share=0.8, where=(Filter(attribute="age", most=30),))
    asked = spec(draw=200, audiences=(young, Audience(id="rest", share=0.2)))
    drawn = manifest(gathered(4_000), asked)
    assert {gate.state for gate in drawn.gates} == {GateState.PASSED}
    age = drawn.gates[1]
    assert age.target_mean == pytest.approx(0.8 * 24 + 0.2 * 59, abs=1.0)


def test_a_code_that_should_not_be_there_fails_whatever_the_count() -> None:
    """One person of a code whose share is 0 is enough."""
    asked = spec(draw=40, targets={"class": {"a": 0.6, "b": 0.4}})
    gate = manifest(gathered(400), asked).gates[0]
    assert gate.p == 0.0
    assert gate.state is GateState.FAILED


def test_what_too_few_people_cannot_tell_is_unmeasured() -> None:
    """A gate that cannot be asked says why, and neither passes nor refuses."""
    drawn = manifest(gathered(400), spec(draw=6))
    assert [gate.state for gate in drawn.gates] == [GateState.UNMEASURED] * 2
    assert [gate.why for gate in drawn.gates] == [
        "too few people for two groups of which five are expected",
        "fewer than 8 people have it",
    ]
    assert not refusals(drawn, "s")


def test_all_rows_without_a_target_have_nothing_to_compare() -> None:
    """Everyone in the file is compared with nobody; with weights there is something to compare."""
    assert manifest(gathered(400), spec()).gates == ()
    assert len(manifest(gathered(400), spec(weight_column="w")).gates) == 2


def test_many_gates_are_one_family() -> None:
    """One chance of 2 % among ten is no failure at 5 %; one of 0.4 % is, and of the rest none."""

    def family(*chances: float) -> list[GateState]:
        gates = [Gate(name="g", test="t", state=GateState.PASSED, p=chance) for chance in chances]
        return [gate.state for gate in judged(gates, 0.05)]

    assert GateState.FAILED not in family(0.02, *[0.5] * 9)
    assert family(0.02, 0.004, *[0.5] * 8).count(GateState.FAILED) == 1
    assert family(0.0001, 0.0002, 0.04).count(GateState.FAILED) == 3
