"""A batch is one whole tick that continues the record, or it is refused before it is written."""

from __future__ import annotations

import hashlib

import msgspec
import pytest
from tests.support.runs import full_batch, number, pause_batch, resumed_batch, small_batch

from perdure.base.errors import InternalError
from perdure.records.budget import Rung
from perdure.records.events import Batch, Degraded, Event, Head, Payload, Started, TickClosed
from perdure.records.presentation import Plan
from perdure.trace.sealing import first_head, seal
from perdure.trace.walk import Walker

HEADER = b"{}"
HEAD = first_head(HEADER)
CLOSED = TickClosed(plan=Plan(), jobs=0)
PAUSE = Degraded(rung=Rung.PAUSE)


def test_what_is_sealed_is_what_a_walker_accepts() -> None:
    """The hot loop and the reader's walk agree on every kind of event, over several ticks."""
    head, walker = HEAD, Walker("w", HEADER)
    for _ in range(3):
        sealed = seal(head, full_batch(head))
        for row in sealed.rows:
            walker.step(row)
        head = sealed.head
        assert walker.head == head
    walker.finish(head, head)


def test_blobs_are_keyed_by_their_hash() -> None:
    """What is filed is filed under the hash that events cite."""
    batch = full_batch(HEAD)
    assert {key.hex(): data for key, data in seal(HEAD, batch).blobs} == batch.blobs


@pytest.mark.parametrize(
    ("events", "said"),
    [
        ((), "without events"),
        ((Event(seq=0, tick=1, payload=CLOSED),), "cannot follow"),
        ((Event(seq=1, tick=0, payload=CLOSED),), "next event is 0"),
        ((Event(seq=0, tick=0, payload=Started()),), "does not end"),
        (
            (Event(seq=0, tick=0, payload=CLOSED), Event(seq=1, tick=0, payload=CLOSED)),
            "does not end",
        ),
        (
            (Event(seq=0, tick=0, payload=CLOSED), Event(seq=1, tick=0, payload=Started())),
            "does not end",
        ),
        (
            (Event(seq=0, tick=0, payload=Started()), Event(seq=1, tick=1, payload=CLOSED)),
            "next event is 1",
        ),
        ((Event(seq=0, tick=0, payload=CLOSED, content=0),), "content 0"),
    ],
)
def test_a_batch_that_is_not_a_whole_tick_is_refused(events: tuple[Event, ...], said: str) -> None:
    """P2: gaps, other ticks, missing or early ends and wrong numbers are our bugs, and loud."""
    with pytest.raises(InternalError, match=said):
        seal(HEAD, Batch(events=events))


@pytest.mark.parametrize("number", [None, 1, 7])
def test_content_is_numbered_without_a_gap(number: int | None) -> None:
    """A content event without its number, or with another, is refused."""
    batch = small_batch(HEAD)
    wrong = msgspec.structs.replace(batch.events[0], content=number)
    with pytest.raises(InternalError, match="does not continue"):
        seal(HEAD, Batch(events=(wrong, *batch.events[1:])))


def test_a_blob_under_another_hash_is_refused() -> None:
    """Bytes cannot be filed under a hash that is not theirs."""
    name = hashlib.sha256(b"other").hexdigest()
    batch = msgspec.structs.replace(small_batch(HEAD), blobs={name: b"bytes"})
    with pytest.raises(InternalError, match="not its hash"):
        seal(HEAD, batch)


@pytest.mark.parametrize("ticks", [0, 2])
def test_a_pause_stands_between_ticks(ticks: int) -> None:
    """It is in the chain, closes no tick, is no content, and the tick it stands before follows."""
    head, walker = HEAD, Walker("w", HEADER)
    for make in [*[full_batch] * ticks, pause_batch, resumed_batch, full_batch]:
        before = head
        sealed = seal(head, make(head))
        for row in sealed.rows:
            walker.step(row)
        head = sealed.head
        assert walker.head == head
        walker.finish(head, head)
        if make is pause_batch:
            assert [row[1:3] for row in sealed.rows] == [(before.tick + 1, "degraded")]
            assert head == msgspec.structs.replace(before, seq=before.seq + 1, chain=head.chain)
    assert head.tick == ticks + 1


@pytest.mark.parametrize(
    ("payloads", "blobs"),
    [
        ((Degraded(rung=Rung.WARN),), {}),
        ((PAUSE, PAUSE), {}),
        ((PAUSE, CLOSED), {}),
        ((Started(), PAUSE), {}),
        ((Started(), PAUSE, CLOSED), {}),
        ((PAUSE,), {hashlib.sha256(b"x").hexdigest(): b"x"}),
    ],
)
def test_nothing_else_stands_between_ticks(
    payloads: tuple[Payload, ...], blobs: dict[str, bytes]
) -> None:
    """No other rung does, nothing beside a pause, no blob; and no tick holds a pause."""
    events = number(HEAD, 0, [(payload, "") for payload in payloads])
    with pytest.raises(InternalError, match=r"stands alone|does not end"):
        seal(HEAD, Batch(events=events, blobs=blobs))


def test_a_pause_has_the_tick_that_does_not_open() -> None:
    """One of an earlier or a later tick does not continue the record."""
    head = Head(seq=4, chain=HEAD.chain, content=2, digest=HEAD.digest, tick=1)
    for tick in (1, 3):
        with pytest.raises(InternalError, match="cannot follow"):
            seal(head, Batch(events=number(head, tick, [(PAUSE, "")])))
