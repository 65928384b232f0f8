"""What a world carries from tick to tick outside its own object: stimuli, states, the last turns.

It moves on in one way only: by a tick of the record. What was just lived is read from the events
that were written of it, so that a world which is rebuilt from its record carries the very same.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from perdure.agent import advance, kept_max
from perdure.base.chance import Stream
from perdure.records.persona import Choice, Persona, PersonaState
from perdure.records.presentation import (
    CompletedTurn,
    Presentation,
    Stimulus,
    TurnJob,
    WorldDelta,
)
from perdure.records.scenario import Header, Question, QuestionType
from perdure.runner.past import PastTick

_NOTHING = PersonaState()


class Carried:
    """The stimuli published so far, each persona's state, and the turns of the tick before."""

    def __init__(self, header: Header, personas: Mapping[str, Persona]) -> None:
        self.stimuli: dict[str, Stimulus] = {}
        self.turns: tuple[CompletedTurn, ...] = ()
        self.questions = {question.id: question for question in header.questions}
        self.personas = personas
        self._memories_max = kept_max(header)
        self._world_seed = header.world_seed
        self._states: dict[str, PersonaState] = {}

    def jobs(self, delta: WorldDelta) -> tuple[TurnJob, ...]:
        """Make a tick's jobs from its delta, which is sound: one for each presentation."""
        return tuple(
            TurnJob(
                index=index,
                tick=delta.tick,
                persona=self.personas[presentation.persona],
                state=self._states.get(presentation.persona, _NOTHING),
                presentation=presentation,
                shown=tuple(
                    self.stimuli[exposure.stimulus]
                    for exposure in presentation.impression.exposures
                ),
                question=self._asked(presentation, delta.tick),
            )
            for index, presentation in enumerate(delta.presentations)
        )

    def _asked(self, presentation: Presentation, tick: int) -> Question:
        """Give a question as it is put to one persona: its choices in the order that is drawn."""
        question = self.questions[presentation.question]
        if not question.shuffle:
            return question
        draws = Stream(self._world_seed, tick, f"order:{question.id}", presentation.persona)
        return msgspec.structs.replace(question, choices=shuffled(question, draws))

    def publish(self, delta: WorldDelta) -> None:
        """Take note of what a delta published."""
        self.stimuli.update((stimulus.id, stimulus) for stimulus in delta.stimuli)

    def relive(self, past: PastTick) -> None:
        """Move on by a tick of the record, whether it was just written or is read back."""
        self.publish(past.delta)
        for turn in past.turns:
            self._states[turn.persona] = advance(
                self._states.get(turn.persona, _NOTHING),
                turn.presentation,
                turn.memories,
                reflected=turn.reflected,
                memories_max=self._memories_max,
                beliefs=turn.beliefs,
            )
        self.turns = past.completed


def shuffled(question: Question, draws: Stream) -> tuple[Choice, ...]:
    """Draw the order of a question's choices; a scale keeps its own, from either end."""
    choices = list(question.choices)
    if question.asks_for is QuestionType.LIKERT:
        return tuple(reversed(choices)) if draws.below(2) else tuple(choices)
    draws.shuffle(choices)
    return tuple(choices)
