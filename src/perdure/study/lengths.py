"""How long the prompts of a study are, estimated from its texts before any is written.

Pure. A token is taken as four characters on average, and as two at worst.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from perdure.records.persona import AttributeSpec
from perdure.records.scenario import Question
from perdure.records.study import Study

_CHARACTERS = 4
_CHARACTERS_WORST = 2
_FRAME = 500
_MEMORY = 200
_MEMORY_WORST = 700
_NUMBER = 6
_TEXT = 40


@dataclass(frozen=True)
class Lengths:
    """Input tokens of one call, typical and at worst, of a turn and of a reflection."""

    turn: int
    turn_worst: int
    reflection: int
    reflection_worst: int


def lengths(study: Study) -> Lengths:
    """Estimate the input tokens of a study's calls."""
    shared = len(study.brief.title) + len(study.brief.text) + _FRAME
    shared += max((len(variant.description) for variant in study.variants), default=0)
    typical = shared + sum(_attribute(spec, worst=False) for spec in study.ontology.attributes)
    worst = shared + sum(_attribute(spec, worst=True) for spec in study.ontology.attributes)
    shown = [len(claim.text) for claim in study.brief.claims]
    asked = [_question(question) for question in study.questions]
    remembered = study.agent.memories_max
    few = min(remembered, max((len(one.exposures) for one in study.scenarios), default=0) / 2)
    typical += round(_MEMORY * few) + _mean(shown)
    worst += _MEMORY_WORST * remembered + max(shown, default=0)
    return Lengths(
        turn=math.ceil((typical + _mean(asked)) / _CHARACTERS),
        turn_worst=math.ceil((worst + max(asked, default=0)) / _CHARACTERS_WORST),
        reflection=math.ceil((typical + _MEMORY) / _CHARACTERS),
        reflection_worst=math.ceil((worst + _MEMORY_WORST) / _CHARACTERS_WORST),
    )


def _attribute(spec: AttributeSpec, *, worst: bool) -> int:
    words = [len(text) for text in spec.scale.values()]
    value = _TEXT if spec.text else _NUMBER
    if words:
        value = max(words) if worst else _mean(words)
    return len(spec.label) + len(spec.unit) + value + 4


def _question(question: Question) -> int:
    return len(question.text) + sum(len(choice.label) + 3 for choice in question.choices)


def _mean(values: Iterable[int]) -> int:
    known = list(values)
    return round(sum(known) / len(known)) if known else 0
