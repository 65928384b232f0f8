"""The tool agent: a persona whose turn is a drive inside the tick, with the tools of its world.

It looks at the world as it stood when the tick opened, and acts on it; what all did is merged by
the world's next step, in job order. All else about a persona is as with the persona agent.
"""

from __future__ import annotations

from perdure.agent.answering import Answered, parts_of, rules_of
from perdure.agent.asked import TURN, Asked
from perdure.agent.drive.drive import drive
from perdure.agent.drive.handoff import Brief
from perdure.agent.drive.plan import DrivePlan
from perdure.agent.drive.ports import Hooks
from perdure.agent.drive.prefix import Document, freeze
from perdure.agent.fitting import Fitted, Recall
from perdure.agent.form import read_form
from perdure.agent.in_tick import (
    BothTools,
    Counter,
    JobModel,
    TickLedger,
    TurnLimits,
    WorldTools,
    never,
)
from perdure.agent.persona import PersonaAgent
from perdure.agent.prompt import shared_text, tools_text
from perdure.records.drive import Dispatcher, EndCause, Opening, ProviderFailed, RunPolicy, drive_id
from perdure.records.outcome import DriveDone, TurnFailed, TurnFailureCause, Violation
from perdure.records.reaction import Reaction
from perdure.records.scenario import Header


class ToolAgent(PersonaAgent):
    """One drive per turn, within the limits of the study: how many calls, and what they cost."""

    def _told(self, header: Header) -> str:
        return f"{shared_text(header)}\n\n{tools_text(header)}"

    async def _answer(
        self, asked: Asked, recall: Recall, violations: list[Violation]
    ) -> Answered | TurnFailureCause | TurnFailed:
        beliefs, rules = asked.job.state.beliefs, rules_of(asked)
        prompt = asked.prompt(TURN, recall, beliefs, *parts_of(asked), rules=rules)
        if prompt is None:
            return TurnFailureCause.CONTEXT_EXCEEDED
        answered = await _driven(asked, prompt)
        if isinstance(answered, TurnFailed) or not asked.acts:
            return answered
        actions, claims = asked.job.presentation.actions, asked.header.brief.claims
        read = read_form(answered.text, asked.shown, actions, claims)
        if isinstance(read, Reaction):
            return answered._replace(reaction=read)
        broken = Violation(rule=read, messages=prompt.messages, answer=answered.text)
        violations.append(broken)
        return TurnFailed(
            cause=TurnFailureCause.GUARDRAIL, violations=(broken,), drive=answered.drive
        )


async def _driven(asked: Asked, prompt: Fitted) -> Answered | TurnFailed:
    """Drive one turn to its end.

    A limit that is reached ends it as it stands: what was done by then is done, and the answer is
    what the persona said last.
    """
    ledger, own, outside = TickLedger(), WorldTools(asked.models), asked.models.outside
    tools = own if outside is None else BothTools(own, outside)
    hooks = Hooks(
        now=Counter(),
        interrupts=TurnLimits(asked.models),
        tools=tools,
        wait=never,
        # Nothing with a secret in it gets here: that is seen to where calls are answered.
        secrets=str,
    )
    model = JobModel(asked.models, TURN, asked.job.persona.id)
    frozen = await drive(_plan(asked, prompt), ledger, model, hooks, Brief())
    left = DriveDone(lines=tuple(ledger.lines), blobs=ledger.blobs)
    if frozen.cause is EndCause.PROVIDER:
        failed = next(line for line in ledger.lines if isinstance(line, ProviderFailed))
        return TurnFailed(cause=TurnFailureCause.CALL_FAILED, call=failed.cause, drive=left)
    return Answered(prompt, frozen.text, None, drive=left, did=tuple(own.did))


def _plan(asked: Asked, prompt: Fitted) -> DrivePlan:
    job, settings = asked.job, asked.header.agent
    shared, told = (message.content for message in prompt.messages)
    data = shared.encode()
    return DrivePlan(
        run=drive_id(job.tick, job.index),
        who=job.persona.id,
        task=told,
        goal="",
        job=job.question.id,
        # Nothing is cut: how long it may be was seen to when it was written.
        prefix=freeze({"house": (Document(name="brief", data=data),)}, bytes_max=8 * len(data)),
        model=asked.header.pins[asked.role(TURN)].model,
        role=asked.role(TURN),
        tokens_max=settings.answer_tokens_max,
        temperature=settings.temperature,
        dispatched_by=Dispatcher.STUDY,
        opening=Opening.WITH_PERSON,
        policy=RunPolicy(egress=settings.outside_egress or not settings.outside_tools),
        retries=0,
        costs_apart=True,
    )
