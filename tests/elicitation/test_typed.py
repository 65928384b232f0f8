"""An answer is read as its question asks: several choices, an order, a number; or not at all."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.elicitation.typed_answers import BEST, NUMBERS, PAY, RANKED, SEVERAL, USED

from perdure.elicitation import score
from perdure.records.outcome import Scored, UnscorableCause
from perdure.records.scenario import Question

CHOSEN = [(USED, *one) for one in SEVERAL] + [(BEST, *one) for one in RANKED]


@pytest.mark.parametrize(("question", "answer", "expected"), CHOSEN)
def test_choices_are_read(
    question: Question, answer: str, expected: tuple[str, ...] | UnscorableCause
) -> None:
    """Each answer for several choices, or for all in order, is read as a careful reader would."""
    whole = expected if isinstance(expected, tuple) else None
    cause = expected if isinstance(expected, UnscorableCause) else None
    assert score(answer, question) == Scored(choices=whole, unscorable=cause)


@pytest.mark.parametrize(("answer", "expected"), NUMBERS)
def test_numbers_are_read(answer: str, expected: float | UnscorableCause) -> None:
    """Each answer for a number is read as a careful reader would."""
    if isinstance(expected, UnscorableCause):
        assert score(answer, PAY) == Scored(unscorable=expected)
    else:
        assert score(answer, PAY) == Scored(number=expected)


def test_the_order_in_which_choices_are_listed_decides_nothing() -> None:
    """A question whose choices are listed the other way round gets the same choices."""
    turned = Question(id="best", text=BEST.text, choices=BEST.choices[::-1], type=BEST.type)
    for answer, _ in RANKED:
        assert score(answer, turned) == score(answer, BEST)


def test_an_open_question_has_no_score() -> None:
    """To score an open question is an error of the caller, and never an empty score."""
    with pytest.raises(ValueError, match="is open"):
        score("words", Question(id="why", text="Why?"))


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 1000), st.sampled_from(["{}", "I would pay ${}.", "{:,} dollars, I think"]))
def test_every_whole_number_is_read_as_it_is_written(number: int, form: str) -> None:
    """A number in digits, with or without commas and unit, is that number."""
    assert score(form.format(number), PAY).number == number


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=400), st.sampled_from([USED, BEST, PAY]))
def test_any_text_is_scored_or_has_a_cause(answer: str, question: Question) -> None:
    """Whatever a model says, there is a score or a cause, never both and never neither."""
    scored = score(answer, question)
    has_score = scored.choices is not None or scored.number is not None
    assert has_score is (scored.unscorable is None)
