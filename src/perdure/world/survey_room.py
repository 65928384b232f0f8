"""The survey room: waves that put one question to everybody, and only read."""

from __future__ import annotations

from perdure.records.presentation import Impression, Presentation
from perdure.world.channel import Draft, Opening, Setting

SURVEY = "survey"


class SurveyRoom:
    """At a tick in `scenario.waves` everyone is asked the wave question; no plan thins a wave."""

    def __init__(self, setting: Setting) -> None:
        """Make the room.

        Raises:
            PluginError: the study does not have the wave question.

        """
        scenario = setting.scenario
        if scenario.waves:
            setting.require_question(scenario.wave_question, "waves, but its wave")
        self._persona_ids = setting.persona_ids
        self._waves = frozenset(scenario.waves)
        self._question = scenario.wave_question

    def open(self, opening: Opening, draft: Draft) -> None:
        """Ask everyone, if this tick is a wave."""
        if opening.tick not in self._waves:
            return
        impression = Impression(channel=SURVEY)
        draft.presentations.extend(
            Presentation(persona=persona, impression=impression, question=self._question)
            for persona in self._persona_ids
        )
