"""Appending events, against encode + hash + insert of the same rows through raw SQLite.

    python -m benchmarks.append [--ticks 60] [--turns 200] [--rounds 5]

All arms write the same rows and blobs into the same tables, one durable transaction per tick, each
tick in turn on the same disk; the floor does what any store must do (encode a row, hash it, insert
it) and nothing else. Prints the median of the rounds' ratios: 1.00 is the floor's speed.
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
from perdure.trace.schema import PARTITION

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


class Floor:
    """Encodes, hashes and inserts, and nothing else."""

    def __init__(self, path: Path) -> None:
        self.connection = apsw.Connection(str(path))
        self.connection.execute("PRAGMA synchronous = EXTRA")
        self.connection.execute("PRAGMA journal_mode = WAL")
        for name in ("events", "blobs"):
            (table,) = (one for one in PARTITION.tables if f"TABLE {name} " in one)
            self.connection.execute(table)
        self.encode = msgspec.json.Encoder(order="sorted").encode

    def append(self, batch: Batch) -> None:
        """Write one tick in one durable transaction."""
        encode, sha256 = self.encode, hashlib.sha256
        rows = []
        for event in batch.events:
            data = encode(event.payload)
            kind = KIND_OF[type(event.payload)]
            digest = sha256(data).digest()
            rows.append((event.seq, event.tick, kind, event.persona, event.content, data, digest))
        blobs = [(sha256(data).digest(), data) for data in batch.blobs.values()]
        connection = self.connection
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
        connection.executemany("INSERT OR IGNORE INTO blobs VALUES (?, ?)", blobs)
        connection.execute("COMMIT")


async def race(folder: Path, batches: list[Batch]) -> dict[str, float]:
    """Let every arm write each tick in turn, so that all meet the same machine and disk."""
    floor = Floor(folder / "floor.db")
    store = PartitionFile.create(folder / "store" / f"{WORLD}.db", HEADER, 1)
    writer = await PartitionWriter.create(folder / "writer" / f"{WORLD}.db", HEADER, 1)
    took = dict.fromkeys(("floor", "store", "writer"), 0.0)
    for batch in batches:
        began = time.perf_counter()
        floor.append(batch)
        floor_done = time.perf_counter()
        store.append(batch, epoch=1, log_head=LOG_HEAD)
        store_done = time.perf_counter()
        await writer.append(batch, epoch=1, log_head=LOG_HEAD)
        writer_done = time.perf_counter()
        took["floor"] += floor_done - began
        took["store"] += store_done - floor_done
        took["writer"] += writer_done - store_done
    floor.connection.close()
    store.close()
    await writer.close()
    return took


def main() -> None:
    """Race the arms and print their ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ticks", type=int, default=60)
    parser.add_argument("--turns", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args()
    batches = make_batches(asked.ticks, asked.turns)
    events = sum(len(batch.events) for batch in batches)
    rounds = []
    for _ in range(asked.rounds):
        with tempfile.TemporaryDirectory() as folder:
            rounds.append(asyncio.run(race(Path(folder), batches)))
    print(f"SQLite {apsw.sqlite_lib_version()}, {events} events in {asked.ticks} ticks")
    for name, what in (
        ("floor", "encode + hash + insert"),
        ("store", "checks, chain, digest, head, witness"),
        ("writer", "the same, off the event loop"),
    ):
        speed = statistics.median(events / took[name] for took in rounds)
        ratio = statistics.median(took["floor"] / took[name] for took in rounds)
        print(f"{name:>7}: {speed:>9,.0f} events/s   ratio {ratio:.2f}   {what}")


if __name__ == "__main__":
    main()
