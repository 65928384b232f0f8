"""Small runs for tests of the store: headers, batches of every kind of event, whole run folders."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence
from pathlib import Path

from perdure.base.canonical import encode
from perdure.records.budget import Rung
from perdure.records.events import (
    IS_CONTENT,
    KIND_OF,
    AnswerGiven,
    Batch,
    BeliefsHeld,
    Completed,
    Cost,
    Degraded,
    Event,
    ExposureDropped,
    GuardrailViolation,
    Head,
    InterventionApplied,
    MemoryFormed,
    Payload,
    Probed,
    PromptPart,
    Reflected,
    Restored,
    ScoreGiven,
    Started,
    StimulusPublished,
    TickClosed,
    Turn,
    TurnNotTaken,
)
from perdure.records.outcome import Rule, TurnFailureCause, UnscorableCause
from perdure.records.persona import Memory, Ontology, Persona
from perdure.records.presentation import (
    DroppedExposure,
    Exposure,
    Impression,
    Intervention,
    Plan,
    Presentation,
    Stimulus,
)
from perdure.records.registry import (
    LogHead,
    RunClosed,
    RunEntry,
    RungAt,
    RungLifted,
    RungTaken,
    RunState,
    WorldEntry,
    WorldOutcome,
    WorldState,
)
from perdure.records.request import FailureCause
from perdure.records.scenario import AgentSettings, Brief, Header, Scenario, Variant
from perdure.records.usage import CostSource, Usage
from perdure.trace.partitions import FolderPartitions
from perdure.trace.registry import Registry
from perdure.trace.registry_rows import held_out_hash, population_hash

PERSONAS = (
    Persona(id="p1", attributes={"age": 41, "party": "left", "score": 0.5}),
    Persona(id="p2", attributes={"age": 29, "party": "right", "score": 2}),
    Persona(id="p3", attributes={"age": 77, "party": "none"}),
)
HELD_OUT = {"p1": "yes", "p3": "no"}
WORLDS = ("000000000001", "000000000002")
NO_LOG = LogHead(seq=-1, chain="")


def header(world_id: str = WORLDS[0], horizon: int = 3, seed: int = 7) -> Header:
    """Make a header whose scenario has a wave at its first and last tick."""
    return Header(
        format=1,
        world_id=world_id,
        world_seed=f"{seed:016x}",
        replicate_seed=seed,
        study="trial",
        scenario=Scenario(
            id="calm",
            variant="v",
            horizon=horizon,
            waves=(0, horizon - 1),
            wave_question="vote",
            exposure_question="react",
        ),
        variant=Variant(id="v"),
        brief=Brief(title="A trial", text="Of the store."),
        ontology=Ontology(attributes=()),
        questions=(),
        population_hash=population_hash(PERSONAS),
        persona_ids=tuple(persona.id for persona in PERSONAS),
        pins={},
        agent=AgentSettings(),
        quorum=0.9,
    )


def number(head: Head, tick: int, payloads: Sequence[tuple[Payload, str]]) -> tuple[Event, ...]:
    """Give payloads, each with its persona, the numbers of the events that follow a head."""
    events, content = [], head.content
    for seq, (payload, persona) in enumerate(payloads, start=head.seq + 1):
        is_content = IS_CONTENT[KIND_OF[type(payload)]]
        events.append(
            Event(
                seq=seq,
                tick=tick,
                payload=payload,
                persona=persona,
                content=content if is_content else None,
            )
        )
        content += is_content
    return tuple(events)


def small_batch(head: Head, filler: str = "") -> Batch:
    """Make a short tick: one memory is all its content. For stores, not for `verify`."""
    memory = Memory(tick=head.tick + 1, text=f"tick {head.tick + 1}{filler}", importance=0.5)
    payloads: list[tuple[Payload, str]] = [(MemoryFormed(turn=0, memory=memory), "p1")]
    payloads.append((TickClosed(plan=Plan(), jobs=0), ""))
    return Batch(events=number(head, head.tick + 1, payloads))


def full_batch(head: Head, horizon: int = 3, padding: int = 0, *, with_rungs: bool = True) -> Batch:
    """Make a sound tick that holds every kind of event, with a prompt and vectors as blobs.

    The run warns of its budget at even ticks and lifts that at odd ones, if it is to be
    `with_rungs`; `rung_row` gives what its run log says then.
    """
    tick = head.tick + 1
    blobs: dict[str, bytes] = {}

    def blob(data: bytes) -> str:
        name = hashlib.sha256(data).hexdigest()
        blobs[name] = data
        return name

    shown = f"s{tick}"
    question = "vote" if tick in {0, horizon - 1} else "react"
    first, later = head.content + 4, head.content + 9

    def presentation(persona: str) -> Presentation:
        seen = Impression(channel="feed", exposures=(Exposure(stimulus=shown, reason="plan"),))
        return Presentation(persona=persona, impression=seen, question=question)

    prompt = (
        PromptPart(role="system", sha256=blob(b"You are somebody.")),
        PromptPart(role="user", sha256=blob(f"Tick {tick}: what now?".encode())),
    )
    stimulus = Stimulus(id=shown, kind="claim", text="More trams.", claim="trams")
    answer = AnswerGiven(purpose="rank", vectors=blob(bytes([tick]) * 8), count=2)
    dropped = DroppedExposure(persona="p2", stimulus=shown, channel="feed", reason="plan")
    payloads: list[tuple[Payload, str]] = [(Started(), "")] if tick == 0 else []
    if with_rungs:
        rung = Restored(rung=Rung.WARN) if tick % 2 else Degraded(rung=Rung.WARN)
        payloads.append((rung, ""))
    payloads += [
        (StimulusPublished(stimulus=stimulus), ""),
        (InterventionApplied(intervention=Intervention(kind="none")), ""),
        (ExposureDropped(dropped=dropped), "p2"),
        (answer, ""),
        (_cost(-1, "rank", amount=0), ""),
        (
            Turn(
                job=0,
                presentation=presentation("p1"),
                prompt=prompt,
                answer=f"Yes, at {tick}. é" + "x" * padding,
            ),
            "p1",
        ),
        (
            MemoryFormed(
                turn=first,
                memory=Memory(tick=tick, text="Trams.", importance=0.3),
                vector=blob(bytes([tick]) * 12),
            ),
            "p1",
        ),
        (BeliefsHeld(turn=first, beliefs={"trams": 1 + tick % 3}), "p1"),
        (Reflected(turn=first, prompt=prompt, text="I like trams."), "p1"),
        (Probed(turn=first, attribute="age", code="41", prompt=prompt, answer="41"), "p1"),
        (ScoreGiven(turn=first, question=question, choice="yes"), "p1"),
        (_cost(0, "answer", amount=1_200), "p1"),
        (_cost(0, "reflect", amount=None), "p1"),
        (
            GuardrailViolation(job=1, rule=Rule.UNREADABLE, prompt=prompt, answer="Hm?"),
            "p2",
        ),
        (
            Turn(job=1, presentation=presentation("p2"), prompt=prompt, answer="Hm."),
            "p2",
        ),
        (
            ScoreGiven(turn=later + 2, question=question, unscorable=UnscorableCause.UNDECIDED),
            "p2",
        ),
        (_cost(1, "answer", amount=300), "p2"),
        (
            TurnNotTaken(
                job=2,
                presentation=presentation("p3"),
                cause=TurnFailureCause.CALL_FAILED,
                call=FailureCause.TIMEOUT,
            ),
            "p3",
        ),
        (_cost(2, "answer", amount=0, failed=FailureCause.TIMEOUT), "p3"),
    ]
    if tick == horizon - 1:
        payloads.append((Completed(), ""))
    payloads.append((TickClosed(plan=Plan(), jobs=3, unanswered=1), ""))
    return Batch(events=number(head, tick, payloads), blobs=blobs)


def pause_batch(head: Head) -> Batch:
    """Make the batch that stands between two ticks: a pause."""
    return Batch(events=number(head, head.tick + 1, [(Degraded(rung=Rung.PAUSE), "")]))


def resumed_batch(head: Head, horizon: int = 3) -> Batch:
    """Make the sound tick that follows a pause."""
    whole = full_batch(head, horizon)
    payloads = [(event.payload, event.persona) for event in whole.events]
    payloads.insert(int(head.tick < 0), (Restored(rung=Rung.PAUSE), ""))
    return Batch(events=number(head, head.tick + 1, payloads), blobs=whole.blobs)


def entry() -> RunEntry:
    """Make the entry of a trial run."""
    hashes = {"population": population_hash(PERSONAS), "held_out": held_out_hash(HELD_OUT)}
    return RunEntry(
        format=1,
        run_id="abcdef012345",
        study="{}",
        study_path="/study.yaml",
        study_path_relative="../study.yaml",
        hashes=hashes,
        currency="USD",
    )


def world_entry(world_id: str, horizon: int = 3, seed: int = 7) -> WorldEntry:
    """Make the registry's row of a world as `header` describes it."""
    return WorldEntry(
        world_id=world_id,
        scenario="calm",
        variant="v",
        replicate_seed=seed,
        world_seed=f"{seed:016x}",
        horizon=horizon,
    )


async def make_run_async(
    folder: Path, *, ticks: int = 3, horizon: int = 3, finish: bool = True, padding: int = 0
) -> dict[str, Head]:
    """Write a sound run of two worlds, and give where each ends."""
    registry = await Registry.create(
        folder,
        entry=entry(),
        worlds=[world_entry(name, horizon) for name in WORLDS],
        personas=PERSONAS,
        held_out=HELD_OUT,
    )
    partitions = FolderPartitions(folder)
    for tick in range(ticks + 1):
        await registry.log(rung_row(tick))
    heads = {}
    for name in WORLDS:
        partition = await partitions.create(header(name, horizon), registry.epoch)
        await registry.witness(name, partition.head)
        for _ in range(ticks):
            batch = full_batch(partition.head, horizon, padding)
            log_head = registry.log_head
            head = await partition.append(batch, epoch=registry.epoch, log_head=log_head)
            await registry.witness(name, head, outcome_of(name, head, horizon))
        heads[name] = partition.head
        if finish:
            assert await partition.finish()
        await partition.close()
    if finish:
        await registry.log(RunClosed(state=RunState.COMPLETED, exit_status=0))
        assert await registry.finish()
    await registry.close()
    return heads


def rung_row(tick: int) -> RungTaken | RungLifted:
    """Give the row of the run log that goes with a tick of `full_batch`."""
    return (RungLifted if tick % 2 else RungTaken)(rung=Rung.WARN, tick=tick)


def make_run(
    folder: Path, *, ticks: int = 3, horizon: int = 3, finish: bool = True, padding: int = 0
) -> dict[str, Head]:
    """Write a sound run of two worlds, and give where each ends."""
    return asyncio.run(
        make_run_async(folder, ticks=ticks, horizon=horizon, finish=finish, padding=padding)
    )


def payload_bytes(payload: Payload) -> bytes:
    """Give the bytes that are stored of a payload."""
    return encode(payload)


def outcome_of(name: str, head: Head, horizon: int, *, with_rungs: bool = True) -> WorldOutcome:
    """Make the note of how a world of full batches stands, as a run writes it with a witness."""
    done = head.tick == horizon - 1
    ticks = head.tick + 1
    return WorldOutcome(
        world_id=name,
        state=WorldState.COMPLETED if done else WorldState.PARTIAL,
        tick=head.tick,
        turns=2 * ticks,
        turns_failed=ticks,
        cost=1_500 * ticks,
        unknown_costs=ticks,
        digest=head.digest,
        rungs=tuple(
            RungAt(rung=Rung.WARN, tick=tick, lifted=tick + 1 if tick < head.tick else None)
            for tick in range(0, ticks if with_rungs else 0, 2)
        ),
    )


def _cost(
    job: int, purpose: str, *, amount: int | None, failed: FailureCause | None = None
) -> Cost:
    return Cost(
        job=job,
        purpose=purpose,
        ordinal=0,
        attempt=0,
        role="tier_a",
        model="m",
        source=CostSource.UNKNOWN if amount is None else CostSource.PRICE_TABLE,
        amount=amount,
        usage=None if amount is None else Usage(input_fresh=10, output=2),
        failed=failed,
    )
