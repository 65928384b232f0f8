"""What earlier runners of such studies got wrong, each fault under its own name, does not happen.

`docs/older-faults.md` lists them, with those that have their test elsewhere.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.runner.test_resume import answer, go, stopping_after, vectors
from tests.runner.test_resume import study as ranking
from tests.support.golden import STUDIES, GoldenServer, copy_studies
from tests.support.town import OwnParts, Ran, run_in_memory, town

from perdure import runner
from perdure.population import load_study
from perdure.records.events import Completed, Reflected, TickClosed, Turn
from perdure.records.presentation import (
    Exposure,
    Impression,
    Plan,
    Presentation,
    Stimulus,
    WorldDelta,
)
from perdure.records.record import Record
from perdure.records.registry import RunForced, RunPaused, RunState, WorldState
from perdure.records.request import ChatRequest, FailureCause
from perdure.records.scenario import Header
from perdure.records.usage import Price
from perdure.runner.config import RunConfig
from perdure.runner.governor import Governor
from perdure.runner.past import PastTick, past_ticks
from perdure.runner.port import TickOpened, TickPaused
from perdure.runner.replay import replay
from perdure.study.identity import input_hashes
from perdure.testing import ScriptedProvider
from perdure.trace.memory import MemoryPartition, MemoryPartitions
from perdure.trace.reader import RunReader
from perdure.world import BaseWorld, ChannelWorld

# What of a study is in no hash of its own, and why that is right.
NOT_HASHED = {
    "format": "the version of the study file's format",
    "population": "the people themselves are hashed, and their real choices",
    "endpoint": "how a model is reached",
    "budget": "it decides no answer; an edited one is compared as it is, not by a hash",
    "price_as": "whose price it is; the price itself is hashed",
    "price_source": "where a price was looked up; the price itself is hashed",
    "files": "the files themselves are compared, by name and content, beside the code",
}


def _changed(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Change one leaf of a value at a time; give its path and the value with the change."""
    if isinstance(value, Record):
        for name in value.__struct_fields__:
            for where, one in _changed(getattr(value, name), f"{path}.{name}"):
                yield where, replace(value, **{name: one})
    elif isinstance(value, dict):
        for key, held in value.items():
            for where, one in _changed(held, f"{path}[{key}]"):
                yield where, {**value, key: one}
        yield f"{path}[new]", {**value, "new": next(iter(value.values()), "new")}
    elif isinstance(value, tuple):
        for place, held in enumerate(value):
            for where, one in _changed(held, f"{path}[{place}]"):
                yield where, (*value[:place], one, *value[place + 1 :])
        yield f"{path}[:-1]", value[:-1] if value else ("new",)
    else:
        bound = Price(input_fresh=1, output=1) if path.endswith("price_bound") else None
        yield path, bound or _another(value)


def _another(leaf: Any) -> Any:
    if leaf is None:
        return "new"
    if isinstance(leaf, Enum):
        return next(one for one in type(leaf) if one is not leaf)
    return not leaf if isinstance(leaf, bool) else leaf + type(leaf)(1)


def test_a_setting_outside_the_hashes() -> None:
    """Every setting of a study moves a hash that a resume compares; what does not is listed."""
    config = town(agent=None)
    study = replace(
        config.study,
        scenarios=tuple(replace(one, settings={"a": "b"}) for one in config.study.scenarios),
        agent=replace(config.study.agent, settings={"c": "d"}),
    )

    def hashes(changed: Any) -> dict[str, str]:
        return input_hashes(changed, config.population, config.held_out)

    before, unmoved, changes = hashes(study), Counter[str](), 0
    for path, changed in _changed(study, ""):
        changes += 1
        if hashes(changed) == before:
            named = [name for name in NOT_HASHED if f".{name}" in path]
            assert named, f"{path} is in no hash"
            unmoved[named[0]] += 1
    assert changes > 150
    assert set(unmoved) == set(NOT_HASHED)


def test_a_pause_that_is_the_end() -> None:
    """A run that pauses goes on when it is asked to, as often as it pauses, to the same end."""
    config = town(seeds=(1,))
    whole = run_in_memory(config, ScriptedProvider(answer))
    ran: Ran | None = None
    pauses = 0
    while ran is None or ran.result.state is not RunState.COMPLETED:
        left = [9]

        def play(request: ChatRequest, left: list[int] = left) -> Any:
            left[0] -= 1
            return FailureCause.OUT_OF_MONEY if left[0] < 0 else answer(request)

        ran = run_in_memory(config, ScriptedProvider(play), after=ran)
        pauses += ran.result.exit_status == 76
        assert pauses < 50
    assert pauses > 3
    assert sum(isinstance(row.payload, RunPaused) for row in ran.run.log) == pauses
    assert ran.digests == whole.digests


def _prompts(ran: Ran, place: int) -> list[tuple[int, str, tuple[str, ...]]]:
    """List the hashes of every prompt of a world, reflections included."""
    return [
        (event.tick, event.persona, tuple(part.sha256 for part in event.payload.prompt))
        for event in ran.events(place)
        if isinstance(event.payload, Turn | Reflected)
    ]


@pytest.mark.parametrize("calls", [6, 10, 14, 18])
def test_a_resume_that_loses_its_vectors(calls: int) -> None:
    """With embeddings on, a resumed run sends the prompts of the whole one, hash for hash."""
    whole = go(ranking(), ScriptedProvider(answer, vectors=vectors))
    stopped = go(ranking(), stopping_after(calls))
    assert stopped.result.state is RunState.PARTIAL
    provider = ScriptedProvider(answer, vectors=vectors)
    resumed = go(ranking(), provider, after=stopped)
    assert provider.embeddings
    for place in range(2):
        assert _prompts(resumed, place) == _prompts(whole, place)
        assert _prompts(whole, place)


class Halved:
    """Gives the plan of half the activation at two ticks, whatever the governor would give."""

    TICKS = (1, 3)

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        real = Governor.open_tick

        async def open_tick(
            governor: Governor, world_id: str, tick: int
        ) -> TickOpened | TickPaused | None:
            opened = await real(governor, world_id, tick)
            if not isinstance(opened, TickOpened) or tick not in self.TICKS:
                return opened
            return replace(opened, plan=Plan(activation=0.5, optional_work=False))

        monkeypatch.setattr(Governor, "open_tick", open_tick)


def test_a_replay_at_another_activation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is driven again is driven under the plan that each tick was lived under."""
    copy_studies(STUDIES, tmp_path)
    path = tmp_path / "survey" / "study.yaml"
    with GoldenServer(tmp_path) as server, pytest.MonkeyPatch.context() as patched:
        server.serve(path)
        Halved(patched)
        loaded = load_study(path)
        config = RunConfig(
            study=loaded.study,
            population=loaded.population,
            held_out=loaded.held_out,
            study_path=str(path),
            out=str(tmp_path / "run"),
        )
        assert runner.run(config).exit_status == 0
    with RunReader.open(tmp_path / "run") as reader:
        closed = [
            (event.tick, event.payload.plan.activation)
            for event in reader.events(reader.worlds[0].world_id)
            if isinstance(event.payload, TickClosed)
        ]
    assert dict(closed) == {0: 1.0, 1: 0.5, 2: 1.0, 3: 0.5, 4: 1.0, 5: 1.0}
    assert not replay(tmp_path / "run").diverged
    # The control: under the plan that is given by default it comes out otherwise.
    real = past_ticks

    def forgetting(*of: Any) -> Iterator[PastTick]:
        for past in real(*of):
            yield dataclasses.replace(past, plan=Plan())

    monkeypatch.setattr("perdure.runner.replay.past_ticks", forgetting)
    assert replay(tmp_path / "run").diverged


def test_a_resume_at_another_activation(monkeypatch: pytest.MonkeyPatch) -> None:
    """A world is rebuilt under the plans that it was lived under, not under those of now."""
    config = town(seeds=(1,))
    with pytest.MonkeyPatch.context() as patched:
        Halved(patched)
        whole = run_in_memory(config, ScriptedProvider(answer))
        stopped = run_in_memory(config, stopping_after(26), attempts_max=1)
        closed = [outcome.tick for outcome in stopped.result.worlds]
        assert stopped.result.state is RunState.PARTIAL
        assert min(closed) >= max(Halved.TICKS), (
            "stopped after the ticks that were planned otherwise"
        )
    resumed = run_in_memory(config, ScriptedProvider(answer), after=stopped)
    assert resumed.result.state is RunState.COMPLETED
    assert resumed.digests == whole.digests


class Poster(BaseWorld):
    """Shows its own scenario's text under an id that every cell uses."""

    def reset(self, header: Header) -> None:
        self.header = header

    def step(
        self,
        tick: int,
        turns: Any,
        plan: Plan,
        answers: Any,
    ) -> WorldDelta:
        stimuli: tuple[Stimulus, ...] = ()
        if tick == 0:
            text = f"Only {self.header.scenario.id} says so."
            stimuli = (Stimulus(id="poster", kind="poster", text=text),)
        impression = Impression(
            channel="wall", exposures=(Exposure(stimulus="poster", reason="hangs there"),)
        )
        return WorldDelta(
            tick=tick,
            stimuli=stimuli,
            presentations=tuple(
                Presentation(persona=persona, impression=impression, question="react")
                for persona in self.header.persona_ids
            ),
        )


@pytest.mark.parametrize("calls", [0, 11, 23])
def test_a_cell_that_is_shown_another_cells_text(calls: int) -> None:
    """Cells that use one id for different texts are each shown their own, resumed ones too."""
    config = town(3, scenarios=({}, {"activation": 0.7}, {"activation": 0.9}), seeds=(1,))
    parts = OwnParts(config, world=lambda _header: Poster())
    ran: Ran | None = None
    if calls:
        ran = run_in_memory(config, stopping_after(calls), parts=parts, attempts_max=1)
        assert ran.result.state is RunState.PARTIAL
    ran = run_in_memory(config, ScriptedProvider(answer), parts=parts, after=ran)
    assert ran.result.state is RunState.COMPLETED
    for place in range(3):
        world = ran.partitions.worlds[ran.result.worlds[place].world_id]
        told = [data.decode() for data in world.blobs.values() if b"says so" in data]
        assert len(told) >= 3
        assert all(f"Only s{place} says so." in text for text in told)
        others = {0, 1, 2} - {place}
        assert not any(f"Only s{other} says so." in text for text in told for other in others)


def test_a_world_that_cannot_be_rebuilt_told_as_not_started() -> None:
    """A world that fails while it is rebuilt keeps its recorded ticks, and says why it failed."""
    config = town(seeds=(1,))
    stopped = run_in_memory(config, stopping_after(20), attempts_max=1)
    before = [(outcome.tick, outcome.turns) for outcome in stopped.result.worlds]
    assert all(tick >= 0 for tick, _ in before)

    class Broken(ChannelWorld):
        def step(self, *args: Any) -> WorldDelta:
            raise RuntimeError("it was rebuilt out of nothing")

    parts = OwnParts(config, world=lambda _header: Broken())
    again = run_in_memory(config, ScriptedProvider(answer), parts=parts, after=stopped)
    for outcome, (tick, turns) in zip(again.result.worlds, before, strict=True):
        assert outcome.state is WorldState.FAILED
        assert (outcome.tick, outcome.turns) == (tick, turns)
        assert "it was rebuilt out of nothing" in outcome.cause
    # Nothing of the record was touched: with the world as it was, the run goes on.
    last = run_in_memory(config, ScriptedProvider(answer), after=again)
    assert last.digests == run_in_memory(config, ScriptedProvider(answer)).digests


@pytest.mark.parametrize("personas", [3, 30])
def test_a_rebuild_that_reads_once_per_persona(
    personas: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A world is rebuilt in one pass over its record, however many live in it."""
    config = town(personas, seeds=(1,), quorum=1.0)
    stopped = run_in_memory(config, stopping_after(4 * personas), attempts_max=1)
    assert stopped.result.state is RunState.PARTIAL
    passes = Counter[str]()
    real = MemoryPartitions.events

    def counting(partitions: MemoryPartitions, world_id: str) -> Any:
        passes[world_id] += 1
        return real(partitions, world_id)

    monkeypatch.setattr(MemoryPartitions, "events", counting)
    assert (
        run_in_memory(config, ScriptedProvider(answer), after=stopped).result.state
        is RunState.COMPLETED
    )
    assert set(passes.values()) == {1}


def test_a_completed_mark_in_a_second_write(monkeypatch: pytest.MonkeyPatch) -> None:
    """That a world is complete is written with its last tick: no kill comes between the two."""
    written: dict[int, list[set[type]]] = {}
    real = MemoryPartition.append

    async def noting(partition: MemoryPartition, batch: Any, **more: Any) -> Any:
        kinds = {type(event.payload) for event in batch.events}
        written.setdefault(id(partition), []).append(kinds)
        return await real(partition, batch, **more)

    monkeypatch.setattr(MemoryPartition, "append", noting)
    config = town(seeds=(1,))
    assert run_in_memory(config).result.state is RunState.COMPLETED
    assert len(written) == 2
    for batches in written.values():
        assert len(batches) == 6
        assert [Completed in kinds for kinds in batches] == [False] * 5 + [True]
        assert all(TickClosed in kinds for kinds in batches)


def test_only_the_first_of_what_moved_is_recorded(tmp_path: Path) -> None:
    """A run that is forced past several things has all of them in its log, old and new."""
    copy_studies(STUDIES, tmp_path)
    path = tmp_path / "survey" / "study.yaml"

    def config(force: tuple[str, ...] = ()) -> RunConfig:
        loaded = load_study(path)
        return RunConfig(
            study=loaded.study,
            population=loaded.population,
            held_out=loaded.held_out,
            study_path=str(path),
            out=str(tmp_path / "run"),
            force=force,
        )

    with GoldenServer(tmp_path) as server:
        server.serve(path)
        server.play(dict.fromkeys(range(40, 400), "status_402"))
        assert runner.run(config()).exit_status == 76
        text = path.read_text(encoding="utf-8")
        text = text.replace("quorum: 0.5", "quorum: 0.4").replace("memories: 3", "memories: 4")
        path.write_text(text.replace("in six days", "in a week"), encoding="utf-8")
        server.play({})
        forced = ("brief", "agent", "settings")
        assert runner.run(config(forced)).exit_status == 0
    with RunReader.open(tmp_path / "run") as reader:
        (row,) = [row for row in reader.log if isinstance(row, RunForced)]
    assert {one.name for one in row.moved} == set(forced)
    assert all(one.was and one.now and one.was != one.now for one in row.moved)
