"""The baseline: answers by a rule that the study declares. Offline, free, instant, repeatable.

It is the yardstick that a language model has to beat, and it never passes for one: every answer
ends by saying what it is. The rule is data; this file only carries it out.

A closed question over the rule's own choices is answered with the choice of the highest utility. A
closed question over other choices, such as whether one agrees, is a reaction to the claims shown
now: it turns on whether they speak for the choice that the persona leans to. An open question is
answered with a sentence about what was seen and where the persona leans.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from perdure.base.chance import Stream
from perdure.records.baseline_rule import BaselineRule, Distance, Identification
from perdure.records.facts import PersonaFacts
from perdure.records.persona import AttributeValue, Choice
from perdure.records.record import Record
from perdure.records.request import ChatRequest, EmbedRequest, Failure, FailureCause, Reply, Vectors
from perdure.records.usage import Usage

SERVED = "baseline"
NOTICE = "(Answered by a rule, not a language model.)"

# The ids that say which way a reaction points; without them the first and the last choice do.
AGREE = "agree"
DISAGREE = "disagree"


class Weighed(Record):
    """What the rule makes of a persona: each choice's utility, and which terms went into it.

    `unknown` counts the terms that were left out because an attribute is missing or no number.
    """

    utilities: dict[str, float]
    terms: tuple[str, ...]
    unknown: int


class BaselineProvider:
    """Answers each request from its facts alone, by one declared rule."""

    def __init__(self, rule: BaselineRule) -> None:
        self._rule = rule

    @property
    def name(self) -> str:
        """What this provider is called in a study file."""
        return "baseline"

    async def open(self) -> None:
        """Do nothing: there is nothing to get ready."""

    async def close(self) -> None:
        """Do nothing: there is nothing to release."""

    async def chat(self, request: ChatRequest, timeout_s: float) -> Reply | Failure:  # noqa: ARG002
        """Answer by the rule, or fail because the request does not say what the rule needs."""
        text = answer(self._rule, request.facts, request.seed)
        if text is None:
            return Failure(cause=FailureCause.FACTS_MISSING)
        return Reply(text=text, served=SERVED, usage=Usage())

    async def embed(self, request: EmbedRequest, timeout_s: float) -> Vectors | Failure:  # noqa: ARG002
        """Fail as unsupported: a rule has no vectors."""
        return Failure(cause=FailureCause.UNSUPPORTED)


def answer(rule: BaselineRule, facts: PersonaFacts | None, seed: int) -> str | None:
    """Answer in words; None if the facts do not hold what the rule needs to answer at all."""
    if facts is None:
        return None
    own = rule_choices(rule)
    question = facts.question
    asked = tuple(choice.id for choice in question.choices) if question is not None else ()
    closed = bool(asked)
    about_own = closed and not set(own).isdisjoint(asked)
    weighed = weigh(rule, facts, asked if about_own else own, seed)
    if weighed.unknown and not weighed.terms:
        return None
    if question is not None and about_own:
        said = _choice_in_words(rule, weighed, question.choices)
    elif question is not None and closed:
        if not facts.shown:
            return None
        said = _reaction_in_words(rule, facts, weighed, question.choices)
    else:
        said = _summary_in_words(rule, facts, weighed)
    return f"{said} {NOTICE}"


def rule_choices(rule: BaselineRule) -> tuple[str, ...]:
    """List the choices that a rule tells apart, in the order in which it names them."""
    named: list[str] = []
    if rule.distance is not None:
        named += rule.distance.placements
    if rule.identification is not None:
        named += (rule.identification.low, rule.identification.high)
    for effects in rule.claims.values():
        named += effects
    return tuple(dict.fromkeys(named))


def weigh(rule: BaselineRule, facts: PersonaFacts, choices: Sequence[str], seed: int) -> Weighed:
    """Add up the rule's terms for each choice. A term that lacks an attribute is left out whole."""
    parts: dict[str, Mapping[str, float] | None] = {}
    if rule.distance is not None:
        parts["nearness"] = _nearness(rule.distance, facts.attributes, choices)
    if rule.identification is not None:
        parts["identification"] = _identified(rule.identification, facts.attributes)
    known = {name: part for name, part in parts.items() if part is not None}
    persuaded = _persuaded(rule, facts)
    if persuaded:
        known["what I have been told"] = persuaded
    utilities = {
        choice: math.fsum(part.get(choice, 0.0) for part in known.values())
        + rule.noise * Stream(str(seed), 0, "baseline", choice).normal()
        for choice in choices
    }
    return Weighed(utilities=utilities, terms=tuple(known), unknown=len(parts) - _count(parts))


def leading(rule: BaselineRule, utilities: Mapping[str, float]) -> str | None:
    """Name the choice that leads by at least the rule's margin; ties are undecided."""
    ranked = sorted(utilities, key=lambda choice: (-utilities[choice], choice))
    if not ranked:
        return None
    if len(ranked) > 1:
        lead = utilities[ranked[0]] - utilities[ranked[1]]
        if lead <= 0 or lead < rule.undecided:
            return None
    return ranked[0]


def agreement(rule: BaselineRule, facts: PersonaFacts, lean: str) -> float:
    """Say how much the claims shown now speak for a choice, against the best of the others."""
    total: dict[str, float] = {}
    for claim in facts.shown:
        for choice, effect in rule.claims.get(claim, {}).items():
            total[choice] = total.get(choice, 0.0) + effect * _proof(rule, facts, claim)
    others = [total.get(choice, 0.0) for choice in rule_choices(rule) if choice != lean]
    return total.get(lean, 0.0) - max(others, default=0.0)


def _nearness(
    term: Distance, attributes: Mapping[str, AttributeValue], choices: Iterable[str]
) -> dict[str, float] | None:
    own = _number(attributes.get(term.own))
    if own is None:
        return None
    near: dict[str, float] = {}
    for choice in choices:
        if choice in term.placements:
            placed = _number(attributes.get(term.placements[choice]))
            if placed is None:
                # One placement alone would favour or punish its choice for being known.
                return None
            near[choice] = -term.weight * abs(own - placed)
    return near


def _identified(
    term: Identification, attributes: Mapping[str, AttributeValue]
) -> dict[str, float] | None:
    value = _number(attributes.get(term.attribute))
    if value is None:
        return None
    steps = value - term.midpoint
    return {term.high if steps > 0 else term.low: term.weight * abs(steps)}


def _persuaded(rule: BaselineRule, facts: PersonaFacts) -> dict[str, float]:
    """Add up the claims met so far, each once, now or before."""
    total: dict[str, float] = {}
    for claim in dict.fromkeys((*facts.shown, *facts.remembered)):
        for choice, effect in rule.claims.get(claim, {}).items():
            total[choice] = total.get(choice, 0.0) + effect * _proof(rule, facts, claim)
    return total


def _proof(rule: BaselineRule, facts: PersonaFacts, claim: str) -> float:
    return 1.0 + rule.social_proof * math.log2(1 + max(facts.agreed.get(claim, 0), 0))


def _number(value: AttributeValue | None) -> float | None:
    if isinstance(value, str | bool) or value is None or not math.isfinite(value):
        return None
    return float(value)


def _count(parts: Mapping[str, Mapping[str, float] | None]) -> int:
    return sum(part is not None for part in parts.values())


def _choice_in_words(rule: BaselineRule, weighed: Weighed, choices: Sequence[Choice]) -> str:
    # No label but the chosen one may appear, or a scorer could take it for the answer.
    lead = leading(rule, weighed.utilities)
    if lead is None:
        return f"I have not decided. {_reasons(weighed)}"
    label = next(choice.label for choice in choices if choice.id == lead)
    return f"My answer: {label}. {_reasons(weighed)}"


def _reaction_in_words(
    rule: BaselineRule, facts: PersonaFacts, weighed: Weighed, choices: Sequence[Choice]
) -> str:
    ids = [choice.id for choice in choices]
    lean = leading(rule, weighed.utilities)
    strength = 0.0 if lean is None else agreement(rule, facts, lean)
    if strength == 0.0:
        return f"I have not decided. {_reasons(weighed)}"
    wanted, otherwise = (AGREE, ids[0]) if strength > 0 else (DISAGREE, ids[-1])
    chosen = wanted if wanted in ids else otherwise
    label = next(choice.label for choice in choices if choice.id == chosen)
    return f"My answer: {label}. {_reasons(weighed)}"


def _summary_in_words(rule: BaselineRule, facts: PersonaFacts, weighed: Weighed) -> str:
    claims = len(dict.fromkeys((*facts.shown, *facts.remembered)))
    met = "no message" if claims == 0 else f"{claims} message{'s' if claims > 1 else ''}"
    lead = leading(rule, weighed.utilities)
    leaning = "I have not decided" if lead is None else f"I lean to {lead}"
    return f"I have met {met} so far, and {leaning}. {_reasons(weighed)}"


def _reasons(weighed: Weighed) -> str:
    reasons = f"I go by {' and '.join(weighed.terms) or 'chance alone'}."
    return f"{reasons} Something about me is unknown." if weighed.unknown else reasons
