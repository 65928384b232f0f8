"""Single events are found by number, content, tick, kind and persona, and only sound ones."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest
from tests.support.runs import WORLDS, make_run

from perdure.base.errors import DamagedRecordError
from perdure.records.events import KIND_OF, Event
from perdure.trace import lookup as lookups
from perdure.trace.folder_store import FolderStore
from perdure.trace.lookup import Lookup
from perdure.trace.reader import RunReader
from perdure.trace.wanted import Span, Wanted

WORLD = WORLDS[0]


@pytest.fixture(params=[1, 7, 5_000])
def page(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Look through so many numbers at a time."""
    monkeypatch.setattr(lookups, "_PAGE", request.param)


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[RunReader]:
    """Open a run of two worlds with six ticks each, of every kind of event."""
    make_run(tmp_path / "run", ticks=6, horizon=6)
    with RunReader.open(tmp_path / "run") as opened:
        yield opened


def looking(reader: RunReader) -> tuple[Lookup, list[Event]]:
    """Look at the first world; give all its events too, as the reader reads them."""
    found = Lookup.of(reader, WORLD)
    assert found is not None
    return found, list(reader.events(WORLD))


def folder_of(reader: RunReader) -> Path:
    """Give the run's folder."""
    assert isinstance(reader.store, FolderStore)
    return reader.store.folder


def edit(reader: RunReader, statement: str) -> None:
    """Change the first world's record behind the store's back."""
    connection = apsw.Connection(str(folder_of(reader) / "worlds" / f"{WORLD}.db"))
    connection.execute(statement)
    assert connection.total_changes() > 0
    connection.close()


def test_every_event_is_found_by_number_and_by_content(reader: RunReader):
    """What is found is what the whole record has there; what it does not have is not found."""
    found, events = looking(reader)
    assert [found.event(event.seq) for event in events] == events
    contents = [event for event in events if event.content is not None]
    assert [found.by_content(number) for number in range(len(contents))] == contents
    assert found.by_content(len(contents)) is None
    assert found.by_content(-1) is None


def test_a_tick_is_found_whole(reader: RunReader, page: None):
    """The spans of all ticks, one after another, are the record."""
    found, events = looking(reader)
    spans = [found.span_of(tick) for tick in range(6)]
    assert [event for span in spans for event in found.events(span)] == events
    for tick, span in enumerate(spans):
        assert {event.tick for event in found.events(span)} == {tick}
    assert found.span_of(6) == Span(len(events), len(events) - 1)


def test_events_are_chosen_by_persona_kind_and_text(reader: RunReader, page: None):
    """All that are wanted are found and nothing else, forwards and backwards."""
    found, events = looking(reader)
    everything = Span(0, found.head.seq)
    kinds = {event.seq: KIND_OF[type(event.payload)] for event in events}
    p1 = [event for event in events if event.persona == "p1"]
    for wanted, expected in (
        (Wanted(), events),
        (Wanted(persona="p1"), p1),
        (Wanted(kinds=("turn",)), [one for one in events if kinds[one.seq] == "turn"]),
        (
            Wanted(persona="p1", kinds=("turn", "cost")),
            [one for one in p1 if kinds[one.seq] in {"turn", "cost"}],
        ),
        (
            Wanted(persona="p1", besides=("tick_closed",)),
            [one for one in events if one.persona == "p1" or kinds[one.seq] == "tick_closed"],
        ),
        (
            Wanted(kinds=("turn",), text=b"Yes, at 3"),
            [one for one in p1 if kinds[one.seq] == "turn" and one.tick == 3],
        ),
    ):
        assert list(found.events(everything, wanted)) == expected
        assert list(found.backwards(everything, wanted)) == expected[::-1]
        assert expected


def test_a_world_without_a_record_is_none(tmp_path: Path):
    """A world that has not started is no fault."""
    make_run(tmp_path / "run", ticks=0, finish=False)
    (tmp_path / "run" / "worlds" / f"{WORLD}.db").unlink()
    with RunReader.open(tmp_path / "run") as opened:
        assert Lookup.of(opened, WORLD) is None


COLUMNS = {
    "tick": "tick = tick + 1",
    "kind": "kind = 'cost'",
    "persona": "persona = persona || 'x'",
    "content": "content = 1000",
    "payload": "payload = CAST(payload || ' ' AS BLOB)",
    "hash": "hash = zeroblob(32)",
}


@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize("seq", [0, 9])
def test_a_changed_event_is_named(reader: RunReader, column: str, seq: int):
    """Whatever is changed of a row, it is not handed out, and the row itself is named."""
    found, _ = looking(reader)
    edit(reader, f"UPDATE events SET {COLUMNS[column]} WHERE seq = {seq}")
    with pytest.raises(DamagedRecordError) as caught:
        found.event(seq)
    assert caught.value.where == f"{WORLD}:{seq}"


def test_of_two_rows_that_do_not_fit_the_earlier_is_named(reader: RunReader):
    """An event whose predecessor was given another hash is sound; the predecessor is not."""
    found, _ = looking(reader)
    edit(reader, "UPDATE events SET hash = zeroblob(32) WHERE seq = 9")
    with pytest.raises(DamagedRecordError) as caught:
        found.event(10)
    assert caught.value.where == f"{WORLD}:9"


def test_a_missing_event_is_named(reader: RunReader, page: None):
    """A gap is found though nothing of it was wanted."""
    found, _ = looking(reader)
    edit(reader, "DELETE FROM events WHERE seq = 9")
    for wrong in (
        lambda: found.event(9),
        lambda: found.event(10),
        lambda: list(found.events(Span(0, 20), Wanted(persona="nobody"))),
        lambda: list(found.backwards(Span(0, 20), Wanted(persona="nobody"))),
    ):
        with pytest.raises(DamagedRecordError) as caught:
            wrong()
        assert caught.value.where == f"{WORLD}:9"
        assert "missing" in caught.value.wrong


def test_an_end_that_is_not_the_acknowledged_one_is_refused(reader: RunReader):
    """Neither a record that was cut, nor one that was given another end, is looked at."""
    last = reader.head(WORLD)
    assert last is not None
    edit(reader, f"UPDATE events SET hash = zeroblob(32) WHERE seq = {last.seq}")
    with pytest.raises(DamagedRecordError) as caught:
        Lookup.of(reader, WORLD)
    assert caught.value.where == f"{WORLD}:{last.seq}"
    edit(reader, "DELETE FROM events WHERE tick = 5")
    edit(
        reader,
        "UPDATE head SET tick = 4, seq = (SELECT max(seq) FROM events),"
        " chain = (SELECT hash FROM events ORDER BY seq DESC LIMIT 1)",
    )
    with pytest.raises(DamagedRecordError, match="rolled back"):
        Lookup.of(reader, WORLD)
