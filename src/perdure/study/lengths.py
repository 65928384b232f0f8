"""How long the prompts of a study are, estimated from its texts before any is written.

Pure. A token is taken as four characters on average, and at worst as one byte of the text, as it
is where calls are reserved.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from perdure.base.tokens import estimated_tokens
from perdure.records.channels import Channels
from perdure.records.persona import AttributeSpec
from perdure.records.scenario import Question, QuestionType, Scenario
from perdure.records.study import Study

_FRAME = 500
_MEMORY = 200
_MEMORY_WORST = 700
_NUMBER = 6
_TEXT = 40
# What is told of a message beside its words, and how an answer has to look where one can act.
_ABOUT = 100
_ABOUT_WORST = 300
_FORM = 700
_FORM_WORST = 3_000
_TOKEN_WORST = 16
# How many answers are wanted, or what a number has to be.
_SAYS_WHAT_IS_WANTED = (QuestionType.SEVERAL, QuestionType.RANKED, QuestionType.NUMBER)
_WANTED = 80
# A question that was put before in the same interview, with its answer.
_EARLIER = 200
_EARLIER_WORST = 2_600

# A date in words, of now and of each memory: "the week of Wednesday, 30 September 2026".
_DATE = 40
_DATE_WORST = 60

Measure = Callable[[str], int]


@dataclass(frozen=True)
class Lengths:
    """Input tokens of one call, typical and at worst, of a turn and of a reflection.

    `text` is one text that is embedded, a message or what is known of a persona; `texts_worst` are
    all those that one persona embeds by one call. `anchors` are all statements of all anchors.
    """

    turn: int
    turn_worst: int
    reflection: int
    reflection_worst: int
    text: int
    text_worst: int
    texts_worst: int
    anchors: int
    anchors_worst: int


def lengths(study: Study) -> Lengths:
    """Estimate the input tokens of a study's calls."""
    remembered = study.agent.memories_max
    few = min(remembered, max(map(_met, study.scenarios), default=0) / 2)
    claims = [claim.text for claim in study.brief.claims]
    messages, messages_worst = _messages(study, claims)
    who, who_worst = _shared(study, len, _mean), _shared(study, _bytes, _most)
    typical = who + round(_MEMORY * few) + messages
    worst = who_worst + _MEMORY_WORST * remembered + messages_worst
    if any(one.calendar is not None and one.calendar.in_prompt for one in study.scenarios):
        typical += round(_DATE * (1 + few))
        worst += _DATE_WORST * (1 + remembered)
    before = max((len(one.wave_questions) - 1 for one in study.scenarios if one.waves), default=0)
    asked = _mean(_question(question, len) for question in study.questions)
    asked_worst = _most(_question(question, _bytes) for question in study.questions)
    kept = max(study.agent.memories_kept, remembered)
    anchors = [text for one in study.anchors.values() for points in one.sets for text in points]
    return Lengths(
        turn=estimated_tokens(typical + asked + before * _EARLIER // 2),
        turn_worst=worst + asked_worst + before * _EARLIER_WORST,
        reflection=estimated_tokens(typical + _MEMORY),
        reflection_worst=worst + _MEMORY_WORST,
        text=estimated_tokens(max(_MEMORY, _mean(map(len, claims)))),
        text_worst=max(who_worst, _most(map(_bytes, claims)), _said_worst(study)),
        texts_worst=messages_worst + asked_worst + _MEMORY_WORST * (1 + kept),
        anchors=estimated_tokens(sum(map(len, anchors))),
        anchors_worst=sum(map(_bytes, anchors)),
    )


def _met(scenario: Scenario) -> int:
    """Count the ticks at which somebody may meet something to remember."""
    return len(scenario.exposures) if scenario.channels == Channels() else scenario.horizon


def _messages(study: Study, claims: Sequence[str]) -> tuple[int, int]:
    """Measure what is shown at once: a claim, or several messages with what is told of them."""
    shown, most = _mean(map(len, claims)), _most(map(_bytes, claims))
    room = max((_room(scenario.channels) for scenario in study.scenarios), default=0)
    if not room:
        return shown, most
    beliefs = len(study.brief.claims)
    said = max(most, _said_worst(study))
    return (
        room * (max(shown, _MEMORY) + _ABOUT) + beliefs * _TEXT + _FORM,
        room * (said + most + _ABOUT_WORST) + beliefs * (_TEXT + most) + _FORM_WORST + said,
    )


def _room(channels: Channels) -> int:
    """Say how many messages somebody is shown at once, at most."""
    there = (channels.feed, channels.forum, channels.word_of_mouth)
    return max((one.exposures_max for one in there if one is not None), default=0)


def _said_worst(study: Study) -> int:
    """Measure the longest message of a persona, in bytes: a token may be several characters."""
    return _TOKEN_WORST * study.agent.answer_tokens_max


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
    listed = sum(measure(choice.label) + 3 for choice in question.choices)
    wanted = _WANTED if question.asks_for in _SAYS_WHAT_IS_WANTED else 0
    return measure(question.text) + listed + measure(question.unit) + wanted


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def _most(values: Iterable[int]) -> int:
    return max(values, default=0)


def _mean(values: Iterable[int]) -> int:
    known = list(values)
    return round(sum(known) / len(known)) if known else 0
