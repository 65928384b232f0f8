"""What is counted of the answers to a question: a figure for each choice, and a mean. Pure.

Every scored answer gives each figure a value; what is told of many answers is the mean of these. A
choice's value is 1 for who gives it (the first one, where they are ranked), 0 else, and where
answers are scored by likeness the probability of the choice: its mean is the choice's share. The
mean of a scale is that of its points, the first one being 1; that of numbers is theirs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from perdure.analysis.answers import Answer
from perdure.records.scenario import Question, QuestionType

# No id of a choice has brackets.
MEAN = "(mean)"


@dataclass(frozen=True, slots=True)
class Figures:
    """What is counted of one question: its choices by id, and whether there is a mean.

    Of several choices that an answer gives, all count if `all_given`, else the first one alone. A
    mean lies between `low` and `high`.
    """

    choices: tuple[str, ...]
    all_given: bool = False
    has_mean: bool = False
    low: float = -math.inf
    high: float = math.inf

    @property
    def names(self) -> tuple[str, ...]:
        """The figures: each choice's share, then the mean if there is one."""
        return (*self.choices, MEAN) if self.has_mean else self.choices

    def bounds(self, name: str) -> tuple[float, float]:
        """Say between which values a figure lies."""
        return (self.low, self.high) if name == MEAN else (0.0, 1.0)

    def change_bounds(self, name: str) -> tuple[float, float]:
        """Say between which values the change of a figure lies."""
        low, high = self.bounds(name)
        return low - high, high - low

    def values(self, answer: Answer) -> dict[str, float]:
        """Give the value of every figure that is not 0, for an answer that is scored."""
        if answer.number is not None:
            return {MEAN: answer.number}
        if answer.masses:
            found = dict(zip(self.choices, answer.masses, strict=True))
        elif answer.choices is not None:
            found = dict.fromkeys(answer.choices if self.all_given else answer.choices[:1], 1)
        else:
            found = {answer.choice: 1}
        if self.has_mean:
            places = enumerate(self.choices, 1)
            found[MEAN] = sum(place * found.get(name, 0) for place, name in places)
        return found


def figures_of(question: Question) -> Figures:
    """Say what is counted of the answers to a question that is scored."""
    choices = tuple(choice.id for choice in question.choices)
    kind = question.asks_for
    if kind is QuestionType.NUMBER:
        low = -math.inf if question.least is None else question.least
        high = math.inf if question.most is None else question.most
        return Figures(choices=(), has_mean=True, low=low, high=high)
    if kind is QuestionType.LIKERT:
        return Figures(choices=choices, has_mean=True, low=1.0, high=float(len(choices)))
    return Figures(choices=choices, all_given=kind is QuestionType.SEVERAL)
