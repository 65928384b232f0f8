"""An answer folded for reading, without what it repeats of its question. Pure."""

from __future__ import annotations

from functools import lru_cache

from perdure.elicitation import vocabulary as words
from perdure.elicitation.fold import fold
from perdure.records.scenario import Question


def folded_answer(answer: str, question: Question) -> str:
    """Fold an answer, and drop the question's own text and lists of its possible answers."""
    folded = fold(answer)
    echoed = _echo_of(question)
    if echoed:
        folded = folded.replace(echoed, " . ")
    return words.ECHO_LINE.sub("", folded)


@lru_cache(maxsize=256)
def _echo_of(question: Question) -> str:
    """Fold a question's text, once for each question; empty if it is in the name of a choice."""
    echoed = _flat(question.text)
    names = (name for choice in question.choices for name in (choice.label, *choice.aliases))
    return "" if any(echoed in _flat(name) for name in names) else echoed


def _flat(text: str) -> str:
    return fold(text).replace("\n", " ").strip()
