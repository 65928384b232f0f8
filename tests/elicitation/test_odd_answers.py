"""What is unclear has no score, of whatever kind it is; what is clear keeps its score."""

from __future__ import annotations

import pytest
from tests.elicitation.odd_answers import CLEAR, UNCLEAR

from perdure.elicitation import score
from perdure.records.outcome import Scored
from perdure.records.scenario import Question


def given(scored: Scored) -> object:
    """Give what an answer is scored as, whatever is asked for; None without a score."""
    if scored.unscorable is not None:
        return None
    return scored.choice or (scored.choices if scored.number is None else scored.number)


@pytest.mark.parametrize(
    ("question", "answers"), UNCLEAR, ids=[question.id for question, _ in UNCLEAR]
)
def test_what_is_unclear_has_no_score(question: Question, answers: tuple[str, ...]) -> None:
    """Bounds, sums, other units, second thoughts, ties, wishes: none is read in part."""
    assert {one: value for one in answers if (value := given(score(one, question)))} == {}


@pytest.mark.parametrize(
    ("question", "expected", "answers"),
    CLEAR,
    ids=[f"{question.id}-{expected}" for question, expected, _ in CLEAR],
)
def test_what_is_clear_has_its_score(
    question: Question, expected: object, answers: tuple[str, ...]
) -> None:
    """Words that change nothing cost no answer its score."""
    found = {one: given(score(one, question)) for one in answers}
    assert {one: value for one, value in found.items() if value != expected} == {}
