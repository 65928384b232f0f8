"""A real server that answers by the prompt alone, and notes when each request came and went."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from perdure.testing import MisbehavingServer, SeenRequest

ANSWERS = ("Ada Hill. I agree.", "Ben Cole. I disagree.", "I do not know.")


@dataclass
class Asked:
    """One request: what was asked, and the monotonic instants of its arrival and of its reply.

    `sent_s` is the instant just before the reply was sent; None as long as there is none.
    """

    key: bytes
    arrived_s: float
    sent_s: float | None = None


class WatchingServer(MisbehavingServer):
    """Answers after 5 to 45 ms; delay and answer depend on what is asked, and on that alone."""

    def __init__(self, *, latency_s: tuple[float, float] = (0.005, 0.045)) -> None:
        super().__init__(responder=self._say)
        self.asked: list[Asked] = []
        self.spread_s = latency_s
        self._unsaid: dict[asyncio.Task[Any] | None, Asked] = {}
        self.play(self._arrive)

    def _arrive(self, seen: SeenRequest) -> None:
        key = sha256(str(sorted(seen.body.items())).encode()).digest()
        asked = Asked(key, time.monotonic())
        self._unsaid[asyncio.current_task()] = asked
        self.asked.append(asked)
        first_s, last_s = self.spread_s
        # Read before anything else runs: each request waits its own time.
        self.latency_s = first_s + key[0] / 256 * (last_s - first_s)

    def _say(self, request: dict[str, Any]) -> str:
        asked = self._unsaid.pop(asyncio.current_task())
        asked.sent_s = time.monotonic()
        return ANSWERS[asked.key[1] % len(ANSWERS)]

    @property
    def open_count(self) -> int:
        """How many requests have no reply yet."""
        return sum(one.sent_s is None for one in self.asked)


def may_be_lost(asked: Sequence[Asked], kill_s: float, late_s: float) -> list[bytes]:
    """List what a kill at that instant may have cost, of the requests of the killed process.

    That is what was open, and what was replied to in the last `late_s` seconds before the kill: a
    reply may be on its way, or not durable yet. Nothing else may be asked again.
    """
    return [one.key for one in asked if one.sent_s is None or one.sent_s >= kill_s - late_s]
