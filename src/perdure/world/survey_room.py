"""The survey room: waves that put questions to everybody, and only read."""

from __future__ import annotations

from collections.abc import Sequence

from perdure.base.chance import Stream
from perdure.records.presentation import Impression, Presentation
from perdure.world.channel import Draft, Opening, Setting

SURVEY = "survey"


class SurveyRoom:
    """At a tick in `scenario.waves` everyone is asked its questions; no plan thins a wave."""

    def __init__(self, setting: Setting) -> None:
        """Make the room.

        Raises:
            PluginError: the study does not have the wave question.

        """
        scenario = setting.scenario
        for question in (scenario.wave_questions or ("",)) if scenario.waves else ():
            setting.require_question(question, "waves, but its wave")
        self._world_seed = setting.world_seed
        self._persona_ids = setting.persona_ids
        self._waves = frozenset(scenario.waves)
        self._questions = scenario.wave_questions
        self._shuffles = scenario.shuffle_questions

    def open(self, opening: Opening, draft: Draft) -> None:
        """Ask everyone, if this tick is a wave."""
        if opening.tick not in self._waves:
            return
        impression = Impression(channel=SURVEY)
        draft.presentations.extend(
            Presentation(persona=persona, impression=impression, question=question)
            for persona in self._persona_ids
            for question in self._order(opening.tick, persona)
        )

    def _order(self, tick: int, persona: str) -> Sequence[str]:
        if not self._shuffles:
            return self._questions
        order = list(self._questions)
        Stream(self._world_seed, tick, "questions", persona).shuffle(order)
        return order
