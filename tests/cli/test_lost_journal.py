"""A lost call journal is named wherever costs are, and a damaged one before it is lost."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from perdure.base.errors import EXIT_DONE
from perdure.records.registry import JournalLost, RunPaused, TickDiscarded
from perdure.trace.journal_file import JOURNAL_NAME, JournalFile
from perdure.trace.reader import RunReader
from perdure.trace.registry import Registry

from .conftest import HOSTILE

COUNTING = ("status", "ledger", "report")


def lose(folder: Path, *estimates: int | None, why: str = "") -> None:
    """Let a later sitting of a run lose its call journal, and pause."""

    async def go() -> None:
        registry = await Registry.open(folder)
        lost = JournalLost(epoch=2, file="calls.db.damaged-2" if why else "", why=why)
        worlds = zip(registry.worlds, estimates, strict=False)
        ticks = [
            TickDiscarded(
                world_id=world.world_id, tick=2, epoch=1, journal_lost=True, estimate=estimate
            )
            for world, estimate in worlds
        ]
        await registry.log_together([lost, *ticks])
        await registry.log(RunPaused(cause="It was asked to stop.", exit_status=75))
        await registry.close()

    asyncio.run(go())


def words(said: Any) -> str:
    """Give what a command wrote, on one line."""
    return " ".join(said.out.split())


@pytest.mark.parametrize("command", COUNTING)
def test_what_was_lost_is_in_every_sum(perdure, recorded, command):
    """The estimate is counted and named; an unknown one is never zero."""
    folder = recorded(ticks=2, amount=100_000)
    lose(folder, 1_600_000, None, why="The call journal is damaged.")
    said = words(perdure(command, folder))
    assert (
        "The call journal could not be used, and is kept as calls.db.damaged-2: The call journal is"
        " damaged. 2 ticks may have been open then." in said
    )
    assert "at an estimate: 0.001600 USD + 1 unknown." in said
    document = perdure(command, folder, "--json").document
    beside = (document["cost"] if command == "report" else document)["outside"]
    assert (beside["amount"], beside["unknown"], beside["discarded"]) == (1_600_000, 1, 0)
    assert "0.004800 USD + 1 unknown" in said, "two worlds, two ticks, eight people"


@pytest.mark.parametrize("command", COUNTING)
def test_where_nothing_was_open_nothing_is_counted(perdure, recorded, command):
    """A journal that was set aside after a clean pause is named, and costs nothing."""
    folder = recorded(ticks=2, last=RunPaused(cause="It was asked to stop.", exit_status=75))
    lose(folder)
    said = words(perdure(command, folder))
    assert "The call journal was missing. No tick may have been open then." in said
    assert "Nothing is counted for it." in said


def test_verify_names_a_lost_journal_and_stays_sound(perdure, recorded):
    """The journal is no part of the record, and its loss is no finding."""
    folder = recorded(ticks=2)
    lose(folder, 5, why=HOSTILE)
    said = perdure("verify", folder)
    assert said.status == EXIT_DONE
    assert "1 tick may have been open then." in words(said)
    assert "\x1b" not in said.out
    document = perdure("verify", folder, "--json").document
    assert document["sound"]
    (loss,) = document["journal_losses"]
    assert (loss["lost"]["epoch"], loss["ticks"], loss["amount"]) == (2, 1, 5)


@pytest.mark.parametrize("command", [*COUNTING, "verify"])
@pytest.mark.parametrize("whose", ["nobody's", "another run's"])
def test_a_journal_that_cannot_be_used_is_said_before_it_is_lost(perdure, recorded, command, whose):
    """It stops no reader: what its calls cost is unknown, and is said to be."""
    folder = recorded(ticks=2)
    if whose == "nobody's":
        (folder / JOURNAL_NAME).write_bytes(b"no database")
    else:
        JournalFile.create(folder, 1, run="another").close()
    said = perdure(command, folder)
    assert said.status == EXIT_DONE
    assert "The call journal cannot be used:" in words(said)
    if command != "verify":
        assert "unknown, not zero" in words(said)


def test_a_run_without_a_journal_that_ended_cleanly_is_missing_nothing(perdure, recorded):
    """After a pause that left nothing open there is nothing that could be unknown."""
    left = RunPaused(cause="It was asked to stop.", exit_status=75)
    folder = recorded(ticks=2, last=left)
    assert not perdure("status", folder, "--json").document["outside"]["open"]
    with RunReader.open(folder) as reader:
        assert (reader.journal, reader.journal_fault) == (None, "")
