"""The persona agent: each persona answers in its own words, remembers, and sometimes reflects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

from perdure.agent.facts import facts_of
from perdure.agent.pool import gather_bounded
from perdure.agent.port import CallFailedError, JobModels, Models
from perdure.agent.prompt import (
    conversation,
    known_attributes,
    memory_lines,
    persona_block,
    question_text,
    quote,
    shared_text,
    shown_text,
)
from perdure.agent.state import keep
from perdure.base.errors import PluginError
from perdure.records.outcome import (
    Outcome,
    ReflectionDone,
    TurnDone,
    TurnFailed,
    TurnFailureCause,
)
from perdure.records.persona import AttributeSpec, AttributeValue, Memory, Persona
from perdure.records.presentation import Plan, Stimulus, TurnJob
from perdure.records.record import Record
from perdure.records.request import Message
from perdure.records.scenario import Header

# Raised whenever this agent would word a prompt, remember or reflect otherwise than it did. Every
# record says under which version it was made, and comes out the same under that version alone.
AGENT_VERSION = 1

# Enough for a tick of 1,000 personas to be one round of calls; the rest waits its turn.
WORKERS_MAX = 1_024

TURN = "turn"
REFLECTION = "reflection"
_TURN_ROLE = "tier_a"
_REFLECTION_ROLE = "tier_b"

_EXPOSURE_IMPORTANCE = 0.5
_REFLECTION_IMPORTANCE = 0.8

_REFLECT = (
    "Think over what you remember and what you have just seen. In one or two sentences, in the "
    "first person: what do you make of it all by now?"
)


class _Known(Record):
    """What is told of one persona: its block of text, and the same attributes as data."""

    block: str
    attributes: dict[str, AttributeValue]


class _Asked(NamedTuple):
    """One turn in progress: its job, its persona, its world, and the models as it may call them."""

    job: TurnJob
    known: _Known
    header: Header
    models: JobModels


class PersonaAgent:
    """One model call per turn; after every few turns that showed something, one more to reflect.

    A turn that shows something leaves a memory of each thing shown, with the persona's own answer
    in quotation marks; a turn that only asks leaves none. A reflection is optional work: it is
    skipped when the plan says so, and is then due at the next turn that allows it. If its call
    fails, the turn is done all the same: the outcome's reflection carries the cause, and no
    memory. A persona without an attribute that the ontology requires is not asked at all.
    """

    def __init__(self) -> None:
        self._header: Header | None = None
        self._shared = ""
        self._known: dict[str, _Known | None] = {}

    def reset(self, header: Header) -> None:
        """Write what all personas share, and forget the personas of any earlier world."""
        self._header = header
        self._shared = shared_text(header)
        self._specs = known_attributes(header.ontology)
        self._known = {}

    async def act(self, jobs: Sequence[TurnJob], plan: Plan, models: Models) -> Sequence[Outcome]:
        """Take every turn, many at once; give one outcome per job, in the order of the jobs.

        Raises:
            PluginError: the agent was not reset.

        """
        header = self._header
        if header is None:
            raise PluginError("A persona agent was asked to act before it was reset.")

        take = partial(self._turn, plan=plan, models=models, header=header)
        return await gather_bounded(jobs, take, workers_max=WORKERS_MAX)

    async def _turn(self, job: TurnJob, plan: Plan, models: Models, header: Header) -> Outcome:
        known = self._know(job.persona)
        if known is None:
            return TurnFailed(cause=TurnFailureCause.UNCONDITIONED)
        shown = noticed(job)
        if not shown and not job.question.text.strip():
            return TurnFailed(cause=TurnFailureCause.NOTHING_SHOWN)
        recalled = _recalled(job, header)
        view = job.presentation.view
        messages = _worded(self._shared, known.block, job, header, recalled)
        asked = _Asked(job, known, header, models.for_job(job.index))
        try:
            reply = await asked.models.chat(
                TURN,
                messages,
                role=plan.routing.get(TURN, _TURN_ROLE),
                tokens_max=header.agent.answer_tokens_max,
                temperature=header.agent.temperature,
                facts=facts_of(
                    job.persona.id,
                    known.attributes,
                    shown=shown,
                    view=view,
                    memories=recalled,
                    question=job.question,
                ),
            )
        except CallFailedError as failed:
            return TurnFailed(cause=TurnFailureCause.CALL_FAILED, call=failed.cause)
        memories = _memories(job, shown, reply.text)
        reflection = None
        if is_due(job, plan, header.agent.reflect_every):
            role = plan.routing.get(REFLECTION, _REFLECTION_ROLE)
            reflection = await self._reflect(asked, role, (*recalled, *memories))
        return TurnDone(
            messages=messages, answer=reply.text, memories=memories, reflection=reflection
        )

    async def _reflect(
        self, asked: _Asked, role: str, memories: tuple[Memory, ...]
    ) -> ReflectionDone:
        settings = asked.header.agent
        recalled = keep(memories, settings.memories_max)
        messages = conversation(
            self._shared,
            asked.known.block,
            memory_lines(recalled, asked.header.scenario.tick_unit),
            _REFLECT,
        )
        try:
            reply = await asked.models.chat(
                REFLECTION,
                messages,
                role=role,
                tokens_max=settings.answer_tokens_max,
                temperature=settings.temperature,
                facts=facts_of(asked.job.persona.id, asked.known.attributes, memories=recalled),
            )
        except CallFailedError as failed:
            return ReflectionDone(messages=messages, failed=failed.cause)
        return ReflectionDone(
            messages=messages, text=reply.text, memories=_insight(asked.job.tick, reply.text)
        )

    def _know(self, persona: Persona) -> _Known | None:
        """Describe a persona; None if something that must be known of it is not."""
        if persona.id not in self._known:
            self._known[persona.id] = _describe(self._specs, persona.attributes)
        return self._known[persona.id]


class Prompted(NamedTuple):
    """The prompt of a turn, and the memories that it tells."""

    messages: tuple[Message, ...]
    memories: tuple[Memory, ...]


def prompt_of(
    job: TurnJob, header: Header, recalled: Sequence[Memory] | None = None
) -> Prompted | None:
    """Word the prompt of a turn as it is sent first; None if it has none. Pure.

    It tells the memories in `recalled`; if none are given, those that the agent chooses itself. A
    persona without an attribute that the ontology requires has no prompt.
    """
    known = _describe(known_attributes(header.ontology), job.persona.attributes)
    if known is None:
        return None
    memories = _recalled(job, header) if recalled is None else tuple(recalled)
    return Prompted(_worded(shared_text(header), known.block, job, header, memories), memories)


def _recalled(job: TurnJob, header: Header) -> tuple[Memory, ...]:
    return keep(job.state.memories, header.agent.memories_max)


def _worded(
    shared: str, block: str, job: TurnJob, header: Header, recalled: Sequence[Memory]
) -> tuple[Message, ...]:
    return conversation(
        shared,
        block,
        memory_lines(recalled, header.scenario.tick_unit),
        shown_text(noticed(job), job.presentation.view, job.question),
        question_text(job.question),
    )


def _describe(
    specs: Sequence[AttributeSpec], attributes: Mapping[str, AttributeValue]
) -> _Known | None:
    if any(spec.required and spec.name not in attributes for spec in specs):
        return None
    block = persona_block(specs, attributes)
    if not block:
        return None
    told = {spec.name: attributes[spec.name] for spec in specs if spec.name in attributes}
    return _Known(block=block, attributes=told)


def noticed(job: TurnJob) -> tuple[Stimulus, ...]:
    """List the stimuli of a job that get any attention, in the order of the impression."""
    exposures = job.presentation.impression.exposures
    return tuple(
        stimulus
        for stimulus, exposure in zip(job.shown, exposures, strict=True)
        if exposure.attention > 0
    )


def is_due(job: TurnJob, plan: Plan, reflect_every: int) -> bool:
    """Say whether a reflection follows this turn: optional work, counted in turns that showed."""
    return (
        plan.optional_work
        and reflect_every > 0
        and bool(job.presentation.impression.exposures)
        and job.state.turns_since_reflection + 1 >= reflect_every
    )


def _memories(job: TurnJob, shown: Sequence[Stimulus], answer: str) -> tuple[Memory, ...]:
    attention = {
        exposure.stimulus: exposure.attention for exposure in job.presentation.impression.exposures
    }
    said = f" and said {quote(answer)}" if answer.strip() else " and said nothing"
    return tuple(
        Memory(
            tick=job.tick,
            text=f"I saw the message {quote(stimulus.text)}{said}",
            importance=_EXPOSURE_IMPORTANCE * attention[stimulus.id],
            claim=stimulus.claim,
        )
        for stimulus in shown
    )


def _insight(tick: int, text: str) -> tuple[Memory, ...]:
    """Remember a reflection; one without words leaves nothing to remember."""
    if not text.strip():
        return ()
    memory = Memory(
        tick=tick,
        text=f"I thought it over: {quote(text)}",
        importance=_REFLECTION_IMPORTANCE,
        source=REFLECTION,
    )
    return (memory,)
