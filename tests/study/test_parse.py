"""Proves that a study file becomes the frozen study it describes, exactly."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from tests.support.sample_study import Writer

from perdure.base import canonical
from perdure.base.errors import InvalidStudyError, UsageError
from perdure.records.baseline_rule import BaselineRule, Distance, Identification
from perdure.records.budget import Budget, Ladder
from perdure.records.persona import AttributeSpec, Choice, OutcomeSpec
from perdure.records.scenario import AgentSettings, Scenario
from perdure.records.usage import Price
from perdure.study.load import load
from perdure.study.overrides import Overrides

EXAMPLE = Path(__file__).parents[2] / "examples" / "vote96" / "study.yaml"


def test_every_part_of_the_file_arrives(write: Writer) -> None:
    """Every part of the file arrives."""
    study = load(write())
    assert [claim.id for claim in study.brief.claims] == ["c1", "c2"]
    assert study.ontology.attributes[0] == AttributeSpec(
        name="party",
        label="Party",
        scale={"0": "left", "1": "middle", "2": "right"},
        required=True,
    )
    assert study.ontology.attributes[4].text
    assert study.ontology.outcome == OutcomeSpec(name="choice", question="vote")
    assert study.population.outcome_values == {"a": "0", "b": "1"}
    assert study.population.missing == ("", "NA")
    assert study.questions[0].choices == (
        Choice(id="a", label="Ann", aliases=("Annie",)),
        Choice(id="b", label="Bob"),
    )
    assert study.scenarios[0] == Scenario(
        id="s1",
        variant="v1",
        horizon=4,
        waves=(0, 3),
        wave_question="vote",
        exposures={"1": ("c1",), "2": ("c2",)},
        exposure_question="agree",
        activation=0.5,
    )
    assert study.seeds == (1, 2)
    assert study.agent.reflect_every == 2
    assert study.models["tier_a"].pin.rule == BaselineRule(
        distance=Distance(own="party", placements={"a": "left_placement", "b": "right_placement"}),
        identification=Identification(
            attribute="party", midpoint=1.0, low="a", high="b", weight=0.6
        ),
        claims={"c1": {"a": 0.1}},
        noise=0.5,
    )


SCALE = "  sure: {text: Sure, type: likert, choices: {n: no, y: yes}}\n  agree:\n"


def test_a_rule_of_fares_is_read(write: Writer, sample: str) -> None:
    """What attributes are worth, what changes them, and which choice a scale asks about."""
    worth = (
        "      worth: {a: {age: -0.5, party: 2}}\n      factors: {c1: {age: 0.5}}\n"
        "      scales: {sure: b}\n      noise: 0.5\n"
    )
    text = sample.replace("  agree:\n", SCALE).replace("      noise: 0.5\n", worth)
    rule = load(write(text)).models["tier_a"].pin.rule
    assert rule is not None
    assert rule.worth == {"a": {"age": -0.5, "party": 2.0}}
    assert rule.factors == {"c1": {"age": 0.5}}
    assert rule.scales == {"sure": "b"}
    assert rule.choices == ("a", "b")


def test_a_scale_asks_about_a_choice_that_the_rule_weighs(write: Writer, sample: str) -> None:
    """A choice of some question that the rule says nothing about has no probability."""
    scales = "      scales: {sure: disagree}\n      noise: 0.5\n"
    text = sample.replace("  agree:\n", SCALE).replace("      noise: 0.5\n", scales)
    with pytest.raises(InvalidStudyError) as caught:
        load(write(text))
    (problem,) = caught.value.problems
    assert problem.wrong == "The rule makes nothing of the choice `disagree`."
    assert "`a`" in problem.remedy


def test_the_mind_of_a_persona_is_read(write: Writer, sample: str) -> None:
    """What is kept, probed and told at most; what is left out is as it is by default."""
    assert load(write()).agent == AgentSettings(reflect_every=2)
    mind = (
        "  reflect_every: 2\n  memories: 4\n  memories_kept: 30\n  probe_every: 5\n"
        "  probe_share: 0.25\n  context_tokens: {tier_b: 4096}\n"
    )
    assert load(write(sample.replace("  reflect_every: 2\n", mind))).agent == AgentSettings(
        reflect_every=2,
        memories_max=4,
        memories_kept=30,
        probe_every=5,
        probe_share=0.25,
        context_tokens_max={"tier_b": 4_096},
    )


def test_a_scenario_overrides_the_timeline(write: Writer, sample: str) -> None:
    """A scenario overrides the timeline."""
    text = sample.replace("  s1:\n", "  s1:\n    horizon: 9\n    waves: [8]\n")
    first, second = load(write(text)).scenarios
    assert (first.horizon, first.waves) == (9, (8,))
    assert (second.horizon, second.waves) == (4, (0, 3))


def test_prices_are_exact(write: Writer) -> None:
    """Prices are exact."""
    study = load(write(), overrides=Overrides(model="api"))
    assert study.models["tier_a"].price == Price(input_fresh=150_000_000, output=600_000_000)
    assert study.models["tier_b"] == study.models["tier_a"]


def test_a_budget_arrives_exactly(write: Writer, sample: str) -> None:
    """Amounts are exact nano-units, hours are seconds, and what is not written has no limit."""
    budget = """\
budget:
  amount: 5.000000001
  ceiling: "7.5"
  calls: 1000
  tokens: 2000000
  hours: 1.5
  ladder: {warn: 0.5, freeze: 0.6, subsample: 0.7, share: 0.25}
"""
    assert load(write(sample + budget)).budget == Budget(
        amount=5_000_000_001,
        ceiling=7_500_000_000,
        calls=1000,
        tokens=2_000_000,
        wall_s=5_400.0,
        ladder=Ladder(warn=0.5, freeze=0.6, subsample=0.7, share=0.25),
    )
    accepted = load(write(sample + "budget: {unpriced: accepted, tokens: 9}\n")).budget
    assert accepted == Budget(tokens=9, unpriced_accepted=True)
    assert load(write(sample + "budget: {amount: 3}\n")).budget.money_max == 3_000_000_000
    assert load(write(sample)).budget == Budget()


def test_a_bound_and_a_name_of_a_price_arrive(write: Writer, sample: str) -> None:
    """What a model costs at most, and whose price it has, are part of the model."""
    price = "price: {input: 0.15, output: 0.6}"
    bound = sample.replace(price, "price_bound: {input: 1, output: 2, cache_read: 0.5}")
    spec = load(write(bound), overrides=Overrides(model="api")).models["tier_a"]
    assert spec.price is None
    assert spec.price_bound == Price(
        input_fresh=1_000_000_000, output=2_000_000_000, cache_read=500_000_000
    )
    named = sample.replace(price, "price_as: openrouter/openai/gpt-4o-mini")
    spec = load(write(named), overrides=Overrides(model="api")).models["tier_a"]
    assert (spec.price, spec.price_as) == (None, "openrouter/openai/gpt-4o-mini")


def test_flags_say_what_a_model_costs_and_what_may_be_spent(write: Writer, sample: str) -> None:
    """A flag takes the place of what the study says, and is part of the study as asked."""
    flags = Overrides(model="api", price="0.1, 0.4", budget="2.5")
    asked = load(write(sample + "budget: {amount: 9, ceiling: 10, calls: 5}\n"), overrides=flags)
    assert asked.models["tier_b"].price == Price(input_fresh=100_000_000, output=400_000_000)
    assert asked.budget == Budget(amount=2_500_000_000, ceiling=10_000_000_000, calls=5)
    assert Overrides.of_flags(flags.flags()) == flags
    as_other = load(write(sample), overrides=Overrides(model="api", price_as="openai/gpt-4o"))
    assert as_other.models["tier_a"].price is None
    assert as_other.models["tier_a"].price_as == "openai/gpt-4o"


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (Overrides(budget="5"), "accepts calls without a price"),
        (Overrides(budget="0"), "--budget 0 is no budget"),
        (Overrides(budget="five"), "--budget `five` cannot be read"),
    ],
)
def test_a_budget_flag_that_cannot_hold_is_a_usage_error(
    write: Writer, sample: str, flags: Overrides, says: str
) -> None:
    """A budget on the command line is held to the same rules as one in the file."""
    with pytest.raises(UsageError) as caught:
        load(write(sample + "budget: {unpriced: accepted, calls: 5}\n"), overrides=flags)
    assert says in str(caught.value)


def test_a_budget_flag_above_the_ceiling_is_a_usage_error(write: Writer, sample: str) -> None:
    """The study's ceiling stays what it is."""
    with pytest.raises(UsageError, match="above the study's ceiling"):
        load(write(sample + "budget: {amount: 2, ceiling: 3}\n"), overrides=Overrides(budget="4"))


def test_layout_and_comments_change_nothing(write: Writer, sample: str) -> None:
    """Layout and comments change nothing."""
    one = load(write())
    other = load(write(sample.replace("seeds: [1, 2]", "seeds:   # two\n  - '1'\n  - 2")))
    assert canonical.encode(one) == canonical.encode(other)


def test_settings_reach_a_plug_in_as_text(write: Writer, sample: str) -> None:
    """Settings reach a plug in as text."""
    text = sample.replace("  s1:\n", "  s1:\n    settings: {a: no, b: [1, {c: 0x1}]}\n")
    assert load(write(text)).scenarios[0].settings == {"a": "no", "b": ["1", {"c": "0x1"}]}


def test_roles_choose_models(write: Writer, sample: str) -> None:
    """Roles choose models."""
    text = sample.replace("seeds:", "roles: {tier_a: baseline, tier_b: api}\nseeds:")
    study = load(write(text))
    assert {role: spec.pin.provider for role, spec in study.models.items()} == {
        "tier_a": "baseline",
        "tier_b": "http",
    }


def test_the_example_is_valid() -> None:
    """The example is valid."""
    study = load(EXAMPLE)
    assert len(study.scenarios) == 2
    assert len(study.brief.claims) == 8
    assert study.models["tier_a"].pin.provider == "baseline"


def test_the_examples_other_models_are_a_flag_away() -> None:
    """The example's other models are a flag away."""
    local = load(EXAMPLE, overrides=Overrides(model="local", n=30))
    assert local.models["tier_a"].pin.model == "smollm2-135m-instruct"
    assert local.population.draw == 30
    flags = Overrides(model="http", base_url="http://127.0.0.1:9/v1", model_name="m-1")
    assert load(EXAMPLE, overrides=flags).models["tier_b"].pin.model == "m-1"


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (Overrides(model="bsaeline"), "not a model"),
        (Overrides(n=0), "--n 0"),
        (Overrides(n=10**9), "--n"),
        (Overrides(base_url="http://h"), "--base-url means nothing"),
        (Overrides(model="api", weights="x"), "--weights means nothing"),
        (Overrides(model="api", base_url="http://u:p@h/"), "--base-url is not"),
        (Overrides(model="api", model_name="x-latest"), "tomorrow"),
        (Overrides(model="api", key_env="A", key_file="b"), "both given"),
        (Overrides(price="1,1"), "--price means nothing"),
        (Overrides(model="api", price="1"), "--price `1` is not a price"),
        (Overrides(model="api", price="1,-1"), "--price `-1` cannot be read"),
        (Overrides(model="api", price="1,1", price_as="a/b"), "both given"),
        (Overrides(model="api", price_as="gpt-4o"), "--price-as `gpt-4o` names no price"),
        (Overrides(model="local", weights="/nowhere/at/all"), "does not exist"),
        (Overrides(model="local", weights="/dev/null"), "not a regular file"),
    ],
)
def test_a_flag_that_does_not_fit_is_a_usage_error(
    write: Writer, flags: Overrides, says: str
) -> None:
    """A flag that does not fit is a usage error."""
    with pytest.raises(UsageError) as caught:
        load(write(), overrides=flags)
    assert says in str(caught.value)


def test_another_models_name_drops_price_and_served_names(write: Writer) -> None:
    """Another model's name drops price and served names."""
    flags = Overrides(model="api", model_name="other-1", key_file="/run/key")
    spec = load(write(), overrides=flags).models["tier_a"]
    assert spec.price is None
    assert (spec.pin.model, spec.endpoint.key_file, spec.endpoint.key_env) == (
        "other-1",
        "/run/key",
        "",
    )


def test_weights_are_pinned_by_their_content(write: Writer, tmp_path: Path) -> None:
    """Weights are pinned by their content."""
    weights = tmp_path / "w.gguf"
    weights.write_bytes(b"weights")
    spec = load(write(), overrides=Overrides(model="local", weights=str(weights))).models["tier_a"]
    assert spec.pin.model == "w.gguf"
    assert spec.pin.file_sha256 == hashlib.sha256(b"weights").hexdigest()
    assert spec.endpoint.weights_file == str(weights)


def test_the_flags_that_were_given_are_named() -> None:
    """The flags that were given are named."""
    given = Overrides(n=3, model_name="m")
    assert given.flags() == {"--n": "3", "--model-name": "m"}
    assert Overrides.of_flags({**given.flags(), "--workers": "2"}) == given
    with pytest.raises(UsageError):
        Overrides.of_flags({"--n": "many"})


def test_the_error_names_file_and_line(write: Writer, sample: str) -> None:
    """The error names file and line."""
    path = write(sample.replace("horizon: 4", "horizon: four"))
    with pytest.raises(InvalidStudyError) as caught:
        load(path)
    assert str(caught.value).startswith(f"{path}:41: `timeline.horizon` is `four`.")
    assert caught.value.exit_status == 65
