"""Every rule for the lines of a tick's drives is kept by a real record, and seen when broken."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest
from tests.support.office import clerk, furnish, office
from tests.support.town import run_in_memory

from perdure.records.drive import (
    DRIVE_KIND_OF,
    HandoffWritten,
    JobPinned,
    ModelCalled,
    RunFrozen,
    RunStarted,
    ToolCalled,
    ToolResult,
)
from perdure.records.events import Event, Turn
from perdure.testing import ScriptedProvider
from perdure.trace.rules import Tally

Change = Callable[[list[Event]], list[Event]]


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> list[Event]:
    """Give the events of an office of two people and two days."""
    study = furnish(tmp_path_factory.mktemp("office") / "study")
    config = office(study, personas=2, horizon=2)
    return run_in_memory(config, ScriptedProvider(clerk)).events()


def complaints(events: list[Event]) -> list[str]:
    """Say all that is wrong, until the first event that is."""
    tally = Tally(horizon=2)
    for event in events:
        wrong = tally.follow(event)
        if wrong is not None:
            return [wrong]
    return []


def first(events: list[Event], kind: type) -> int:
    """Find the first event of a kind."""
    return next(at for at, event in enumerate(events) if isinstance(event.payload, kind))


def changed(event: Event, **fields: object) -> Event:
    """Give an event that says something else."""
    payload = msgspec.structs.replace(event.payload, **fields)
    return msgspec.structs.replace(event, payload=payload)


def without(kind: type) -> Change:
    """Leave out the first event of a kind."""

    def change(events: list[Event]) -> list[Event]:
        at = first(events, kind)
        return events[:at] + events[at + 1 :]

    return change


def twice(kind: type) -> Change:
    """Say the first event of a kind twice."""

    def change(events: list[Event]) -> list[Event]:
        at = first(events, kind)
        return [*events[:at], events[at], *events[at:]]

    return change


def saying(kind: type, **fields: object) -> Change:
    """Have the first event of a kind say something else."""

    def change(events: list[Event]) -> list[Event]:
        at = first(events, kind)
        return [*events[:at], changed(events[at], **fields), *events[at + 1 :]]

    return change


def by_another(events: list[Event]) -> list[Event]:
    """Give one line to another persona."""
    at = first(events, ModelCalled)
    return [*events[:at], msgspec.structs.replace(events[at], persona="p9"), *events[at + 1 :]]


def all_by_another(events: list[Event]) -> list[Event]:
    """Give a whole drive to another persona than its turn's."""
    at, end = first(events, JobPinned), first(events, RunFrozen)
    given = [msgspec.structs.replace(event, persona="p9") for event in events[at : end + 1]]
    return events[:at] + given + events[end + 1 :]


def interleaved(events: list[Event]) -> list[Event]:
    """Put the outcome into its own drive."""
    at, end = first(events, ModelCalled), first(events, Turn)
    return [*events[:at], events[end], *events[at:end], *events[end + 1 :]]


def drive_after_its_turn(events: list[Event]) -> list[Event]:
    """Put a drive behind the outcome of its job."""
    at, end = first(events, JobPinned), first(events, RunFrozen)
    turn = first(events, Turn)
    outcome = changed(events[turn], did=())
    between = [*events[end + 1 : turn], outcome]
    return [*events[:at], *between, *events[at : end + 1], *events[turn + 1 :]]


def mixed(events: list[Event]) -> list[Event]:
    """Give one line to another drive."""
    at = first(events, ModelCalled)
    return [*events[:at], changed(events[at], run="t0-j1"), *events[at + 1 :]]


def other_tick(events: list[Event]) -> list[Event]:
    """Let a drive be one of another tick."""
    return [
        changed(event, run="t9-j0")
        if type(event.payload) in DRIVE_KIND_OF and event.payload.run == "t0-j0"  # type: ignore[union-attr]
        else event
        for event in events
    ]


def nameless(events: list[Event]) -> list[Event]:
    """Let a drive have a name that is none of a job's."""
    at = first(events, JobPinned)
    return [*events[:at], changed(events[at], run="alone"), *events[at + 1 :]]


BROKEN: dict[str, tuple[Change, str]] = {
    "no pin": (without(JobPinned), "begins with its job"),
    "pinned twice": (twice(JobPinned), "begun already"),
    "not started": (without(RunStarted), "is started after"),
    "started twice": (twice(RunStarted), "is started after"),
    "no handoff": (without(HandoffWritten), "is frozen after"),
    "two handoffs": (twice(HandoffWritten), "is frozen after"),
    "not frozen": (without(RunFrozen), "has not ended"),
    "frozen twice": (twice(RunFrozen), "begins with its job"),
    "no result": (without(ToolResult), "has no result"),
    "two results": (twice(ToolResult), "was not made"),
    "a wrong citation": (
        saying(RunFrozen, evidence=(0,)),
        "line 0 of its drive, which is no answer",
    ),
    "no citation": (saying(RunFrozen, evidence=()), "ends as done and cites 0 lines"),
    "no call": (without(ToolCalled), "was not made"),
    "called twice": (twice(ToolCalled), "has no result yet"),
    "another tool's result": (saying(ToolResult, name="send_note"), "was not made"),
    "another persona's line": (by_another, "is that of p"),
    "another persona's drive": (all_by_another, "is that of p9"),
    "an outcome within": (interleaved, "has not ended"),
    "a drive too late": (drive_after_its_turn, "follows the drive or the outcome"),
    "two drives mixed": (mixed, "has not ended"),
    "another tick's": (other_tick, "not one of its tick"),
    "no job's": (nameless, "names no job"),
}


def test_a_real_record_keeps_every_rule(record: list[Event]) -> None:
    """Nothing is wrong with what a run leaves."""
    assert complaints(record) == []


@pytest.mark.parametrize("name", BROKEN)
def test_each_rule_is_seen_when_it_is_broken(record: list[Event], name: str) -> None:
    """The complaint is the one that says what is wrong."""
    change, said = BROKEN[name]
    assert said in complaints(change(record))[0]


def test_what_a_turn_did_was_done_by_its_drive(record: list[Event]) -> None:
    """An action that no drive did is seen, and one that is told twice."""
    turn = record[first(record, Turn)].payload
    assert isinstance(turn, Turn)
    invented = msgspec.structs.replace(turn.did[0], arguments='{"name": "x"}')
    for did in ((*turn.did, invented), (*turn.did, turn.did[0])):
        assert "which no drive of it did" in complaints(saying(Turn, did=did)(record))[0]
