"""Driving a record again: no model is called, and every event is compared with what is recorded.

The world steps again under the recorded plans, the agent acts again on the recorded replies, and
what they make is put beside the record, event by event. The first difference is named. There are
two causes: the code moved since, or the code is not deterministic.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from perdure.base.errors import PluginError
from perdure.inference.host import HostStats
from perdure.records.events import (
    KIND_OF,
    AnswerGiven,
    Batch,
    Cost,
    Event,
    Head,
    Reflected,
    Turn,
    TurnNotTaken,
)
from perdure.records.journal import TickOpening
from perdure.records.persona import Persona
from perdure.records.record import Record
from perdure.records.registry import CallsLost, CallsOrphaned, LogHead
from perdure.records.request import (
    Attempt,
    CallKey,
    CallResult,
    ChatRequest,
    EmbedRequest,
    FailureCause,
    Reply,
    Vectors,
)
from perdure.runner.calls import WORLD_JOB
from perdure.runner.difference import first_difference
from perdure.runner.past import PastTick, past_ticks
from perdure.runner.plugins import PluginParts
from perdure.runner.port import TickOpened
from perdure.runner.vectors import unpack
from perdure.runner.world_run import WorldRun
from perdure.trace.reader import RunReader

SERVED = "record"
_Place = tuple[int, str, int]


class Divergence(Record):
    """The first event that came out otherwise: its id, and the field with old and new value."""

    event: str
    wrong: str


class ReplayedWorld(Record):
    """One world driven again: how many ticks and events came out as recorded, and what did not."""

    world_id: str
    ticks: int
    events: int
    divergence: Divergence | None = None


class Replayed(Record):
    """A run driven again, world by world, with no model call made."""

    run_id: str
    worlds: tuple[ReplayedWorld, ...]

    @property
    def diverged(self) -> bool:
        """Whether anything came out otherwise."""
        return any(world.divergence is not None for world in self.worlds)


def replay(folder: Path) -> Replayed:
    """Drive every world of a run again.

    Raises:
        DamagedRecordError: the record does not hold what was written.
        PluginError: a world or agent of the study cannot be loaded.

    """
    with RunReader.open(folder) as reader:
        personas = {persona.id: persona for persona in reader.personas}
        study_folder = Path(reader.entry.study_path).parent
        worlds = [
            asyncio.run(_replay_world(reader, world.world_id, personas, study_folder))
            for world in reader.worlds
            if reader.has(world.world_id)
        ]
        return Replayed(run_id=reader.entry.run_id, worlds=tuple(worlds))


async def _replay_world(
    reader: RunReader, world_id: str, personas: Mapping[str, Persona], study_folder: Path
) -> ReplayedWorld:
    header = reader.header(world_id)
    parts = PluginParts(header.agent.agent, [header.scenario.world], study_folder)
    host, beside = _RecordHost(), _Beside(world_id)
    world = WorldRun(
        header=header,
        personas=personas,
        world=parts.world(header),
        agent=parts.agent(header),
        partition=beside,
        host=host,
    )
    ticks = events = 0
    try:
        await world.begin()
        for past in past_ticks(reader.events(world_id), lambda name: reader.blob(world_id, name)):
            host.past = beside.past = past
            host.answers = _answers(past, reader, world_id)
            opened = TickOpened(plan=past.plan, log_head=LogHead(seq=-1, chain=""), epoch=0)
            await world.run_tick(past.tick, opened)
            if beside.divergence is not None:
                break
            ticks, events = ticks + 1, events + len(past.events)
    except PluginError as error:
        beside.divergence = Divergence(event=f"{world_id}, tick {ticks}", wrong=str(error))
    return ReplayedWorld(
        world_id=world_id, ticks=ticks, events=events, divergence=beside.divergence
    )


class _RecordHost:
    """Answers each call with what is recorded of it."""

    def __init__(self) -> None:
        self.past: PastTick | None = None
        self.answers: dict[_Place, Reply | Vectors | FailureCause] = {}
        self.stop_cause: FailureCause | None = None

    async def call(self, key: CallKey, request: ChatRequest | EmbedRequest) -> CallResult:
        """Give the recorded answer, or the recorded cause.

        Raises:
            PluginError: the record does not hold what the model said to this call.

        """
        answer = self.answers.get((key.job, key.purpose, key.ordinal))
        if answer is None:
            raise PluginError(
                f"Call {key.ordinal} for {key.purpose!r} of job {key.job} ({request.role}) is not "
                "on record, or what it was answered is not.",
                remedy="The agent moved, or it makes calls whose replies no event holds.",
            )
        if isinstance(answer, FailureCause):
            return CallResult(key=key, attempts=(Attempt(failed=answer),))
        return CallResult(key=key, attempts=(Attempt(),), answer=answer)

    async def open_tick(self, opening: TickOpening) -> TickOpening:
        """Open nothing: the record's own plan holds."""
        return opening

    async def lost(self, world: str, tick: int) -> tuple[CallsLost, ...]:  # noqa: ARG002
        """Lose nothing."""
        return ()

    async def orphans(
        self,
        world: str,  # noqa: ARG002
        tick: int,  # noqa: ARG002
        used: Collection[CallKey],  # noqa: ARG002
    ) -> CallsOrphaned | None:
        """Leave nothing over."""
        return None

    async def close_tick(self, world: str, tick: int) -> None:
        """Close nothing."""

    @property
    def holds_open(self) -> bool:
        """Hold nothing open: there is no journal."""
        return False

    def stats(self) -> HostStats:
        """Count nothing: nothing is called."""
        return HostStats(in_flight=0, queued=0, calls=0, failed=0, retries=0, ceiling=0)


class _Beside:
    """A partition that writes nothing: it puts each batch beside the recorded events."""

    def __init__(self, world_id: str) -> None:
        self._world_id = world_id
        self.past: PastTick | None = None
        self.divergence: Divergence | None = None
        self._head = Head(seq=-1, chain="", content=0, digest="")

    @property
    def head(self) -> Head:
        """Where the record stands before the tick that is driven again."""
        return self._head

    @property
    def epoch(self) -> int:
        """No epoch: nothing is written."""
        return 0

    async def append(self, batch: Batch, *, epoch: int, log_head: LogHead) -> Head:  # noqa: ARG002
        """Compare a batch with the recorded tick."""
        assert self.past is not None, "a tick is loaded before it is driven"
        last = self.past.events[-1]
        contents = [e.content for e in self.past.events if e.content is not None]
        self.divergence = diverged(self._world_id, self.past.events, batch.events)
        self._head = Head(
            seq=last.seq,
            chain="",
            content=contents[-1] + 1 if contents else self._head.content,
            digest="",
            tick=last.tick,
        )
        return self._head

    async def finish(self) -> bool:
        """Do nothing."""
        return True

    async def close(self) -> None:
        """Do nothing."""


def diverged(world_id: str, recorded: Sequence[Event], now: Sequence[Event]) -> Divergence | None:
    """Find the first event that came out otherwise; costs are not compared. Pure."""
    old = [event for event in recorded if not isinstance(event.payload, Cost)]
    new = [event for event in now if not isinstance(event.payload, Cost)]
    for was, found in zip(old, new, strict=False):
        kinds = KIND_OF[type(was.payload)], KIND_OF[type(found.payload)]
        if kinds[0] != kinds[1]:
            return Divergence(
                event=f"{world_id}:{was.seq}", wrong=f"it was a {kinds[0]} and is a {kinds[1]}"
            )
        beside = ("persona", was.persona, found.persona), ("content", was.content, found.content)
        for name, left, right in beside:
            if left != right:
                return Divergence(
                    event=f"{world_id}:{was.seq}", wrong=f"{name} was {left!r} and is {right!r}"
                )
        wrong = first_difference(was.payload, found.payload)
        if wrong:
            return Divergence(event=f"{world_id}:{was.seq}", wrong=f"{kinds[0]}: {wrong}")
    if len(old) != len(new):
        return Divergence(
            event=f"{world_id}:{old[-1].seq}",
            wrong=f"the tick had {len(old)} events and has {len(new)}",
        )
    return None


def _answers(
    past: PastTick, reader: RunReader, world_id: str
) -> dict[_Place, Reply | Vectors | FailureCause]:
    """Gather what every call of a tick was answered, by job, purpose and ordinal."""
    found: dict[_Place, Reply | Vectors | FailureCause] = {}
    jobs: dict[int, int] = {}
    ordinals: dict[str, int] = {}
    for event in past.events:
        match event.payload:
            case Turn(job=job, answer=answer):
                assert event.content is not None, "a turn is content"
                jobs[event.content] = job
                found[job, "turn", 0] = Reply(text=answer, served=SERVED)
            case TurnNotTaken(job=job, call=cause) if cause is not None:
                found[job, "turn", 0] = cause
            case Reflected(turn=turn, text=text, failed=cause):
                found[jobs[turn], "reflection", 0] = cause or Reply(text=text, served=SERVED)
            case AnswerGiven() as given:
                ordinal = ordinals.get(given.purpose, 0)
                ordinals[given.purpose] = ordinal + 1
                found[WORLD_JOB, given.purpose, ordinal] = _given(given, reader, world_id)
            case _:
                pass
    return found


def _given(given: AnswerGiven, reader: RunReader, world_id: str) -> Reply | Vectors | FailureCause:
    if given.failed is not None:
        return given.failed
    if given.vectors:
        vectors = unpack(reader.blob(world_id, given.vectors), given.count)
        return Vectors(vectors=vectors, served=SERVED)
    return Reply(text=given.text, served=SERVED)
