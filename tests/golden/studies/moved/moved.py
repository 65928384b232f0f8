"""A user's own world whose code moved while a run of it lay still: what is called out, day by day.

Its run began when the bell was a drum. `tools/record_golden.py` knows what it said then.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from perdure.records.presentation import (
    CompletedTurn,
    Exposure,
    Impression,
    Presentation,
    Stimulus,
    WorldDelta,
)
from perdure.world import BaseWorld

CALLED = "The bell"


class Square(BaseWorld):
    """Somebody calls out what day it is, and how many answered the day before."""

    def reset(self, header: Any) -> None:
        """Come to the square."""
        self.people_here = list(header.persona_ids)

    def step(
        self, tick: int, turns: Sequence[CompletedTurn], plan: Any, answers: Any
    ) -> WorldDelta:
        """Call out the day."""
        what = CALLED if tick else "Somebody"
        call = Stimulus(
            id=f"call-{tick}", kind="call", text=f"{what} says day {tick}; {len(turns)} answered."
        )
        heard = Impression(
            channel="square", exposures=(Exposure(stimulus=call.id, reason="called out"),)
        )
        return WorldDelta(
            tick=tick,
            stimuli=(call,),
            presentations=tuple(
                Presentation(persona=persona, impression=heard, question="bell")
                for persona in self.people_here
            ),
        )
