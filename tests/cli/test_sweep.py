"""A sweep on the command line: its cells listed, some of them driven, many still readable."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from perdure.base.errors import EXIT_DONE, EXIT_INVALID_STUDY, EXIT_MOVED, EXIT_USAGE
from perdure.cli.output import show
from perdure.cli.worlds_table import cause_parts, world_rows
from perdure.records.registry import WorldOutcome

# A cell's id, or whole parts of it, and what may follow in a sentence.
JOINED = re.compile(r"(plain)?(--activation-(0\.25|1)|--settings\.feed\.rate-[12])*[,:.]?")
GRID = "    grid: {activation: [0.25, 1.0], settings.feed.rate: [1, 2]}\n"


@pytest.fixture
def swept(study_file: Path) -> Path:
    """Give the small study with a grid of four, which makes eight cells."""
    text = study_file.read_text()
    assert "  plain:\n" in text
    study_file.write_text(text.replace("  plain:\n", f"  plain:\n{GRID}"))
    return study_file


def digests_of(perdure: Any, out: Path) -> dict[str, str]:
    """Give the digest of every world of a sound run."""
    said = perdure("verify", out, "--json")
    assert said.status == EXIT_DONE
    return {world["world_id"]: world["digest"] for world in said.document["worlds"]}


def test_a_plan_lists_the_cells_and_what_varies(perdure, swept, monkeypatch):
    """Every cell has its world, its scenario, what varies in it, its seed and its ticks."""
    monkeypatch.setenv("COLUMNS", "100")
    cells = perdure("plan", swept, "--json").document["cells"]
    assert len(cells) == 8
    assert cells[3] == {
        "world_id": cells[3]["world_id"],
        "scenario": "plain--activation-0.25--settings.feed.rate-2",
        "varies": {"activation": 0.25, "settings.feed.rate": "2"},
        "seed": 2,
        "ticks": 3,
        "recorded": None,
    }
    said = perdure("plan", swept).out
    assert "What varies: activation (0.25, 1), settings.feed.rate (1, 2), seed (1, 2)." in said
    lines = [line.split() for line in said.splitlines()]
    assert next(line[:6] for line in lines if line[:1] == ["world"]) == [
        "world",
        "scenario",
        "activation",
        "rate",
        "seed",
        "ticks",
    ]
    for cell in cells:
        (row,) = [line for line in lines if line[:1] == [cell["world_id"]]]
        rate = cell["varies"]["settings.feed.rate"]
        activation = f"{cell['varies']['activation']:g}"
        assert row[1:6] == ["plain", activation, rate, str(cell["seed"]), "3"]


def test_a_plan_says_which_cells_have_a_record(perdure, swept, tmp_path):
    """It looks for the file that is named by the world, and opens nothing."""
    out = tmp_path / "one"
    before = perdure("plan", swept, "--out", out, "--json").document["cells"]
    assert [cell["recorded"] for cell in before] == [False] * 8
    assert not out.exists()
    named = [cell["world_id"] for cell in before[2:4]]
    perdure("run", swept, "--out", out, "--quiet", "--only", named[0], "--only", named[1])
    assert sorted(path.stem for path in (out / "worlds").glob("*.db")) == sorted(named)
    # No registry is needed for it.
    (out / "run.db").rename(out / "elsewhere.db")
    after = perdure("plan", swept, "--out", out, "--json").document["cells"]
    assert [cell["world_id"] for cell in after if cell["recorded"]] == named
    said = perdure("plan", swept, "--out", out).out
    assert "2 of 8 worlds have a record." in said
    rows = [line.split() for line in said.splitlines() if " yes " in line]
    assert [row[0] for row in rows] == named
    # Other people are other worlds.
    fewer = perdure("plan", swept, "--out", out, "--n", 4, "--json").document["cells"]
    assert not any(cell["recorded"] for cell in fewer)


def test_a_mistake_in_a_grid_is_told_with_its_line(perdure, swept):
    """`plan` and `run` refuse it alike."""
    swept.write_text(swept.read_text().replace("activation: [0.25, 1.0]", "activatoin: [1]"))
    line = (
        swept.read_text()
        .splitlines()
        .index(GRID.replace("activation: [0.25, 1.0]", "activatoin: [1]").rstrip())
        + 1
    )
    for command in (("plan", swept), ("run", swept, "--out", swept.parent / "out")):
        said = perdure(*command)
        assert said.status == EXIT_INVALID_STUDY
        assert f"study.yaml:{line}: The key `activatoin`" in said.err
        assert "Did you mean `activation`?" in said.err


def test_some_cells_now_and_the_rest_later_end_as_one_run(perdure, swept, tmp_path):
    """`run` and `resume --only` leave the rest as it is; without it the rest is run."""
    whole, out = tmp_path / "whole", tmp_path / "parts"
    assert perdure("run", swept, "--out", whole, "--quiet").status == EXIT_DONE
    name = "plain--activation-0.25--settings.feed.rate-1"
    said = perdure("run", swept, "--out", out, "--quiet", "--only", f"{name}@2")
    assert said.status == EXIT_DONE
    assert "7 worlds were left out by --only. Run it again without --only" in said.out
    status = perdure("status", out, "--json").document
    assert (status["state"], status["exit_status"]) == ("paused", 0)
    assert status["cause"].startswith("7 worlds were left out by --only.")
    states = {(one["scenario"], one["seed"]): one["state"] for one in status["worlds"]}
    assert states.pop((name, 2)) == "completed"
    assert set(states.values()) == {"not_started"}
    said = perdure("resume", out, "--quiet", "--only", "plain--activation-1", "--json")
    assert said.status == EXIT_DONE
    assert said.document["result"]["state"] == "partial"
    assert said.document["result"]["exit_status"] == 0
    assert len(list((out / "worlds").glob("*.db"))) == 5
    for command in (("replay",), ("verify",), ("export",), ("report",), ("ledger",)):
        assert perdure(*command, out).status == EXIT_DONE
    said = perdure("resume", out, "--quiet", "--json")
    assert said.document["result"]["state"] == "completed"
    assert digests_of(perdure, out) == digests_of(perdure, whole)


def test_a_cell_that_is_not_there_is_refused_and_nothing_is_made(perdure, swept, tmp_path):
    """The message names a near one, or what there is; a folder that has the run is left alone."""
    out = tmp_path / "one"
    said = perdure("run", swept, "--out", out, "--quiet", "--only", "plain--activation-2")
    assert said.status == EXIT_USAGE
    assert not out.exists()
    said = perdure("run", swept, "--out", out, "--quiet", "--only", "plain@7")
    assert said.status == EXIT_USAGE
    assert "its seeds `1`, `2`." in said.err
    perdure("run", swept, "--out", out, "--quiet", "--only", "plain@1")
    for command in (("run", swept, "--out", out), ("resume", out)):
        said = perdure(*command, "--only", "nothing", "--quiet")
        assert said.status == EXIT_USAGE
        assert "`perdure plan` lists every cell" in said.err
    assert perdure("status", out, "--json").document["worlds_completed"] == 4


def test_what_moved_is_said_before_a_cell_is_looked_for(perdure, swept, tmp_path):
    """A grid that was edited is what is wrong, not the name of its cell."""
    out = tmp_path / "one"
    perdure("run", swept, "--out", out, "--quiet", "--only", "plain@1")
    swept.write_text(swept.read_text().replace("[0.25, 1.0]", "[0.25, 0.75]"))
    said = perdure("run", swept, "--out", out, "--quiet", "--only", "plain--activation-1")
    assert said.status == EXIT_MOVED
    assert "scenarios" in said.err


def test_a_grid_that_is_written_otherwise_goes_on(perdure, swept, tmp_path):
    """The order of its keys, and how its numbers are written, move nothing."""
    out = tmp_path / "one"
    perdure("run", swept, "--out", out, "--quiet", "--only", "plain@1")
    other = "    grid: {settings.feed.rate: ['1', \"2\"], activation: [0.250, 1]}\n"
    swept.write_text(swept.read_text().replace(GRID, other))
    said = perdure("run", swept, "--out", out, "--quiet", "--json")
    assert said.status == EXIT_DONE
    assert said.document["result"]["state"] == "completed"


@pytest.mark.parametrize("width", [80, 100])
def test_a_sweep_is_readable(perdure, swept, tmp_path, monkeypatch, width):
    """No line is too wide, no id of a world is broken, nor a part of a cell's id if it fits."""
    monkeypatch.setenv("COLUMNS", str(width))
    out = tmp_path / "one"
    perdure("run", swept, "--out", out, "--quiet")
    for command in ("status", "report", "ledger"):
        lines = perdure(command, out).out.splitlines()
        # What is to be copied is not broken: a path, and the address of a figure.
        whole = (str(out), "?against=")
        assert max(len(one) for one in lines if not any(part in one for part in whole)) <= width
        words = [word.rstrip(",.") for line in lines for word in line.split()]
        for path in (out / "worlds").glob("*.db"):
            assert path.stem in words
        # What has a stroke is the address of a figure, of which a name is a part.
        split = [one for one in words if one.startswith(("plain--", "--")) and "/" not in one]
        if width == 100:
            odd = [word for word in split if word != "--json" and not JOINED.fullmatch(word)]
            assert odd == []


def shown(capsys: Any, *parts: Any) -> list[str]:
    """Draw parts, and give the lines."""
    show(*parts)
    out: str = capsys.readouterr().out
    return out.splitlines()


def rows_of(number: int) -> list[list[str]]:
    """Make rows of so many cells."""
    return [
        [f"{place:012x}", f"shown--activation-0.{place + 10_000}--variant-v{place % 3}", "1"]
        for place in range(number)
    ]


def test_of_very_many_worlds_the_first_and_the_last_are_drawn(capsys, monkeypatch):
    """The others are counted, and --json has them."""
    monkeypatch.setenv("COLUMNS", "80")
    columns = ["world", "scenario", "seed"]
    lines = shown(capsys, *world_rows(columns, rows_of(50)))
    assert len(lines) == 52
    lines = shown(capsys, *world_rows(columns, rows_of(5_000)))
    assert len(lines) == 44
    assert lines[0].split() == ["world", "scenario", "activation", "variant", "seed"]
    assert lines[2].split() == ["0" * 12, "shown", "0.10000", "v0", "1"]
    assert lines[22].split() == ["..."]
    assert lines[42].split()[0] == f"{4_999:012x}"
    assert lines[43] == "4,960 in the middle are left out: --json lists all."


def test_a_column_that_is_there_already_is_not_taken_for_one_that_varies(capsys, monkeypatch):
    """A key whose short name is a heading keeps its full one."""
    monkeypatch.setenv("COLUMNS", "100")
    rows = [["0" * 12, f"s--settings.seed-{one}", "7"] for one in (1, 2)]
    lines = shown(capsys, *world_rows(["world", "scenario", "seed"], rows))
    assert lines[0].split() == ["world", "scenario", "settings.seed", "seed"]
    assert lines[3].split() == ["0" * 12, "s", "2", "7"]


def test_where_columns_do_not_fit_ids_break_between_what_varies(capsys, monkeypatch):
    """Nothing of an id is lost."""
    monkeypatch.setenv("COLUMNS", "44")
    rows = [["0" * 12, "shown--activation-0.5--variant-campaign-v1", "7"]]
    lines = shown(capsys, *world_rows(["world", "scenario", "seed"], rows))
    text = "".join("".join(line.split()) for line in lines[2:])
    assert text.replace("0" * 12, "").replace("7", "") == rows[0][1]
    assert any(line.strip() == "--variant-campaign-v1" for line in lines)


def test_of_very_many_failures_the_first_are_told(capsys):
    """Each has its cause; of many the rest is counted."""
    worlds = [WorldOutcome(world_id=f"{place:012x}", cause="It broke.") for place in range(30)]
    lines = shown(capsys, *cause_parts(worlds))
    assert len(lines) == 21
    assert lines[-1] == "10 other worlds did not either: --json says why."
    assert shown(capsys, *cause_parts(worlds[:1])) == ["000000000000: It broke."]


def test_status_of_many_worlds_begins_with_what_needs_attention(
    perdure, study_file, tmp_path, monkeypatch
):
    """States are counted, and those that are not at their end come first."""
    monkeypatch.setenv("COLUMNS", "160")
    chances = ", ".join(f"0.{place + 100}" for place in range(30))
    text = study_file.read_text().replace(
        "  plain:\n", f"  plain:\n    grid: {{activation: [{chances}]}}\n"
    )
    study_file.write_text(
        text.replace("horizon: 3", "horizon: 1")
        .replace("[0, 2]", "[0]")
        .replace("      1: [C1]", "      0: [C1]")
    )
    out = tmp_path / "many"
    assert perdure("run", study_file, "--out", out, "--quiet", "--only", "plain@1").status == 0
    said = perdure("status", out)
    assert "Worlds: 30 not started, 30 completed." in said.out
    rows = [line for line in said.out.splitlines() if "/1 " in line]
    assert "not started" in rows[0]
    assert "completed" in rows[-1]
    assert len(rows) == 40
    assert len(json.loads(perdure("status", out, "--json").out)["worlds"]) == 60


def test_a_report_of_many_scenarios_has_a_row_for_each(perdure, study_file, tmp_path, monkeypatch):
    """Seven scenarios are compared in one table, and not told one after the other."""
    monkeypatch.setenv("COLUMNS", "160")
    text = study_file.read_text()
    out, said = tmp_path, ""
    for number in (6, 7):
        chances = ", ".join(f"0.{place + 100}" for place in range(number))
        grid = f"  plain:\n    grid: {{activation: [{chances}]}}\n"
        study_file.write_text(text.replace("  plain:\n", grid))
        out = tmp_path / str(number)
        said = perdure("run", study_file, "--out", out, "--quiet").out
        blocks = said.count("compared with the real value")
        assert (blocks > 0) == (number == 6)
        assert ("vote: 7 scenarios, each of them in the tables below." in said) == (number == 7)
    table = said.split("predicted and real, first and last wave\n")[1].split("Events behind")[0]
    found = perdure("report", out, "--json").document["predictions"]
    rows = [line.split() for line in table.splitlines()[2:] if line.strip()]
    assert [(row[0], int(row[1]), row[2]) for row in rows] == [
        (one["scenario"], one["tick"], choice) for one in found for choice in ("Ann", "Bob")
    ]
    first = found[0]["overall"]["predicted"][0]["share"]
    assert rows[0][4] == f"{100 * first:.1f}"
