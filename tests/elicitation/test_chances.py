"""The chances of letters become those of choices, in any order and spelling, or have a cause."""

from __future__ import annotations

import math

import pytest

from perdure.elicitation import score_chances
from perdure.records.outcome import Scored, UnscorableCause
from perdure.records.persona import Choice
from perdure.records.request import FirstToken
from perdure.records.scenario import Question, Scoring

ORDER = ("yes", "no", "abstain")


def asked(*names: str) -> Question:
    """Ask with the choices in this order."""
    choices = tuple(Choice(id=name, label=name) for name in names)
    return Question(id="vote", text="Well?", choices=choices, scoring=Scoring.LOGPROBS)


def tokens(chances: dict[str, float]) -> tuple[FirstToken, ...]:
    """Give tokens with the logarithm of their chances."""
    return tuple(FirstToken(token=one, logprob=math.log(of)) for one, of in chances.items())


def test_a_choice_has_the_chance_of_its_letter() -> None:
    """Chances are over all letters together, and 0 for a letter that is not among the tokens."""
    found = score_chances(tokens({"A": 0.6, "B": 0.2, "The": 0.1}), asked(*ORDER), ORDER)
    assert found == Scored(masses=(0.75, 0.25, 0.0))


def test_spellings_of_a_letter_are_one() -> None:
    """A letter with a space, a mark or in lower case is that letter."""
    written = {"A": 0.3, " a": 0.2, "B.": 0.25, "(C": 0.25}
    found = score_chances(tokens(written), asked(*ORDER), ORDER)
    assert found.masses == pytest.approx((0.5, 0.25, 0.25))


def test_the_letters_are_those_of_the_order_in_which_choices_were_listed() -> None:
    """Masses are in the order of the study, whatever was drawn."""
    found = score_chances(tokens({"A": 0.7, "C": 0.3}), asked("abstain", "yes", "no"), ORDER)
    assert found.masses == pytest.approx((0.0, 0.3, 0.7))


def test_what_is_no_letter_has_no_score() -> None:
    """Where most of the probability is on other words, or none is told, there is a cause."""
    words = tokens({"A": 0.2, "I": 0.4, "The": 0.4})
    assert score_chances(words, asked(*ORDER), ORDER).unscorable is UnscorableCause.NO_CHOICE
    assert score_chances((), asked(*ORDER), ORDER).unscorable is UnscorableCause.NO_LOGPROBS


def test_what_comes_to_more_than_one_is_no_chance() -> None:
    """Two tokens that are both certain are no distribution, whatever letters they are."""
    certain = tuple(FirstToken(token=one, logprob=0.0) for one in ("A", "B"))
    found = score_chances(certain, asked(*ORDER), ORDER)
    assert found.unscorable is UnscorableCause.NO_LOGPROBS
    assert score_chances(certain[:1], asked(*ORDER), ORDER).masses == (1.0, 0.0, 0.0)


def test_masses_add_up_to_one() -> None:
    """Also where the chances do not."""
    found = score_chances(tokens({"A": 0.31, "B": 0.17, "C": 0.13}), asked(*ORDER), ORDER)
    assert math.fsum(found.masses) == pytest.approx(1.0, abs=1e-9)
