"""Scoring by the chances of the letters with which an answer could have begun. Pure.

The probability of a choice is that of its letter among the likeliest first tokens, in whatever
spelling, divided by that of all letters together. Where the letters have less than half of the
probability the answer is no letter, and has no score. What comes to more than 1 are no chances.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from perdure.records.outcome import Scored, UnscorableCause
from perdure.records.request import FirstToken
from perdure.records.scenario import LETTERS, Question

LEAST_ON_LETTERS = 0.5
_MOST = 1.001  # what the chances of all tokens come to at most, but for their rounding
_DECIMALS = 12
_AROUND = " \t\r\n.,:;()[]*_\"'`▁Ġ"


def score_chances(
    first_tokens: Sequence[FirstToken], asked: Question, order: Sequence[str]
) -> Scored:
    """Score an answer by its first tokens.

    `asked` has the choices as they were lettered; masses are in the `order` of their ids.
    """
    told = math.fsum(math.exp(one.logprob) for one in first_tokens)
    if not first_tokens or told > _MOST:
        return Scored(unscorable=UnscorableCause.NO_LOGPROBS)
    named = {letter: one.id for letter, one in zip(LETTERS, asked.choices, strict=False)}
    chances: dict[str, list[float]] = {name: [] for name in order}
    for one in first_tokens:
        letter = one.token.strip(_AROUND).upper()
        if letter in named:
            chances[named[letter]].append(math.exp(one.logprob))
    summed = {name: math.fsum(found) for name, found in chances.items()}
    total = math.fsum(summed.values())
    if total < LEAST_ON_LETTERS:
        return Scored(unscorable=UnscorableCause.NO_CHOICE)
    return Scored(masses=tuple(round(summed[name] / total, _DECIMALS) for name in order))
