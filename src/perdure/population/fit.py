"""Whether a study can be run with the people that were drawn for it. Pure.

What only shows when the people are there: a study that asks of them what they do not have is
refused before a model is called, and not by its first tick.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from perdure.records.baseline_rule import BaselineRule
from perdure.records.channels import Involvement, Scope
from perdure.records.persona import AttributeValue, Persona
from perdure.records.population import Population
from perdure.records.scenario import QuestionType, Scoring
from perdure.records.study import Study
from perdure.study.activity import factor
from perdure.study.telling import known_attributes

_WITHOUT_CHANCES = ("baseline", "local")
_SPEAKER = "tier_a"
_LEAVE_OUT = (
    "Make an attribute `required: true` and leave out who lacks it (`incomplete: leave_out`)"
)


class Misfit(NamedTuple):
    """What the people lack, and what mends it."""

    wrong: str
    remedy: str


def misfits(study: Study, population: Population) -> Iterator[Misfit]:
    """Say all that the people lack."""
    personas = population.personas
    told = {spec.name for spec in known_attributes(study.ontology)}
    blank = [one for one in personas if told.isdisjoint(one.attributes)]
    if _are_too_many(blank, personas, study.quorum):
        yield Misfit(
            f"Nothing is known of {_of(blank, personas)}, and nobody is asked without it.",
            f"{_LEAVE_OUT}, or give them attributes.",
        )
    rule = study.models[_SPEAKER].pin.rule if _SPEAKER in study.models else None
    if rule is not None:
        yield from _unruled(study, rule, personas)
    yield from _chanceless(study)
    yield from _forums(study, population)
    yield from _uninvolved(study, personas)


def _unruled(study: Study, rule: BaselineRule, personas: Sequence[Persona]) -> Iterator[Misfit]:
    lacking = [one for one in personas if not _is_weighed(rule, one)]
    if _are_too_many(lacking, personas, study.quorum):
        names = " or ".join(f"`{name}`" for name in _goes_by(rule))
        yield Misfit(
            f"The baseline's rule goes by {names}, which {_of(lacking, personas)} lack.",
            f"{_LEAVE_OUT}, or let the rule go by what is known of everybody.",
        )
    waves = {name for one in study.scenarios if one.waves for name in one.wave_questions}
    for question in study.questions:
        if question.id in waves and question.asks_for is QuestionType.NUMBER:
            yield Misfit(
                f"The question `{question.id}` asks for a number, and the baseline's rule knows "
                "none.",
                "Ask for choices, or let a language model answer: `--model http` or `local`.",
            )
        choices = {choice.id for choice in question.choices}
        knows = not choices.isdisjoint(rule.choices) or question.id in rule.scales
        if question.id in waves and choices and not knows:
            yield Misfit(
                f"The baseline's rule names none of the choices of the question `{question.id}`, "
                "so that it has no answer to it in a wave.",
                f"Name them in a term or in the claims of the rule: {', '.join(sorted(choices))}; "
                "a scale may be named in its `scales`.",
            )


def _chanceless(study: Study) -> Iterator[Misfit]:
    """Say which questions are scored by chances that nobody tells."""
    by_chances = [one.id for one in study.questions if one.scoring is Scoring.LOGPROBS]
    if not by_chances:
        return
    speaker = study.models[_SPEAKER].pin.provider if _SPEAKER in study.models else "http"
    if speaker in _WITHOUT_CHANCES:
        yield Misfit(
            f"The question `{by_chances[0]}` is scored by `logprobs`, and the model that speaks "
            f"({speaker}) does not tell them.",
            "Let an endpoint answer that does (`--model http`), or leave `scoring` out.",
        )
    for scenario in study.scenarios:
        channels = scenario.channels
        there = (channels.feed, channels.forum, channels.word_of_mouth)
        if any(one is not None and one.question in by_chances for one in there):
            yield Misfit(
                f"A channel of {_named([scenario.id])} asks a question that is scored by "
                "`logprobs`, and answers there have a form that does not begin with a letter.",
                "Ask it at a wave, or leave `scoring` out.",
            )


def _forums(study: Study, population: Population) -> Iterator[Misfit]:
    forums = {one.id: one.channels.forum for one in study.scenarios}
    scoped = [name for name, forum in forums.items() if forum and forum.scope is Scope.COMMUNITY]
    if scoped and all(node.community is None for node in population.graph):
        graph = population.manifest.graph
        found = graph.communities if graph is not None else None
        why = f": its partition does not qualify, for {found.why}" if found and found.why else ""
        yield Misfit(
            f"The forum of {_named(scoped)} is one for each community, and the population has "
            f"none{why}.",
            "Change `graph:` in `population`, or write `scope: global`.",
        )


def _uninvolved(study: Study, personas: Sequence[Persona]) -> Iterator[Misfit]:
    involved: list[Involvement] = []
    for scenario in study.scenarios:
        if scenario.involvement is not None and scenario.involvement not in involved:
            involved.append(scenario.involvement)
    for involvement in involved:
        name = involvement.attribute
        unfit = [one for one in personas if factor(involvement, one.attributes) is None]
        if unfit:
            yield Misfit(
                f"The attribute `{name}` is to be involvement, and not from 0 to 1 in "
                f"{_of(unfit, personas)}: {unfit[0].attributes[name]}.",
                "Use one that is a share, or write `levels:` with a factor for each code.",
            )


def _named(scenarios: Sequence[str]) -> str:
    more = f" (and {len(scenarios) - 1:,} more)" if len(scenarios) > 1 else ""
    return f"scenario `{scenarios[0]}`{more}"


def _are_too_many(some: Sequence[Persona], personas: Sequence[Persona], quorum: float) -> bool:
    """Say whether a tick in which everybody is asked could not close without these."""
    return len(some) > (1.0 - quorum) * len(personas) + 1e-9


def _of(some: Sequence[Persona], personas: Sequence[Persona]) -> str:
    return f"{len(some):,} of {len(personas):,} personas (the first: {some[0].id!r})"


def _goes_by(rule: BaselineRule) -> tuple[str, ...]:
    names = [] if rule.distance is None else [rule.distance.own, *rule.distance.placements.values()]
    names += [] if rule.identification is None else [rule.identification.attribute]
    return tuple(dict.fromkeys((*names, *_worth(rule))))


def _worth(rule: BaselineRule) -> tuple[str, ...]:
    return tuple(name for parts in rule.worth.values() for name in parts)


def _is_weighed(rule: BaselineRule, persona: Persona) -> bool:
    """Say whether any term of a rule holds for somebody who has met no claim; true without any."""
    distance, identified = rule.distance, rule.identification
    terms = []
    if distance is not None:
        terms.append((distance.own, *distance.placements.values()))
    if identified is not None:
        terms.append((identified.attribute,))
    if rule.worth:
        terms.append(_worth(rule))
    known = persona.attributes
    return not terms or any(all(_is_number(known.get(one)) for one in names) for names in terms)


def _is_number(value: AttributeValue | None) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)
