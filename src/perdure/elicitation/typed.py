"""Scoring an answer by what its question asks for. Pure."""

from __future__ import annotations

from perdure.elicitation import closed_choice, number, ranked, several
from perdure.elicitation import vocabulary as words
from perdure.elicitation.echo import folded_answer
from perdure.elicitation.marks import turned
from perdure.records.outcome import Scored, UnscorableCause
from perdure.records.scenario import Question, QuestionType

_READERS = {
    QuestionType.SEVERAL: several.read_choices,
    QuestionType.RANKED: ranked.read_order,
    QuestionType.NUMBER: number.read_number,
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
    cause = turned(answer, question)
    if cause is not None:
        return Scored(unscorable=cause)
    if reader is None:
        return closed_choice.score(answer, question)
    if not answer.strip():
        return Scored(unscorable=UnscorableCause.EMPTY)
    folded = folded_answer(answer, question)
    if words.REFUSAL.search(folded):
        return Scored(unscorable=UnscorableCause.REFUSED)
    return reader(folded, question)
