"""What is counted of an answer follows from what its question asks for, and adds up to means."""

from __future__ import annotations

import math
from typing import Any

import pytest

from perdure.analysis.answers import Answer, count
from perdure.analysis.figures import MEAN, Figures, figures_of
from perdure.analysis.prediction import fit
from perdure.records.persona import Choice
from perdure.records.scenario import Question, QuestionType

CHOICES = tuple(Choice(id=name, label=name) for name in ("a", "b", "c"))


def asked(kind: QuestionType | None = None, **changes: Any) -> Figures:
    """Give the figures of a question of a type."""
    choices = () if kind is QuestionType.NUMBER else CHOICES
    return figures_of(Question(id="q", text="?", choices=choices, type=kind, **changes))


@pytest.mark.parametrize(
    ("figures", "answer", "values"),
    [
        (asked(), Answer(choice="b"), {"b": 1}),
        (asked(QuestionType.SEVERAL), Answer(choices=("a", "c")), {"a": 1, "c": 1}),
        (asked(QuestionType.SEVERAL), Answer(choices=()), {}),
        (asked(QuestionType.RANKED), Answer(choices=("c", "a", "b")), {"c": 1}),
        (asked(QuestionType.LIKERT), Answer(choice="c"), {"c": 1, MEAN: 3}),
        (asked(QuestionType.NUMBER), Answer(number=2.5), {MEAN: 2.5}),
        (asked(), Answer(masses=(0.5, 0.25, 0.25)), {"a": 0.5, "b": 0.25, "c": 0.25}),
        (
            asked(QuestionType.LIKERT),
            Answer(masses=(0.5, 0.25, 0.25)),
            {"a": 0.5, "b": 0.25, "c": 0.25, MEAN: 1.75},
        ),
    ],
)
def test_an_answer_gives_the_values_that_its_question_asks_for(
    figures: Figures, answer: Answer, values: dict[str, float]
) -> None:
    """One choice is whole, several are each, of ranked ones the first, a scale has a mean."""
    assert figures.values(answer) == values
    assert set(values) <= set(figures.names)


def test_means_are_over_what_was_scored() -> None:
    """An answer without a score adds to no sum and to no denominator; none of them is a score."""
    figures = asked(QuestionType.SEVERAL)
    answers = [Answer(choices=("a", "b")), Answer(choices=()), Answer(choices=("a",)), Answer()]
    counted = count(answers, figures.values)
    assert (counted.scored, counted.sums) == (3, {"a": 2, "b": 1})
    assert (counted.tally.answered, counted.tally.scored, counted.tally.unjudged) == (4, 3, 1)


def test_figures_lie_within_what_they_can_be() -> None:
    """Shares are of 1, points of their scale, numbers of what counts; changes twice as wide."""
    scale = asked(QuestionType.LIKERT)
    assert (scale.bounds("a"), scale.bounds(MEAN)) == ((0.0, 1.0), (1.0, 3.0))
    assert (scale.change_bounds("a"), scale.change_bounds(MEAN)) == ((-1.0, 1.0), (-2.0, 2.0))
    number = asked(QuestionType.NUMBER, least=0.0)
    assert number.bounds(MEAN) == (0.0, math.inf)
    assert number.change_bounds(MEAN) == (-math.inf, math.inf)


def test_probabilities_are_judged_as_probabilities() -> None:
    """The mass on the real value is what was right of an answer; losses are those of its masses."""
    answers = {"p1": Answer(masses=(0.5, 0.25, 0.25)), "p2": Answer(masses=(0.2, 0.2, 0.6))}
    found = fit([answers], {"p1": "a", "p2": "c"}, ("a", "b", "c"))
    assert (found.compared, found.personas) == (2, 2)
    assert found.correct == pytest.approx(1.1)
    assert found.accuracy == pytest.approx(0.55)
    brier = (0.25 + 0.0625 + 0.0625 + 0.04 + 0.04 + 0.16) / 2
    assert found.brier == pytest.approx(brier)
    assert found.log_loss == pytest.approx(-(math.log(0.5) + math.log(0.6)) / 2)
