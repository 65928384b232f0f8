"""A walker names the first row that is not what was written, and says what is wrong with it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from tests.support.runs import full_batch, number, pause_batch, resumed_batch

from perdure.base.canonical import encode
from perdure.base.errors import DamagedRecordError
from perdure.records.budget import Rung
from perdure.records.events import Degraded, Head, Payload, Started
from perdure.trace.chain import chain_step, frame
from perdure.trace.sealing import Row, first_head, seal
from perdure.trace.walk import Walker, walked

HEADER = b"{}"


def record() -> tuple[list[Row], Head]:
    """Make the rows of two ticks and where they end."""
    head, rows = first_head(HEADER), []
    for _ in range(2):
        sealed = seal(head, full_batch(head))
        rows += sealed.rows
        head = sealed.head
    return rows, head


def edited(rows: list[Row], place: int, column: int, value: Any) -> list[Row]:
    """Change one value of one row."""
    row = list(rows[place])
    row[column] = value
    return [*rows[:place], tuple(row), *rows[place + 1 :]]  # type: ignore[list-item]


def first_damage(rows: list[Row], stored: Head, witness: Head | None) -> DamagedRecordError:
    """Walk rows that must be damaged."""
    with pytest.raises(DamagedRecordError) as caught:
        for _ in walked(Walker("w", HEADER), rows, stored, witness):
            pass
    return caught.value


@pytest.mark.parametrize(
    ("place", "column", "value", "said"),
    [
        (4, 0, 9, "missing; the next event that is there has seq 9"),
        (4, 0, "4", "types"),
        (4, 1, 1, "tick 1, where tick 0 is open"),
        (4, 2, "dream", "no event is of the kind 'dream'"),
        (4, 2, "turn_failed", "hash"),
        (4, 3, "p7", "hash"),
        (4, 4, 9, "content number is 9"),
        (4, 4, None, "content number is None"),
        (0, 4, 0, "content number is 0"),
        (4, 5, b"{}", "hash"),
        (4, 5, "{}", "types"),
        (4, 6, bytes(32), "hash"),
    ],
)
def test_a_changed_value_is_named(place: int, column: int, value: Any, said: str) -> None:
    """P2: every column of a row is checked."""
    rows, head = record()
    error = first_damage(edited(rows, place, column, value), head, None)
    assert error.where == f"w:{place}"
    assert said in error.wrong


def test_an_open_tick_is_named() -> None:
    """P2: a record that ends inside a tick is not a record."""
    rows, head = record()
    short = msgspec.structs.replace(head, seq=head.seq - 1)
    error = first_damage(rows[:-1], short, None)
    assert (error.where, "does not end" in error.wrong) == (f"w:{head.seq}", True)


def test_a_head_that_is_not_the_end_is_named() -> None:
    """P2: what a partition says of its own end must be so."""
    rows, head = record()
    error = first_damage(rows, msgspec.structs.replace(head, digest="0" * 64), None)
    assert "and does not" in error.wrong


def test_a_witness_of_another_past_is_named() -> None:
    """P2: another event at the place that was acknowledged is found there, not at the end."""
    rows, head = record()
    closed = next(place for place, row in enumerate(rows) if row[2] == "tick_closed")
    other = Head(seq=closed, chain="0" * 64, content=11, digest="0" * 64, tick=0)
    assert first_damage(rows, head, other).where == f"w:{closed}"
    born = msgspec.structs.replace(first_head(b"another header"))
    assert first_damage(rows, head, born).where == "w:-1"


def test_a_sound_record_is_walked_to_its_end() -> None:
    """Every row is handed out once checked, and the walker stands at the end."""
    rows, head = record()
    walker = Walker("w", HEADER)
    assert list(walked(walker, rows, head, head)) == rows
    assert walker.head == head


def test_a_record_may_end_with_a_pause() -> None:
    """P2: it is whole before and after, and its end is as much protected as any other."""
    rows, head = record()
    sealed = seal(head, pause_batch(head))
    walker = Walker("w", HEADER)
    assert list(walked(walker, rows + sealed.rows, sealed.head, head)) == rows + sealed.rows
    assert walker.head == sealed.head
    error = first_damage(rows, head, sealed.head)
    assert "rolled back" in error.wrong
    place = len(rows)
    for column, value in ((5, b'{"rung":"warn"}'), (1, 3)):
        changed = [*rows, *edited(sealed.rows, 0, column, value)]
        assert first_damage(changed, sealed.head, None).where == f"w:{place}"
    after = seal(sealed.head, resumed_batch(sealed.head, 4))
    every = rows + sealed.rows + after.rows
    assert list(walked(Walker("w", HEADER), every, after.head, sealed.head)) == every


def rows_of(*payloads: Payload) -> tuple[list[Row], Head]:
    """Make rows of a first tick that hold together and are no whole batch."""
    head = first_head(HEADER)
    rows: list[Row] = []
    chain = bytes.fromhex(head.chain)
    for event in number(head, 0, [(payload, "") for payload in payloads]):
        kind, payload = type(event.payload).__name__.lower(), encode(event.payload)
        framed = frame(
            seq=event.seq, content=None, tick=0, kind=kind.encode(), persona=b"", payload=payload
        )
        chain = chain_step(chain, framed)
        rows.append((event.seq, 0, kind, "", None, payload, chain))
    return rows, msgspec.structs.replace(head, seq=len(rows) - 1, chain=chain.hex())


@pytest.mark.parametrize(
    "payloads",
    [
        (Degraded(rung=Rung.WARN),),
        (Started(), Degraded(rung=Rung.PAUSE)),
        (Degraded(rung=Rung.PAUSE), Started()),
    ],
)
def test_no_other_event_ends_a_record(payloads: tuple[Payload, ...]) -> None:
    """P2: another rung, or a pause inside a tick, leaves that tick without an end."""
    rows, head = rows_of(*payloads)
    assert "tick 0 does not end" in first_damage(rows, head, None).wrong


def test_a_pause_alone_ends_a_record() -> None:
    """A world that was paused before its first tick has a whole record of one event."""
    rows, head = rows_of(Degraded(rung=Rung.PAUSE))
    assert list(walked(Walker("w", HEADER), rows, head, None)) == rows
