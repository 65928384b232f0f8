"""One sitting of a run in this process, with an ear on everything that it promises and asks.

A process that listens never stops to: whoever calls this is a fork, and ends with it.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from tests.crash.whole.facts import Tell
from tests.crash.whole.loop import LoopClock, OneOrderLoop
from tests.crash.whole.putting import put
from tests.crash.whole.shapes import PRICE, Act, Shape, draw

from perdure.agent.drive.tools.bench import Bench
from perdure.base.canonical import hash_hex
from perdure.base.errors import PerdureError
from perdure.closure.loaded import Watch
from perdure.inference import host as inference_host
from perdure.inference.charges import is_final
from perdure.inference.host import InferenceHost, ProviderSender, Respondent
from perdure.inference.limits import Limits
from perdure.inference.offer import Offer, worst_case
from perdure.inference.retry import RetryPolicy
from perdure.inference.running_clock import RunningClock
from perdure.inference.settlement import settle
from perdure.records.events import Batch, Head
from perdure.records.fingerprint import Code, Fingerprint
from perdure.records.journal import Intent, Settled, TickOpening
from perdure.records.registry import LogPayload
from perdure.records.request import OUTSIDE, CallKey, ChatRequest, EmbedRequest
from perdure.records.tools import ToolAnswer, ToolCall
from perdure.runner import assembly, history
from perdure.testing import Delay, ScriptedProvider
from perdure.trace import database
from perdure.trace.journal import Journal
from perdure.trace.partition import PartitionWriter
from perdure.trace.registry import Registry
from perdure.trace.stop_request import ask_to_stop

ATTEMPTS_MAX = 2
# What stands for the engine's own source, which would fill the registry of every small run.
A_WORD = Fingerprint(python="3", engine={"perdure": Code(text="...")})


def call_of(key: CallKey) -> str:
    """Name a call within its tick."""
    return f"{key.job}/{key.purpose}/{key.ordinal}"


def _kind_of(key: CallKey) -> str:
    """Tell the calls of tools outside the world from those of models."""
    return "effect " if key.purpose == OUTSIDE else ""


class _Asked(ProviderSender):
    """Tells of every attempt at the moment when it reaches the model, which bills it then."""

    def __init__(self, shape: Shape, act: Act, tell: Tell) -> None:
        self._shape, self._act, self._tell = shape, act, tell
        self._key: CallKey | None = None
        self._clock = LoopClock()
        provider = ScriptedProvider(self._play, vectors=self._outcome, clock=self._clock)
        self.roles = dict.fromkeys(("tier_a", "tier_b", "embed"), Respondent(provider, PRICE))
        super().__init__(self.roles, RunningClock(LoopClock()))

    async def send(self, key: CallKey, attempt: int, offer: Offer, timeout_s: float) -> Settled:
        self._tell("sent", key.world, key.tick, call_of(key), attempt, hash_hex(offer.request))
        # Nobody else runs between here and the script.
        self._key = key
        return await super().send(key, attempt, offer, timeout_s)

    def _play(self, request: ChatRequest) -> Any:
        said = self._outcome(request)
        drawn = draw(request.messages, request.seed)
        late_s = 0.001 * (drawn % 4) if self._shape.threads else 0.05 + 0.05 * (drawn % 5)
        return Delay(seconds=late_s, then=said)

    def _outcome(self, request: ChatRequest | EmbedRequest) -> Any:
        assert self._key is not None
        said = self._shape.answer(self._act, self._key, request)
        amount = settle(said, worst_case(request), PRICE).amount
        self._tell("billed", self._key.world, self._key.tick, amount or 0)
        return said


class WrongEndError(Exception):
    """A sitting ended as its act may not end."""


def sit(shape: Shape, number: int, out: Path, tell: Tell) -> None:
    """Run one act of a run to its end.

    Raises:
        WrongEndError: it ended as it may not.

    """
    act = shape.acts[number]
    tell("sat", number)
    _furnish(shape, act, tell)
    work = assembly.run_async(shape.config(act, out), clock=LoopClock())
    status, why = _run(work, on_threads=shape.threads)
    tell("ended", status, why)
    if status not in act.exits:
        raise WrongEndError(f"Act {number} ended with {status}: {why}")


def _run(work: Coroutine[Any, Any, Any], *, on_threads: bool) -> tuple[int, str]:
    factory = asyncio.new_event_loop if on_threads else OneOrderLoop
    with asyncio.Runner(loop_factory=factory) as runner:
        try:
            result = runner.run(work)
        except PerdureError as error:
            return error.exit_status, str(error)
    return result.exit_status, result.cause


def _furnish(shape: Shape, act: Act, tell: Tell) -> None:
    """Give the run a model that tells of what it is asked."""

    def host_for(_models: Any, _currency: str) -> InferenceHost:
        sender = _Asked(shape, act, tell)
        return InferenceHost(
            sender.roles,
            retry=RetryPolicy(attempts_max=ATTEMPTS_MAX),
            limits=Limits(in_flight_max=shape.in_flight_max),
            clock=LoopClock(),
            sender=sender,
        )

    put(assembly, "host_for", host_for)
    put(inference_host, "RunningClock", lambda: RunningClock(LoopClock()))
    put(database, "_CHECKPOINT_PAGES", shape.pages)


def keep_code(code: Fingerprint) -> None:
    """Have every run of this process keep this code, and not look for its own."""
    put(history, "code_of", lambda _config: code)
    if code is A_WORD:
        # A word is not what is loaded: there is nothing to hold that against.
        put(Watch, "begin", lambda *_: None)
        put(Watch, "look", lambda _: None)


class Ears:
    """Listens to the ports of a run: what is promised is told when the promise is made.

    `asks` is told of every tick that closes, and may ask the run to stop.
    """

    def __init__(self, tell: Tell) -> None:
        self.tell = tell
        self._after: Callable[[], None] = lambda: None

    def listen(self) -> None:
        """Begin to listen, for as long as this process lives."""
        self._to_journal()
        self._to_tools()
        self._to_partitions()
        self._to_registry()

    def expect(self, act: Act, out: Path) -> None:
        """Do to the run what the act says, when its first tick closes."""

        def interrupt() -> None:
            self._after = lambda: None
            if act.asks == "stop":
                ask_to_stop(out)
            elif act.asks == "cut":
                os.kill(os.getpid(), signal.SIGINT)
                os.kill(os.getpid(), signal.SIGINT)

        self._after = interrupt

    def _to_journal(self) -> None:
        tell = self.tell
        open_tick, intend, settled = Journal.open_tick, Journal.intend, Journal.settle

        async def opening(self: Journal, opening: TickOpening) -> TickOpening:
            place = opening.world, opening.tick
            is_new = place not in {(one.world, one.tick) for one in self.open_ticks}
            tell("opening", *place)
            held = await open_tick(self, opening)
            tell("opened", *place, is_new)
            return held

        async def intending(self: Journal, intent: Intent) -> None:
            key = intent.key
            call = (key.world, key.tick, call_of(key), intent.attempt)
            kind = _kind_of(key)
            tell(f"{kind}intending", *call, intent.amount or 0)
            await intend(self, intent)
            tell(f"{kind}intended", *call)

        async def settling(self: Journal, key: CallKey, attempt: int, found: Settled) -> None:
            call = (key.world, key.tick, call_of(key), attempt)
            kind = _kind_of(key)
            tell(f"{kind}settling", *call, found.amount or 0)
            await settled(self, key, attempt, found)
            tell(f"{kind}settled", *call, is_final(found))

        put(Journal, "open_tick", opening)
        put(Journal, "intend", intending)
        put(Journal, "settle", settling)

    def _to_tools(self) -> None:
        tell, run = self.tell, Bench.run

        async def running(self: Bench, call: ToolCall) -> ToolAnswer:
            tell("did", call.name, call.arguments)
            return await run(self, call)

        put(Bench, "run", running)

    def _to_partitions(self) -> None:
        tell, ears = self.tell, self
        append = PartitionWriter.append

        async def closing(self: PartitionWriter, batch: Batch, **more: Any) -> Head:
            first = batch.events[0]
            world = self._file._database.path.stem
            tell("closing", world, first.tick)
            head = await append(self, batch, **more)
            tell("closed", world, first.tick, head.seq, head.chain)
            ears._after()
            return head

        put(PartitionWriter, "append", closing)

    def _to_registry(self) -> None:
        tell = self.tell
        log, create, reopen = Registry.log, Registry.create, Registry.open

        async def logging(self: Registry, payload: LogPayload, *beside: Any) -> Any:
            tell("logging", type(payload).__name__)
            head = await log(self, payload, *beside)
            tell("logged", type(payload).__name__)
            return head

        async def created(*arguments: Any, **more: Any) -> Registry:
            tell("claiming", 1)
            return await create(*arguments, **more)

        async def opened(folder: Path) -> Registry:
            registry = await reopen(folder)
            tell("claimed", registry.epoch)
            return registry

        put(Registry, "log", logging)
        put(Registry, "create", created)
        put(Registry, "open", opened)
