"""A small study of a town, run in memory or in a folder: for tests of the runner."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from perdure.base.canonical import hash_hex
from perdure.base.clock import Clock
from perdure.inference.host import InferenceHost, Respondent
from perdure.inference.journaled import JournaledHost
from perdure.inference.provider import Provider
from perdure.inference.retry import RetryPolicy
from perdure.records.events import Event
from perdure.records.population import HeldOut, Population, PopulationManifest
from perdure.records.registry import LogPayload, Moved, RunForced
from perdure.records.result import RunResult
from perdure.records.scenario import AgentSettings, Header, ModelPin, Scenario, Variant
from perdure.records.study import ModelSpec, PopulationSpec, Study
from perdure.records.usage import Price
from perdure.runner.assembly import entry_for, parts_of
from perdure.runner.config import RunConfig
from perdure.runner.only import chosen
from perdure.runner.reconcile import reconcile
from perdure.runner.session import Session, conduct
from perdure.runner.spending import hold_to_budget
from perdure.study.identity import expand
from perdure.testing import ScriptedProvider, SkippingClock
from perdure.testing.contracts import example_header, example_personas
from perdure.trace.decoding import decode_event
from perdure.trace.journal_memory import MemoryCalls, MemoryJournal
from perdure.trace.memory import MemoryPartitions, MemoryRegistry, MemoryRun
from perdure.trace.registry_rows import held_out_hash

HERE = Path(__file__)
PIN = ModelPin(provider="scripted", model="scripted")


def town(
    personas: int = 6,
    *,
    scenarios: tuple[dict[str, Any], ...] = ({}, {"exposures": {"2": ("c2",)}}),
    seeds: tuple[int, ...] = (1, 2),
    agent: AgentSettings | None = None,
    out: str = "",
    study_path: str = str(HERE),
    price: Price | None = None,
    embeds: bool = False,
    **changes: Any,
) -> RunConfig:
    """Make the run of a study: each mapping in `scenarios` changes fields of the example's.

    If it `embeds`, there is an embedding model.
    """
    header = example_header(personas)
    people = tuple(example_personas(header).values())
    held_out = {people[0].id: "ada"}
    roles = ("tier_a", "tier_b", "embed") if embeds else ("tier_a", "tier_b")
    given = {name: getattr(header.scenario, name) for name in Scenario.__struct_fields__}
    study = Study(
        format=1,
        name="town",
        brief=header.brief,
        ontology=header.ontology,
        questions=header.questions,
        population=PopulationSpec(file="none.csv", id_column="id", columns={}),
        variants=(Variant(id="v1"),),
        scenarios=tuple(
            Scenario(**{**given, "id": f"s{number}", **changed})
            for number, changed in enumerate(scenarios)
        ),
        seeds=seeds,
        models={role: ModelSpec(pin=PIN, price=price) for role in roles},
        agent=agent or AgentSettings(reflect_every=2),
        **changes,
    )
    return RunConfig(
        study=study,
        population=Population(
            personas=people,
            population_hash=hash_hex(people),
            manifest=PopulationManifest(
                file="none.csv", file_sha256="", rows_read=personas, rows_drawn=personas
            ),
        ),
        held_out=HeldOut(values=held_out, held_out_hash=held_out_hash(held_out)),
        study_path=study_path,
        out=out,
    )


@dataclass
class Ran:
    """A run that was made in memory: its result and its record."""

    result: RunResult
    run: MemoryRun
    partitions: MemoryPartitions
    calls: MemoryCalls

    def events(self, place: int = 0) -> list[Event]:
        """Decode the events of the world at this place in the run."""
        world = self.partitions.worlds[self.result.worlds[place].world_id]
        return [
            Event(
                seq=seq,
                tick=tick,
                payload=decode_event(kind, payload, "", seq),
                persona=persona,
                content=content,
            )
            for seq, tick, kind, persona, content, payload, _ in world.rows
        ]

    @property
    def digests(self) -> list[str]:
        """The digest of every world, in order."""
        return [world.digest for world in self.result.worlds]


def answering(text: str = "Ada Hill. I agree.") -> ScriptedProvider:
    """Make a model that always says the same."""
    return ScriptedProvider(lambda _request: text)


def run_in_memory(
    config: RunConfig,
    provider: Provider | None = None,
    *,
    parts: Any = None,
    clock: Clock | None = None,
    price: Price | None = None,
    attempts_max: int = 2,
    before: Callable[[Session], Awaitable[None]] | None = None,
    after: Ran | None = None,
    calls: MemoryCalls | None = None,
    forced: bool = False,
) -> Ran:
    """Run a study with in-memory parts around the real runner and the real inference host.

    `after` is an earlier run of it, which is then continued; `forced` past something, if so. The
    journal of a new run is kept in `calls`.
    """

    async def go() -> Ran:
        time = clock or SkippingClock()
        priced = price or config.study.models["tier_a"].price
        respondent = Respondent(provider or answering(), priced)
        inner = InferenceHost(
            dict.fromkeys(config.study.models, respondent),
            clock=time,
            retry=RetryPolicy(attempts_max=attempts_max),
        )
        cells = expand(config.study, config.population)
        log: tuple[LogPayload, ...] = ()
        if after is None:
            partitions = MemoryPartitions()
            registry = await MemoryRegistry.create(
                entry=entry_for(config),
                worlds=[cell.entry for cell in cells],
                personas=config.population.personas,
                held_out=config.held_out.values,
            )
        else:
            partitions = after.partitions
            log = tuple(row.payload for row in after.run.log)
            registry = await MemoryRegistry.open(after.run)
        held = after.calls if after is not None else calls or MemoryCalls()
        host = JournaledHost(inner, MemoryJournal(held, registry.epoch))
        if after is not None:
            await reconcile(
                host=host, registry=registry, reading=partitions, log=log, afresh=forced
            )
            if forced:
                heads = {one.world_id: partitions.head(one.world_id) for one in registry.worlds}
                ticks = {name: head.tick for name, head in heads.items() if head is not None}
                moved = Moved(name="plugins", was="a", now="b")
                await registry.log(RunForced(moved=(moved,), ticks=ticks))
            log = tuple(row.payload for row in registry.run.log)
        spending = await hold_to_budget(
            config.study,
            cells,
            host,
            log,
            registry.outcomes.values(),
            personas=len(config.population.personas),
            clock=time,
        )
        session = Session(
            config=config,
            cells=chosen(config.only, cells),
            parts=parts or parts_of(config),
            host=host,
            registry=registry,
            partitions=partitions,
            clock=time,
            spending=spending,
            log=log,
        )
        if before is not None:
            await before(session)
        return Ran(await conduct(session), registry.run, partitions, held)

    return asyncio.run(go())


class OwnParts:
    """Parts made by functions, for tests that watch or break them."""

    def __init__(self, config: RunConfig, *, world: Any = None, agent: Any = None) -> None:
        self._real = parts_of(config)
        self._world = world
        self._agent = agent

    def world(self, header: Header) -> Any:
        """Make the world of a header."""
        return self._world(header) if self._world else self._real.world(header)

    def agent(self, header: Header) -> Any:
        """Make the agent of a header."""
        return self._agent(header) if self._agent else self._real.agent(header)

    @property
    def outside(self) -> Any:
        """Give the tools outside the worlds."""
        return self._real.outside
