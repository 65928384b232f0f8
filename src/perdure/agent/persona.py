"""The persona agent: each persona answers in its own words, remembers, and sometimes reflects."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial

import msgspec

from perdure.agent.afterwards import (
    beliefs_after,
    is_due,
    memories_of,
    probe,
    reflect,
    steps_moved,
    with_vectors,
)
from perdure.agent.answering import Answered, answer, compared
from perdure.agent.asked import Asked, Known, describe, noticed
from perdure.agent.fitting import Recall
from perdure.agent.pool import gather_bounded
from perdure.agent.port import CallFailedError, Models
from perdure.agent.probe import probed
from perdure.agent.prompt import shared_text
from perdure.agent.recall import embeds, must_compare
from perdure.agent.state import keep
from perdure.base.errors import PluginError
from perdure.records.channels import Channels
from perdure.records.outcome import (
    Outcome,
    TurnDone,
    TurnFailed,
    TurnFailureCause,
    Violation,
)
from perdure.records.persona import AttributeSpec, Persona
from perdure.records.presentation import Plan, Said, TurnJob
from perdure.records.scenario import Header
from perdure.study.telling import known_attributes

# Raised whenever this agent would word a prompt, remember or reflect otherwise than it did. Every
# record says under which version it was made, and comes out the same under that version alone.
AGENT_VERSION = 1

# Enough for a tick of 1,000 personas to be one round of calls; the rest waits its turn.
WORKERS_MAX = 1_024

_NOTHING_PLANNED = Channels()


class PersonaAgent:
    """One model call per turn; after every few turns that showed something, one more to reflect.

    A turn that shows something leaves a memory of each thing shown, with the persona's own answer
    in quotation marks; a turn that only asks leaves none. A reflection is optional work: it is
    skipped when the plan says so, and is then due at the next turn that allows it. If its call
    fails, the turn is done all the same: the outcome's reflection carries the cause, and no
    memory. A persona without an attribute that the ontology requires is not asked at all.

    Where something can be done, the answer has a form, and can move a belief. An answer that
    breaks a rule is asked for once more; if that one breaks a rule too the turn fails, and its
    outcome has both. docs/personas.md tells the whole of it.
    """

    def __init__(self) -> None:
        self._header: Header | None = None
        self._shared = ""
        self._notes_recalled = False
        self._specs: tuple[AttributeSpec, ...] = ()
        self._known: dict[str, Known | None] = {}

    def reset(self, header: Header) -> None:
        """Write what all personas share, and forget the personas of any earlier world."""
        self._header = header
        self._shared = self._told(header)
        # In any other world a prompt tells the memories that weigh most, and nothing else decides.
        self._notes_recalled = embeds(header) or header.scenario.channels != _NOTHING_PLANNED
        self._specs = known_attributes(header.ontology)
        self._known = {}

    def _told(self, header: Header) -> str:
        """Write what all personas share."""
        return shared_text(header)

    async def act(self, jobs: Sequence[TurnJob], plan: Plan, models: Models) -> Sequence[Outcome]:
        """Take every turn, many at once; give one outcome per job, in the order of the jobs.

        Raises:
            PluginError: the agent was not reset.

        """
        header = self._header
        if header is None:
            raise PluginError("A persona agent was asked to act before it was reset.")

        take = partial(self._turn, plan=plan, models=models, header=header)
        talks = interviews(jobs)
        taken = await gather_bounded(talks, partial(_one_by_one, take), workers_max=WORKERS_MAX)
        outcomes = {
            job.index: outcome
            for talk, found in zip(talks, taken, strict=True)
            for job, outcome in zip(talk, found, strict=True)
        }
        return [outcomes[job.index] for job in jobs]

    async def _turn(self, job: TurnJob, plan: Plan, models: Models, header: Header) -> Outcome:
        known = self._know(job.persona)
        if known is None:
            return TurnFailed(cause=TurnFailureCause.UNCONDITIONED)
        shown = noticed(job)
        if not shown and not job.question.text.strip():
            return TurnFailed(cause=TurnFailureCause.NOTHING_SHOWN)
        asked = Asked(job, known, shown, header, self._shared, plan, models.for_job(job.index))
        violations: list[Violation] = []
        try:
            recall: Recall = partial(keep, job.state.memories)
            if must_compare(header, job.state.memories):
                recall = await compared(asked)
            answered = await self._answer(asked, recall, violations)
        except CallFailedError as failed:
            return TurnFailed(
                cause=TurnFailureCause.CALL_FAILED, call=failed.cause, violations=tuple(violations)
            )
        if isinstance(answered, TurnFailureCause):
            return TurnFailed(cause=answered, violations=tuple(violations))
        if isinstance(answered, TurnFailed):
            return answered
        return await self._finish(asked, answered, tuple(violations))

    async def _answer(
        self, asked: Asked, recall: Recall, violations: list[Violation]
    ) -> Answered | TurnFailureCause | TurnFailed:
        """Ask for the answer of a turn; what breaks a rule goes to `violations`.

        Raises:
            CallFailedError: a call got no reply.

        """
        return await answer(asked, recall, violations)

    async def _finish(
        self, asked: Asked, answered: Answered, violations: tuple[Violation, ...]
    ) -> TurnDone:
        before = asked.job.state.beliefs
        after = beliefs_after(asked, answered.reaction)
        held = before if after is None else after
        steps = steps_moved(before, after)
        memories, reflection = memories_of(asked, answered, steps), None
        mind = (*answered.prompt.memories, *memories)
        if is_due(asked.job, asked.plan, asked.header.agent.reflect_every, steps):
            reflection = await reflect(asked, mind, held)
        if embeds(asked.header):
            memories, reflection = await with_vectors(asked, memories, reflection)
        spec = probed(asked.job, asked.plan, asked.header, self._specs, asked.known.attributes)
        noted = self._notes_recalled or asked.acts
        return TurnDone(
            messages=answered.prompt.messages,
            answer=answered.text,
            memories=memories,
            reflection=reflection,
            reaction=answered.reaction,
            beliefs=after,
            recalled=tuple(one.number for one in answered.prompt.memories) if noted else (),
            probe=await probe(asked, spec, mind, held) if spec is not None else None,
            violations=violations,
            first_tokens=answered.first_tokens,
            drive=answered.drive,
            did=answered.did,
        )

    def _know(self, persona: Persona) -> Known | None:
        """Describe a persona; None if something that must be known of it is not."""
        if persona.id not in self._known:
            self._known[persona.id] = describe(self._specs, persona.attributes)
        return self._known[persona.id]


def interviews(jobs: Sequence[TurnJob]) -> list[list[TurnJob]]:
    """Put together the jobs that only ask one persona something on one channel, in their order.

    Every other job is by itself.
    """
    talks: dict[tuple[str, str, int], list[TurnJob]] = {}
    for job in jobs:
        shown = job.presentation
        only_asks = not shown.impression.exposures and not shown.actions
        place = -1 if only_asks else job.index
        talks.setdefault((job.persona.id, shown.impression.channel, place), []).append(job)
    return list(talks.values())


async def _one_by_one(
    take: Callable[[TurnJob], Awaitable[Outcome]], talk: Sequence[TurnJob]
) -> list[Outcome]:
    """Take the turns of an interview in order, each with what was said before it."""
    outcomes: list[Outcome] = []
    said: tuple[Said, ...] = ()
    for job in talk:
        outcome = await take(msgspec.structs.replace(job, earlier=said) if said else job)
        outcomes.append(outcome)
        if isinstance(outcome, TurnDone):
            said = (*said, Said(question=job.question.text, answer=outcome.answer))
    return outcomes
