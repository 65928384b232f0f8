"""Runs recorded through the trace's own writers, and the command line called in this process."""

from __future__ import annotations

import asyncio
import json
import shutil
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.support.drive_desk import Desk

from perdure.base.canonical import encode
from perdure.cli.entry import execute
from perdure.population import load_study
from perdure.records.events import (
    IS_CONTENT,
    KIND_OF,
    Batch,
    Completed,
    Cost,
    Event,
    Head,
    Payload,
    ScoreGiven,
    Started,
    TickClosed,
    Turn,
)
from perdure.records.presentation import Impression, Plan, Presentation
from perdure.records.registry import (
    LogPayload,
    RunClosed,
    RunEntry,
    RunState,
    WorldOutcome,
    WorldState,
)
from perdure.records.usage import CostSource, Usage
from perdure.study.identity import Cell, expand, input_hashes
from perdure.testing import MisbehavingServer
from perdure.trace.partition import PartitionWriter
from perdure.trace.registry import Registry

HOSTILE = "evil\x1b[2J\x1b]0;owned\x07\u202e\x9bname"

STUDY = """\
perdure: 1
name: tiny
brief:
  title: A tiny study
  text: Two people stand.
  claims:
    C1: Ann is honest.
ontology:
  attributes:
    lean:
      column: lean
      label: Leaning
      required: true
      scale:
        0: left
        1: right
  outcome:
    name: vote
    column: vote
    question: vote
    values:
      ann: 0
      bob: 1
population:
  file: people.csv
  id: id
questions:
  vote:
    text: Ann or Bob?
    choices:
      ann: {label: Ann}
      bob: {label: Bob}
  reaction:
    text: Do you agree?
variants:
  v1: ""
timeline:
  tick: day
  horizon: 3
  waves: [0, 2]
  wave_question: vote
  exposure_question: reaction
  activation: 0.5
scenarios:
  plain:
    variant: v1
    exposures:
      1: [C1]
seeds: [1, 2]
models:
  baseline:
    provider: baseline
    rule:
      identification: {attribute: lean, midpoint: 0.5, low: ann, high: bob, weight: 1.0}
      noise: 0.1
"""

PEOPLE = "id,lean,vote\n" + "".join(f"p{i},{i % 2},{i // 2 % 2}\n" for i in range(8))


@dataclass(frozen=True)
class Said:
    """What a command wrote and how it ended."""

    status: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """The one JSON document on stdout."""
        return json.loads(self.out)


def write_study(folder: Path) -> Path:
    """Write the small study and its population into a folder."""
    (folder / "people.csv").write_text(PEOPLE)
    path = folder / "study.yaml"
    path.write_text(STUDY)
    return path


@pytest.fixture
def perdure(capsys) -> Callable[..., Said]:
    """Call the command line in this process."""

    def call(*arguments: object) -> Said:
        status = execute([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return Said(status=status, out=captured.out, err=captured.err)

    return call


@pytest.fixture
def study_file(tmp_path: Path) -> Path:
    """Give a small valid study with its population."""
    return write_study(tmp_path)


@pytest.fixture(scope="session")
def originals(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Record each run that is asked for once, in a folder that no test changes."""
    made: dict[str, Path] = {}

    def original(**fields: Any) -> Path:
        name = repr(sorted(fields.items()))
        if name not in made:
            folder = tmp_path_factory.mktemp("original")
            made[name] = asyncio.run(_record(write_study(folder), folder / "run", **fields))
        return made[name]

    return original


@pytest.fixture
def recorded(originals: Callable[..., Path], tmp_path: Path) -> Callable[..., Path]:
    """Give a run of the small study: to the end, or the first `ticks` ticks of it."""

    def record(**fields: Any) -> Path:
        folder = tmp_path / "run"
        if not folder.exists():
            shutil.copytree(originals(**fields), folder)
        return folder

    return record


@dataclass(frozen=True)
class Telling:
    """What a recorded run says of itself."""

    served: str
    cause: str
    amount: int | None


async def _record(
    study_file: Path,
    folder: Path,
    *,
    ticks: int = 3,
    served: str = "baseline",
    cause: str = "",
    last: LogPayload | None = None,
    amount: int | None = 0,
) -> Path:
    loaded = load_study(study_file)
    cells = expand(loaded.study, loaded.population)
    registry = await Registry.create(
        folder,
        entry=RunEntry(
            format=1,
            run_id="0123456789ab",
            study=encode(loaded.study).decode(),
            study_path=str(study_file),
            study_path_relative="../study.yaml",
            hashes=input_hashes(loaded.study, loaded.population, loaded.held_out),
            currency=loaded.study.currency,
        ),
        worlds=[cell.entry for cell in cells],
        personas=loaded.population.personas,
        held_out=loaded.held_out.values,
    )
    for cell in cells:
        await _record_world(registry, cell, folder, ticks, Telling(served, cause, amount))
    done = RunClosed(state=RunState.COMPLETED, exit_status=0)
    if last is not None or ticks == cells[0].entry.horizon:
        await registry.log(last or done)
    await registry.close()
    return folder


async def _record_world(
    registry: Registry, cell: Cell, folder: Path, ticks: int, told: Telling
) -> None:
    world = cell.entry.world_id
    last = cell.entry.horizon - 1
    path = folder / "worlds" / f"{world}.db"
    partition = await PartitionWriter.create(path, cell.header, registry.epoch)
    calls = 0
    for tick in range(ticks):
        batch = _tick(cell, tick, partition.head, told)
        calls += len(cell.header.persona_ids)
        head = await partition.append(batch, epoch=registry.epoch, log_head=registry.log_head)
        outcome = WorldOutcome(
            world_id=world,
            state=WorldState.COMPLETED if tick == last else WorldState.PARTIAL,
            tick=tick,
            cause=told.cause,
            turns=calls,
            calls=calls,
            cost=calls * (told.amount or 0),
            unknown_costs=0 if told.amount is not None else calls,
            digest=head.digest,
        )
        await registry.witness(world, head, outcome)
    await partition.close()


def _tick(cell: Cell, tick: int, head: Head, told: Telling) -> Batch:
    seq, content = head.seq, head.content
    question = "vote" if tick in cell.header.scenario.waves else "reaction"
    events: list[Event] = []

    def put(payload: Payload, persona: str = "") -> int:
        nonlocal seq, content
        seq += 1
        number = None
        if IS_CONTENT[KIND_OF[type(payload)]]:
            number, content = content, content + 1
        events.append(Event(seq=seq, tick=tick, payload=payload, persona=persona, content=number))
        return number or 0

    if tick == 0:
        put(Started())
    people = cell.header.persona_ids
    for job, persona in enumerate(people):
        shown = Presentation(
            persona=persona, impression=Impression(channel="survey"), question=question
        )
        turn = put(Turn(job=job, presentation=shown, prompt=(), answer=HOSTILE), persona)
        if question == "vote":
            choice = "ann" if (job + tick) % 3 else "bob"
            put(ScoreGiven(turn=turn, question="vote", choice=choice), persona)
    for job, persona in enumerate(people):
        put(
            Cost(
                job=job,
                purpose="turn",
                ordinal=0,
                attempt=0,
                role="tier_a",
                model="baseline",
                served=told.served,
                source=CostSource.UNKNOWN if told.amount is None else CostSource.PRICE_TABLE,
                amount=told.amount,
                usage=Usage(input_fresh=10, output=5),
            ),
            persona,
        )
    if tick == cell.entry.horizon - 1:
        put(Completed())
    put(TickClosed(plan=Plan(), jobs=len(people)))
    return Batch(events=tuple(events))


@pytest.fixture(autouse=True)
def _signals() -> Iterator[None]:
    """Let a command that is over, and hears nothing any more, not make this process deaf."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture
def desk(
    perdure: Callable[..., Said], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Desk]:
    """Give a command line with an endpoint of its own, in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    with MisbehavingServer() as server:
        yield Desk(perdure, server)
