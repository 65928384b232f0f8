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

    def __init__(
        self,
        *,
        latency_s: tuple[float, float] = (0.005, 0.045),
        answers: Sequence[str] = ANSWERS,
    ) -> None:
        super().__init__(responder=self._say)
        self._answers = answers
        self.asked: list[Asked] = []
        self.spread_s = latency_s
        self._unsaid: dict[asyncio.Task[Any] | None, Asked] = {}
        self._writers: dict[asyncio.Task[Any] | None, asyncio.StreamWriter] = {}
        self.play(self.arrive)

    def arrive(self, seen: SeenRequest) -> None:
        """Note a request that has come."""
        key = sha256(str(sorted(seen.body.items())).encode()).digest()
        asked = Asked(key, time.monotonic())
        self._unsaid[asyncio.current_task()] = asked
        self.asked.append(asked)
        first_s, last_s = self.spread_s
        # Read before anything else runs: each request waits its own time.
        self.latency_s = first_s + key[0] / 256 * (last_s - first_s)

    def _say(self, request: dict[str, Any]) -> str:
        asked = self._unsaid[asyncio.current_task()]
        return self._answers[asked.key[1] % len(self._answers)]

    def _answer(self, seen: SeenRequest) -> tuple[int, Any]:
        answer = super()._answer(seen)
        asked = self._unsaid.pop(asyncio.current_task(), None)
        if asked is not None:
            asked.sent_s = time.monotonic()
        return answer

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        self._writers[task] = writer
        try:
            await super()._serve(reader, writer)
        finally:
            del self._writers[task]

    def wait_until_left(self) -> None:
        """Wait until every client is gone and all that it sent has been read."""
        while self._writers:
            time.sleep(0.001)  # noqa: TID251 - a real connection is waited for

    def read_all(self) -> None:
        """Wait until all that was on its way here has been read, if nobody sends any more."""

        async def go_round() -> None:
            for _ in range(100):
                await asyncio.sleep(0.001)

        asyncio.run_coroutine_threadsafe(go_round(), self._loop).result()

    def hang_up(self) -> None:
        """Close every connection on which nothing is open, as servers do that were left alone."""

        def close() -> None:
            for task, writer in self._writers.items():
                if task not in self._unsaid:
                    writer.close()

        self._loop.call_soon_threadsafe(close)
