"""What the calls of jobs were answered, as the events of a tick tell it. Pure.

Most answers are told by what they led to: an answer by its turn, one that broke a rule by its
violation, a memory's vector by the memory. Any other call of a job gets an `answer` event of its
own, so that every tick can be driven again from its record alone.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence

from perdure.base.vectors import Vector, rounded, unpack
from perdure.records.drive import ModelReturned, ProviderFailed, ToolCalled, ToolResult, job_of
from perdure.records.events import (
    AnswerGiven,
    Cost,
    Event,
    GuardrailViolation,
    MemoryFormed,
    Probed,
    Reflected,
    Turn,
    TurnNotTaken,
)
from perdure.records.request import (
    WORLD_JOB,
    Attempt,
    CallResult,
    FailureCause,
    FirstToken,
    Reply,
    Vectors,
)
from perdure.records.tools import ToolAnswer, ToolCall

Answer = Reply | Vectors | FailureCause
# A job, a purpose, and the call's ordinal among those of the two.
Place = tuple[int, str, int]
ReadBlob = Callable[[str], bytes]

SERVED = "record"


def recorded_attempts(costs: Iterable[Cost]) -> dict[Place, tuple[Attempt, ...]]:
    """Gather the attempts of every call of a tick, from the costs that its events tell."""
    found: dict[Place, tuple[Attempt, ...]] = {}
    for cost in costs:
        place = cost.job, cost.purpose, cost.ordinal
        attempt = Attempt(
            failed=cost.failed,
            served=cost.served,
            usage=cost.usage,
            amount=cost.amount,
            source=cost.source,
            usage_impossible=cost.usage_impossible,
            charged=cost.charged,
            above_reservation=cost.above_reservation,
        )
        found[place] = (*found.get(place, ()), attempt)
    return found


def recorded_calls(events: Iterable[Event], blob: ReadBlob) -> dict[Place, Answer]:
    """Gather what every call of a tick was answered. `blob` reads bytes by hash."""
    gathering = _Gathering(blob)
    for event in events:
        gathering.add(event)
    return gathering.close()


class _Gathering:
    """The answers that a tick's events tell, as far as these are read."""

    def __init__(self, blob: ReadBlob) -> None:
        self._blob = blob
        self._found: dict[Place, Answer] = {}
        # The job of each turn; the answers that broke a rule, by job; the world's own, by purpose.
        self._jobs: dict[int, int] = {}
        self._broken: Counter[int] = Counter()
        self._own: Counter[str] = Counter()
        # The calls of drives, by job.
        self._driven: Counter[int] = Counter()
        self._vectors: dict[int, list[Vector]] = {}

    def add(self, event: Event) -> None:
        # The most frequent first.
        match event.payload:
            case Turn(job=job, answer=text, first_tokens=tokens):
                assert event.content is not None, "a turn is content"
                self._jobs[event.content] = job
                # That of a turn with tools is among its lines.
                self._found.setdefault((job, "turn", self._broken[job]), _said(text, tokens))
            case MemoryFormed() | Reflected() | Probed() as later:
                self._follow(self._jobs[later.turn], later)
            case TurnNotTaken(job=job, call=cause) if cause is not None:
                self._found.setdefault((job, "turn", self._broken[job]), cause)
            case GuardrailViolation(job=job, answer=text):
                self._found[job, "turn", self._broken[job]] = _said(text)
                self._broken[job] += 1
            case ModelReturned() | ProviderFailed() as line:
                job = job_of(line.run)
                self._found[job, "turn", self._driven[job]] = (
                    line.cause if isinstance(line, ProviderFailed) else _replied(line)
                )
                self._driven[job] += 1
            case AnswerGiven() as given:
                self._give(given)
            case _:
                pass

    def _follow(self, job: int, later: MemoryFormed | Reflected | Probed) -> None:
        match later:
            case MemoryFormed(vector=name):
                if name:
                    self._vectors.setdefault(job, []).extend(unpack(self._blob(name), 1))
            case Reflected(text=text, failed=cause):
                self._found[job, "reflection", 0] = cause or _said(text)
            case Probed(answer=text, failed=cause):
                self._found[job, "probe", 0] = cause or _said(text)

    def _give(self, given: AnswerGiven) -> None:
        ordinal = given.ordinal
        if given.job == WORLD_JOB:
            ordinal = self._own[given.purpose]
            self._own[given.purpose] += 1
        self._found[given.job, given.purpose, ordinal] = _answer(given, self._blob)

    def close(self) -> dict[Place, Answer]:
        for job, vectors in self._vectors.items():
            formed = Vectors(vectors=tuple(vectors), served=SERVED)
            self._found.setdefault((job, "memory", 0), formed)
        return self._found


def recorded_effects(events: Iterable[Event]) -> dict[int, list[tuple[ToolCall, ToolAnswer]]]:
    """List what every call of a tool was answered, by job and in order."""
    called: dict[tuple[str, int, str], ToolCall] = {}
    found: dict[int, list[tuple[ToolCall, ToolAnswer]]] = defaultdict(list)
    for event in events:
        match event.payload:
            case ToolCalled() as line:
                called[line.run, line.turn, line.call.id] = line.call
            case ToolResult() as line:
                call = called[line.run, line.turn, line.call_id]
                answer = ToolAnswer(status=line.status, text=line.text, dropped=line.dropped)
                found[job_of(line.run)].append((call, answer))
            case _:
                pass
    return found


def untold(
    calls: Iterable[CallResult], events: Sequence[Event], blob: ReadBlob
) -> list[CallResult]:
    """List the calls that the events of their tick do not tell the answer of."""
    told = recorded_calls(events, blob)
    return [
        call
        for call in calls
        if not _same(told.get((call.key.job, call.key.purpose, call.key.ordinal)), call)
    ]


def _same(told: Answer | None, call: CallResult) -> bool:
    answer = call.answer
    if isinstance(answer, Reply):
        return isinstance(told, Reply) and (told.text, told.calls) == (
            answer.text,
            answer.calls,
        )
    if isinstance(answer, Vectors):
        return isinstance(told, Vectors) and told.vectors == rounded(answer.vectors)
    return told is call.failed


def _said(text: str, first_tokens: tuple[FirstToken, ...] = ()) -> Reply:
    return Reply(text=text, served=SERVED, first_tokens=first_tokens)


def _replied(line: ModelReturned) -> Reply:
    return Reply(text=line.text, served=line.served, finish=line.finish, calls=line.calls)


def _answer(given: AnswerGiven, blob: ReadBlob) -> Answer:
    if given.failed is not None:
        return given.failed
    if given.vectors:
        return Vectors(vectors=unpack(blob(given.vectors), given.count), served=SERVED)
    return Reply(text=given.text, served=SERVED, finish=given.finish, calls=given.calls)
