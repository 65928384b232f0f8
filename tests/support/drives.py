"""A simulator of drives: a counting clock, scripted model, tools and interrupts, a kept ledger.

It calls the very `drive` that everybody calls; there is no second loop.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from perdure.agent.drive.conversation import Conversation
from perdure.agent.drive.drive import Frozen, drive
from perdure.agent.drive.handoff import Brief
from perdure.agent.drive.plan import DrivePlan
from perdure.agent.drive.ports import (
    Checkpoint,
    Child,
    ChildEnd,
    Hooks,
    Interrupt,
    Model,
    Place,
    SafePoint,
    Stop,
    Tools,
)
from perdure.agent.drive.prefix import Document, freeze
from perdure.base.canonical import encode
from perdure.base.errors import StorageError
from perdure.records.drive import DRIVE_KIND_OF, DriveLine, EndCause
from perdure.records.increment import Increment
from perdure.records.tools import Writes
from perdure.testing.scripted_model import ScriptedModel, Step
from perdure.testing.scripted_tools import Answers, ScriptedTool, ScriptedTools

PREFIX = freeze({"house": [Document(name="rules.md", data=b"Be brief.")]})


class CountingClock:
    """A clock that is one later each time that it is asked."""

    def __init__(self, fails_at: int | None = None) -> None:
        self.count = 0
        self._fails_at = fails_at

    def __call__(self) -> int:
        self.count += 1
        if self._fails_at is not None and self.count > self._fails_at:
            raise OSError("the clock stopped")
        return self.count - 1


class KeptLedger:
    """Keeps lines and counts flushes; `dies_at` is the flush that fails, and all after it."""

    def __init__(self, dies_at: int | None = None) -> None:
        self.lines: list[DriveLine] = []
        self.blobs: dict[str, bytes] = {}
        self.flushes: list[int] = []
        self._dies_at = dies_at

    async def append(self, lines: Sequence[DriveLine], blobs: dict[str, bytes]) -> None:
        if self._dies_at is not None and len(self.flushes) >= self._dies_at:
            raise StorageError("The disk is gone.")
        for name, data in blobs.items():
            assert hashlib.sha256(data).hexdigest() == name
        self.lines += lines
        self.blobs.update(blobs)
        self.flushes.append(len(self.lines))

    @property
    def bytes(self) -> bytes:
        """Every line as canonical JSON after its kind."""
        return b"".join(
            DRIVE_KIND_OF[type(line)].encode() + b" " + encode(line) + b"\n" for line in self.lines
        )

    @property
    def kinds(self) -> list[str]:
        return [DRIVE_KIND_OF[type(line)] for line in self.lines]


class ScriptedInterrupts:
    """Gives what was planned for a place, once; `halt` sets off the one that cuts what runs."""

    def __init__(self, planned: Mapping[tuple[SafePoint, int, int], Sequence[Interrupt]]) -> None:
        self._planned = dict(planned)
        self._halt: asyncio.Future[Stop] | None = None
        self.asked: list[Place] = []
        self._early: Stop | None = None

    def at(self, place: Place) -> Sequence[Interrupt]:
        self.asked.append(place)
        return self._planned.pop((place.point, place.turn, place.call), ())

    async def halted(self) -> Stop:
        self._halt = asyncio.get_running_loop().create_future()
        if self._early is not None:
            return self._early
        return await self._halt

    def halt(self, by: str = "a person") -> None:
        """Let the halt arrive now."""
        self._early = Stop(cause=EndCause.HALT, by=by)
        if self._halt is not None and not self._halt.done():
            self._halt.set_result(self._early)


def plan(**changes: object) -> DrivePlan:
    """Make a plan of a small task."""
    asked: dict[str, object] = {
        "run": "r1",
        "who": "clerk",
        "task": "Count the doors.",
        "goal": "a number",
        "job": "task.md",
        "prefix": PREFIX,
        "model": "scripted",
        "seed": "7",
    }
    return DrivePlan(**{**asked, **changes})  # type: ignore[arg-type]


@dataclass
class Simulation:
    """One drive to be simulated, and what is there to look at afterwards."""

    steps: Sequence[Step] = ()
    tools: Sequence[ScriptedTool] = ()
    answers: Answers = field(default_factory=dict)
    interrupts: Mapping[tuple[SafePoint, int, int], Sequence[Interrupt]] = field(
        default_factory=dict
    )
    plan: DrivePlan = field(default_factory=plan)
    net: bool = True
    sink: Callable[[Increment], None] | None = None
    secrets: Callable[[str], str] = str
    clock: Callable[[], int] = field(default_factory=CountingClock)
    ledger: KeptLedger = field(default_factory=KeptLedger)
    face: Tools | None = None
    brain: Model | None = None
    spawn: Callable[[Child], ChildEnd] | None = None
    wait: Callable[[int], object] | None = None
    brief: Brief = field(default_factory=Brief)

    def __post_init__(self) -> None:
        self.model = ScriptedModel(self.steps)
        self.scripted_tools = ScriptedTools(self.tools, answers=self.answers)
        self.heard = ScriptedInterrupts(self.interrupts)
        self.checkpoints: list[Writes] = []
        self.waits: list[int] = []
        self.hooks = Hooks(
            now=self.clock,
            interrupts=self.heard,
            tools=self.face or self.scripted_tools,
            wait=self._wait,
            secrets=self.secrets,
            checkpoint=self._checkpoint if self.net else None,
            sink=self.sink,
            spawn=self._spawn if self.spawn is not None else None,
        )

    async def go(self) -> Frozen:
        """Drive it."""
        return await drive(self.plan, self.ledger, self.brain or self.model, self.hooks, self.brief)

    def run(self) -> Frozen:
        """Drive it, in a loop of its own."""
        return asyncio.run(self.go())

    @property
    def kinds(self) -> list[str]:
        return self.ledger.kinds

    async def _wait(self, until: int) -> None:
        self.waits.append(until)
        if self.wait is not None:
            result = self.wait(until)
            if isinstance(result, asyncio.Event):
                await result.wait()

    async def _checkpoint(self, _: int, writes: Writes) -> Checkpoint:
        self.checkpoints.append(writes)
        return Checkpoint(oid=f"{len(self.checkpoints):040x}")

    async def _spawn(self, child: Child) -> ChildEnd:
        assert self.spawn is not None
        return self.spawn(child)


def rebuilt(lines: Sequence[DriveLine]) -> Conversation:
    """Fold the lines of a ledger as a reader does."""
    conversation = Conversation()
    for line in lines:
        conversation.take(line)
    return conversation
