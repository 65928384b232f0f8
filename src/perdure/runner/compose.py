"""A tick's events, numbered and in order, from what the tick produced. Pure.

The order is fixed: the rungs that are lifted or taken; what the world did; then, per job, the turn,
its memories, its reflection, its score and its costs; then the tick's closing mark. Only content
events get a content number, and content refers to content alone.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

from perdure.records.events import (
    IS_CONTENT,
    KIND_OF,
    AnswerGiven,
    Batch,
    Completed,
    Cost,
    Degraded,
    Event,
    ExposureDropped,
    Head,
    InterventionApplied,
    MemoryFormed,
    Payload,
    PromptPart,
    Reflected,
    Restored,
    ScoreGiven,
    Started,
    StimulusPublished,
    TickClosed,
    Turn,
    TurnNotTaken,
)
from perdure.records.outcome import Outcome, Scored, TurnDone
from perdure.records.presentation import NeedAnswer, Plan, TurnJob, WorldDelta
from perdure.records.record import Record
from perdure.records.request import CallResult, Message
from perdure.records.scenario import ModelPin
from perdure.runner.ladder import NOTHING_DUE, Due
from perdure.runner.vectors import pack
from perdure.trace.rungs import PAUSE

_IS_CONTENT_TYPE = {cls: IS_CONTENT[kind] for cls, kind in KIND_OF.items()}

RoleAndResult = tuple[str, CallResult]


class TickResult(Record):
    """What a tick produced, before any of it is an event.

    `outcomes` and `scores` are in job order; a score is absent where nothing was to be scored.
    `calls` holds the model calls by job, each with the model role it used; the world's own are
    under -1. `unanswered` counts the jobs that called a model and got no reply at all. `due` are
    the rungs that the tick records.
    """

    tick: int
    plan: Plan
    delta: WorldDelta
    answers: tuple[NeedAnswer, ...]
    jobs: tuple[TurnJob, ...]
    outcomes: tuple[Outcome, ...]
    scores: tuple[Scored | None, ...]
    calls: Mapping[int, Sequence[RoleAndResult]]
    unanswered: int
    last: bool
    due: Due = NOTHING_DUE


def compose(result: TickResult, head: Head, pins: Mapping[str, ModelPin]) -> Batch:
    """Turn a tick's result into the batch that follows `head`."""
    writer = _Writer(result.tick, head)
    if result.tick == 0:
        writer.add(Started())
    for rung in result.due.restored:
        writer.add(Restored(rung=rung))
    for rung in result.due.degraded:
        writer.add(Degraded(rung=rung))
    for stimulus in result.delta.stimuli:
        writer.add(StimulusPublished(stimulus=stimulus))
    for intervention in result.delta.interventions:
        writer.add(InterventionApplied(intervention=intervention))
    for dropped in result.delta.dropped:
        writer.add(ExposureDropped(dropped=dropped), dropped.persona)
    for answer in result.answers:
        writer.add(_answer(answer, writer))
    _costs(writer, result.calls.get(-1, ()), "", pins)
    for job, outcome, score in zip(result.jobs, result.outcomes, result.scores, strict=True):
        persona = job.persona.id
        _turn(writer, job, outcome, score)
        _costs(writer, result.calls.get(job.index, ()), persona, pins)
    if result.last:
        writer.add(Completed())
    writer.add(TickClosed(plan=result.plan, jobs=len(result.jobs), unanswered=result.unanswered))
    return Batch(events=tuple(writer.events), blobs=writer.blobs)


class _Writer:
    """Numbers events as they come, and keeps the blobs that they cite."""

    def __init__(self, tick: int, head: Head) -> None:
        self._tick = tick
        self._seq = head.seq + 1
        self._content = head.content
        self.events: list[Event] = []
        self.blobs: dict[str, bytes] = {}

    def add(self, payload: Payload, persona: str = "") -> int:
        """Add an event; give the content number that the next content event will get."""
        content = None
        if _IS_CONTENT_TYPE[type(payload)]:
            content = self._content
            self._content += 1
        self.events.append(
            Event(seq=self._seq, tick=self._tick, payload=payload, persona=persona, content=content)
        )
        self._seq += 1
        return self._content

    def blob(self, data: bytes) -> str:
        """Keep bytes that are no event; give their hash."""
        digest = hashlib.sha256(data).hexdigest()
        self.blobs[digest] = data
        return digest

    def prompt(self, messages: Sequence[Message]) -> tuple[PromptPart, ...]:
        """Keep a prompt's texts; give their references."""
        return tuple(
            PromptPart(role=message.role, sha256=self.blob(message.content.encode()))
            for message in messages
        )


def _answer(answer: NeedAnswer, writer: _Writer) -> AnswerGiven:
    vectors = writer.blob(pack(answer.vectors)) if answer.vectors else ""
    return AnswerGiven(
        purpose=answer.purpose,
        text=answer.text,
        vectors=vectors,
        count=len(answer.vectors),
        failed=answer.failed,
    )


def _turn(writer: _Writer, job: TurnJob, outcome: Outcome, score: Scored | None) -> None:
    persona = job.persona.id
    if not isinstance(outcome, TurnDone):
        failed = TurnNotTaken(
            job=job.index, presentation=job.presentation, cause=outcome.cause, call=outcome.call
        )
        writer.add(failed, persona)
        return
    taken = Turn(
        job=job.index,
        presentation=job.presentation,
        prompt=writer.prompt(outcome.messages),
        answer=outcome.answer,
    )
    turn = writer.add(taken, persona) - 1
    for memory in outcome.memories:
        writer.add(MemoryFormed(turn=turn, memory=memory), persona)
    if outcome.reflection is not None:
        reflected = Reflected(
            turn=turn,
            prompt=writer.prompt(outcome.reflection.messages),
            text=outcome.reflection.text,
            failed=outcome.reflection.failed,
        )
        writer.add(reflected, persona)
        for memory in outcome.reflection.memories:
            writer.add(MemoryFormed(turn=turn, memory=memory), persona)
    if score is not None:
        given = ScoreGiven(
            turn=turn, question=job.question.id, choice=score.choice, unscorable=score.unscorable
        )
        writer.add(given, persona)


def _costs(
    writer: _Writer, calls: Sequence[RoleAndResult], persona: str, pins: Mapping[str, ModelPin]
) -> None:
    for role, result in calls:
        for number, attempt in enumerate(result.attempts):
            cost = Cost(
                job=result.key.job,
                purpose=result.key.purpose,
                ordinal=result.key.ordinal,
                attempt=number,
                role=role,
                model=pins[role].model,
                source=attempt.source,
                served=attempt.served,
                amount=attempt.amount,
                usage=attempt.usage,
                failed=attempt.failed,
                usage_impossible=attempt.usage_impossible,
                charged=attempt.charged,
                above_reservation=attempt.above_reservation,
            )
            writer.add(cost, persona)


def pause(head: Head) -> Batch:
    """Make the batch that says, between ticks, that the run is paused before the next one."""
    writer = _Writer(head.tick + 1, head)
    writer.add(PAUSE)
    return Batch(events=tuple(writer.events))
