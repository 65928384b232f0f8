"""Proves which model gives vectors: the one that the study names, whatever flags say who speaks."""

from __future__ import annotations

import pytest
from tests.support.sample_study import Writer

from perdure.analysis.models import answered_by, models_used
from perdure.base.errors import InvalidStudyError, UsageError
from perdure.population import load_study
from perdure.records.baseline_rule import Reactions
from perdure.records.scenario import ModelPin
from perdure.records.study import ModelSpec
from perdure.records.usage import Price
from perdure.study.findings import Findings
from perdure.study.forecast import forecast
from perdure.study.identity import expand, inputs_of
from perdure.study.load import load
from perdure.study.overrides import Overrides
from perdure.study.parse import parse
from perdure.study.read_models import require_vectors
from perdure.study.section import Section

WORDS = "models:\n  words: {provider: baseline}\n"
FAR = (
    "models:\n  far: {provider: http, model: vectors-1, base_url: 'http://127.0.0.1:9/v1', "
    "key_env: FAR_API_KEY, price: {input: 0.02, output: 0}}\n"
)


def named(sample: str, models: str = WORDS, embed: str = "words", speaks: str = "baseline") -> str:
    """Give the small study a model for vectors."""
    roles = f"roles: {{tier_a: {speaks}, embed: {embed}}}\n"
    return sample.replace("models:\n", roles + models)


def pins(path: object, **flags: str) -> dict[str, ModelPin]:
    """Load a study under flags; give the pins of its headers."""
    loaded = load_study(str(path), overrides=Overrides(**flags))  # type: ignore[arg-type]
    cell = expand(loaded.study, loaded.population)[0]
    assert inputs_of(loaded.study)["pins"] == cell.header.pins
    return cell.header.pins


def test_without_a_model_for_vectors_there_is_no_such_role(write: Writer, sample: str) -> None:
    """A study that names none has none in its header, and none in what is compared."""
    assert list(pins(write())) == ["tier_a", "tier_b"]
    text = sample.replace("models:\n", "roles: {tier_a: api}\nmodels:\n")
    assert list(pins(write(text))) == ["tier_a", "tier_b"]


def test_a_model_for_vectors_is_pinned_and_needs_no_rule(write: Writer, sample: str) -> None:
    """Its pin is in the header; those that speak stay who they are."""
    found = pins(write(named(sample)))
    assert found["embed"] == ModelPin(provider="baseline", model="baseline")
    plain = pins(write())
    assert {role: found[role] for role in plain} == plain


def test_a_model_may_both_speak_and_give_vectors(write: Writer, sample: str) -> None:
    """The rule by which a baseline speaks is then part of both pins."""
    found = pins(write(named(sample, "models:\n", "baseline")))
    assert found["embed"] == found["tier_a"]
    assert found["embed"].rule is not None


@pytest.mark.parametrize("models", [WORDS.replace("words", "far"), FAR], ids=["words", "http"])
@pytest.mark.parametrize(
    "flags",
    [
        {"model": "http", "base_url": "http://127.0.0.1:8/v1", "model_name": "other-1"},
        {"model": "local"},
        {"model": "api", "price": "1,1", "key_file": "/run/key"},
        {"model": "baseline"},
    ],
    ids=lambda flags: flags["model"],
)
def test_no_flag_changes_the_model_for_vectors(
    write: Writer, sample: str, models: str, flags: dict[str, str]
) -> None:
    """`--model` and the flags beside it say who speaks; vectors stay those of the study."""
    path = write(named(sample, models, "far"))
    spoken = load(path, overrides=Overrides(**flags)).models  # type: ignore[arg-type]
    assert spoken["embed"] == load(path).models["embed"]
    assert list(spoken) == ["tier_a", "tier_b", "embed"]
    assert spoken["tier_a"] == spoken["tier_b"]
    assert spoken["tier_a"].pin.provider == flags["model"].replace("api", "http")
    if "base_url" in flags:
        assert spoken["tier_a"].endpoint.base_url == flags["base_url"]
        assert spoken["tier_a"].endpoint.key_env == "EXAMPLE_API_KEY"


def test_a_model_for_vectors_alone_is_not_meant_by_its_provider(write: Writer, sample: str) -> None:
    """`--model http` where only vectors come over HTTP starts from nothing, and not from those."""
    start = sample[: sample.index("  api:\n")] + sample[sample.index("agent:\n") :]
    path = write(named(start, FAR, "far"))
    with pytest.raises(UsageError, match="has no address"):
        load(path, overrides=Overrides(model="http"))
    with pytest.raises(UsageError, match="--base-url means nothing"):
        load(path, overrides=Overrides(base_url="http://127.0.0.1:8/v1"))


def test_a_baseline_without_a_rule_does_not_speak(write: Writer, sample: str) -> None:
    """Named by a flag, a model that only gives vectors is refused in words."""
    path = write(named(sample))
    with pytest.raises(UsageError, match="--model `words` is a baseline without a rule"):
        load(path, overrides=Overrides(model="words"))
    ruleless = named(sample, speaks="api").replace("  baseline:\n", "  rule:\n", 1)
    assert load(write(ruleless), overrides=Overrides(model="baseline")).models["tier_a"].pin.rule


def test_everything_that_is_wrong_is_said_at_once(write: Writer, sample: str) -> None:
    """A file with five mistakes about models lists all five, each on its line."""
    models = (
        "models:\n"
        "  here: {provider: local}\n"
        "  spare: {provider: baseline}\n"
        "  far: {provider: http, model: m-1}\n"
    )
    text = named(sample, models, "here", speaks="bseline").replace(
        "noise: 0.5", "noise: 0.5\n      reactions: {tie: x, answr: 1}"
    )
    with pytest.raises(InvalidStudyError) as caught:
        load(write(text))
    lines = text.splitlines()
    said = [(lines[problem.line - 1].strip(), problem.wrong) for problem in caught.value.problems]
    assert [wrong for _, wrong in said] == [
        "The model `bseline` is not among the models.",
        "`models.here` gives no vectors: a local model of that name only speaks.",
        "`models.spare` is a baseline without a rule.",
        "`models.baseline.rule.reactions.tie` is `x`.",
        "The key `answr` in `models.baseline.rule.reactions` is not known.",
    ]
    assert said[2][0].startswith("spare:")


def test_reactions_arrive_and_their_defaults_are_nothing_else(write: Writer, sample: str) -> None:
    """What is written arrives; to write the defaults out changes no hash."""

    def rule(written: str) -> object:
        text = sample.replace("noise: 0.5", f"noise: 0.5\n      reactions: {written}")
        pin = pins(write(text))["tier_a"]
        assert pin.rule is not None
        return pin.rule.reactions

    assert rule("{tie: 0.5, pass_on: 3, noise: 0.1}") == Reactions(tie=0.5, pass_on=3.0, noise=0.1)
    assert rule("{}") is None
    whole = ", ".join(f"{name}: {value}" for name, value in vars_of(Reactions()).items())
    assert rule(f"{{{whole}}}") is None


def vars_of(record: Reactions) -> dict[str, float]:
    """Give the fields of a record."""
    return {name: getattr(record, name) for name in record.__struct_fields__}


@pytest.mark.parametrize(
    ("roles", "says"),
    [
        ("", ["The feed ranks by interest, and the study has no model that gives vectors."]),
        ("roles: {tier_a: baseline}\n", ["The feed ranks by interest"]),
        ("roles: {tier_a: baseline, embed: baseline}\n", []),
        ("roles: {tier_a: baseline, embed: nobody}\n", ["`nobody` is not among"]),
        ("roles: {tier_a: baseline, embed: [x]}\n", ["`roles.embed` is a list"]),
    ],
)
def test_what_wants_vectors_is_refused_where_there_are_none(
    sample: str, monkeypatch: pytest.MonkeyPatch, roles: str, says: list[str]
) -> None:
    """A part of a study that wants vectors says so once, and not beside another mistake."""
    found = Findings("s.yaml")
    sections: list[Section] = []
    fill = Section.fill

    def keep(self: Section, *given: object) -> None:
        fill(self, *given)  # type: ignore[arg-type]
        sections.extend([self] if not self.trail else [])

    monkeypatch.setattr(Section, "fill", keep)
    parse(sample.replace("models:\n", roles + "models:\n").encode(), found)
    require_vectors(sections[0], 7, "The feed ranks by interest")
    wrong = [problem.wrong for problem in found.listed()]
    assert len(wrong) == len(says)
    assert all(part in one for part, one in zip(says, wrong, strict=True))


def test_a_forecast_has_no_output_for_vectors(write: Writer, sample: str) -> None:
    """Vectors are counted beside what is said, and a call for them has no output to pay for."""
    flags = Overrides(model="api")
    plain = load_study(write(), overrides=flags)
    without = forecast(plain.study, expand(plain.study, plain.population), personas=12)
    for models in (FAR, WORDS.replace("words", "far")):
        loaded = load_study(write(named(sample, models, "far")), overrides=flags)
        result = forecast(loaded.study, expand(loaded.study, loaded.population), personas=12)
        said = [part for part in result.calls if part.role != "embed"]
        assert tuple(said) == without.calls
        vectors = [part for part in result.calls if part.role == "embed"]
        assert [part.purpose for part in vectors] == ["recall", "memory"]
        assert {(part.output_tokens, part.output_tokens_worst) for part in vectors} == {(0, 0)}
        assert result.cost is not None
        assert result.calls_total == without.calls_total + sum(part.calls for part in vectors)


def test_the_report_says_what_vectors_are_and_who_speaks() -> None:
    """A rule that gives vectors is not said to have answered for anybody."""
    spoken = ModelSpec(
        pin=ModelPin(provider="http", model="m-1"), price=Price(input_fresh=1, output=1)
    )
    words = ModelSpec(pin=ModelPin(provider="baseline", model="baseline"))
    specs = {"tier_a": spoken, "tier_b": spoken, "embed": words}
    told = "vectors by baseline (overlap of words, not meaning)"
    assert answered_by(specs) == f"http m-1; {told}"
    assert [use.statement for use in models_used(specs, ())] == [
        "",
        "",
        "overlap of words, not meaning",
    ]
    rule = {**dict.fromkeys(("tier_a", "tier_b"), words), "embed": words}
    assert answered_by(rule) == (
        f"baseline (answers by a declared rule, not a language model); {told}"
    )
