"""How long the prompts of a study are, estimated from its texts before any is written.

Pure. A token is taken as four characters on average, and at worst as one byte of the text, as it
is where calls are reserved.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from perdure.base.tokens import estimated_tokens
from perdure.records.persona import AttributeSpec
from perdure.records.scenario import Question
from perdure.records.study import Study

_FRAME = 500
_MEMORY = 200
_MEMORY_WORST = 700
_NUMBER = 6
_TEXT = 40

Measure = Callable[[str], int]


@dataclass(frozen=True)
class Lengths:
    """Input tokens of one call, typical and at worst, of a turn and of a reflection."""

    turn: int
    turn_worst: int
    reflection: int
    reflection_worst: int


def lengths(study: Study) -> Lengths:
    """Estimate the input tokens of a study's calls."""
    remembered = study.agent.memories_max
    few = min(remembered, max((len(one.exposures) for one in study.scenarios), default=0) / 2)
    shown = [claim.text for claim in study.brief.claims]
    typical = _shared(study, len, _mean) + round(_MEMORY * few) + _mean(map(len, shown))
    worst = _shared(study, _bytes, _most) + _MEMORY_WORST * remembered + _most(map(_bytes, shown))
    asked = _mean(_question(question, len) for question in study.questions)
    asked_worst = _most(_question(question, _bytes) for question in study.questions)
    return Lengths(
        turn=estimated_tokens(typical + asked),
        turn_worst=worst + asked_worst,
        reflection=estimated_tokens(typical + _MEMORY),
        reflection_worst=worst + _MEMORY_WORST,
    )


def _shared(study: Study, measure: Measure, choose: Callable[[Iterable[int]], int]) -> int:
    """Measure what every prompt of a persona has: the brief, a variant, who the persona is."""
    told = measure(study.brief.title) + measure(study.brief.text) + _FRAME
    variant = _most(measure(variant.description) for variant in study.variants)
    return told + variant + sum(_attribute(s, measure, choose) for s in study.ontology.attributes)


def _attribute(
    spec: AttributeSpec, measure: Measure, choose: Callable[[Iterable[int]], int]
) -> int:
    value = choose(map(measure, spec.scale.values())) if spec.scale else 0
    value = value or (_TEXT if spec.text else _NUMBER)
    return measure(spec.label) + measure(spec.unit) + value + 4


def _question(question: Question, measure: Measure) -> int:
    return measure(question.text) + sum(measure(choice.label) + 3 for choice in question.choices)


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def _most(values: Iterable[int]) -> int:
    return max(values, default=0)


def _mean(values: Iterable[int]) -> int:
    known = list(values)
    return round(sum(known) / len(known)) if known else 0
