"""Proves that a draw meets its audiences and quotas exactly, or says what it gave up for want."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.population.audiences import audience_of, passes, shared_out
from perdure.population.build import Gathered, ShortageError, draw
from perdure.population.select import select
from perdure.records.persona import AttributeSpec, Ontology, Persona
from perdure.records.population import Relaxation
from perdure.records.study import Audience, Filter, PopulationSpec

ONTOLOGY = Ontology(
    attributes=(
        AttributeSpec(name="sex", label="Sex", scale={"1": "male", "2": "female"}),
        AttributeSpec(name="region", label="Region", scale={"n": "north", "s": "south"}),
        AttributeSpec(name="age", label="Age"),
        AttributeSpec(name="town", label="Town", text=True),
    )
)
SPEC = PopulationSpec(file="p.csv", id_column="id", columns={})


def persona(number: int, **attributes: str | float) -> Persona:
    """Give one persona."""
    return Persona(id=f"p{number:05d}", attributes=attributes)


def crowd(count: int) -> list[Persona]:
    """Give people of whom a third are women, a quarter live in the south, ages 18 to 77."""
    return [
        persona(
            number,
            sex=1 + (number % 3 == 0),
            region="s" if number % 4 == 0 else "n",
            age=18 + number * 7 % 60,
        )
        for number in range(count)
    ]


def gathered(people: list[Persona], weights: list[float] | None = None) -> Gathered:
    """Give what reading a file with these people gives."""
    return Gathered(personas=people, weights=weights or [1.0] * len(people), rows=len(people))


@given(
    st.integers(0, 5_000),
    st.dictionaries(st.text("abcdef", min_size=1), st.floats(0.001, 1), min_size=1, max_size=9),
)
def test_a_number_is_shared_out_whole(total: int, shares: dict[str, float]) -> None:
    """The parts add up, and none is a whole person away from its share."""
    parts = shared_out(total, shares)
    assert sum(parts.values()) == total
    whole = sum(shares.values())
    assert all(abs(parts[name] - total * share / whole) < 1 for name, share in shares.items())


def test_what_is_left_over_goes_to_the_largest_remainders() -> None:
    """Of 10 at 24, 38 and 38 % it is the two larger parts that are rounded up."""
    assert shared_out(10, {"a": 0.24, "b": 0.38, "c": 0.38}) == {"a": 2, "b": 4, "c": 4}


@pytest.mark.parametrize(
    ("where", "attributes", "is_in"),
    [
        (Filter(attribute="sex", values=("1", "2")), {"sex": 2}, True),
        (Filter(attribute="sex", values=("1",)), {"sex": 2}, False),
        (Filter(attribute="sex", values=("1",)), {}, False),
        (Filter(attribute="age", least=18, most=30), {"age": 30}, True),
        (Filter(attribute="age", least=18, most=30), {"age": 30.5}, False),
        (Filter(attribute="age", least=18), {"age": 17}, False),
        (Filter(attribute="age", most=18), {}, False),
        (Filter(attribute="town", values=("Ulm",)), {"town": "Ulm"}, True),
    ],
)
def test_a_filter_lets_through_what_it_says(
    where: Filter, attributes: dict[str, str | float], *, is_in: bool
) -> None:
    """A filter is of codes, texts or bounds, bounds included; who lacks the value does not pass."""
    assert passes(persona(1, **attributes), [where]) is is_in
    assert passes(persona(1, **attributes), [where], dropped=["sex", "age", "town"])


def test_a_row_is_of_the_first_audience_that_it_fits() -> None:
    """Audiences that overlap share nobody."""
    young = Audience(id="young", share=0.5, where=(Filter(attribute="age", most=30),))
    women = Audience(id="women", share=0.5, where=(Filter(attribute="sex", values=("2",)),))
    assert audience_of(persona(1, age=20, sex=2), [young, women]) == 0
    assert audience_of(persona(1, age=40, sex=2), [young, women]) == 1
    assert audience_of(persona(1, age=40, sex=1), [young, women]) is None


@given(st.integers(1, 150), st.integers(0, 3))
def test_quotas_are_met_exactly(count: int, seed: int) -> None:
    """As long as there are people, every code has its share of the draw, to the person."""
    quotas = {"sex": {"1": 0.5, "2": 0.5}, "region": {"n": 0.7, "s": 0.3}}
    people = crowd(2_000)[seed:]
    selected = select(people, count, (), quotas)
    assert not selected.relaxations
    taken = tuple(one for one in people if one.id in selected.taken)
    assert len(taken) == count
    for name, shares in quotas.items():
        found = Counter(str(one.attributes[name]) for one in taken)
        assert found == Counter(shared_out(count, shares))


def test_audiences_have_their_shares_and_say_whose_they_are() -> None:
    """Every audience has its share of the draw, and each persona carries its audience."""
    audiences = (
        Audience(id="young", share=0.6, where=(Filter(attribute="age", most=30),)),
        Audience(id="rest", share=0.4),
    )
    spec = PopulationSpec(file="f", id_column="id", columns={}, draw=100, audiences=audiences)
    drawn = draw(gathered(crowd(1_000)), spec, ONTOLOGY)
    people = drawn.population.personas
    assert Counter(one.audience for one in people) == {"young": 60, "rest": 40}
    assert all((one.attributes["age"] <= 30) == (one.audience == "young") for one in people)  # type: ignore[operator]
    assert drawn.population.manifest.audiences == {"young": 60, "rest": 40}
    assert [one.id for one in people] == sorted(one.id for one in people)


def test_a_shortfall_goes_down_the_ladder_and_every_step_is_recorded() -> None:
    """The last quota goes first, then the one before, then what an audience lets go; no more."""
    people = [
        *(persona(n, sex=1, region="n", age=20) for n in range(10)),
        *(persona(n, sex=1, region="s", age=20) for n in range(10, 14)),
        *(persona(n, sex=2, region="s", age=20) for n in range(14, 16)),
        *(persona(n, sex=2, region="s", age=50) for n in range(16, 40)),
    ]
    young = Audience(
        id="young",
        share=1.0,
        where=(Filter(attribute="age", most=30), Filter(attribute="sex", values=("1", "2"))),
        relax=("age", "sex"),
    )
    quotas = {"sex": {"1": 0.5, "2": 0.5}, "region": {"n": 0.5, "s": 0.5}}
    selected = select(people, 20, (young,), quotas)
    assert selected.relaxations == (
        # 10 of the north, 0 men of the south, 2 women of the south: the quotas have room for no
        # man more; then any region; then 4 men of the south; then older people.
        Relaxation(dropped="region", lacking=8, gained=0),
        Relaxation(dropped="sex", lacking=8, gained=4),
        Relaxation(dropped="age", audience="young", lacking=4, gained=4),
    )
    assert len(selected.taken) == 20
    assert not selected.lacking


def test_a_relaxed_filter_may_take_whom_a_full_audience_does_not_need() -> None:
    """Whom another audience still wants is its own; the others fill the relaxed one."""
    few = Audience(
        id="few", share=0.5, where=(Filter(attribute="sex", values=("2",)),), relax=("sex",)
    )
    rest = Audience(id="rest", share=0.5)
    people = [persona(0, sex=2), *(persona(n, sex=1) for n in range(1, 10))]
    selected = select(people, 6, (few, rest), {})
    assert Counter(selected.taken.values()) == {"few": 3, "rest": 3}
    assert selected.relaxations == (Relaxation(dropped="sex", audience="few", lacking=2, gained=2),)


def test_who_is_lacking_after_everything_is_refused_by_name() -> None:
    """A filter that may not be dropped is not: the draw is refused, and says of whom."""
    old = Audience(id="old", share=0.5, where=(Filter(attribute="age", least=77),))
    spec = PopulationSpec(
        file="f", id_column="id", columns={}, draw=400, audiences=(old, Audience(id="x", share=0.5))
    )
    with pytest.raises(ShortageError, match=r"lacks 1\d\d for `old`, after everything that may"):
        draw(gathered(crowd(1_000)), spec, ONTOLOGY)


def test_weights_draw_in_their_proportion_and_nest() -> None:
    """Three times the weight is drawn three times as often; a small draw is in a larger one."""
    people = crowd(400)
    weights = [3.0 if number % 2 else 1.0 for number in range(400)]
    heavy = total = 0
    for seed in range(60):
        spec = PopulationSpec(
            file="f", id_column="id", columns={}, draw=20, draw_seed=seed, draw_by="weight"
        )
        drawn = draw(gathered(people, weights), spec, ONTOLOGY).population.personas
        heavy += sum(int(one.id[1:]) % 2 for one in drawn)
        total += len(drawn)
    # Without putting back it is a little less than 3/4; 4 standard deviations are 0.05.
    assert 0.70 < heavy / total < 0.79
    more = PopulationSpec(file="f", id_column="id", columns={}, draw=50, draw_by="weight")
    fewer = PopulationSpec(file="f", id_column="id", columns={}, draw=20, draw_by="weight")
    ids = [
        {one.id for one in draw(gathered(people, weights), spec, ONTOLOGY).population.personas}
        for spec in (fewer, more)
    ]
    assert ids[0] < ids[1]


def test_a_weighted_draw_is_pinned() -> None:
    """Who is drawn by weight is the same on every machine and in every later version."""
    spec = PopulationSpec(
        file="f", id_column="id", columns={}, draw=5, draw_seed=11, draw_by="weight"
    )
    weights = [1.0 + number % 5 for number in range(60)]
    drawn = draw(gathered(crowd(60), weights), spec, ONTOLOGY).population
    assert [one.id for one in drawn.personas] == ["p00006", "p00018", "p00030", "p00044", "p00046"]


@pytest.mark.parametrize(
    ("changes", "kept"),
    [
        ({"weight_column": "w"}, True),
        ({"weight_column": "w", "draw": 20}, True),
        ({"weight_column": "w", "draw": 20, "draw_by": "weight"}, False),
        ({"weight_column": "w", "draw": 20, "quotas": ("sex",)}, False),
        ({"draw": 20}, False),
    ],
)
def test_weights_are_kept_unless_the_draw_went_by_them(
    changes: dict[str, Any], *, kept: bool
) -> None:
    """Weights go on with the personas, in their order, where nothing has made up for them yet."""
    spec = PopulationSpec(file="f", id_column="id", columns={}, **changes)
    people = crowd(60)
    by_id = {one.id: 1.0 + number % 5 for number, one in enumerate(people)}
    found = draw(gathered(people, list(by_id.values())), spec, ONTOLOGY).population
    assert found.weights == (tuple(by_id[one.id] for one in found.personas) if kept else ())
