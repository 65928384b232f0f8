"""One turn: assemble, call, wave, record. At its safe points it asks whether anything arrived."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

import msgspec

from perdure.agent.drive.checkpointing import Workspace, after, is_due
from perdure.agent.drive.conversation import Conversation
from perdure.agent.drive.early import Display, EarlyReads
from perdure.agent.drive.gauge import ContextGauge, whole_input
from perdure.agent.drive.halting import Halt
from perdure.agent.drive.plan import DrivePlan
from perdure.agent.drive.ports import (
    Child,
    ChildEnd,
    Hooks,
    Model,
    ModelFailedError,
    NewPolicy,
    Place,
    SafePoint,
    Steer,
    Stop,
)
from perdure.agent.drive.scribe import Scribe
from perdure.agent.drive.shape import Shape, compared, shape_of
from perdure.agent.drive.watchdog import Exchange, StuckDetector, exchange
from perdure.agent.drive.wave import Wave
from perdure.base.chance import Stream
from perdure.base.crashpoints import crashpoint
from perdure.records.drive import (
    COMPLETION_OF,
    CheckpointCommitted,
    ChildEnded,
    ChildStarted,
    Completion,
    ContextReminded,
    DriveLine,
    EndCause,
    ModelCalled,
    ModelReturned,
    PolicyChanged,
    PromptAssembled,
    SteerReceived,
    WatchdogAction,
    WatchdogFired,
)
from perdure.records.increment import Increment
from perdure.records.record import Record
from perdure.records.request import ChatRequest, FailureCause, FinishReason, Message, Reply
from perdure.records.tools import Writes

# Where a halt can cut a drive, beside its safe points.
IN_CALL = "in_call"
IN_CHILD = "in_child"
IN_WAIT = "in_wait"


class Concluded(Record):
    """A turn after which there is none: with which cause, and the line that it rests on."""

    cause: EndCause
    evidence: tuple[int, ...] = ()


class Active:
    """A drive under way: what its turns carry from one to the next."""

    def __init__(
        self,
        plan: DrivePlan,
        *,
        scribe: Scribe,
        model: Model,
        hooks: Hooks,
        halt: Halt,
        display: Display,
    ) -> None:
        self._plan = plan
        self._scribe = scribe
        self._model = model
        self._hooks = hooks
        self._tools = hooks.tools
        self._halt = halt
        self._display = display
        self.conversation = Conversation(plan.inherited)
        self.turns = 0
        self.point: str = SafePoint.BEFORE_ASSEMBLE
        self._attempt = 0
        self._policy = plan.policy
        self._new_policy: NewPolicy | None = None
        self._letters: list[Steer] = []
        self._has_unread = False
        self._prompt_is_told = False
        self._prior: Shape | None = None
        self._workspace = Workspace.NOT_YET
        self._gauge = ContextGauge(plan.second_threshold, plan.window)
        self._circles = StuckDetector()

    def record(self, line: DriveLine, blobs: dict[str, bytes] | None = None) -> int:
        """Let a line have its effect on the conversation, and hold it; give its number."""
        self.conversation.take(line)
        return self._scribe.hold(line, blobs)

    async def turn(self) -> Stop | Concluded | None:
        """Take one turn. None: there is another one.

        Raises:
            ModelFailedError: the call got no reply; the same turn may be tried again.

        """
        stamp = self._scribe.now()
        if stop := self._ask(SafePoint.BEFORE_ASSEMBLE, stamp):
            return stop
        crashpoint("drive.before-assemble")
        request = self._assemble(stamp)
        if stop := self._ask(SafePoint.BEFORE_CALL, stamp):
            return stop
        early = EarlyReads(self._tools, self._display)
        try:
            reply = await self._call(request, early)
            if isinstance(reply, Stop):
                return reply
            return await self._act_on(with_own_ids(reply), early, stamp)
        finally:
            await early.drop()

    def _assemble(self, stamp: int) -> ChatRequest:
        """Write the request of this turn, and how it differs from the one before."""
        plan = self._plan
        plan.prefix.require_frozen()
        if not self._prompt_is_told:
            self._prompt_is_told = True
            self.record(
                PromptAssembled(
                    run=plan.run,
                    t=stamp,
                    segments=tuple(segment.record for segment in plan.prefix.segments),
                    breakpoints=plan.prefix.breakpoints,
                ),
                {one.record.sha256: one.text.encode() for one in plan.prefix.segments if one.text},
            )
        self.conversation.close()
        shape = shape_of(plan.prefix, self._tools.specs, self.conversation.messages)
        self.record(compared(shape, self._prior, run=plan.run, t=stamp, turn=self.turns))
        self._prior, self._has_unread = shape, False
        system = Message(role="system", content=plan.prefix.text)
        return ChatRequest(
            role=plan.role,
            messages=(*((system,) if system.content else ()), *shape.messages),
            tokens_max=plan.tokens_max,
            temperature=plan.temperature,
            seed=Stream(plan.seed, self.turns, "drive").below(1 << 31),
            tools=self._tools.specs,
        )

    async def _call(self, request: ChatRequest, early: EarlyReads) -> Reply | Stop:
        """Make one attempt. A streamed reply that cannot be read is asked for once in one piece.

        Raises:
            ModelFailedError: there is no whole reply.

        """
        if not self._display.is_on:
            return await self._attempt_at(request, None)
        try:
            return await self._attempt_at(request, early.hear)
        except ModelFailedError as error:
            if error.cause is not FailureCause.BAD_REPLY:
                raise
            await early.drop()
            return await self._attempt_at(request, None)

    async def _attempt_at(
        self, request: ChatRequest, hear: Callable[[Increment], None] | None
    ) -> Reply | Stop:
        self._plan.prefix.require_frozen()
        if self._hooks.forbids is not None and (stop := self._hooks.forbids(request)):
            self.point = SafePoint.BEFORE_CALL
            return stop
        self.record(
            ModelCalled(
                run=self._plan.run,
                t=self._scribe.now(),
                turn=self.turns,
                attempt=self._attempt,
                model=self._model.name,
                segments=self._plan.prefix.hashes,
            )
        )
        self._attempt += 1
        await self._scribe.flush()
        self.point = IN_CALL
        crashpoint("drive.called")
        return await self._halt.race(self._model.chat(request, hear))

    async def _act_on(self, reply: Reply, early: EarlyReads, stamp: int) -> Stop | Concluded | None:
        """Record a reply, do what it asks for, and decide whether that was the last turn."""
        crashpoint("drive.returned")
        number = await self._returned(reply)
        if stop := self._ask(SafePoint.BEFORE_WAVE, stamp):
            return stop
        crashpoint("drive.before-wave")
        writes = [self._tools.writes(call) for call in reply.calls]
        committed = await self._checkpoint(writes, stamp)
        wave = Wave(
            turn=self.turns,
            calls=reply.calls,
            tools=self._tools,
            policy=self._policy,
            has_net=self._hooks.checkpoint is not None,
            can_spawn=self._hooks.spawn is not None,
            scribe=self._scribe,
            halt=self._halt,
            ask=lambda index: self._ask(SafePoint.BEFORE_TOOL_CALL, stamp, index),
            record=self.record,
            early=early.started,
            concurrent=self._plan.concurrent,
        )
        stop = await wave.run()
        self._workspace = after(self._workspace, writes, committed=committed)
        stop = stop or self._ask(SafePoint.BEFORE_SPAWN, stamp)
        stop = await self._spawn(wave.children, stop)
        if stop is not None:
            return stop
        cause = None if reply.calls else _conclusion(reply)
        if cause is None or (cause is EndCause.CONCLUDED and self._has_unread):
            return self._next(exchange(reply.calls, wave.results), stamp)
        self.turns += 1
        evidence = (number,) if cause is EndCause.CONCLUDED else ()
        return Concluded(cause=cause, evidence=evidence)

    async def _returned(self, reply: Reply) -> int:
        """Make a reply durable, because it was paid for; note how full the window is."""
        plan, used = self._plan, whole_input(reply.usage)
        number = self.record(
            ModelReturned(
                run=plan.run,
                t=self._scribe.now(),
                turn=self.turns,
                text=reply.text,
                finish=reply.finish,
                calls=reply.calls,
                served=reply.served,
                usage=None if plan.costs_apart else reply.usage,
                billed=None if plan.costs_apart else reply.billed,
            )
        )
        await self._scribe.flush()
        if used is not None:
            self._hooks.reading.used, self._hooks.reading.window = used, plan.window
        return number

    async def _checkpoint(self, writes: Sequence[Writes], stamp: int) -> bool:
        """Commit the workspace if the rule says so; say whether that was done."""
        if self._hooks.checkpoint is None or not is_due(self._workspace, writes):
            return False
        scope = reduce(Writes.joined, writes, Writes())
        done = await self._hooks.checkpoint(stamp, scope)
        crashpoint("drive.checkpointed")
        self.record(
            CheckpointCommitted(
                run=self._plan.run,
                t=stamp,
                oid=done.oid,
                predecessor=done.predecessor,
                files=done.files,
                scope=scope,
            )
        )
        return True

    async def _spawn(self, children: Sequence[Child], stop: Stop | None) -> Stop | None:
        """Drive what was handed down, one after the other; after a stop none is started."""
        for child in children:
            if stop is not None:
                self._child_ended(child, COMPLETION_OF[stop.cause], stop.cause)
                continue
            assert self._hooks.spawn is not None
            self.record(
                ChildStarted(
                    run=self._plan.run,
                    t=self._scribe.now(),
                    child=child.run,
                    call_id=child.call_id,
                    task=child.task,
                )
            )
            await self._scribe.flush()
            crashpoint("drive.before-spawn")
            end = await self._hooks.spawn(child)
            crashpoint("drive.child-ended")
            self._child_ended(child, end.completion, end.cause)
            self._letters.append(Steer(source=child.run, text=_report(end)))
            stop = self._halt.stop
            self.point = IN_CHILD
        return stop

    def _child_ended(self, child: Child, completion: Completion, cause: EndCause) -> None:
        self.record(
            ChildEnded(
                run=self._plan.run,
                t=self._scribe.now(),
                child=child.run,
                completion=completion,
                cause=cause,
            )
        )

    def _next(self, latest: Exchange, stamp: int) -> Concluded | None:
        """Look back on a whole turn before the next one: at circles, and at the window."""
        self.turns += 1
        self._attempt = 0
        circle = self._circles.look(latest)
        if circle is not None:
            text, is_stuck = circle
            self.record(
                WatchdogFired(
                    run=self._plan.run,
                    t=stamp,
                    action=WatchdogAction.STUCK if is_stuck else WatchdogAction.NUDGE,
                    text=text,
                )
            )
            if is_stuck:
                return Concluded(cause=EndCause.STUCK)
        used = self._hooks.reading.used
        rung = self._gauge.rung(used)
        if used is not None and rung is not None:
            self.record(
                ContextReminded(
                    run=self._plan.run,
                    t=stamp,
                    rung=rung,
                    used=used,
                    window=self._plan.window,
                    text=self._gauge.text(rung, used),
                )
            )
        return None

    def _ask(self, point: SafePoint, stamp: int, call: int = 0) -> Stop | None:
        """Take what arrived at a safe point: a stop wins, words are recorded, a policy may wait."""
        self.point = point
        place = Place(point=point, turn=self.turns, call=call)
        arrived = self._hooks.interrupts.at(place)
        stop = self._halt.stop or next((one for one in arrived if isinstance(one, Stop)), None)
        if stop is not None:
            return stop
        if point is SafePoint.BEFORE_ASSEMBLE:
            arrived = [*self._letters, *arrived]
            self._letters = []
        for one in arrived:
            if isinstance(one, Steer):
                self._has_unread = True
                self.record(
                    SteerReceived(
                        run=self._plan.run, t=stamp, source=one.source, text=one.text, point=point
                    )
                )
            elif isinstance(one, NewPolicy):
                self._new_policy = one
        if point is SafePoint.BEFORE_WAVE and self._new_policy is not None:
            new, self._new_policy = self._new_policy, None
            self._policy = new.policy
            self.record(PolicyChanged(run=self._plan.run, t=stamp, policy=new.policy, by=new.by))
        return None


def with_own_ids(reply: Reply) -> Reply:
    """Give a reply whose calls can be told apart: an id that is there already gets a number."""
    known: set[str] = set()
    calls = []
    for index, call in enumerate(reply.calls):
        own = call.id or f"call-{index}"
        while own in known:
            own = f"{own}-{index}"
        known.add(own)
        calls.append(call if own == call.id else msgspec.structs.replace(call, id=own))
    return msgspec.structs.replace(reply, calls=tuple(calls)) if calls else reply


def _conclusion(reply: Reply) -> EndCause:
    """Say what a reply without calls comes to."""
    if not reply.text.strip():
        return EndCause.EMPTY_REPLY
    if reply.finish is FinishReason.REFUSAL:
        return EndCause.REFUSED
    return EndCause.OUTPUT_CEILING if reply.finish is FinishReason.LENGTH else EndCause.CONCLUDED


def _report(end: ChildEnd) -> str:
    return f"{end.completion.value} ({end.cause.value}). {end.text}".rstrip()
