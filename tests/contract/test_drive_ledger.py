"""Every ledger of a drive keeps the same contract: the one in a file, and the one in memory."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest
from tests.support.drive_lines import ASKED, RUN, Asked, closing, named, opening, script, turn

from perdure.agent.drive.ports import Ledger
from perdure.base.errors import DamagedRecordError, InternalError, StaleWriterError
from perdure.records.drive import DriveLine, JobPinned, PromptAssembled, Segment
from perdure.trace.drive_ledger import DriveLedger
from perdure.trace.drive_lines import LedgerHead, StoredLine
from perdure.trace.drive_memory import MemoryLedger, MemoryLines
from perdure.trace.drive_reader import DriveReader

AnyLedger = DriveLedger | MemoryLedger
# The chain of the script, for ever: a ledger that exists is read by every later version.
PINNED = "bd331dfb1b9d520dc5922d385f74bf2c1a54ff0e6a3c78c2016372ebfe06a5f0"


class Store(NamedTuple):
    """One implementation: how its ledger is made, opened again, and read."""

    create: Callable[[], Awaitable[AnyLedger]]
    reopen: Callable[[], Awaitable[AnyLedger]]
    lines: Callable[[], list[StoredLine]]


def in_memory(_: Path) -> Store:
    """Make the ledger in memory."""
    held = MemoryLines(ASKED)

    async def made() -> AnyLedger:
        return MemoryLedger(held)

    return Store(made, made, lambda: list(held.lines()))


def in_a_file(folder: Path) -> Store:
    """Make the ledger in a file."""

    def lines() -> list[StoredLine]:
        with DriveReader.open(folder) as reader:
            return list(reader.lines())

    return Store(lambda: DriveLedger.create(folder, ASKED), lambda: DriveLedger.open(folder), lines)


STORES: dict[str, Callable[[Path], Store]] = {"file": in_a_file, "memory": in_memory}


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    """Give each implementation in turn."""
    return STORES[request.param](tmp_path / "drive")


async def play(ledger: AnyLedger) -> LedgerHead:
    """Append the whole script."""
    port: Ledger = ledger
    for lines, blobs in script():
        await port.append(lines, dict(blobs))
    return ledger.head


def said(lines: list[StoredLine]) -> list[DriveLine]:
    """Give what lines say."""
    return [one.line for one in lines]


def test_the_same_script_leaves_the_same_chain(tmp_path: Path) -> None:
    """Both stores come to the same chain, line by line, and that one is pinned."""

    async def live(store: Store) -> LedgerHead:
        ledger = await store.create()
        head = await play(ledger)
        await ledger.finish()
        await ledger.close()
        return head

    stores = [make(tmp_path / name) for name, make in STORES.items()]
    heads = [asyncio.run(live(store)) for store in stores]
    one, other = (store.lines() for store in stores)
    assert one == other
    assert heads[0] == heads[1] == LedgerHead(seq=len(one) - 1, chain=one[-1].chain)
    assert heads[0].chain == PINNED
    wanted = [line for lines, _ in script() for line in lines]
    assert said(one) == wanted
    assert [line.seq for line in one] == list(range(len(wanted)))


def test_a_ledger_goes_on_where_it_ended(store: Store) -> None:
    """Opened again, it has all lines, and the next one follows the last."""

    async def check() -> None:
        first = await store.create()
        assert first.head.seq == -1
        await first.append(*opening())
        await first.close()
        again = await store.reopen()
        assert (again.head, again.epoch) == (first.head, first.epoch + 1)
        for append in (*turn(0), closing()):
            await again.append(*append)
        await again.close()

    asyncio.run(check())
    lines = said(store.lines())
    assert lines[:2] == list(opening()[0])
    assert lines[-3:] == list(closing()[0])


def test_drives_that_hand_work_down_share_a_ledger(store: Store) -> None:
    """The lines of several drives stand in one chain, each under its own name."""

    async def check() -> None:
        ledger = await store.create()
        await asyncio.gather(
            *(ledger.append(*append) for run in ("a", "b", "c") for append in turn(0, run))
        )
        await ledger.close()

    asyncio.run(check())
    lines = store.lines()
    assert len(lines) == 15
    for run in ("a", "b", "c"):
        own = [one.line for one in lines if one.line.run == run]
        assert own == [line for append in turn(0, run) for line in append[0]]


def test_a_writer_that_was_replaced_is_refused(store: Store) -> None:
    """P7: once it is opened again, whoever had it before appends nothing more."""

    async def check() -> None:
        old = await store.create()
        await old.append(*opening())
        new = await store.reopen()
        with pytest.raises(StaleWriterError):
            await old.append(*closing())
        await new.append(*closing())
        with pytest.raises(StaleWriterError):
            await old.append(*closing())
        await old.close()
        await new.close()

    asyncio.run(check())
    assert said(store.lines()) == [*opening()[0], *closing()[0]]


@pytest.mark.parametrize(
    "append",
    [
        ((JobPinned(run=RUN, t=0, job="\ud800", sha256=""),), {}),
        (opening()[0], {"0" * 64: b"other bytes"}),
        (opening()[0], {named("x")[0].upper(): b"x"}),
        ((ASKED,), {}),
    ],
)
def test_what_cannot_be_recorded_is_refused_whole(store: Store, append: Any) -> None:
    """A line of no kind, or bytes under another hash, leave nothing; the ledger goes on."""

    async def check() -> None:
        ledger = await store.create()
        before = ledger.head
        lines, blobs = append
        with pytest.raises(InternalError):
            await ledger.append((*opening()[0], *lines), blobs)
        assert ledger.head == before
        await ledger.append(*opening())
        await ledger.close()

    asyncio.run(check())
    assert said(store.lines()) == list(opening()[0])


def test_bytes_that_a_line_cites_must_be_there(store: Store) -> None:
    """P2: a line whose bytes were never kept is named when the ledger is read, or opened."""

    async def check() -> None:
        ledger = await store.create()
        lines, _ = opening()
        await ledger.append(lines, {})
        await ledger.close()
        with pytest.raises(DamagedRecordError, match="missing") as caught:
            await store.reopen()
        assert str(caught.value.where).endswith("line 1")

    asyncio.run(check())
    with pytest.raises(DamagedRecordError, match="missing"):
        store.lines()


def test_a_line_may_cite_what_an_earlier_append_kept(store: Store) -> None:
    """Bytes are kept once, by their hash, whoever cites them."""
    name, data = named("shared")
    segment = Segment(slot="city", sha256=name, size=len(data))
    line = PromptAssembled(run=RUN, t=0, segments=(segment,))

    async def check() -> None:
        ledger = await store.create()
        await ledger.append((line,), {name: data})
        await ledger.append((line,), {})
        await ledger.append((line,), {name: data})
        await ledger.close()

    asyncio.run(check())
    assert said(store.lines()) == [line] * 3


def test_a_ledger_in_a_file_tells_what_was_asked(tmp_path: Path) -> None:
    """What was asked is part of the chain, and can be read again as what it was."""
    store = in_a_file(tmp_path)

    async def check() -> None:
        ledger = await store.create()
        await play(ledger)
        assert await ledger.finish()
        await ledger.close()

    asyncio.run(check())
    with DriveReader.open(tmp_path) as reader:
        assert reader.asked(Asked) == ASKED
        assert reader.verify() == reader.head
        name, data = named("You are tidy. ")
        assert reader.blob(name) == data
        with pytest.raises(DamagedRecordError, match="missing"):
            reader.blob("0" * 64)
    other = msgspec.structs.replace(ASKED, task="Something else.")
    assert MemoryLines(other).head != MemoryLines(ASKED).head
