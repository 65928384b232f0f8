"""Reads the models of a study and the roles they serve."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from perdure.records.baseline_rule import BaselineRule, Distance, Identification, Reactions
from perdure.records.persona import Ontology
from perdure.records.scenario import ModelPin, Question, QuestionType
from perdure.records.study import Endpoint, ModelSpec
from perdure.records.usage import Price
from perdure.study import schema
from perdure.study.findings import quoted, suggestion
from perdure.study.kinds import Named
from perdure.study.section import Field, Section

T = TypeVar("T")

BASELINE = "baseline"
HTTP = "http"
LOCAL = "local"
# The role of the model that gives vectors; those of all other roles speak.
EMBED = "embed"
_TIER_A = "tier_a"
LOCAL_MODEL = "smollm2-135m-instruct"
# The packaged weights; `inference/local` checks the file against it.
LOCAL_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
# The local model of vectors, which does not speak; `inference/local` checks its file likewise.
LOCAL_VECTORS = "all-minilm-l6-v2-int8"
LOCAL_VECTORS_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
# A model on this machine answers one batch after another, so a call waits longer than one that is
# sent away, and giving up on it only adds to the queue.
LOCAL_ENDPOINT = Endpoint(concurrency_max=16, attempt_timeout_s=1_800.0, deadline_s=7_200.0)

# What a model is called where its name is left out; an endpoint always needs one.
_UNNAMED = {BASELINE: BASELINE, LOCAL: LOCAL_MODEL}


@dataclass(frozen=True)
class RuleNames:
    """What a rule may refer to; None where it could not be read."""

    attributes: tuple[str, ...] | None
    worded: frozenset[str]
    choices: tuple[str, ...] | None
    claims: tuple[str, ...] | None
    scales: frozenset[str]
    questions: tuple[str, ...] | None


def rule_names(
    ontology: Ontology,
    questions: dict[str, Question],
    claims: tuple[str, ...],
    study: Section,
) -> RuleNames:
    """Gather what a rule may refer to: `worded` are attributes that are not numbers."""
    choices = [choice.id for question in questions.values() for choice in question.choices]
    return RuleNames(
        attributes=tuple(spec.name for spec in ontology.attributes)
        if study.get(schema.ONTOLOGY_FIELD).has(schema.ATTRIBUTES)
        else None,
        worded=frozenset(
            spec.name
            for spec in ontology.attributes
            if spec.text or not all(_is_number(code) for code in spec.scale)
        ),
        choices=tuple(dict.fromkeys(choices)) if study.has(schema.QUESTIONS) else None,
        claims=claims if study.has(schema.BRIEF_FIELD) else None,
        scales=frozenset(
            name for name, question in questions.items() if question.asks_for is QuestionType.LIKERT
        ),
        questions=tuple(questions) if study.has(schema.QUESTIONS) else None,
    )


def read_models(study: Section, names: RuleNames) -> dict[str, ModelSpec]:
    """Read the models by their names, in order."""
    return {named.key: _model(named, names) for named in study.get(schema.MODELS)}


def read_roles(study: Section, models: dict[str, ModelSpec]) -> dict[str, str]:
    """Read which model serves which role, and check that it can.

    The first model speaks in both tiers unless the study says otherwise. `embed` is a role only if
    the study names a model for it.
    """
    if not models:
        return {}
    roles = _roles(study, models)
    sections = {named.key: named.value for named in study.get(schema.MODELS)}
    _check_rules(study, sections, roles)
    if (embeds := roles.get(EMBED, "")) in models:
        _check_embeds(study.get(schema.ROLES), sections[embeds])
    return roles


def serves_only_vectors(name: str, roles: dict[str, str]) -> bool:
    """Say whether a model gives vectors and speaks in no role."""
    return {role for role, served_by in roles.items() if served_by == name} == {EMBED}


def gives_only_vectors(pin: ModelPin) -> bool:
    """Say whether a model is one that gives vectors and cannot speak."""
    return pin.provider == LOCAL and pin.model == LOCAL_VECTORS


def leading(models: Mapping[str, ModelSpec]) -> ModelSpec:
    """Give the model, by role, whose concurrency and rates hold for a whole run: that of tier A.

    Where nothing speaks, as where answers are scored again, it is the one that gives the vectors.
    """
    return models.get(_TIER_A) or models[EMBED]


def require_vectors(study: Section, line: int, what: str) -> None:
    """Note, at a line, that something wants vectors in a study in which no model gives any.

    `what` is the beginning of that sentence: "The feed ranks by interest".
    """
    # One that is named but cannot be used is told of where it is named.
    if not study.get(schema.ROLES).present(schema.EMBED):
        wrong = f"{what}, and the study has no model that gives vectors."
        remedy = "Name one as `embed` in `roles`; a model with `provider: baseline` will do."
        study.found.add(line, wrong, remedy)


def _roles(study: Section, models: dict[str, ModelSpec]) -> dict[str, str]:
    if not study.has(schema.ROLES):
        first = next(iter(models))
        _check_speaks(study, study.line_of(schema.MODELS), models[first])
        return dict.fromkeys((_TIER_A, "tier_b"), first)
    section = study.get(schema.ROLES)
    for field in (schema.TIER_A, schema.TIER_B, schema.EMBED):
        name = section.get(field)
        if section.has(field) and name not in models:
            wrong = f"The model {quoted(name)} is not among the models."
            section.wrong(field, wrong, suggestion(name, models))
        elif field is not schema.EMBED and name in models:
            _check_speaks(section, section.line_of(field), models[name])
    tier_a, embed = section.get(schema.TIER_A), section.get(schema.EMBED)
    roles = {_TIER_A: tier_a, "tier_b": section.get(schema.TIER_B) or tier_a}
    return {**roles, EMBED: embed} if section.present(schema.EMBED) else roles


def _check_speaks(section: Section, line: int, spec: ModelSpec) -> None:
    """Refuse a model that is to speak and cannot."""
    if gives_only_vectors(spec.pin):
        wrong = f"The model `{spec.pin.model}` gives vectors and does not speak."
        remedy = "Name it as `embed` in `roles`, and another one as `tier_a`."
        section.found.add(line, wrong, remedy)


def _check_rules(study: Section, models: dict[str, Section], roles: dict[str, str]) -> None:
    """Refuse a baseline that has no rule to speak by."""
    # A name for `embed` that is misspelt is one mistake, not a second one for what it was to be.
    is_misspelt = EMBED in roles and roles[EMBED] not in models
    for name, section in models.items():
        speaks = name in {served_by for role, served_by in roles.items() if role != EMBED}
        is_excused = serves_only_vectors(name, roles) or (is_misspelt and not speaks)
        is_baseline = section.get(schema.PROVIDER) == BASELINE and section.has(schema.PROVIDER)
        if is_baseline and not section.present(schema.RULE) and not is_excused:
            wrong = f"`{section.trail}` is a baseline without a rule."
            remedy = "Write `rule:`; it answers by a declared rule only."
            study.found.add(section.line_of(schema.PROVIDER), wrong, remedy)


def _check_embeds(roles: Section, model: Section) -> None:
    """Refuse a model for vectors that gives none, or that lacks what no flag can give it."""
    if not model.has(schema.PROVIDER):
        return
    provider = model.get(schema.PROVIDER)
    if provider == LOCAL and model.get(schema.MODEL) != LOCAL_VECTORS:
        wrong = f"`{model.trail}` gives no vectors: a local model of that name only speaks."
        remedy = (
            f"Write `model: {LOCAL_VECTORS}` there, or name a model with the provider `{HTTP}` or "
            f"`{BASELINE}`."
        )
        roles.wrong(schema.EMBED, wrong, remedy)
    for field in (schema.BASE_URL, schema.MODEL):
        if provider == HTTP and not model.present(field):
            wrong = f"`{model.trail}` gives the vectors and has no `{field.key}`."
            remedy = f"Write `{field.key}:` there; flags are for the models that speak."
            model.wrong(schema.PROVIDER, wrong, remedy)


def floating(model: str) -> bool:
    """Say whether a model's name can mean another model tomorrow."""
    folded = model.casefold()
    return "*" in model or folded.endswith("latest") or folded == "auto"


def _model(named: Named[str, Section], names: RuleNames) -> ModelSpec:
    section = named.value
    provider = section.get(schema.PROVIDER)
    if section.has(schema.PROVIDER):
        _check_fits(section, provider)
    model = section.get(schema.MODEL)
    _check_fixed(section, section.line_of(schema.MODEL), model)
    accepts = section.get(schema.ACCEPTS)
    for spot in accepts:
        _check_fixed(section, spot.line, spot.value)
    return ModelSpec(
        pin=ModelPin(
            provider=provider,
            model=model or _UNNAMED.get(provider, ""),
            accepts=tuple(spot.value for spot in accepts),
            file_sha256=_sha256(section, provider, model),
            rule=_rule(section.get(schema.RULE), names) if section.has(schema.RULE) else None,
        ),
        endpoint=_endpoint(section),
        price=_price(section, schema.PRICE),
        price_as=section.get(schema.PRICE_AS),
        price_bound=_price(section, schema.PRICE_BOUND),
    )


def _sha256(section: Section, provider: str, model: str) -> str:
    """Give the hash that pins local weights: as written, or that of the packaged ones."""
    packaged = {"": LOCAL_SHA256, LOCAL_MODEL: LOCAL_SHA256, LOCAL_VECTORS: LOCAL_VECTORS_SHA256}
    known = packaged.get(model, "") if provider == LOCAL else ""
    return section.get(schema.SHA256) or known


def _check_fixed(section: Section, line: int, model: str) -> None:
    if floating(model):
        wrong = f"The model name {quoted(model)} can mean another model tomorrow."
        section.found.add(line, wrong, "Write the exact name of one version.")


def _check_fits(section: Section, provider: str) -> None:
    """Refuse a key that this provider would never read: the author must have meant something."""
    rows = (
        (schema.RULE, (BASELINE,)),
        (schema.BASE_URL, (HTTP,)),
        (schema.KEY_ENV, (HTTP,)),
        (schema.ACCEPTS, (HTTP,)),
        (schema.SHA256, (LOCAL,)),
        (schema.PRICE, (HTTP, LOCAL)),
        (schema.PRICE_AS, (HTTP,)),
        (schema.PRICE_BOUND, (HTTP, LOCAL)),
        (schema.LIMITS, (HTTP, LOCAL)),
    )
    for field, providers in rows:
        if section.present(field) and provider not in providers:
            wrong = f"`{field.key}` means nothing for the provider `{provider}`."
            section.wrong(field, wrong, "Remove it.")
    prices = [
        field
        for field in (schema.PRICE, schema.PRICE_AS, schema.PRICE_BOUND)
        if section.present(field)
    ]
    for field in prices[1:]:
        wrong = f"`{section.trail}` has a `{prices[0].key}` and a `{field.key}`."
        section.wrong(field, wrong, "Keep one of them.")


def _endpoint(section: Section) -> Endpoint:
    limits = section.get(schema.LIMITS)
    is_local = section.get(schema.PROVIDER) == LOCAL

    def limit(field: Field[T], local: T) -> T:
        return local if is_local and not limits.present(field) else limits.get(field)

    return Endpoint(
        base_url=section.get(schema.BASE_URL),
        key_env=section.get(schema.KEY_ENV),
        concurrency_max=limit(schema.CONCURRENCY, LOCAL_ENDPOINT.concurrency_max),
        requests_per_minute=limits.get(schema.REQUESTS_PER_MINUTE),
        tokens_per_minute=limits.get(schema.TOKENS_PER_MINUTE),
        attempt_timeout_s=limit(schema.ATTEMPT_TIMEOUT, LOCAL_ENDPOINT.attempt_timeout_s),
        deadline_s=limit(schema.DEADLINE, LOCAL_ENDPOINT.deadline_s),
        retries_max=limits.get(schema.RETRIES),
    )


def _price(model: Section, field: Field[Section]) -> Price | None:
    if not model.has(field):
        return None
    section = model.get(field)
    return Price(
        input_fresh=section.get(schema.INPUT),
        output=section.get(schema.OUTPUT),
        cache_read=section.get(schema.CACHE_READ) if section.has(schema.CACHE_READ) else None,
        cache_write=section.get(schema.CACHE_WRITE) if section.has(schema.CACHE_WRITE) else None,
    )


def _rule(section: Section, names: RuleNames) -> BaselineRule:
    distance = section.get(schema.DISTANCE) if section.has(schema.DISTANCE) else None
    leaning = section.get(schema.IDENTIFICATION) if section.has(schema.IDENTIFICATION) else None
    reactions = section.get(schema.REACTIONS) if section.has(schema.REACTIONS) else None
    effects = section.get(schema.CLAIM_EFFECTS)
    for effect in effects:
        _check(section, effect.line, effect.key, "claim", names.claims)
        for choice in effect.value:
            _check(section, choice.line, choice.key, "choice", names.choices)
    _check_worth(section, names)
    rule = BaselineRule(
        distance=_distance(distance, names) if distance is not None else None,
        identification=_identification(leaning, names) if leaning is not None else None,
        claims=_by_name(effects),
        social_proof=section.get(schema.SOCIAL_PROOF),
        noise=section.get(schema.NOISE),
        undecided=section.get(schema.UNDECIDED),
        reactions=_reactions(reactions) if reactions is not None else None,
        worth=_by_name(section.get(schema.WORTH)),
        factors=_by_name(section.get(schema.FACTORS)),
        scales={entry.key: entry.value for entry in section.get(schema.SCALES)},
    )
    for entry in section.get(schema.SCALES):
        if entry.value not in rule.choices:
            wrong = f"The rule makes nothing of the choice {quoted(entry.value)}."
            section.found.add(entry.line, wrong, suggestion(entry.value, rule.choices))
    return rule


def _by_name(
    entries: tuple[Named[str, tuple[Named[str, float], ...]], ...],
) -> dict[str, dict[str, float]]:
    return {entry.key: {one.key: one.value for one in entry.value} for entry in entries}


def _check_worth(section: Section, names: RuleNames) -> None:
    """Refuse what `worth`, `factors` and `scales` name and the study does not have."""
    worth, counted = section.get(schema.WORTH), set()
    for entry in worth:
        _check(section, entry.line, entry.key, "choice", names.choices)
        for one in entry.value:
            _check_number(section, one.line, one.key, names)
            counted.add(one.key)
    for entry in section.get(schema.FACTORS):
        _check(section, entry.line, entry.key, "claim", names.claims)
        for one in entry.value:
            if one.key not in counted:
                wrong = f"The attribute {quoted(one.key)} is not in `worth`, so its factor is none."
                section.found.add(one.line, wrong, suggestion(one.key, sorted(counted)))
    for scale in section.get(schema.SCALES):
        _check(section, scale.line, scale.key, "question", names.questions)
        if names.questions and scale.key in names.questions and scale.key not in names.scales:
            wrong = f"The question `{scale.key}` is not a scale."
            section.found.add(scale.line, wrong, "Write `type: likert` in the question.")


def _reactions(section: Section) -> Reactions | None:
    read = Reactions(
        approve=section.get(schema.APPROVE),
        answer=section.get(schema.ANSWER),
        pass_on=section.get(schema.PASS_ON),
        follow=section.get(schema.FOLLOW),
        post=section.get(schema.POST),
        tie=section.get(schema.TIE_WEIGHT),
        motivation=section.get(schema.MOTIVATION),
        persuasion=section.get(schema.PERSUASION),
        noise=section.get(schema.PULL_NOISE),
    )
    # To write the defaults out is to say nothing else: it has to hash the same.
    return None if read == Reactions() else read


def _distance(section: Section, names: RuleNames) -> Distance:
    placements = section.get(schema.PLACEMENTS)
    _check_number(section, section.line_of(schema.OWN), section.get(schema.OWN), names)
    for entry in placements:
        _check(section, entry.line, entry.key, "choice", names.choices)
        _check_number(section, entry.line, entry.value, names)
    return Distance(
        own=section.get(schema.OWN),
        placements={entry.key: entry.value for entry in placements},
        weight=section.get(schema.WEIGHT),
    )


def _identification(section: Section, names: RuleNames) -> Identification:
    line = section.line_of(schema.RULE_ATTRIBUTE)
    _check_number(section, line, section.get(schema.RULE_ATTRIBUTE), names)
    for field in (schema.LOW, schema.HIGH):
        _check(section, section.line_of(field), section.get(field), "choice", names.choices)
    return Identification(
        attribute=section.get(schema.RULE_ATTRIBUTE),
        midpoint=section.get(schema.MIDPOINT),
        low=section.get(schema.LOW),
        high=section.get(schema.HIGH),
        weight=section.get(schema.WEIGHT),
    )


def _check_number(section: Section, line: int, name: str, names: RuleNames) -> None:
    _check(section, line, name, "attribute", names.attributes)
    if name in names.worded:
        wrong = f"The attribute `{name}` is not a number, so the rule cannot measure by it."
        section.found.add(line, wrong, "Name an attribute whose codes are numbers.")


def _check(
    section: Section, line: int, name: str, what: str, known: tuple[str, ...] | None
) -> None:
    if name and known is not None and name not in known:
        wrong = f"The {what} {quoted(name)} is not in the study."
        section.found.add(line, wrong, suggestion(name, known))


def _is_number(code: str) -> bool:
    return code.removeprefix("-").isascii() and code.removeprefix("-").isdecimal()
