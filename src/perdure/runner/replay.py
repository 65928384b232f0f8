"""Driving a record again: no model is called, and every event is compared with what is recorded.

The world steps again under the recorded plans, the agent acts again on the recorded replies, and
what they make is put beside the record, event by event. The first difference is named. There are
two causes: the code moved since, or the code is not deterministic.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from perdure.agent import Agent
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
from perdure.records.registry import CallsLost, CallsOrphaned, LogHead, RunForced
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
from perdure.records.scenario import Header
from perdure.records.study import Study
from perdure.runner.calls import WORLD_JOB
from perdure.runner.config import study_file_of
from perdure.runner.difference import first_difference
from perdure.runner.past import PastTick, past_ticks
from perdure.runner.plugins import PluginParts
from perdure.runner.port import TickOpened
from perdure.runner.vectors import unpack
from perdure.runner.world_run import WorldRun
from perdure.study.identity import header_as
from perdure.trace.reader import RunReader
from perdure.world import World

SERVED = "record"
_Place = tuple[int, str, int]


class Divergence(Record):
    """The first event that came out otherwise: its id, and the field with old and new value.

    `forced` names what the run was forced past after that event was made: it is the work of other
    code or other inputs.
    """

    event: str
    wrong: str
    forced: tuple[str, ...] = ()


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


def replay(folder: Path, *, study_file: Path | None = None) -> Replayed:
    """Drive every world of a run again. Each tick is driven under the inputs that held for it.

    The study's own world and agent are loaded from beside `study_file`; by default, from where the
    study is.

    Raises:
        DamagedRecordError: the record does not hold what was written.
        PluginError: a world or agent of the study cannot be loaded.

    """
    with RunReader.open(folder) as reader:
        file = study_file or study_file_of(reader.entry, folder) or Path(reader.entry.study_path)
        driven = _Driven(
            reader=reader,
            personas={persona.id: persona for persona in reader.personas},
            folder=file.parent,
            forces=tuple(row for row in reader.log if isinstance(row, RunForced)),
        )
        worlds = [
            asyncio.run(_replay_world(driven, world.world_id))
            for world in reader.worlds
            if reader.has(world.world_id)
        ]
        return Replayed(run_id=reader.entry.run_id, worlds=tuple(worlds))


@dataclass(frozen=True)
class _Stage:
    """The inputs that a world was lived under from a tick on, and what it is driven with."""

    first: int
    header: Header
    world: World
    agent: Agent


@dataclass(frozen=True, kw_only=True)
class _Driven:
    """A run that is driven again: its record, its people, its study's folder, its forces."""

    reader: RunReader
    personas: Mapping[str, Persona]
    folder: Path
    forces: tuple[RunForced, ...]

    def stages(self, world_id: str) -> list[_Stage]:
        """Give the stages of a world's life, each with the first tick that it may hold for.

        Where two begin at one tick, the later one holds.

        Raises:
            PluginError: a world or agent cannot be loaded or made.

        """
        header = self.reader.header(world_id)
        found = [self._stage(0, header)]
        for force in self.forces:
            if force.study:
                header = header_as(header, msgspec.json.decode(force.study, type=Study))
                found.append(self._stage(force.ticks.get(world_id, -1) + 1, header))
        return found

    def _stage(self, first: int, header: Header) -> _Stage:
        parts = PluginParts(header.agent.agent, [header.scenario.world], self.folder)
        return _Stage(first, header, parts.world(header), parts.agent(header))

    def forced_after(self, world_id: str, tick: int) -> tuple[str, ...]:
        """Name what the run was forced past after a tick was closed."""
        later = [force for force in self.forces if force.ticks.get(world_id, -1) >= tick]
        return tuple(dict.fromkeys(one.name for force in later for one in force.moved))


async def _replay_world(driven: _Driven, world_id: str) -> ReplayedWorld:
    reader = driven.reader
    host, beside = _RecordHost(), _Beside(world_id)
    world: WorldRun | None = None
    ticks = events = 0
    stages = driven.stages(world_id)
    stage: _Stage | None = None
    try:
        for past in past_ticks(reader.events(world_id), lambda name: reader.blob(world_id, name)):
            held = next(one for one in reversed(stages) if one.first <= past.tick)
            if world is None or held is not stage:
                stage = held
                world = await _world_at(driven, stage, past.tick, beside, host)
            host.past = beside.past = past
            host.answers = _answers(past, reader, world_id)
            opened = TickOpened(plan=past.plan, log_head=LogHead(seq=-1, chain=""), epoch=0)
            await world.run_tick(past.tick, opened)
            if beside.divergence is not None:
                break
            ticks, events = ticks + 1, events + len(past.events)
    except PluginError as error:
        beside.divergence = Divergence(event=f"{world_id}, tick {ticks}", wrong=str(error))
    found = beside.divergence
    if found is not None:
        found = msgspec.structs.replace(found, forced=driven.forced_after(world_id, ticks))
    return ReplayedWorld(world_id=world_id, ticks=ticks, events=events, divergence=found)


async def _world_at(
    driven: _Driven, stage: _Stage, tick: int, partition: _Beside, host: _RecordHost
) -> WorldRun:
    """Bring a world to the start of a tick as a resume would."""
    world = WorldRun(
        header=stage.header,
        personas=driven.personas,
        world=stage.world,
        agent=stage.agent,
        partition=partition,
        host=host,
        forced_until=tick - 1,
    )
    await world.begin()
    if tick > 0:
        await world.recall(driven.reader, before=tick)
    return world


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
