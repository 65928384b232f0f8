"""A tick's events, numbered and in order, from what the tick produced. Pure.

The order is fixed: the rungs that are lifted or taken; what the world did; then, per job, answers
that broke a rule, what a drive left behind, the turn, its memories, the beliefs that it moved, its
reflection, its probe, its score and its costs; then answers to calls of jobs that no other event
tells, the calls that scores took, and the tick's closing mark. Only content events get a content
number, and content refers to content alone.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

import msgspec

from perdure.agent import merged, rejection_of
from perdure.base.vectors import pack
from perdure.elicitation import score
from perdure.records.events import (
    IS_CONTENT,
    KIND_OF,
    AnswerGiven,
    Batch,
    BeliefsHeld,
    Completed,
    Cost,
    Degraded,
    Event,
    ExposureDropped,
    GuardrailViolation,
    Head,
    InterventionApplied,
    MemoryFormed,
    Payload,
    Probed,
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
from perdure.records.outcome import Outcome, ProbeDone, Scored, TurnDone
from perdure.records.persona import Memory
from perdure.records.presentation import NeedAnswer, Plan, Presentation, TurnJob, WorldDelta
from perdure.records.reaction import Reaction
from perdure.records.record import Record
from perdure.records.request import (
    SCORER_JOB,
    WORLD_JOB,
    CallResult,
    Message,
    Reply,
    Vectors,
)
from perdure.records.scenario import ModelPin
from perdure.runner.ladder import NOTHING_DUE, Due
from perdure.runner.recorded_calls import untold
from perdure.trace.rungs import PAUSE

_IS_CONTENT_TYPE = {cls: IS_CONTENT[kind] for cls, kind in KIND_OF.items()}
_NOTHING_SAID = Reply(text="", served="")

RoleAndResult = tuple[str, CallResult]


class TickResult(Record):
    """What a tick produced, before any of it is an event.

    `outcomes` and `scores` are in job order; a score is absent where nothing was to be scored.
    `calls` holds the model calls by job, each with the model role it used; the world's own are
    under -1, the scorer's under -2. `unanswered` counts the jobs that called a model and got no
    reply at all. `due` are the rungs that the tick records.
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
    _step(writer, result)
    _costs(writer, result.calls.get(WORLD_JOB, ()), "", pins)
    held: dict[str, Mapping[str, int]] = {}
    for job, outcome, scored in zip(result.jobs, result.outcomes, result.scores, strict=True):
        _job(writer, job, outcome, scored, held)
        _costs(writer, result.calls.get(job.index, ()), job.persona.id, pins)
    _untold(writer, result)
    for _, call in result.calls.get(SCORER_JOB, ()):
        writer.add(_told(writer, call))
    _costs(writer, result.calls.get(SCORER_JOB, ()), "", pins)
    if result.last:
        writer.add(Completed())
    writer.add(TickClosed(plan=result.plan, jobs=len(result.jobs), unanswered=result.unanswered))
    return Batch(events=tuple(writer.events), blobs=writer.blobs)


def _step(writer: _Writer, result: TickResult) -> None:
    """Write what the world did, and what it was answered."""
    for stimulus in result.delta.stimuli:
        writer.add(StimulusPublished(stimulus=stimulus))
    for intervention in result.delta.interventions:
        writer.add(InterventionApplied(intervention=intervention))
    for dropped in result.delta.dropped:
        writer.add(ExposureDropped(dropped=dropped), dropped.persona)
    for answer in result.answers:
        writer.add(_answer(answer, writer))


class _Writer:
    """Numbers events as they come, and keeps the blobs that they cite."""

    def __init__(self, tick: int, head: Head) -> None:
        self._tick = tick
        self._seq = head.seq + 1
        self._content = head.content
        self.events: list[Event] = []
        self.blobs: dict[str, bytes] = {}
        self._texts: dict[str, str] = {}

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
            PromptPart(
                role=message.role,
                sha256=self._texts.get(message.content) or self._text(message.content),
                calls=message.calls,
                call_id=message.call_id,
            )
            for message in messages
        )

    def _text(self, text: str) -> str:
        """Keep a text; give its hash. Most prompts begin with the same one."""
        name = self._texts[text] = self.blob(text.encode())
        return name


def _answer(answer: NeedAnswer, writer: _Writer) -> AnswerGiven:
    vectors = writer.blob(pack(answer.vectors)) if answer.vectors else ""
    return AnswerGiven(
        purpose=answer.purpose,
        text=answer.text,
        vectors=vectors,
        count=len(answer.vectors),
        failed=answer.failed,
    )


def _job(
    writer: _Writer,
    job: TurnJob,
    outcome: Outcome,
    scored: Scored | None,
    held: dict[str, Mapping[str, int]],
) -> None:
    """Write what became of a job. `held` are the beliefs that this tick has moved so far."""
    persona = job.persona.id
    for violation in outcome.violations:
        broken = GuardrailViolation(
            job=job.index,
            rule=violation.rule,
            prompt=writer.prompt(violation.messages),
            answer=violation.answer,
        )
        writer.add(broken, persona)
    if outcome.drive is not None:
        for line in outcome.drive.lines:
            writer.add(line, persona)
        writer.blobs.update(outcome.drive.blobs)
    if isinstance(outcome, TurnDone):
        _turn(writer, job, outcome, scored, held)
        return
    failed = TurnNotTaken(
        job=job.index,
        presentation=job.presentation,
        cause=outcome.cause,
        call=outcome.call,
        order=_order(job),
    )
    writer.add(failed, persona)


def _turn(
    writer: _Writer,
    job: TurnJob,
    outcome: TurnDone,
    scored: Scored | None,
    held: dict[str, Mapping[str, int]],
) -> None:
    persona = job.persona.id
    taken = Turn(
        job=job.index,
        presentation=job.presentation,
        prompt=writer.prompt(outcome.messages),
        answer=outcome.answer,
        recalled=outcome.recalled,
        reaction=_judged(job.presentation, outcome.reaction),
        order=_order(job),
        first_tokens=outcome.first_tokens,
        did=outcome.did,
    )
    turn = writer.add(taken, persona) - 1
    _memories(writer, turn, outcome.memories, persona)
    if outcome.beliefs is not None:
        now = held.get(persona, job.state.beliefs)
        # In the order in which the record gives them back: a persona that is rebuilt from it says
        # the same words in the same order.
        after = dict(sorted(merged(now, job.state.beliefs, outcome.beliefs).items()))
        if after != now:
            held[persona] = after
            writer.add(BeliefsHeld(turn=turn, beliefs=after), persona)
    if outcome.reflection is not None:
        reflected = Reflected(
            turn=turn,
            prompt=writer.prompt(outcome.reflection.messages),
            text=outcome.reflection.text,
            failed=outcome.reflection.failed,
        )
        writer.add(reflected, persona)
        _memories(writer, turn, outcome.reflection.memories, persona)
    if outcome.probe is not None:
        writer.add(_probed(writer, turn, outcome.probe), persona)
    if scored is not None:
        writer.add(_given(turn, job, scored), persona)


def _order(job: TurnJob) -> tuple[str, ...]:
    """Give the order in which choices were listed, where it was drawn."""
    return tuple(choice.id for choice in job.question.choices) if job.question.shuffle else ()


def _given(turn: int, job: TurnJob, scored: Scored) -> ScoreGiven:
    return ScoreGiven(
        turn=turn,
        question=job.question.id,
        choice=scored.choice,
        unscorable=scored.unscorable,
        choices=scored.choices,
        number=scored.number,
        masses=scored.masses,
        similarities=scored.similarities,
    )


def _judged(presentation: Presentation, reaction: Reaction | None) -> Reaction | None:
    """Say of a reaction whether what was done is accepted: nobody judges that but the runner."""
    if reaction is None:
        return None
    rejected = rejection_of(presentation, reaction)
    return msgspec.structs.replace(reaction, rejected=rejected)


def _memories(writer: _Writer, turn: int, memories: Sequence[Memory], persona: str) -> None:
    for memory in memories:
        vector = writer.blob(memory.vector) if memory.vector else ""
        # The event's own number is the memory's, and bytes that are no event are among the blobs.
        told = memory
        if memory.vector or memory.number >= 0:
            told = msgspec.structs.replace(memory, vector=b"", number=-1)
        writer.add(MemoryFormed(turn=turn, memory=told, vector=vector), persona)


def _probed(writer: _Writer, turn: int, probe: ProbeDone) -> Probed:
    scored = Scored() if probe.failed is not None else score(probe.answer, probe.question)
    return Probed(
        turn=turn,
        attribute=probe.attribute,
        code=probe.code,
        prompt=writer.prompt(probe.messages),
        answer=probe.answer,
        choice=scored.choice,
        unscorable=scored.unscorable,
        failed=probe.failed,
    )


def _untold(writer: _Writer, result: TickResult) -> None:
    """Write the answers to calls of jobs that no other event tells."""
    calls = [
        call
        for job, outcome in zip(result.jobs, result.outcomes, strict=True)
        for _, call in result.calls.get(job.index, ())
        if not _is_its_answer(call, outcome)
    ]
    if not calls:
        return
    for call in untold(calls, writer.events, writer.blobs.__getitem__):
        writer.add(_told(writer, call), result.jobs[call.key.job].persona.id)


def _told(writer: _Writer, call: CallResult) -> AnswerGiven:
    answer = call.answer
    vectors = answer.vectors if isinstance(answer, Vectors) else ()
    said = answer if isinstance(answer, Reply) else _NOTHING_SAID
    return AnswerGiven(
        purpose=call.key.purpose,
        text=said.text,
        vectors=writer.blob(pack(vectors)) if vectors else "",
        count=len(vectors),
        failed=call.failed,
        job=call.key.job,
        ordinal=call.key.ordinal,
        finish=said.finish,
        calls=said.calls,
    )


def _is_its_answer(call: CallResult, outcome: Outcome) -> bool:
    """Say of a call whether its reply is the answer of a turn: most are, and need no search."""
    return (
        isinstance(outcome, TurnDone)
        and call.key.purpose == "turn"
        and call.key.ordinal == len(outcome.violations)
        and isinstance(call.answer, Reply)
        and call.answer.text == outcome.answer
        and not call.answer.calls
    )


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
