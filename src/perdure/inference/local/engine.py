"""The thread that steps a local model, and its bridge to the event loop.

One thread owns the batch: it takes in what has arrived, lets go what was withdrawn, advances
everything by one token, hands out what is done, and starts again. It sleeps when there is nothing
to do. Replies travel back as results of futures on the loop that asked.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from perdure.base.errors import InternalError
from perdure.inference.local.batch import (
    Batch,
    Generated,
    Job,
    Prompt,
    PromptRefusedError,
    ToolsUnsupportedError,
)
from perdure.inference.local.settings import LocalSettings
from perdure.inference.local.spoken import read_spoken
from perdure.records.request import Failure, FailureCause, FinishReason, Reply
from perdure.records.usage import Usage

_LOG = logging.getLogger(__name__)

# How often the loop goes round between two steps, and how long it may take over it.
_BREATH_ROUNDS = 3
_BREATH_MAX_S = 1.0

T = TypeVar("T")
Answer = Reply | Failure


@dataclass(slots=True)
class _Ticket:
    """One request on its way. `prompt` is set when it has been read."""

    number: int
    job: Job
    future: asyncio.Future[Answer]
    prompt: Prompt | None = None

    @property
    def room(self) -> int:
        """The tokens that it may come to fill in the cache."""
        return (self.prompt.tokens if self.prompt is not None else 0) + self.job.tokens_max


class Engine:
    """Runs one batch in one thread. `load` is called in that thread."""

    def __init__(self, load: Callable[[], Batch], *, served: str, settings: LocalSettings) -> None:
        self._load = load
        self._served = served
        self._settings = settings
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._next_number = 1
        self._open_count = 0
        # Shared with the thread, under `_bell`.
        self._bell = threading.Condition()
        self._arrived: deque[_Ticket] = deque()
        self._withdrawn: list[int] = []
        self._closing = False
        self._over: FailureCause | None = None
        # The thread's own.
        self._waiting: deque[_Ticket] = deque()
        self._live: dict[int, _Ticket] = {}

    async def open(self) -> None:
        """Start the thread and wait until the model is loaded. What loading raises, this raises."""
        if self._thread is not None:
            raise InternalError("A local model was opened twice.")
        self._loop = asyncio.get_running_loop()
        loaded: asyncio.Future[None] = self._loop.create_future()
        # A daemon, so that a program that forgot to close can still end.
        self._thread = threading.Thread(
            target=self._serve, args=(loaded,), name="perdure-local-model", daemon=True
        )
        self._thread.start()
        await asyncio.shield(loaded)

    async def close(self) -> None:
        """End the thread. What is still in flight fails as broken off. May be called again."""
        thread = self._thread
        if thread is None:
            return
        with self._bell:
            self._closing = True
            self._bell.notify()
        await asyncio.to_thread(thread.join)

    async def run(self, job: Job) -> Answer:
        """Generate one reply. Cancelling this frees the request's place."""
        if self._loop is None or self._loop is not asyncio.get_running_loop():
            raise InternalError(
                "A local model was called before it was opened, or on another loop."
            )
        if self._open_count >= self._settings.slots + self._settings.waiting_max:
            return Failure(cause=FailureCause.QUEUE_FULL)
        ticket = _Ticket(self._next_number, job, self._loop.create_future())
        self._next_number += 1
        with self._bell:
            if self._closing or self._over is not None:
                return Failure(cause=self._over or FailureCause.TRANSPORT)
            self._arrived.append(ticket)
            self._bell.notify()
        self._open_count += 1
        try:
            return await ticket.future
        finally:
            self._open_count -= 1
            if ticket.future.cancelled():
                with self._bell:
                    self._withdrawn.append(ticket.number)
                    self._bell.notify()

    def _serve(self, loaded: asyncio.Future[None]) -> None:
        try:
            batch = self._load()
        except Exception as fault:  # noqa: BLE001 - `open` raises it: a thread has no caller
            self._end()
            self._post(_fail, loaded, fault)
            return
        self._post(_settle, loaded, None)
        try:
            while self._take():
                self._admit(batch)
                for done in batch.step():
                    self._hand_out(done)
                self._breathe()
        except Exception:  # noqa: BLE001 - logged, and every call fails by a named cause
            _LOG.exception("The local model broke; every call to it fails from now on.")
            self._end(FailureCause.SERVER_ERROR)
        else:
            self._end()

    def _take(self) -> bool:
        """Wait for something to do; False if it is to end."""
        with self._bell:
            while not (self._closing or self._arrived or self._withdrawn):
                if self._waiting or self._live:
                    break
                self._bell.wait()
            return not self._closing

    def _admit(self, batch: Batch) -> None:
        with self._bell:
            arrived, self._arrived = self._arrived, deque()
            withdrawn, self._withdrawn = set(self._withdrawn), []
        for number in withdrawn & self._live.keys():
            del self._live[number]
            batch.drop(number)
        for ticket in arrived:
            if ticket.number not in withdrawn:
                self._read(batch, ticket)
        if withdrawn:
            self._waiting = deque(
                ticket for ticket in self._waiting if ticket.number not in withdrawn
            )
        room = self._settings.cache_tokens - sum(ticket.room for ticket in self._live.values())
        while self._waiting and len(self._live) < self._settings.slots:
            ticket = self._waiting[0]
            if ticket.room > room or ticket.prompt is None:
                break
            room -= ticket.room
            self._waiting.popleft()
            self._live[ticket.number] = ticket
            batch.start(ticket.number, ticket.prompt, ticket.job)

    def _read(self, batch: Batch, ticket: _Ticket) -> None:
        """Make the prompt, and refuse one that this model cannot take."""
        try:
            ticket.prompt = batch.prompt(ticket.job)
        except ToolsUnsupportedError:
            self._answer(ticket, Failure(cause=FailureCause.UNSUPPORTED))
            return
        except PromptRefusedError:
            _LOG.warning("The model's chat template refuses a prompt.", exc_info=True)
            self._answer(ticket, Failure(cause=FailureCause.REJECTED))
            return
        too_long = ticket.prompt.tokens > self._settings.prompt_tokens_max
        if too_long or ticket.room > self._settings.cache_tokens:
            self._answer(ticket, Failure(cause=FailureCause.REJECTED))
            return
        self._waiting.append(ticket)

    def _hand_out(self, done: Generated | int) -> None:
        if isinstance(done, int):
            ticket = self._live.pop(done)
            self._answer(ticket, Failure(cause=FailureCause.SERVER_ERROR))
            return
        ticket = self._live.pop(done.number)
        tokens_in = ticket.prompt.tokens if ticket.prompt is not None else 0
        said = read_spoken(done.text, ticket.job.tools, ticket.job.messages)
        is_cut = done.finish is FinishReason.LENGTH
        reply = Reply(
            text=said.text,
            served=self._served,
            finish=FinishReason.TOOL_CALLS if said.calls and not is_cut else done.finish,
            usage=Usage(input_fresh=tokens_in, output=done.tokens),
            calls=said.calls,
        )
        self._answer(ticket, reply)

    def _answer(self, ticket: _Ticket, answer: Answer) -> None:
        self._post(_settle, ticket.future, answer)

    def _post(self, act: Callable[..., None], *args: object) -> None:
        """Have the loop do something, unless it is gone and nobody waits any more."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(act, *args)

    def _breathe(self) -> None:
        """Let the event loop go round before the next step.

        A step holds the interpreter's lock from beginning to end. Without this pause the loop
        would advance by one round per step, and everything on it would crawl.
        """
        done = threading.Event()
        self._post(self._go_round, done, _BREATH_ROUNDS)
        done.wait(_BREATH_MAX_S)

    def _go_round(self, done: threading.Event, rounds: int) -> None:
        if rounds == 0 or self._loop is None:
            done.set()
        else:
            self._loop.call_soon(self._go_round, done, rounds - 1)

    def _end(self, cause: FailureCause = FailureCause.TRANSPORT) -> None:
        """Answer everything that is open, and nothing more from here on."""
        with self._bell:
            self._over = cause
            left = [*self._live.values(), *self._waiting, *self._arrived]
            self._arrived.clear()
        self._live.clear()
        self._waiting.clear()
        for ticket in left:
            self._answer(ticket, Failure(cause=cause))


def _settle(future: asyncio.Future[T], value: T) -> None:
    if not future.done():
        future.set_result(value)


def _fail(future: asyncio.Future[None], fault: Exception) -> None:
    if not future.done():
        future.set_exception(fault)
