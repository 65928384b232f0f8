"""What a world carries from tick to tick outside its own object: stimuli, states, the last turns.

It moves on in two ways that come to the same: by a tick that was just lived, and by one that is
read back from the record.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from perdure.agent import advance, advance_by
from perdure.records.outcome import Outcome, Scored, TurnDone
from perdure.records.persona import Persona, PersonaState
from perdure.records.presentation import CompletedTurn, Stimulus, TurnJob, WorldDelta
from perdure.records.scenario import Header
from perdure.runner.past import PastTick

_NOTHING = PersonaState()


class Carried:
    """The stimuli published so far, each persona's state, and the turns of the tick before."""

    def __init__(self, header: Header, personas: Mapping[str, Persona]) -> None:
        self.stimuli: dict[str, Stimulus] = {}
        self.turns: tuple[CompletedTurn, ...] = ()
        self.questions = {question.id: question for question in header.questions}
        self.personas = personas
        self._memories_max = header.agent.memories_max
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
                question=self.questions[presentation.question],
            )
            for index, presentation in enumerate(delta.presentations)
        )

    def publish(self, delta: WorldDelta) -> None:
        """Take note of what a delta published."""
        self.stimuli.update((stimulus.id, stimulus) for stimulus in delta.stimuli)

    def live(
        self,
        jobs: Sequence[TurnJob],
        outcomes: Sequence[Outcome],
        scores: Sequence[Scored | None],
    ) -> None:
        """Move on by a tick that is written now. A turn that was not taken moves nothing."""
        turns = []
        for job, outcome, scored in zip(jobs, outcomes, scores, strict=True):
            if not isinstance(outcome, TurnDone):
                continue
            persona = job.persona.id
            self._states[persona] = advance_by(
                self._states.get(persona, _NOTHING),
                job.presentation,
                outcome,
                memories_max=self._memories_max,
            )
            turns.append(
                CompletedTurn(
                    persona=persona,
                    presentation=job.presentation,
                    answer=outcome.answer,
                    choice=scored.choice if scored is not None else "",
                )
            )
        self.turns = tuple(turns)

    def relive(self, past: PastTick) -> None:
        """Move on by a tick that is read back from the record."""
        self.publish(past.delta)
        for turn in past.turns:
            self._states[turn.persona] = advance(
                self._states.get(turn.persona, _NOTHING),
                turn.presentation,
                turn.memories,
                reflected=turn.reflected,
                memories_max=self._memories_max,
            )
        self.turns = past.completed
