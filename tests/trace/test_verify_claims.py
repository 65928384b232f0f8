"""What a registry claims is believed only where something under a chain bears it out."""

from __future__ import annotations

from pathlib import Path

import apsw
import msgspec
import pytest
from tests.support.runs import WORLDS, make_run
from tests.support.town import town

from perdure.base.canonical import hash_hex
from perdure.base.errors import DamagedRecordError
from perdure.records.events import Head
from perdure.records.registry import (
    LogPayload,
    RunClosed,
    RunEntry,
    RunOpened,
    RunPaused,
    RunState,
    WorldEntry,
    WorldFailed,
    WorldOutcome,
    WorldState,
)
from perdure.runner.assembly import entry_for
from perdure.study.identity import expand
from perdure.trace.reader import RunReader
from perdure.trace.verify import verify
from perdure.trace.verify_claims import (
    worlds_of,
    wrong_end,
    wrong_header,
    wrong_outcome,
    wrong_witness,
    wrong_worlds,
)

OPENED = RunOpened(epoch=1)
PAUSED = RunPaused(cause="It was asked to stop.", exit_status=75)
CLOSED = RunClosed(state=RunState.COMPLETED, exit_status=0)
WORLD = WorldEntry(
    world_id="w", scenario="s", variant="v", replicate_seed=1, world_seed="0", horizon=3
)


def head(tick: int) -> Head:
    """Make where a record ends."""
    return Head(seq=10 * tick + 9, chain="c", content=0, digest=f"d{tick}", tick=tick)


def outcome(state: WorldState, tick: int, **fields: object) -> WorldOutcome:
    """Make a note of how the world stands."""
    stated = {"world_id": "w", "state": state, "tick": tick, **fields}
    return msgspec.convert(stated, WorldOutcome)


def asked_for() -> tuple[RunEntry, tuple[WorldEntry, ...]]:
    """Make the entry of a run and the worlds that a study expands into."""
    config = town()
    cells = expand(config.study, config.population)
    return entry_for(config), tuple(cell.entry for cell in cells)


def test_worlds_follow_from_the_study_as_the_study_room_says() -> None:
    """Ids, seeds and order that are derived from the entry are those a run is made with."""
    entry, worlds = asked_for()
    assert worlds_of(entry) == worlds
    assert wrong_worlds(entry, worlds, {worlds[0].world_id}) is None


def test_a_list_of_worlds_that_was_not_asked_for_is_named() -> None:
    """A row that is missing, other, more, or in another place is wrong, begun or not."""
    entry, worlds = asked_for()
    first, *others = worlds
    other = msgspec.structs.replace(first, replicate_seed=99)
    more = msgspec.structs.replace(first, world_id="0" * 12)
    for said, found in (
        ("its row is missing", others),
        ("not what the run was asked for", [other, *others]),
        ("not in that order", [*others, first]),
        ("not those", [*worlds, more]),
    ):
        assert said in (wrong_worlds(entry, found, ()) or "")
    assert "its row is missing" in (wrong_worlds(entry, worlds, {"f" * 12}) or "")


def test_a_header_must_be_of_the_scenario_and_population_asked_for() -> None:
    """The header of a record and the row of its world say the same."""
    config = town()
    cell = expand(config.study, config.population)[0]
    entry = entry_for(config)
    scenarios = {hash_hex(one) for one in config.study.scenarios}
    assert wrong_header(entry, cell.entry, cell.header, scenarios) is None
    assert wrong_header(entry, cell.entry, cell.header, ()) is None, "a study may state none"
    for changed, said in (
        ({"replicate_seed": 9}, "another world"),
        ({"population_hash": "0" * 64}, "another population"),
        ({"graph_hash": "0" * 64}, "another graph"),
        (
            {"scenario": msgspec.structs.replace(cell.header.scenario, activation=0.123)},
            "another scenario",
        ),
    ):
        header = msgspec.structs.replace(cell.header, **changed)
        assert said in (wrong_header(entry, cell.entry, header, scenarios) or "")


@pytest.mark.parametrize(
    ("witness", "noted"),
    [
        (None, None),
        (None, outcome(WorldState.NOT_STARTED, -1)),
        (head(1), outcome(WorldState.PARTIAL, 1, digest="d1")),
        (head(2), outcome(WorldState.COMPLETED, 2, digest="d2")),
        # A tick that was written just before a kill, of a world that then could not go on.
        (head(1), outcome(WorldState.FAILED, 2, digest="d1", cause="It moved.")),
        (None, outcome(WorldState.FAILED, 0, cause="It moved.")),
        # A world whose code could not be loaded again.
        (head(1), outcome(WorldState.FAILED, -1, digest="d1", cause="No such class.")),
        (head(1), outcome(WorldState.NOT_STARTED, -1, cause="It cannot be read.")),
    ],
)
def test_what_a_run_notes_of_itself_is_believed(
    witness: Head | None, noted: WorldOutcome | None
) -> None:
    """Every pair that a run, its kills and its resumes leave is sound."""
    assert wrong_outcome(WORLD, witness, noted) is None


@pytest.mark.parametrize(
    ("witness", "noted", "said"),
    [
        (head(1), None, "outcome is missing"),
        (None, outcome(WorldState.PARTIAL, 2), "tick 2 is closed"),
        (head(1), outcome(WorldState.COMPLETED, 2, digest="d1"), "tick 2 is closed"),
        (head(1), outcome(WorldState.COMPLETED, 1, digest="d1"), "says that it is completed"),
        (head(2), outcome(WorldState.PARTIAL, 1, digest="d2"), "tick 1 is its last"),
        (head(2), outcome(WorldState.NOT_STARTED, -1), "is its last"),
        (head(2), outcome(WorldState.NOT_STARTED, 2), "has not started"),
        (head(2), outcome(WorldState.PARTIAL, 2, digest="d1"), "another digest"),
        (head(2), outcome(WorldState.PARTIAL, 2, world_id="x"), "another world"),
    ],
)
def test_an_outcome_that_its_witness_contradicts_is_named(
    witness: Head | None, noted: WorldOutcome | None, said: str
) -> None:
    """Neither can be changed or taken away alone."""
    assert said in (wrong_outcome(WORLD, witness, noted) or "")


DONE = outcome(WorldState.COMPLETED, 2)
HALF = outcome(WorldState.PARTIAL, 1)
FAILED = outcome(WorldState.FAILED, 1)
FAILURE = WorldFailed(world_id="w", tick=1, exit_status=1, cause="It broke.")


@pytest.mark.parametrize(
    ("outcomes", "log", "sound"),
    [
        ([DONE], [OPENED, CLOSED], True),
        ([DONE], [OPENED, PAUSED], True),
        ([DONE], [OPENED], False),
        ([DONE], [OPENED, PAUSED, OPENED], False),
        ([DONE, HALF], [OPENED, PAUSED, OPENED], True),
        ([DONE, HALF], [OPENED], False),
        ([HALF, None], [OPENED], True),
        ([FAILED, DONE], [OPENED, FAILURE, CLOSED], True),
        ([FAILED, HALF], [OPENED, FAILURE, PAUSED, OPENED], True),
        ([FAILED], [OPENED, FAILURE], False),
        ([FAILED], [OPENED, CLOSED], False),
    ],
)
def test_an_end_that_the_worlds_tell_of_must_be_logged(
    outcomes: list[WorldOutcome | None], log: list[LogPayload], *, sound: bool
) -> None:
    """A run log whose end is cut off is found wherever a world's note tells of that end."""
    assert (wrong_end(outcomes, log) is None) is sound


@pytest.mark.parametrize(
    ("tick", "witness", "log", "sound"),
    [
        (2, head(2), [OPENED, CLOSED], True),
        (2, head(1), [OPENED, CLOSED], False),
        (0, None, [OPENED, CLOSED], False),
        (2, head(1), [OPENED, PAUSED], True),
        (2, head(0), [OPENED, PAUSED], False),
        (0, None, [OPENED, PAUSED], True),
        (1, None, [OPENED, PAUSED], False),
        (2, None, [OPENED], True),
    ],
)
def test_a_run_that_has_ended_has_witnessed_its_ticks(
    tick: int, witness: Head | None, log: list[LogPayload], *, sound: bool
) -> None:
    """A closed run has a witness of every end; a paused one may lack that of one tick."""
    assert (wrong_witness(head(tick), witness, log) is None) is sound


def test_a_pause_that_nobody_witnessed_is_not_of_a_closed_run() -> None:
    """It closes no tick, and is an event like any other: a paused run alone may end with it."""
    paused = msgspec.structs.replace(head(1), seq=head(1).seq + 1)
    assert wrong_witness(paused, head(1), [PAUSED]) is None
    assert "(event 20)" in str(wrong_witness(paused, head(1), [CLOSED]))
    assert wrong_witness(paused, paused, [CLOSED]) is None


def damage(path: Path, statement: str) -> None:
    """Change a database behind the store's back."""
    connection = apsw.Connection(str(path))
    connection.execute(statement)
    connection.close()


def test_a_header_is_checked_before_any_event_is_read(tmp_path: Path) -> None:
    """P9: a header alone is handed out only if the events follow from it."""
    make_run(tmp_path)
    statement = (
        "UPDATE header SET payload = CAST(replace(payload, 'study\":\"', 'study\":\"x') AS BLOB)"
    )
    damage(tmp_path / "worlds" / f"{WORLDS[0]}.db", statement)
    with RunReader.open(tmp_path) as reader, pytest.raises(DamagedRecordError, match="hash"):
        reader.header(WORLDS[0])


def test_the_entry_is_named_when_it_was_changed(tmp_path: Path) -> None:
    """A changed entry is called that, and not the first row of the run log."""
    make_run(tmp_path)
    damage(tmp_path / "run.db", "UPDATE run SET entry = CAST(replace(entry, 'USD', 'EUR') AS BLOB)")
    (finding,) = verify(tmp_path).every_finding
    assert finding.where.endswith("run entry")
    assert "run as asked" in finding.wrong
