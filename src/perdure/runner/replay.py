"""Driving a record again: no model is called, and every event is compared with what is recorded.

The world steps again under the recorded plans, the agent acts again on the recorded replies, and
what they make is put beside the record, event by event. The first difference is named. There are
two causes: the code moved since, or the code is not deterministic. What moved is named too.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import msgspec

from perdure.agent import AGENT_VERSION, Agent
from perdure.agent.drive.tools.function import FunctionTool
from perdure.base.errors import (
    PluginError,
    UsageError,
)
from perdure.closure.compare import compare
from perdure.closure.source import SourceError
from perdure.inference.effects import UNKNOWN
from perdure.inference.host import HostStats
from perdure.inference.reservations import Limit
from perdure.records.events import Batch, Head
from perdure.records.journal import TickOpening
from perdure.records.people import People
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
)
from perdure.records.scenario import Header
from perdure.records.study import Study
from perdure.records.tools import Effect, ToolAnswer, ToolCall
from perdure.runner.config import study_file_of
from perdure.runner.divergence import UNRECORDED, Divergence, Found, diverged, divergence_of
from perdure.runner.history import code_at
from perdure.runner.moved import moved_code, told
from perdure.runner.past import PastTick, past_ticks
from perdure.runner.plugins import PluginParts
from perdure.runner.port import TickOpened
from perdure.runner.recorded_calls import (
    Answer,
    Place,
    ReadBlob,
    recorded_attempts,
    recorded_calls,
    recorded_effects,
)
from perdure.runner.world_run import WorldRun
from perdure.study.identity import header_as
from perdure.trace.forced import study_in_force
from perdure.trace.reader import RunReader
from perdure.world import World

_EITHER = "The code moved since, or it is not deterministic."
_NOT_THE_CODE = (
    "No code that decides the run moved since, so it is not deterministic, or goes by something "
    "that is not its code."
)


class ReplayedWorld(Record):
    """One world driven again: how many ticks and events came out as recorded, and what did not."""

    world_id: str
    ticks: int
    events: int
    divergence: Divergence | None = None


class Replayed(Record):
    """A run driven again, world by world, with no model call made.

    If it came out otherwise, `causes` says in sentences what can have made it so.
    """

    run_id: str
    worlds: tuple[ReplayedWorld, ...]
    causes: tuple[str, ...] = ()

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
            people=People(personas=tuple(reader.personas), graph=tuple(reader.graph)),
            folder=file.resolve().parent,
            forces=tuple(row for row in reader.log if isinstance(row, RunForced)),
        )
        worlds = tuple(
            asyncio.run(_replay_world(driven, world.world_id))
            for world in reader.worlds
            if reader.head(world.world_id) is not None
        )
        replayed = Replayed(run_id=reader.entry.run_id, worlds=worlds)
        if all(world.divergence is None or world.divergence.forced for world in worlds):
            return replayed
        return msgspec.structs.replace(replayed, causes=_causes(driven))


@dataclass(frozen=True)
class _Stage:
    """The inputs that a world was lived under from a tick on, and what it is driven with."""

    first: int
    header: Header
    world: World
    agent: Agent
    outside: Sequence[FunctionTool]


@dataclass(frozen=True, kw_only=True)
class _Driven:
    """A run that is driven again: its record, its people, its study's folder, its forces."""

    reader: RunReader
    personas: Mapping[str, Persona]
    people: People
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
        parts = PluginParts(header.agent, [header.scenario.world], self.folder)
        return _Stage(first, header, parts.world(header), parts.agent(header), parts.outside)

    def forced_after(self, world_id: str, tick: int) -> tuple[str, ...]:
        """Name what the run was forced past after a tick was closed."""
        later = [force for force in self.forces if force.ticks.get(world_id, -1) >= tick]
        return tuple(dict.fromkeys(one.name for force in later for one in force.moved))


async def _replay_world(driven: _Driven, world_id: str) -> ReplayedWorld:
    reader = driven.reader
    blob = partial(reader.blob, world_id)
    host, beside = _RecordHost(), _Beside(blob)
    stages = driven.stages(world_id)
    stage: _Stage | None = None
    world: WorldRun | None = None
    ticks = events = 0
    divergence = None
    for past in past_ticks(reader.events(world_id), blob):
        host.load(
            recorded_calls(past.events, blob),
            recorded_attempts(past.costs),
            recorded_effects(past.events),
        )
        beside.load(past)
        opened = TickOpened(
            plan=past.plan, log_head=LogHead(seq=-1, chain=""), epoch=0, due=past.due
        )
        raised: PluginError | None = None
        held = next(one for one in reversed(stages) if one.first <= past.tick)
        try:
            if world is None or held is not stage:
                stage = held
                world = await _world_at(driven, stage, past.tick, beside, host)
            await world.run_tick(past.tick, opened)
        except PluginError as error:
            raised = error
        divergence = divergence_of(world_id, past, beside.found, host.unrecorded, raised)
        if divergence is not None:
            forced = driven.forced_after(world_id, past.tick)
            divergence = msgspec.structs.replace(divergence, forced=forced)
            break
        ticks, events = ticks + 1, events + len(past.events)
    return ReplayedWorld(world_id=world_id, ticks=ticks, events=events, divergence=divergence)


async def _world_at(
    driven: _Driven, stage: _Stage, tick: int, partition: _Beside, host: _RecordHost
) -> WorldRun:
    """Bring a world to the start of a tick as a resume would."""
    world = WorldRun(
        header=stage.header,
        personas=driven.personas,
        people=driven.people,
        world=stage.world,
        agent=stage.agent,
        outside=stage.outside,
        partition=partition,
        host=host,
        forced_until=tick - 1,
        quorum=0.0,
    )
    await world.begin()
    if tick > 0:
        await world.recall(driven.reader, before=tick)
    return world


def _causes(driven: _Driven) -> tuple[str, ...]:
    """Say what can have made a record come out otherwise: what moved since, or else chance."""
    reader = driven.reader
    headers = [
        reader.header(world.world_id) for world in reader.worlds if reader.has(world.world_id)
    ]
    own = [name for one in headers for name in (*one.agent.code, one.scenario.world)]
    study = msgspec.json.decode(study_in_force(reader.entry, reader.log), type=Study)
    try:
        now = code_at(driven.folder, own, study.files)
    except (PluginError, SourceError, UsageError):
        return (_EITHER,)
    forced = [row.fingerprint for row in driven.forces]
    then = [code for code in (reader.entry.fingerprint, *forced) if code is not None]
    if not then:
        return (_EITHER,)
    refusing = dict.fromkeys(one for code in then for one in compare(code, now).refusing)
    if not refusing:
        return (_NOT_THE_CODE,)
    named = "; ".join(told(one) for one in moved_code(refusing))
    was = reader.entry.versions.get("agent", str(AGENT_VERSION))
    renewed = f" The persona agent was version {was} and is version {AGENT_VERSION}."
    return (
        f"Code that decides the run moved since: {named}."
        + (renewed if was != str(AGENT_VERSION) else ""),
        "If that is not the reason, the code is not deterministic.",
    )


class _RecordHost:
    """Answers each call of a tick with what is recorded of it, and notes those that are not."""

    def __init__(self) -> None:
        self._answers: dict[Place, Answer] = {}
        self._attempts: dict[Place, tuple[Attempt, ...]] = {}
        self._effects: dict[int, Iterator[tuple[ToolCall, ToolAnswer]]] = {}
        self.unrecorded: list[CallKey] = []
        self.stop_cause: FailureCause | None = None

    def load(
        self,
        answers: dict[Place, Answer],
        attempts: dict[Place, tuple[Attempt, ...]],
        effects: dict[int, list[tuple[ToolCall, ToolAnswer]]],
    ) -> None:
        """Take the answers of the tick that is driven next, what they had cost, and of tools."""
        self._effects = {job: iter(told) for job, told in effects.items()}
        self._answers = answers
        self._attempts = attempts
        self.unrecorded = []

    async def call(self, key: CallKey, request: ChatRequest | EmbedRequest) -> CallResult:  # noqa: ARG002
        """Give the recorded answer, or the recorded cause.

        A call that is not on record fails, so that the tick comes to its end and can be compared:
        what differs before the call is then named first.
        """
        place = key.job, key.purpose, key.ordinal
        answer = self._answers.get(place)
        if answer is None:
            self.unrecorded.append(key)
            answer = UNRECORDED
        if isinstance(answer, FailureCause):
            return CallResult(key=key, attempts=(Attempt(failed=answer),))
        attempts = self._attempts.get(place, (Attempt(),))
        return CallResult(key=key, attempts=attempts, answer=answer)

    async def begin_effect(
        self,
        key: CallKey,
        call: ToolCall,
        effect: Effect,  # noqa: ARG002 - whatever it is, nothing is done
    ) -> ToolAnswer:
        """Give the recorded answer: nothing is done outside.

        Calls that are answered without being made, such as refused ones, are passed over.
        """
        for made, answer in self._effects.get(key.job, ()):
            if made == call:
                return answer
        self.unrecorded.append(key)
        return UNKNOWN

    async def end_effect(self, key: CallKey, answer: ToolAnswer) -> None:
        """Never happen: every call is answered before it is made."""

    async def open_tick(self, opening: TickOpening) -> TickOpening:
        """Open nothing: the record's own plan holds."""
        return opening

    def refusal(self, world: str, tick: int) -> Limit | None:  # noqa: ARG002
        """Refuse nothing: nothing is paid."""
        return None

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

    def __init__(self, blob: ReadBlob) -> None:
        self._blob = blob
        self._past: PastTick | None = None
        self.found: Found | None = None
        self._head = Head(seq=-1, chain="", content=0, digest="")

    def load(self, past: PastTick) -> None:
        """Take the recorded tick that is driven next."""
        self._past, self.found = past, None

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
        assert self._past is not None, "a tick is loaded before it is driven"
        last = self._past.events[-1]
        contents = [e.content for e in self._past.events if e.content is not None]
        self.found = diverged(self._past.events, batch.events, self._blob, batch.blobs)
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
