"""Worlds that do at one tick what no world may do, each as its scenario's name says."""

from __future__ import annotations

import os
import threading
import time
from typing import Any

from perdure.world import SurveyWorld

TICK = 3
BUSY_S = 3.0


class UnrulyWorld(SurveyWorld):
    """A survey room that goes wrong at one tick, if it is called so."""

    def reset(self, header: Any) -> None:
        """Build the room."""
        super().reset(header)
        self._wrong = header.scenario.id

    def step(self, tick: int, *rest: Any) -> Any:
        """Step, or go wrong."""
        if tick == TICK:
            self._go_wrong()
        return super().step(tick, *rest)

    def _go_wrong(self) -> None:
        match self._wrong:
            case "raises":
                raise ZeroDivisionError("the town is gone")
            case "exits":
                os._exit(3)
            case "hangs":
                while True:
                    pass
            case "sleeps":
                threading.Event().wait()
            case "busy":
                until_s = time.monotonic() + BUSY_S
                while time.monotonic() < until_s:
                    pass
            case "eats":
                eaten = []
                while True:
                    eaten.append(bytearray(1 << 26))
