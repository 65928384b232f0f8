"""What a declared rule makes of a persona: the utility of each choice, and which of them leads.

Pure. The rule is data; this file only adds it up.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from perdure.base.chance import Stream
from perdure.records.baseline_rule import BaselineRule, Distance, Identification
from perdure.records.facts import PersonaFacts
from perdure.records.persona import AttributeValue
from perdure.records.record import Record

# A belief is held in so many steps to either side.
BELIEF_MAX = 3


class Weighed(Record):
    """What the rule makes of a persona: each choice's utility, and which terms went into it.

    `unknown` counts the terms that were left out because an attribute is missing or no number.
    """

    utilities: dict[str, float]
    terms: tuple[str, ...]
    unknown: int


def weigh(rule: BaselineRule, facts: PersonaFacts, choices: Sequence[str], seed: int) -> Weighed:
    """Add up the rule's terms for each choice. A term that lacks an attribute is left out whole."""
    parts: dict[str, Mapping[str, float] | None] = {}
    if rule.distance is not None:
        parts["nearness"] = _nearness(rule.distance, facts.attributes, choices)
    if rule.identification is not None:
        parts["identification"] = _identified(rule.identification, facts.attributes)
    if rule.worth:
        parts["what each has to offer"] = _worth(rule, facts, choices)
    known = {name: part for name, part in parts.items() if part is not None}
    persuaded = _persuaded(rule, facts)
    if persuaded:
        known["what I have been told"] = persuaded
    utilities = {
        choice: math.fsum(part.get(choice, 0.0) for part in known.values())
        + _noise(rule, seed, choice)
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


def probability(utilities: Mapping[str, float], choice: str) -> float:
    """Say how probable a choice is among all, by the logit of their utilities."""
    most = max(utilities.values())
    odds = {name: math.exp(utility - most) for name, utility in utilities.items()}
    return odds[choice] / math.fsum(odds.values())


def agreement(rule: BaselineRule, facts: PersonaFacts, lean: str) -> float:
    """Say how much the claims shown now speak for a choice, against the best of the others."""
    total: dict[str, float] = {}
    for claim in facts.shown:
        for choice, effect in rule.claims.get(claim, {}).items():
            total[choice] = total.get(choice, 0.0) + effect * _proof(rule, facts, claim)
    return speaks_for(rule, total, lean)


def speaks_for(rule: BaselineRule, effects: Mapping[str, float], choice: str) -> float:
    """Say how much effects on choices favour one of them, against the best of the others."""
    others = [effects.get(other, 0.0) for other in rule.choices if other != choice]
    return effects.get(choice, 0.0) - max(others, default=0.0)


def _noise(rule: BaselineRule, seed: int, choice: str) -> float:
    if not rule.noise:
        return 0.0
    return rule.noise * Stream(str(seed), 0, "baseline", choice).normal()


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


def _worth(
    rule: BaselineRule, facts: PersonaFacts, choices: Iterable[str]
) -> dict[str, float] | None:
    """Add up what attributes make of each choice; None if one of them is missing or no number."""
    met = tuple(dict.fromkeys((*facts.shown, *facts.remembered)))
    total: dict[str, float] = {}
    for choice in choices:
        parts = []
        for name, weight in rule.worth.get(choice, {}).items():
            value = _number(facts.attributes.get(name))
            if value is None:
                return None
            factors = (rule.factors.get(claim, {}).get(name, 1.0) for claim in met)
            parts.append(weight * value * math.prod(factors))
        total[choice] = math.fsum(parts)
    return total


def _identified(
    term: Identification, attributes: Mapping[str, AttributeValue]
) -> dict[str, float] | None:
    value = _number(attributes.get(term.attribute))
    if value is None:
        return None
    steps = value - term.midpoint
    return {term.high if steps > 0 else term.low: term.weight * abs(steps)}


def _persuaded(rule: BaselineRule, facts: PersonaFacts) -> dict[str, float]:
    """Add up the claims met so far, each once, now or before, as far as they are believed."""
    total: dict[str, float] = {}
    for claim in dict.fromkeys((*facts.shown, *facts.remembered)):
        for choice, effect in rule.claims.get(claim, {}).items():
            strength = _proof(rule, facts, claim) * _belief(facts, claim)
            total[choice] = total.get(choice, 0.0) + effect * strength
    return total


def _proof(rule: BaselineRule, facts: PersonaFacts, claim: str) -> float:
    return 1.0 + rule.social_proof * math.log2(1 + max(facts.agreed.get(claim, 0), 0))


def _belief(facts: PersonaFacts, claim: str) -> float:
    """Weigh a claim by the belief in it: from 0 for none at all to 2, and 1 for who is unsure."""
    steps = max(-BELIEF_MAX, min(BELIEF_MAX, facts.beliefs.get(claim, 0)))
    return 1.0 + steps / BELIEF_MAX


def _number(value: AttributeValue | None) -> float | None:
    if isinstance(value, str | bool) or value is None or not math.isfinite(value):
        return None
    return float(value)


def _count(parts: Mapping[str, Mapping[str, float] | None]) -> int:
    return sum(part is not None for part in parts.values())
