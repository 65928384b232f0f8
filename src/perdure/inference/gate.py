"""The gate before every attempt: first come, first served, within the run's limits."""

from __future__ import annotations

import asyncio
from collections import deque

from perdure.base.clock import Clock
from perdure.inference.limits import Ceiling, Limits, Rate
from perdure.inference.running_clock import RunningClock


class Pass:
    """A right to one attempt, from `Gate.enter` to `Gate.leave`."""

    __slots__ = ("generation", "tokens")

    def __init__(self, generation: int, tokens: int) -> None:
        self.generation = generation
        self.tokens = tokens


class Gate:
    """Lets attempts through as the ceiling and the rates allow; turns away what would wait long."""

    def __init__(self, limits: Limits, clock: Clock, running: RunningClock) -> None:
        self._clock = clock
        self._running = running
        self._limits = limits
        self._waiting: deque[asyncio.Future[None]] = deque()
        now_s = clock.now_s()
        requests, tokens = limits.requests_per_minute, limits.tokens_per_minute
        self._requests = None if requests is None else Rate(requests, now_s)
        self._tokens = None if tokens is None else Rate(tokens, now_s)
        self.ceiling = Ceiling(limits.in_flight_max)
        self.in_flight = 0

    @property
    def counts_tokens(self) -> bool:
        """Whether a pass needs an estimate of its tokens."""
        return self._tokens is not None

    @property
    def queued(self) -> int:
        """How many attempts wait for their turn."""
        return len(self._waiting)

    async def enter(self, tokens: int, patience_s: float) -> Pass | None:
        """Wait for a right to one attempt; None if the queue is full or patience would run out."""
        if self.in_flight >= self.ceiling.limit or self._waiting:
            if len(self._waiting) >= self._limits.queue_max:
                return None
            before_s = self._clock.now_s()
            if not await self._queue(patience_s):
                return None
            patience_s -= self._clock.now_s() - before_s
        else:
            self.in_flight += 1
        if (self._requests or self._tokens) and not await self._pace(tokens, patience_s):
            return None
        return Pass(self.ceiling.generation, tokens)

    def leave(self, right: Pass, used_tokens: int | None) -> None:
        """Give a right back, with the tokens that were really used, if that is known."""
        if self._tokens is not None and used_tokens is not None:
            self._tokens.give_back(right.tokens - used_tokens, self._clock.now_s())
        self._release()

    def wake_all(self) -> None:
        """Let everybody through who waits: the run stops, and each finds that out by itself."""
        while self._waiting:
            self._admit_next()

    async def _queue(self, patience_s: float) -> bool:
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await self._running.within(patience_s, turn)
        except TimeoutError:
            if turn.done() and not turn.cancelled():
                return True  # its turn came at the same instant
            self._waiting.remove(turn)
            return False
        except asyncio.CancelledError:
            self._forget(turn)
            raise
        return True

    def _forget(self, turn: asyncio.Future[None]) -> None:
        if turn.done() and not turn.cancelled():
            self._release()  # the turn came, and nobody is left to take it
        else:
            self._waiting.remove(turn)

    async def _pace(self, tokens: int, patience_s: float) -> bool:
        now_s = self._clock.now_s()
        wait_s = 0.0
        if self._requests is not None:
            wait_s = self._requests.take(1, now_s)
        if self._tokens is not None:
            wait_s = max(wait_s, self._tokens.take(tokens, now_s))
        if wait_s > patience_s:
            self._return_rates(tokens, now_s)
            self._release()
            return False
        if wait_s > 0:
            try:
                await self._clock.sleep(wait_s)
            except asyncio.CancelledError:
                self._return_rates(tokens, self._clock.now_s())
                self._release()
                raise
        return True

    def _return_rates(self, tokens: int, now_s: float) -> None:
        if self._requests is not None:
            self._requests.give_back(1, now_s)
        if self._tokens is not None:
            self._tokens.give_back(tokens, now_s)

    def _release(self) -> None:
        self.in_flight -= 1
        while self._waiting and self.in_flight < self.ceiling.limit:
            self._admit_next()

    def _admit_next(self) -> None:
        turn = self._waiting.popleft()
        if not turn.done():
            self.in_flight += 1
            turn.set_result(None)
