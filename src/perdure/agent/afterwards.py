"""What follows an answer that stands: beliefs, memories and their vectors, reflection, probe."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

import msgspec

from perdure.agent.answering import Answered
from perdure.agent.asked import PROBE, REFLECTION, Asked
from perdure.agent.beliefs import moved
from perdure.agent.leavings import (
    left_by_answer,
    left_by_deeds,
    left_by_reaction,
    left_by_reflection,
)
from perdure.agent.port import CallFailedError
from perdure.agent.probe import probe_question
from perdure.agent.prompt import question_text
from perdure.agent.state import keep
from perdure.base.codes import code_of
from perdure.base.vectors import pack
from perdure.records.outcome import ProbeDone, ReflectionDone
from perdure.records.persona import AttributeSpec, Memory
from perdure.records.presentation import Plan, TurnJob
from perdure.records.reaction import Reaction

MEMORY = "memory"

# A belief that moves so far at once is thought over at once.
_STEPS_TO_REFLECT = 2

_REFLECT = (
    "Think over what you remember and what you have just seen. In one or two sentences, in the "
    "first person: what do you make of it all by now?"
)


def beliefs_after(asked: Asked, reaction: Reaction | None) -> dict[str, int] | None:
    """Give all that the persona believes after a reaction; None if that moved no belief."""
    if reaction is None:
        return None
    about = (one.claim for one in asked.shown if one.id == reaction.stimulus)
    return moved(asked.job.state.beliefs, next(about, ""), reaction.change)


def steps_moved(before: Mapping[str, int], after: Mapping[str, int] | None) -> int:
    """Count the steps by which beliefs moved."""
    if after is None:
        return 0
    return sum(abs(step - before.get(claim, 0)) for claim, step in after.items())


def memories_of(asked: Asked, answered: Answered, steps: int) -> tuple[Memory, ...]:
    """Give what the turn leaves to remember."""
    deeds = left_by_deeds(asked.job, answered.did, answered.text)
    if answered.reaction is None:
        return (*left_by_answer(asked.job, asked.shown, answered.text), *deeds)
    return (*left_by_reaction(asked.job, asked.shown, answered.reaction, steps), *deeds)


def is_due(job: TurnJob, plan: Plan, reflect_every: int, steps: int = 0) -> bool:
    """Say whether a reflection follows this turn, which moved a belief by so many steps.

    It is optional work, counted in turns that showed something.
    """
    return (
        plan.optional_work
        and reflect_every > 0
        and bool(job.presentation.impression.exposures)
        and (job.state.turns_since_reflection + 1 >= reflect_every or steps >= _STEPS_TO_REFLECT)
    )


async def reflect(
    asked: Asked, memories: tuple[Memory, ...], beliefs: Mapping[str, int]
) -> ReflectionDone | None:
    """Think over what is remembered; None where the prompt would be longer than it may be."""
    prompt = asked.prompt(REFLECTION, partial(keep, memories), beliefs, _REFLECT)
    if prompt is None:
        return None
    try:
        text = (await asked.say(REFLECTION, prompt, beliefs)).text
    except CallFailedError as failed:
        return ReflectionDone(messages=prompt.messages, failed=failed.cause)
    return ReflectionDone(
        messages=prompt.messages, text=text, memories=left_by_reflection(asked.job.tick, text)
    )


async def with_vectors(
    asked: Asked, memories: tuple[Memory, ...], reflection: ReflectionDone | None
) -> tuple[tuple[Memory, ...], ReflectionDone | None]:
    """Give the memories of a turn and of its reflection their vectors, by one call.

    If the call fails they stay without: the turn is done, and they get them when they are next
    compared with something.
    """
    extra = reflection.memories if reflection is not None else ()
    every = (*memories, *extra)
    if not every:
        return memories, reflection
    try:
        answer = await asked.models.embed(MEMORY, tuple(memory.text for memory in every))
    except CallFailedError:
        return memories, reflection
    found = tuple(_with(every, answer.vectors))
    own = found[: len(memories)]
    if reflection is None:
        return own, None
    return own, msgspec.structs.replace(reflection, memories=found[len(memories) :])


async def probe(
    asked: Asked, spec: AttributeSpec, memories: tuple[Memory, ...], beliefs: Mapping[str, int]
) -> ProbeDone | None:
    """Ask for something that is known; None where the prompt would be longer than it may be."""
    question = probe_question(spec)
    prompt = asked.prompt(PROBE, partial(keep, memories), beliefs, question_text(question))
    if prompt is None:
        return None
    done = ProbeDone(
        attribute=spec.name,
        code=code_of(asked.known.attributes[spec.name]),
        question=question,
        messages=prompt.messages,
    )
    try:
        text = (await asked.say(PROBE, prompt, beliefs, question)).text
    except CallFailedError as failed:
        return msgspec.structs.replace(done, failed=failed.cause)
    return msgspec.structs.replace(done, answer=text)


def _with(memories: Sequence[Memory], vectors: Sequence[tuple[float, ...]]) -> Iterator[Memory]:
    for memory, vector in zip(memories, vectors, strict=True):
        yield msgspec.structs.replace(memory, vector=pack([vector]))
