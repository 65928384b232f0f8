"""A run's folder and an export of it keep one contract: what is read and looked up is the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.support.runs import HELD_OUT, PERSONAS, WORLDS, make_run

from perdure.base.errors import DamagedRecordError
from perdure.records.events import KIND_OF, Event
from perdure.trace import lookup as lookups
from perdure.trace import parquet_table
from perdure.trace.export import export
from perdure.trace.lookup import Lookup
from perdure.trace.open_record import open_record
from perdure.trace.reader import RunReader
from perdure.trace.rules import cited
from perdure.trace.wanted import Span, Wanted

WORLD = WORLDS[0]
TICKS = 5


class Known(NamedTuple):
    """A record to be judged, and what is known of it from the store's own reader."""

    record: RunReader
    events: dict[str, list[Event]]


@pytest.fixture(params=["folder", "export", "export in small groups"])
def known(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Known]:
    """Open a run of two worlds with every kind of event, in its folder or from an export."""
    run = tmp_path / "run"
    make_run(run, ticks=TICKS, horizon=TICKS)
    with RunReader.open(run) as live:
        events = {name: list(live.events(name)) for name in WORLDS}
    place = run
    if request.param != "folder":
        if "small" in request.param:
            monkeypatch.setattr(parquet_table, "_ROWS_PER_GROUP", 7)
        export(run, with_held_out=True)
        place = tmp_path / "elsewhere"
        (run / "export").rename(place)
        run.rename(tmp_path / "gone")
    with open_record(place) as record:
        yield Known(record, events)


def test_the_registry_is_told(known: Known):
    """The run, its people, its real values, its worlds and its log are there, and checked."""
    record = known.record
    record.check_registry()
    assert record.entry.run_id == "abcdef012345"
    assert tuple(record.personas) == PERSONAS
    assert (record.graph, record.held_out, record.withheld) == ((), HELD_OUT, False)
    assert [world.world_id for world in record.worlds] == list(WORLDS)
    assert set(record.outcomes) == set(WORLDS)
    assert [row.seq for row in record.run_log()] == list(range(len(record.log)))
    assert (record.journal, record.journal_fault) == ((), "")


def test_events_are_told_in_order_of_all_kinds_or_some(known: Known):
    """Each world's events stream as they were written; of other kinds none."""
    for name, events in known.events.items():
        assert list(known.record.events(name)) == events
        kinds = ("turn", "cost")
        assert list(known.record.events(name, kinds)) == [
            event for event in events if KIND_OF[type(event.payload)] in kinds
        ]
        head = known.record.head(name)
        assert head is not None
        assert (head.seq, head.tick) == (events[-1].seq, events[-1].tick)
        assert known.record.header(name).world_id == name
        assert known.record.witnesses()[name] == head


def test_what_events_cite_is_there_and_nothing_else(known: Known):
    """Each text and vector is found by its hash; another hash is named as missing."""
    names = {one for event in known.events[WORLD] for one in cited(event)}
    assert len(names) > 2
    for name in names:
        assert known.record.blob(WORLD, name)
        assert known.record.partition(WORLD).has_blob(bytes.fromhex(name))
    kept = [key.hex() for key, _ in known.record.partition(WORLD).blobs()]
    assert kept == sorted(kept)
    assert names <= set(kept)
    for other in ("00" * 32, "ff" * 32, "80" * 32):
        assert not known.record.partition(WORLD).has_blob(bytes.fromhex(other))
        with pytest.raises(DamagedRecordError, match="missing"):
            known.record.blob(WORLD, other)
    with pytest.raises(DamagedRecordError, match="not a hash"):
        known.record.blob(WORLD, "no")


@pytest.mark.parametrize("page", [1, 6, 5_000])
def test_events_are_looked_up(known: Known, page: int, monkeypatch: pytest.MonkeyPatch):
    """By number, content, tick and span, by persona, kind and text, forwards and backwards."""
    monkeypatch.setattr(lookups, "_PAGE", page)
    events = known.events[WORLD]
    lookup = Lookup.of(known.record, WORLD)
    assert lookup is not None
    assert [lookup.event(event.seq) for event in events] == events
    contents = [event for event in events if event.content is not None]
    assert [lookup.by_content(number) for number in range(len(contents))] == contents
    assert lookup.by_content(len(contents)) is None
    for tick in range(TICKS):
        mine = [event for event in events if event.tick == tick]
        assert lookup.span_of(tick) == (mine[0].seq, mine[-1].seq)
    everything = Span(0, events[-1].seq)
    some = Span(3, events[-1].seq - 3)
    asked: tuple[tuple[Wanted, Callable[[Event], bool]], ...] = (
        (Wanted(), lambda _: True),
        (Wanted(persona="p1"), lambda event: event.persona == "p1"),
        (Wanted(kinds=("turn",)), lambda event: KIND_OF[type(event.payload)] == "turn"),
        (
            Wanted(persona="p1", besides=("tick_closed",)),
            lambda event: event.persona == "p1" or KIND_OF[type(event.payload)] == "tick_closed",
        ),
    )
    for wanted, holds in asked:
        for span in (everything, some):
            due = [
                event for event in events if span.first <= event.seq <= span.last and holds(event)
            ]
            assert due
            assert list(lookup.events(span, wanted)) == due
            assert list(lookup.backwards(span, wanted)) == due[::-1]
    assert [one.seq for one in lookup.events(everything, Wanted(text="é".encode()))] == [
        event.seq for event in events if "é" in str(event.payload)
    ]


def test_real_values_that_were_left_out_are_withheld_and_not_missing(tmp_path: Path):
    """A record of which they are no part says so; in an export they are by default."""
    make_run(tmp_path / "run", ticks=1, finish=False)
    export(tmp_path / "run")
    with ExitStack() as stack:
        for place in (tmp_path / "run", tmp_path / "run" / "export"):
            record = stack.enter_context(open_record(place))
            assert record.withheld == (place.name == "export")
            assert record.held_out == ({} if record.withheld else HELD_OUT)
