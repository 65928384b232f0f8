"""A turn's answer: what comes to mind, what is asked, and one more try where a rule is broken."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from perdure.agent.asked import TURN, Asked, Situation, describe, noticed
from perdure.agent.fitting import Fitted, Recall
from perdure.agent.form import correction_text, form_text, read_form
from perdure.agent.messages import actions_text, messages_text
from perdure.agent.prompt import earlier_text, question_text, shown_text, told_text
from perdure.agent.recall import query_text, relevance, vectorless
from perdure.agent.state import keep
from perdure.records.outcome import DriveDone, Rule, TurnFailureCause, Violation
from perdure.records.persona import Memory
from perdure.records.presentation import Plan, TurnJob
from perdure.records.reaction import Reaction
from perdure.records.request import FirstToken
from perdure.records.scenario import Header
from perdure.records.tools import ToolCall
from perdure.study.telling import known_attributes

RECALL = "recall"

# An answer that breaks a rule is asked for once more.
_TRIES = 2


class Answered(NamedTuple):
    """An answer that stands, the prompt that it was given to, and what it says is done.

    `drive` and `did` are as in `TurnDone`.
    """

    prompt: Fitted
    text: str
    reaction: Reaction | None
    first_tokens: tuple[FirstToken, ...] = ()
    drive: DriveDone | None = None
    did: tuple[ToolCall, ...] = ()


async def compared(asked: Asked) -> Recall:
    """Find out what comes to mind first, by one call for vectors.

    Memories that have none, because the call for it had failed, get one with the query.

    Raises:
        CallFailedError: there are no vectors. Nothing goes on as if all were as relevant.

    """
    memories = asked.job.state.memories
    query = query_text(asked.shown, asked.job.question)
    answer = await asked.models.embed(RECALL, (query, *vectorless(memories)))
    return partial(keep, memories, relevance=relevance(memories, answer.vectors))


async def answer(
    asked: Asked, recall: Recall, violations: list[Violation]
) -> Answered | TurnFailureCause:
    """Ask for an answer, and once more if it breaks a rule; what broke one goes to `violations`.

    Raises:
        CallFailedError: a call got no reply.

    """
    job, parts, rules, correction = asked.job, parts_of(asked), rules_of(asked), ""
    beliefs, actions = job.state.beliefs, job.presentation.actions
    for _ in range(_TRIES):
        prompt = asked.prompt(TURN, recall, beliefs, *parts, correction, rules=rules)
        if prompt is None:
            return TurnFailureCause.CONTEXT_EXCEEDED
        reply = await asked.say(TURN, prompt, beliefs, job.question, shows=True)
        text = reply.text
        if not actions:
            return Answered(prompt, text, None, reply.first_tokens)
        read = read_form(text, asked.shown, actions, asked.header.brief.claims)
        if isinstance(read, Reaction):
            return Answered(prompt, text, read)
        violations.append(Violation(rule=read, messages=prompt.messages, answer=text))
        correction = correction_text(read, text)
    return TurnFailureCause.GUARDRAIL


class Refused(NamedTuple):
    """An answer that broke a rule, and was asked for once more."""

    rule: Rule
    answer: str


def prompt_of(
    job: TurnJob,
    header: Header,
    plan: Plan,
    *,
    recalled: Sequence[Memory] | None = None,
    refused: Refused | None = None,
) -> Fitted | None:
    """Write the prompt of a turn as it is sent under a plan; None if it has none. Pure.

    It tells the memories in `recalled`; if none are given, those that weigh most. `refused` is the
    answer after which it is sent, if it is not the first.
    """
    known = describe(known_attributes(header.ontology), job.persona.attributes)
    if known is None:
        return None
    situation = Situation(job, known, noticed(job), header, told_text(header), plan)
    memories = job.state.memories if recalled is None else recalled
    correction = correction_text(refused.rule, refused.answer) if refused else ""
    parts = (*parts_of(situation), correction)
    return situation.prompt(
        TURN, partial(keep, memories), job.state.beliefs, *parts, rules=rules_of(situation)
    )


def parts_of(asked: Situation) -> tuple[str, ...]:
    """Write what a turn shows and asks."""
    job, view = asked.job, asked.job.presentation.view
    if asked.acts:
        claims = {claim.id: claim.text for claim in asked.header.brief.claims}
        shown = messages_text(asked.shown, view, job.question, claims)
    else:
        shown = shown_text(asked.shown, view, job.question)
    return shown, earlier_text(job.earlier), question_text(job.question)


def rules_of(asked: Situation) -> tuple[str, ...]:
    """Write what can be done on the channel and in which form, which all are told there."""
    actions = asked.job.presentation.actions
    return (actions_text(actions), form_text(actions, len(asked.shown))) if actions else ()
