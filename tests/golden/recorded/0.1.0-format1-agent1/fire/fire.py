"""A user's own world, in front of the product's own agent: one of its worlds fails."""

from __future__ import annotations

from collections.abc import Sequence

from perdure.records.presentation import (
    CompletedTurn,
    Exposure,
    Impression,
    NeedAnswer,
    Plan,
    Presentation,
    Stimulus,
    WorldDelta,
)
from perdure.records.scenario import Header
from perdure.world import BaseWorld


class Evening(BaseWorld):
    """Everybody hears what the first of them said an hour ago, until there is an alarm."""

    def reset(self, header: Header) -> None:
        """Begin the evening."""
        self.header = header
        self.alarm = int(header.scenario.settings.get("alarm", -1))

    def step(
        self,
        tick: int,
        turns: Sequence[CompletedTurn],
        plan: Plan,
        answers: Sequence[NeedAnswer],
    ) -> WorldDelta:
        """Let one speak, and all be asked."""
        if tick == self.alarm:
            raise RuntimeError("everybody has left")
        said = turns[0].answer if turns and turns[0].answer.strip() else "Good evening."
        word = Stimulus(id=f"h{tick}", kind="word", text=said)
        impression = Impression(
            channel="table", exposures=(Exposure(stimulus=word.id, reason="said"),)
        )
        return WorldDelta(
            tick=tick,
            stimuli=(word,),
            presentations=tuple(
                Presentation(persona=name, impression=impression, question="mood")
                for name in self.header.persona_ids
            ),
        )
