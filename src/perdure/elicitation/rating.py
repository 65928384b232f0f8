"""Rating one free answer by its likeness to anchors: a score, or the cause why there is none. Pure.

An answer that only gives a number is no answer in words: nobody was asked for one, and what a
number means lies in no vector.
"""

from __future__ import annotations

from collections.abc import Sequence

from perdure.base.vectors import Vector
from perdure.elicitation import vocabulary as words
from perdure.elicitation.fold import fold
from perdure.elicitation.numeric import is_numeric
from perdure.elicitation.similarity import NoShareError, masses, similarities
from perdure.records.outcome import Scored, UnscorableCause
from perdure.records.scenario import Similarity


def unratable(answer: str) -> UnscorableCause | None:
    """Say why an answer is not rated, whatever its vector is; None if it can be."""
    if not answer.strip():
        return UnscorableCause.EMPTY
    if words.REFUSAL.search(fold(answer)):
        return UnscorableCause.REFUSED
    return UnscorableCause.ONLY_A_NUMBER if is_numeric(answer) else None


def rate(answer: Vector, anchors: Sequence[Sequence[Vector]], how: Similarity) -> Scored:
    """Rate an answer by its vector and those of the anchors, by set and point."""
    try:
        found = similarities(answer, anchors)
    except ValueError:
        # No direction, or vectors of another model's length: nothing can be compared.
        return Scored(unscorable=UnscorableCause.NOT_EMBEDDED)
    return rated(found, how)


def rated(found: Sequence[Sequence[float]], how: Similarity) -> Scored:
    """Rate an answer by its likeness to each anchor, by set and point."""
    kept = tuple(map(tuple, found))
    try:
        epsilon, temperature = how.numbers
        shares = masses(kept, epsilon=epsilon, temperature=temperature)
    except NoShareError:
        return Scored(unscorable=UnscorableCause.NO_CHOICE, similarities=kept)
    return Scored(masses=shares, similarities=kept)
