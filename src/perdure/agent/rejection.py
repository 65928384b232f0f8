"""Whether an action has an effect on the channel that it is done on. Pure."""

from __future__ import annotations

from perdure.records.presentation import Presentation
from perdure.records.reaction import Reaction, Rejection


def rejection_of(presentation: Presentation, reaction: Reaction) -> Rejection | None:
    """Say why the action of a reaction has no effect; None if it has one, or nothing was done."""
    if not reaction.action:
        return None
    accepted = next((one for one in presentation.actions if one.name == reaction.action), None)
    if accepted is None:
        return Rejection.NOT_ACCEPTED
    if accepted.about and not reaction.stimulus:
        return Rejection.ABOUT_NOTHING
    if accepted.says and not reaction.words.strip():
        return Rejection.NO_WORDS
    return None
