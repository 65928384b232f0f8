"""Appending events, against encode + hash + insert of the same rows through raw SQLite.

    python -m benchmarks.append [--ticks 60] [--turns 200] [--rounds 5]

Both arms write the same rows and blobs, one durable transaction per tick, on the same disk, in
turn; the floor does what any store must do (encode a row, hash it, insert it) and nothing else.
Prints the ratio of the medians: 1.00 is the floor's speed.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import statistics
import tempfile
import time
from pathlib import Path

import apsw
import msgspec

from perdure.records.events import (
    KIND_OF,
    Batch,
    Cost,
    Event,
    MemoryFormed,
    PromptPart,
    ScoreGiven,
    TickClosed,
    Turn,
)
from perdure.records.persona import Memory, Ontology
from perdure.records.presentation import Exposure, Impression, Plan, Presentation
from perdure.records.registry import LogHead
from perdure.records.scenario import AgentSettings, Brief, Header, Scenario, Variant
from perdure.records.usage import CostSource, Usage
from perdure.trace.partition import PartitionWriter
from perdure.trace.partition_file import PartitionFile

WORLD = "000000000001"
LOG_HEAD = LogHead(seq=0, chain="00" * 32)
HEADER = Header(
    format=1,
    world_id=WORLD,
    world_seed="0" * 16,
    replicate_seed=1,
    study="append",
    scenario=Scenario(id="s", variant="v", horizon=10**6),
    variant=Variant(id="v"),
    brief=Brief(title="t", text="t"),
    ontology=Ontology(attributes=()),
    questions=(),
    population_hash="0" * 64,
    persona_ids=(),
    pins={},
    agent=AgentSettings(),
    quorum=0.9,
)


def turn_events(seq: int, content: int, tick: int, job: int, blob: str) -> list[Event]:
    """Make the events of one turn, of the size that a survey's have."""
    persona = f"respondent-{job:05d}"
    shown = Impression(channel="feed", exposures=(Exposure(stimulus="s1", reason="plan"),))
    turn = Turn(
        job=job,
        presentation=Presentation(persona=persona, impression=shown, question="vote"),
        prompt=(PromptPart(role="system", sha256=blob), PromptPart(role="user", sha256=blob)),
        answer=f"I would rather vote for the second of them, thinking of {tick} things. " * 3,
    )
    memory = Memory(tick=tick, text="I read that trams would be built here. " * 2, importance=0.4)
    score = ScoreGiven(turn=content, question="vote", choice="second")
    cost = Cost(
        job=job,
        purpose="answer",
        ordinal=0,
        attempt=0,
        role="tier_a",
        model="a-model",
        source=CostSource.PRICE_TABLE,
        amount=120_000,
        usage=Usage(input_fresh=400, output=60),
    )

    def event(offset: int, payload: Turn | MemoryFormed | ScoreGiven) -> Event:
        return Event(
            seq=seq + offset,
            tick=tick,
            payload=payload,
            persona=persona,
            content=content + offset,
        )

    return [
        event(0, turn),
        event(1, MemoryFormed(turn=content, memory=memory)),
        event(2, score),
        Event(seq=seq + 3, tick=tick, payload=cost, persona=persona),
    ]


def make_batches(ticks: int, turns: int) -> list[Batch]:
    """Make the ticks that both arms write."""
    batches, seq, content = [], 0, 0
    for tick in range(ticks):
        events: list[Event] = []
        blobs: dict[str, bytes] = {}
        for job in range(turns):
            prompt = f"You are respondent {job} at tick {tick}. ".encode() * 20
            name = hashlib.sha256(prompt).hexdigest()
            blobs[name] = prompt
            events += turn_events(seq, content, tick, job, name)
            seq, content = seq + 4, content + 3
        closed = TickClosed(plan=Plan(), jobs=turns)
        events.append(Event(seq=seq, tick=tick, payload=closed))
        seq += 1
        batches.append(Batch(events=tuple(events), blobs=blobs))
    return batches


def run_floor(path: Path, batches: list[Batch]) -> float:
    """Encode, hash and insert, and nothing else."""
    connection = apsw.Connection(str(path))
    connection.execute("PRAGMA synchronous = EXTRA")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute(
        "CREATE TABLE events (seq INTEGER PRIMARY KEY, tick INTEGER NOT NULL, kind TEXT NOT NULL,"
        " persona TEXT NOT NULL, content INTEGER, payload BLOB NOT NULL, hash BLOB NOT NULL)"
    )
    connection.execute("CREATE TABLE blobs (sha256 BLOB PRIMARY KEY, bytes BLOB NOT NULL)")
    encode, sha256 = msgspec.json.Encoder(order="sorted").encode, hashlib.sha256
    began = time.perf_counter()
    for batch in batches:
        rows = []
        for event in batch.events:
            data = encode(event.payload)
            kind = KIND_OF[type(event.payload)]
            digest = sha256(data).digest()
            rows.append((event.seq, event.tick, kind, event.persona, event.content, data, digest))
        blobs = [(sha256(data).digest(), data) for data in batch.blobs.values()]
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
        connection.executemany("INSERT OR IGNORE INTO blobs VALUES (?, ?)", blobs)
        connection.execute("COMMIT")
    took = time.perf_counter() - began
    connection.close()
    return took


def run_store(path: Path, batches: list[Batch]) -> float:
    """Append through the partition's file."""
    partition = PartitionFile.create(path, HEADER, 1)
    began = time.perf_counter()
    for batch in batches:
        partition.append(batch, epoch=1, log_head=LOG_HEAD)
    took = time.perf_counter() - began
    partition.close()
    return took


async def run_writer(path: Path, batches: list[Batch]) -> float:
    """Append through the writer that the runner uses, off the event loop."""
    partition = await PartitionWriter.create(path, HEADER, 1)
    began = time.perf_counter()
    for batch in batches:
        await partition.append(batch, epoch=1, log_head=LOG_HEAD)
    took = time.perf_counter() - began
    await partition.close()
    return took


def main() -> None:
    """Run the arms in turn and print their ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ticks", type=int, default=60)
    parser.add_argument("--turns", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args()
    batches = make_batches(asked.ticks, asked.turns)
    events = sum(len(batch.events) for batch in batches)
    floor: list[float] = []
    store: list[float] = []
    writer: list[float] = []
    for _ in range(asked.rounds):
        with tempfile.TemporaryDirectory() as folder:
            floor.append(run_floor(Path(folder) / "floor.db", batches))
            store.append(run_store(Path(folder) / f"{WORLD}.db", batches))
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"{WORLD}.db"
            writer.append(asyncio.run(run_writer(path, batches)))
    base = statistics.median(floor)
    print(f"SQLite {apsw.sqlite_lib_version()}, {events} events in {asked.ticks} ticks")
    for name, took in (("floor", floor), ("store", store), ("writer", writer)):
        middle = statistics.median(took)
        print(f"{name:>7}: {events / middle:>9,.0f} events/s   ratio {base / middle:.2f}")


if __name__ == "__main__":
    main()
