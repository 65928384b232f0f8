"""Scoring an answer by what its question asks for. Pure."""

from __future__ import annotations

import re

from perdure.elicitation import closed_choice, number, ranked, several
from perdure.elicitation import vocabulary as words
from perdure.elicitation.echo import folded_answer
from perdure.records.outcome import Scored, UnscorableCause
from perdure.records.scenario import Question, QuestionType

_READERS = {
    QuestionType.SEVERAL: several.read_choices,
    QuestionType.RANKED: ranked.read_order,
    QuestionType.NUMBER: number.read_number,
}
# Marks that folding takes away, and that may turn an answer round.
_NOT_READ = {
    QuestionType.SEVERAL: (
        re.compile("\\[[ xX]?\\]|[\u2610-\u2612\u2713-\u2718\u2705\u274c\u274e]"),
        UnscorableCause.NO_CHOICE,
    ),
    QuestionType.RANKED: (re.compile(r"<(?![a-z/])"), UnscorableCause.UNCLEAR_ORDER),
}


def score(answer: str, question: Question) -> Scored:
    """Score an answer by its words. When it is unclear it is unscorable, with its cause.

    Raises:
        ValueError: the question is open, and has no score.

    """
    kind = question.asks_for
    if kind is QuestionType.OPEN:
        raise ValueError(f"the question {question.id} is open")
    reader = _READERS.get(kind)
    if reader is None:
        return closed_choice.score(answer, question)
    if not answer.strip():
        return Scored(unscorable=UnscorableCause.EMPTY)
    marks, cause = _NOT_READ.get(kind, (None, None))
    if marks is not None and marks.search(answer):
        return Scored(unscorable=cause)
    folded = folded_answer(answer, question)
    if words.REFUSAL.search(folded):
        return Scored(unscorable=UnscorableCause.REFUSED)
    return reader(folded, question)
