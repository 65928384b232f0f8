"""What a world has lived through, read back from its events, tick by tick. Pure.

One pass over a world's events gives everything that a resume or a replay needs: what the world was
given at each step and what it did, what became of every turn, and what it cost.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import msgspec

from perdure.base.canonical import as_recorded
from perdure.base.vectors import unpack
from perdure.records.budget import Rung
from perdure.records.events import (
    AnswerGiven,
    BeliefsHeld,
    Cost,
    Degraded,
    Event,
    ExposureDropped,
    InterventionApplied,
    MemoryFormed,
    Payload,
    Reflected,
    Restored,
    ScoreGiven,
    StimulusPublished,
    TickClosed,
    Turn,
    TurnNotTaken,
)
from perdure.records.persona import Memory
from perdure.records.presentation import (
    CompletedTurn,
    DroppedExposure,
    Intervention,
    NeedAnswer,
    Plan,
    Presentation,
    Stimulus,
    WorldDelta,
)
from perdure.records.reaction import Reaction
from perdure.records.request import WORLD_JOB
from perdure.records.tools import ToolCall
from perdure.runner.ladder import NOTHING_DUE, Due
from perdure.runner.recorded_calls import ReadBlob
from perdure.trace.rungs import PAUSE


@dataclass
class PastTurn:
    """One turn that was taken, and what followed from it."""

    persona: str
    presentation: Presentation
    answer: str
    memories: list[Memory] = field(default_factory=list)
    reflected: bool = False
    choice: str = ""
    reaction: Reaction | None = None
    beliefs: dict[str, int] | None = None
    did: tuple[ToolCall, ...] = ()


@dataclass
class PastTick:
    """One closed tick: what the step was given and gave, the turns taken, the events themselves.

    `due` are the rungs that it recorded.
    """

    tick: int
    plan: Plan
    delta: WorldDelta
    answers: tuple[NeedAnswer, ...]
    turns: tuple[PastTurn, ...]
    turns_failed: int
    calls: int
    costs: tuple[Cost, ...]
    events: tuple[Event, ...]
    due: Due = NOTHING_DUE

    @property
    def completed(self) -> tuple[CompletedTurn, ...]:
        """The turns as the next step of the world is given them."""
        return tuple(
            CompletedTurn(
                persona=turn.persona,
                # What was just lived is given as it would be read back.
                presentation=as_recorded(turn.presentation),
                answer=turn.answer,
                choice=turn.choice,
                reaction=turn.reaction,
                did=turn.did,
            )
            for turn in self.turns
        )


def past_ticks(events: Iterable[Event], blob: ReadBlob) -> Iterator[PastTick]:
    """Gather a world's events, in order, into its closed ticks. `blob` reads bytes by hash.

    A pause is between ticks, and in none of them.
    """
    gathering = _Gathering(blob)
    for event in events:
        if event.payload == PAUSE:
            continue
        gathering.add(event)
        if isinstance(event.payload, TickClosed):
            yield gathering.close(event.payload)
            gathering = _Gathering(blob)


class _Gathering:
    """The events of one tick, sorted by what they say."""

    def __init__(self, blob: ReadBlob) -> None:
        self._blob = blob
        self._events: list[Event] = []
        self._stimuli: list[Stimulus] = []
        self._interventions: list[Intervention] = []
        self._dropped: list[DroppedExposure] = []
        self._answers: list[NeedAnswer] = []
        self._presentations: list[Presentation] = []
        self._turns: dict[int, PastTurn] = {}
        self._costs: list[Cost] = []
        self._restored: list[Rung] = []
        self._degraded: list[Rung] = []

    def add(self, event: Event) -> None:
        self._events.append(event)
        # The most frequent first.
        match event.payload:
            case Turn() as turn:
                self._presentations.append(turn.presentation)
                assert event.content is not None, "a turn is content"
                self._turns[event.content] = PastTurn(
                    event.persona,
                    turn.presentation,
                    turn.answer,
                    reaction=turn.reaction,
                    did=turn.did,
                )
            case Cost() as cost:
                self._costs.append(cost)
            case MemoryFormed(turn=number) as formed:
                self._turns[number].memories.append(self._remembered(event, formed))
            case ScoreGiven(turn=number, choice=choice):
                self._turns[number].choice = choice
            case Reflected(turn=number, failed=cause):
                self._turns[number].reflected = cause is None
            case TurnNotTaken() as failed:
                self._presentations.append(failed.presentation)
            case BeliefsHeld(turn=number, beliefs=beliefs):
                self._turns[number].beliefs = beliefs
            case payload:
                self._add_step(payload)

    def _remembered(self, event: Event, formed: MemoryFormed) -> Memory:
        """Give a memory as a persona carries it: with its number, and with its vector."""
        assert event.content is not None, "a memory is content"
        vector = self._blob(formed.vector) if formed.vector else b""
        return msgspec.structs.replace(formed.memory, number=event.content, vector=vector)

    def _add_step(self, payload: Payload) -> None:
        match payload:
            case StimulusPublished(stimulus=stimulus):
                self._stimuli.append(stimulus)
            case InterventionApplied(intervention=intervention):
                self._interventions.append(intervention)
            case ExposureDropped(dropped=dropped):
                self._dropped.append(dropped)
            case AnswerGiven(job=job) as answer if job == WORLD_JOB:
                self._answers.append(_answer(answer, self._blob))
            case Restored(rung=rung):
                self._restored.append(rung)
            case Degraded(rung=rung):
                self._degraded.append(rung)
            case _:
                pass

    def close(self, closed: TickClosed) -> PastTick:
        tick = self._events[0].tick
        return PastTick(
            tick=tick,
            plan=closed.plan,
            delta=WorldDelta(
                tick=tick,
                stimuli=tuple(self._stimuli),
                interventions=tuple(self._interventions),
                dropped=tuple(self._dropped),
                presentations=tuple(self._presentations),
            ),
            answers=tuple(self._answers),
            turns=tuple(self._turns.values()),
            turns_failed=len(self._presentations) - len(self._turns),
            calls=sum(cost.attempt == 0 for cost in self._costs),
            costs=tuple(self._costs),
            events=tuple(self._events),
            due=Due(restored=tuple(self._restored), degraded=tuple(self._degraded)),
        )


def _answer(answer: AnswerGiven, blob: ReadBlob) -> NeedAnswer:
    vectors = unpack(blob(answer.vectors), answer.count) if answer.vectors else ()
    return NeedAnswer(
        purpose=answer.purpose, text=answer.text, vectors=vectors, failed=answer.failed
    )
