"""A batch is one whole tick that continues the record, or it is refused before it is written."""

from __future__ import annotations

import hashlib

import msgspec
import pytest
from tests.support.runs import full_batch, small_batch

from perdure.base.errors import InternalError
from perdure.records.events import Batch, Event, Started, TickClosed
from perdure.records.presentation import Plan
from perdure.trace.sealing import first_head, seal
from perdure.trace.walk import Walker

HEADER = b"{}"
HEAD = first_head(HEADER)
CLOSED = TickClosed(plan=Plan(), jobs=0)


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
