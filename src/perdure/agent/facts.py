"""What a prompt says, as data, for models that do not read words. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from perdure.records.facts import MessageFacts, PersonaFacts
from perdure.records.persona import AttributeValue, Memory
from perdure.records.presentation import Stimulus, View
from perdure.records.reaction import Action
from perdure.records.scenario import Question

AGREE = "agree"


def facts_of(
    persona: str,
    attributes: Mapping[str, AttributeValue],
    *,
    shown: Sequence[Stimulus] = (),
    view: View | None = None,
    memories: Sequence[Memory] = (),
    question: Question | None = None,
    actions: Sequence[Action] = (),
    beliefs: Mapping[str, int] | None = None,
) -> PersonaFacts:
    """Say who is asked, what is shown with how many agreed, what is remembered, and the question.

    Those who agreed are those who gave the choice with the id `agree`; in a question that has no
    such choice, its first. Where there are `actions`, the messages shown are told one by one.
    """
    claims = tuple(dict.fromkeys(stimulus.claim for stimulus in shown if stimulus.claim))
    return PersonaFacts(
        persona=persona,
        attributes=dict(attributes),
        shown=claims,
        agreed=_agreed(shown, view, question) if view is not None and question is not None else {},
        remembered=tuple(dict.fromkeys(memory.claim for memory in memories if memory.claim)),
        question=question,
        messages=tuple(_message(one, view or View()) for one in shown) if actions else (),
        actions=tuple(actions),
        beliefs=dict(beliefs or {}),
    )


def _message(stimulus: Stimulus, view: View) -> MessageFacts:
    return MessageFacts(
        claim=stimulus.claim,
        stance=stimulus.stance,
        counts=view.counts.get(stimulus.id, {}),
        tie=view.ties.get(stimulus.id, 0.0),
    )


def _agreed(shown: Sequence[Stimulus], view: View, question: Question) -> dict[str, int]:
    ids = [choice.id for choice in question.choices]
    if not ids:
        return {}
    agree = AGREE if AGREE in ids else ids[0]
    return {
        stimulus.claim: view.counts.get(stimulus.id, {}).get(agree, 0)
        for stimulus in shown
        if stimulus.claim
    }
