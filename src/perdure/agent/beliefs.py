"""How far a persona believes each claim that it met, and how a turn moves that. Pure.

A belief is a step from -3 to 3, and 0 is unsure. No model is ever told or asked for the number: a
prompt says it in words, and an answer tells in words how it changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from perdure.records.reaction import Change

STEPS_MAX = 3

_WORDS = (
    "you are sure that it is wrong",
    "you think that it is wrong",
    "you doubt it",
    "you do not know what to think of it",
    "you rather believe it",
    "you believe it",
    "you are sure that it is right",
)


def moved(beliefs: Mapping[str, int], claim: str, change: Change | None) -> dict[str, int] | None:
    """Move the belief in a claim by a change; give all beliefs, or None if it moved none.

    A belief that is at the end of the scale goes no further.
    """
    if not claim or change is None:
        return None
    step = _within(beliefs.get(claim, 0) + change.steps)
    return None if step == beliefs.get(claim, 0) else {**beliefs, claim: step}


def merged(
    now: Mapping[str, int], before: Mapping[str, int], after: Mapping[str, int]
) -> dict[str, int]:
    """Move beliefs of now as a turn did that began with those of `before` and left `after`.

    A persona can have several turns in one tick, which all begin with the state at its opening.
    """
    moves = {claim: step - before.get(claim, 0) for claim, step in after.items()}
    return {**now, **{claim: _within(now.get(claim, 0) + by) for claim, by in moves.items()}}


def belief_lines(beliefs: Mapping[str, int], claims: Mapping[str, str]) -> Iterator[str]:
    """Say in words how far each claim is believed; `claims` are their texts, in quotation marks.

    A claim without a text cannot be put into words.
    """
    for claim, text in claims.items():
        if claim in beliefs:
            yield f"- {text}: {_WORDS[beliefs[claim] + STEPS_MAX]}"


def _within(step: int) -> int:
    return max(-STEPS_MAX, min(STEPS_MAX, step))
