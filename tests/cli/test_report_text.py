"""What a report says in words: nothing is cut, mixed up or taken for zero."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from perdure.records.registry import CallsLost, RunPaused
from perdure.trace.registry import Registry


def test_headings_do_not_break_inside_a_word(perdure, study_file, monkeypatch):
    """With three long choices the shares still fit on 80 columns, word by word."""
    monkeypatch.setenv("COLUMNS", "80")
    text = study_file.read_text()
    text = text.replace(
        "ann: {label: Ann}", "ann: {label: in favour of Ann}\n      cy: {label: stay at home}"
    )
    text = text.replace("bob: {label: Bob}", "bob: {label: against the whole thing}")
    text = text.replace("bob: 1", "bob: 1\n      cy: 2")
    text = text.replace("waves: [0, 2]", "waves: [0, 1, 2]").replace("      1: [C1]", "      {}")
    study_file.write_text(text.replace("    exposures:\n      {}", "    exposures: {}"))
    out = study_file.parent / "out"
    assert perdure("run", study_file, "--out", out, "--quiet").status == 0
    said = perdure("report", out).out
    assert max(len(line) for line in said.splitlines() if str(out) not in line) <= 80
    for word in ("accuracy", "Brier", "scored", "favour", "against", "stay at home", "choice"):
        assert word in said
    assert "every wave" in said


def test_in_short_names_the_same_choices_throughout(perdure, recorded):
    """Shares and changes name every choice where there are few."""
    lines = perdure("report", recorded()).out.split("Who answered")[0]
    short = " ".join(lines.split("In short")[1].split())
    for sentence in short.split(". "):
        if "tick" in sentence:
            assert "Ann" in sentence
            assert "Bob" in sentence


def test_one_answer_is_one_answer(perdure, study_file):
    """A count of one has a singular noun."""
    out = study_file.parent / "out"
    perdure("run", study_file, "--out", out, "--n", 1, "--quiet")
    assert "1 answers" not in perdure("report", out).out


@pytest.mark.parametrize("command", ["status", "report", "ledger"])
def test_the_unknown_cost_of_a_stopped_run_is_shown(perdure, recorded, command):
    """What was called in ticks that did not close is in every sum of the run."""
    folder = recorded(ticks=1, last=RunPaused(cause="It was asked to stop.", exit_status=75))
    assert "Outside" not in perdure(command, folder).out
    asked = recorded_with_lost(folder)
    said = " ".join(perdure(command, folder).out.split())
    assert f"{asked} attempts sent and never answered" in said
    assert f"0.00 USD + {asked} unknown" in said
    assert "never called" not in said
    found = perdure(command, folder, "--json").document
    beside = found["cost"]["outside"] if command == "report" else found["outside"]
    assert (beside["attempts"], beside["unknown"]) == (asked, asked)


def recorded_with_lost(folder: Path) -> int:
    """Let a later sitting of a run lose calls, and pause."""

    async def lose() -> None:
        registry = await Registry.open(folder)
        world = registry.worlds[0].world_id
        await registry.log(CallsLost(world_id=world, tick=1, epoch=1, calls=3, unknown_costs=3))
        await registry.log(RunPaused(cause="It was asked to stop.", exit_status=75))
        await registry.close()

    asyncio.run(lose())
    return 3
