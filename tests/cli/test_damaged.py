"""No command hands out anything of a registry that is not what was written, column by column."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from perdure.base.errors import EXIT_STORAGE
from perdure.trace.schema import REGISTRY

READERS = ("status", "ledger", "report", "export", "verify", "resume")

# What is changed of each column, and what the error names.
DAMAGE = {
    "run.id": ("DELETE FROM run", "run.db"),
    "run.entry": (
        "UPDATE run SET entry = CAST(replace(entry, 'USD', 'EUR') AS BLOB)",
        "run entry",
    ),
    "worlds.position": ("UPDATE worlds SET position = 3 - position", "worlds"),
    "worlds.world_id": (
        "UPDATE worlds SET world_id = '0123456789ab' WHERE position = 0",
        "world 0123456789ab",
    ),
    "worlds.entry": (
        "UPDATE worlds SET entry = CAST(replace(entry, 'seed\":1', 'seed\":9') AS BLOB)",
        "worlds",
    ),
    "worlds.witness": ("UPDATE worlds SET witness = NULL WHERE position = 0", "world "),
    "worlds.outcome": (
        "UPDATE worlds SET outcome = CAST(replace(outcome, '\"tick\":2', '\"tick\":1') AS BLOB)",
        "world ",
    ),
    "personas.position": ("UPDATE personas SET position = 99 WHERE position = 3", "persona 3"),
    "personas.id": ("UPDATE personas SET id = 'p99' WHERE position = 3", "persona 3"),
    "personas.payload": (
        "UPDATE personas SET payload = CAST(replace(payload, 'lean\":1', 'lean\":0') AS BLOB)",
        "personas",
    ),
    "held_out.id": ("UPDATE held_out SET id = 'p99' WHERE id = 'p1'", "held_out"),
    "held_out.value": ("UPDATE held_out SET value = 'bob'", "held_out"),
    "log.seq": ("UPDATE log SET seq = 7 WHERE seq = 1", "run log 1"),
    "log.kind": ("UPDATE log SET kind = 'paused' WHERE seq = 1", "run log 1"),
    "log.payload": (
        "UPDATE log SET payload = CAST(replace(payload, 'completed', 'partial') AS BLOB)",
        "run log 1",
    ),
    "log.hash": ("UPDATE log SET hash = zeroblob(32) WHERE seq = 1", "run log 1"),
}
# Who may write decides nothing that is read.
OUTSIDE = {"lease.id", "lease.epoch"}

# What is damaged by more than one value: rows that are gone, or put in another's place.
MORE = {
    "a world's row deleted": ("DELETE FROM worlds WHERE position = 1", "worlds"),
    "a held-out value deleted": ("DELETE FROM held_out WHERE id = 'p1'", "held_out"),
    "a persona deleted": ("DELETE FROM personas WHERE position = 7", "personas"),
    "the end of the run log deleted": ("DELETE FROM log WHERE seq = 1", "run log"),
    "the whole run log deleted": ("DELETE FROM log", "run log"),
    "a scenario renamed": (
        "UPDATE worlds SET entry = CAST(replace(entry, 'plain', 'other') AS BLOB)",
        "worlds",
    ),
    "an outcome lost": ("UPDATE worlds SET outcome = NULL", "world "),
    "an outcome of another world": (
        "UPDATE worlds SET outcome = (SELECT outcome FROM worlds WHERE position = 1)",
        "world ",
    ),
    "a digest exchanged": (
        "UPDATE worlds SET outcome = CAST(replace(outcome, 'digest\":\"', 'digest\":\"f') AS BLOB)",
        "world ",
    ),
}


def edit(folder: Path, statement: str) -> None:
    """Change the registry behind the store's back."""
    connection = apsw.Connection(str(folder / "run.db"))
    connection.execute(statement)
    assert connection.total_changes() > 0
    connection.close()


def test_every_column_has_a_damage():
    """The table covers the registry's schema: a new column needs a line here."""
    columns = set()
    for table in REGISTRY.tables:
        name, _, parts = table.removeprefix("CREATE TABLE ").partition(" (")
        columns |= {f"{name}.{part.split()[0]}" for part in parts.split(", ")}
    assert columns - OUTSIDE == set(DAMAGE)


@pytest.mark.parametrize("command", READERS)
@pytest.mark.parametrize("what", [*DAMAGE, *MORE])
def test_a_damaged_registry_is_refused(perdure, recorded, command, what):
    """P9: every command ends with 74 and names what does not match; nothing is handed out."""
    folder = recorded()
    statement, named = {**DAMAGE, **MORE}[what]
    edit(folder, statement)
    said = perdure(command, folder)
    assert said.status == EXIT_STORAGE
    assert named in said.out + said.err
    assert not (folder / "export").exists()
    if command != "verify":
        assert said.out == ""


def test_a_witness_set_to_null_is_missed_where_the_run_has_ended(perdure, recorded):
    """Neither a witness nor an outcome can be taken away from a world of a run that was closed."""
    folder = recorded()
    edit(folder, "UPDATE worlds SET witness = NULL, outcome = NULL WHERE position = 0")
    for command in ("ledger", "report", "export", "verify"):
        said = perdure(command, folder)
        assert said.status == EXIT_STORAGE
        assert "nothing witnesses it" in said.out + said.err


def test_one_fault_is_found_once(perdure, recorded):
    """What stands in the way of several checks is one finding."""
    for what in ("personas.payload", "worlds.entry", "log.hash", "held_out.value"):
        folder = recorded()
        edit(folder, DAMAGE[what][0])
        findings = perdure("verify", folder, "--json").document["findings"]
        assert len(findings) == 1, (what, findings)
        restore(folder)


def restore(folder: Path) -> None:
    """Take a damaged run away, so that the next one can be recorded in its place."""
    for path in sorted(folder.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    folder.rmdir()


def test_good_events_before_a_missing_end_are_counted(perdure, recorded):
    """The table of `verify` says how far a world is good, also where its end is gone."""
    folder = recorded()
    path = min((folder / "worlds").glob("*.db"))
    connection = apsw.Connection(str(path))
    last = connection.execute("SELECT max(seq) FROM events").fetchall()[0][0]
    connection.execute("DELETE FROM events WHERE tick = 2")
    kept = connection.execute("SELECT count(*) FROM events").fetchall()[0][0]
    connection.close()
    document = perdure("verify", folder, "--json").document
    (world,) = (one for one in document["worlds"] if one["world_id"] == path.stem)
    assert (world["events"], world["tick"]) == (kept, 1)
    assert str(last) in world["findings"][0]["wrong"]
