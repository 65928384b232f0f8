"""What the call journal costs a call, against writing the same rows through raw SQLite.

    python -m benchmarks.journal [--calls 1000] [--ticks 10] [--rounds 5] [--held 0.0]

Every tick makes all its calls at once. CPU is that of the whole process, all threads.

`tasks` only starts a task for each call that waits twice; `journal` also makes an intent and a
reply durable in it. `host` makes the calls through an inference host whose provider answers at once
(or after `--held` seconds), `journaled` the same with a journal around it. `floor` only hashes,
encodes and inserts an intent and a reply for each call through raw apsw, in two durable
transactions a tick; `two a call` commits each row by itself.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import apsw
import msgspec

from perdure.base.canonical import hash_hex
from perdure.inference.host import InferenceHost, Respondent
from perdure.inference.journaled import JournaledHost
from perdure.inference.limits import Limits
from perdure.records.journal import Intent, Settled, TickOpening
from perdure.records.presentation import Plan
from perdure.records.request import (
    CallKey,
    CallResult,
    ChatRequest,
    EmbedRequest,
    Failure,
    FailureCause,
    Message,
    Reply,
    Vectors,
)
from perdure.records.usage import CostSource, Price, Usage
from perdure.trace.journal import Journal
from perdure.trace.journal_file import Change, JournalFile

WORLD = "0123456789ab"
PRICE = Price(input_fresh=1_000_000, output=1_000_000)
ANSWER = (
    "I would rather vote for the second of them, thinking of the trams and what they cost. " * 4
)


class Answering:
    """A provider that answers everything with the same words."""

    name = "http"

    def __init__(self, held_s: float) -> None:
        self.held_s = held_s

    async def open(self) -> None:
        """Need nothing."""

    async def close(self) -> None:
        """Hold nothing."""

    async def chat(self, request: ChatRequest, timeout_s: float) -> Reply:  # noqa: ARG002
        """Answer."""
        await asyncio.sleep(self.held_s)
        return Reply(text=ANSWER, served="a-model", usage=Usage(input_fresh=400, output=60))

    async def embed(self, request: EmbedRequest, timeout_s: float) -> Vectors | Failure:  # noqa: ARG002
        """Decline."""
        return Failure(cause=FailureCause.UNSUPPORTED)


class Calls(Protocol):
    """Something that makes calls."""

    async def call(self, key: CallKey, request: ChatRequest) -> CallResult:
        """Make one."""
        ...


class Counting(Journal):
    """A journal that counts its commits."""

    commits = 0

    def __init__(self, file: JournalFile) -> None:
        real = file.write

        def write(changes: Sequence[Change]) -> None:
            self.commits += 1
            real(changes)

        file.write = write  # type: ignore[method-assign]
        super().__init__(file)


def key(tick: int, job: int) -> CallKey:
    """Name a call."""
    return CallKey(world=WORLD, tick=tick, job=job, purpose="answer", ordinal=0)


def request(tick: int, job: int) -> ChatRequest:
    """Make a request of about two kilobytes."""
    said = (
        f"You are respondent {job} at tick {tick}. " + "You read that trams would be built. " * 50
    )
    return ChatRequest(
        role="tier_a",
        messages=(Message(role="system", content=said), Message(role="user", content="And you?")),
        tokens_max=120,
        temperature=0.7,
        seed=job,
    )


def host(held_s: float, calls: int) -> InferenceHost:
    """Make a host that lets everything through at once."""
    roles = {"tier_a": Respondent(Answering(held_s), PRICE)}
    return InferenceHost(roles, limits=Limits(in_flight_max=calls))


async def ticks(
    made: Sequence[Sequence[ChatRequest]],
    calls: Calls,
    journaled: JournaledHost | Journaling | None = None,
) -> float:
    """Make the calls of every tick, and give the CPU seconds that they took."""
    began = time.process_time()
    for tick, requests in enumerate(made):
        if journaled is not None:
            opening = TickOpening(world=WORLD, tick=tick, plan=Plan(), input_hash="0" * 64)
            await journaled.open_tick(opening)
        asked = (calls.call(key(tick, job), one) for job, one in enumerate(requests))
        await asyncio.gather(*asked)
        if journaled is not None:
            await journaled.close_tick(WORLD, tick)
    return time.process_time() - began


class Waiting:
    """Waits twice, as a call does that is made durable twice."""

    async def call(self, key: CallKey, request: ChatRequest) -> CallResult:  # noqa: ARG002
        """Wait, and wait."""
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        return CallResult(key=key, attempts=())


class Journaling:
    """Makes an intent and a reply durable, and nothing else."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        reply = Reply(text=ANSWER, served="a-model", usage=Usage(input_fresh=400, output=60))
        self.settled = Settled(outcome=reply, amount=460, source=CostSource.PRICE_TABLE)
        self.worst = Usage(input_fresh=2_000, output=120)

    async def open_tick(self, opening: TickOpening) -> TickOpening:
        """Open a tick."""
        return await self.journal.open_tick(opening)

    async def close_tick(self, world: str, tick: int) -> None:
        """Close it."""
        await self.journal.close_tick(world, tick)

    async def call(self, key: CallKey, request: ChatRequest) -> CallResult:
        """Intend and settle."""
        intent = Intent(
            key=key,
            attempt=0,
            request=hash_hex(request),
            worst=self.worst,
            amount=2_120,
            source=CostSource.PRICE_TABLE,
        )
        await self.journal.intend(intent)
        await self.journal.settle(key, 0, self.settled)
        return CallResult(key=key, attempts=())


def floor(folder: Path, made: Sequence[Sequence[ChatRequest]]) -> float:
    """Encode, hash and insert what a journal must, twice a tick, and nothing else."""
    connection = apsw.Connection(str(folder / "floor.db"))
    connection.execute("PRAGMA synchronous = EXTRA")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("CREATE TABLE intents (id INTEGER PRIMARY KEY, request BLOB, payload BLOB)")
    connection.execute("CREATE TABLE results (id INTEGER PRIMARY KEY, payload BLOB)")
    encode = msgspec.json.Encoder(order="sorted").encode
    reply = Reply(text=ANSWER, served="a-model", usage=Usage(input_fresh=400, output=60))
    worst = Usage(input_fresh=2_000, output=120)
    began = time.process_time()
    for tick, requests in enumerate(made):
        start = tick << 32
        intents = [
            (start + job, hashlib.sha256(encode(one)).digest(), encode((key(tick, job), worst)))
            for job, one in enumerate(requests)
        ]
        results = [(start + job, encode(reply)) for job in range(len(requests))]
        for sql, rows in (
            ("INSERT INTO intents VALUES (?, ?, ?)", intents),
            ("INSERT INTO results VALUES (?, ?)", results),
        ):
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany(sql, rows)
            connection.execute("COMMIT")
    took = time.process_time() - began
    connection.close()
    return took


def two_a_call(folder: Path, count: int) -> float:
    """Commit an intent and a reply by themselves, call after call."""
    connection = apsw.Connection(str(folder / "two.db"))
    connection.execute("PRAGMA synchronous = EXTRA")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("CREATE TABLE rows (id INTEGER PRIMARY KEY, payload BLOB)")
    began = time.process_time()
    for number in range(2 * count):
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("INSERT INTO rows VALUES (?, ?)", (number, ANSWER.encode()))
        connection.execute("COMMIT")
    took = time.process_time() - began
    connection.close()
    return took / count


async def race(folder: Path, made: list[list[ChatRequest]], held_s: float) -> dict[str, float]:
    """Let every arm make the same calls."""
    count = len(made[0])
    total = count * len(made)
    journal = await Counting.create(folder / "journaled", 1)
    journaled = JournaledHost(host(held_s, count), journal)
    alone = await Journal.create(folder / "alone", 1)
    took = {
        "tasks": await ticks(made, Waiting()),
        "journal": await ticks(made, Journaling(alone), Journaling(alone)),
        "host": await ticks(made, host(held_s, count)),
        "journaled": await ticks(made, journaled, journaled),
        "floor": await asyncio.to_thread(floor, folder, made),
    }
    found = {name: seconds / total * 1e6 for name, seconds in took.items()}
    found["two a call"] = await asyncio.to_thread(two_a_call, folder, 200) * 1e6
    found["commits"] = journal.commits / total * 1_000
    await alone.close()
    await journal.close()
    return found


def main() -> None:
    """Race the arms and print what a call costs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=1_000)
    parser.add_argument("--ticks", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--held", type=float, default=0.0)
    asked = parser.parse_args()
    made = [[request(tick, job) for job in range(asked.calls)] for tick in range(asked.ticks)]
    rounds = []
    for _ in range(asked.rounds):
        with tempfile.TemporaryDirectory() as folder:
            rounds.append(asyncio.run(race(Path(folder), made, asked.held)))
    print(f"SQLite {apsw.sqlite_lib_version()}, {asked.calls} calls at once, {asked.ticks} ticks")
    print(f"{'':>16}  median    best  us of CPU per call")
    for name in ("tasks", "journal", "host", "journaled", "floor", "two a call"):
        show(name, [one[name] for one in rounds])
    show("journal - tasks", [one["journal"] - one["tasks"] for one in rounds])
    show("journaled - host", [one["journaled"] - one["host"] for one in rounds])
    show("times the floor", [(one["journal"] - one["tasks"]) / one["floor"] for one in rounds])
    show("commits / 1,000", [one["commits"] for one in rounds])


def show(name: str, figures: list[float]) -> None:
    """Print a line of the table."""
    print(f"{name:>16} {statistics.median(figures):7.1f} {min(figures):7.1f}")


if __name__ == "__main__":
    main()
