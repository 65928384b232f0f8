"""The commands that read a recorded run: what they say, as text and as JSON."""

from pathlib import Path

import apsw
import pytest

from perdure.base.errors import EXIT_DONE, EXIT_STORAGE
from perdure.records.registry import RunPaused

from .conftest import HOSTILE


def damage(folder: Path) -> Path:
    """Overwrite the payload of one event of the first world."""
    path = min((folder / "worlds").glob("*.db"))
    database = apsw.Connection(str(path))
    database.execute("UPDATE events SET payload = x'7b7d' WHERE seq = 5")
    database.close()
    return path


READING = ("status", "ledger", "verify", "report", "export")


@pytest.mark.parametrize("command", READING)
def test_json_is_one_document(perdure, recorded, command):
    """With --json there is one JSON document on stdout, and nothing anywhere else."""
    said = perdure(command, recorded(), "--json")
    assert said.status == EXIT_DONE
    assert said.document
    assert said.err == ""


@pytest.mark.parametrize("command", READING)
@pytest.mark.parametrize("extra", [(), ("--json",)])
def test_hostile_text_never_drives_a_terminal(perdure, recorded, command, extra):
    """Escape sequences from a model's served name or an error's text come out as visible text."""
    said = perdure(command, recorded(ticks=2, served=HOSTILE, cause=HOSTILE), *extra)
    text = said.out + said.err
    assert not [char for char in text if char in "\x1b\x07\x9b\u202e" or ord(char) in range(9)]


@pytest.mark.parametrize("command", READING)
def test_ids_are_whole_at_eighty_columns(perdure, recorded, command, monkeypatch):
    """A world's id is never cut or broken, and no line is wider than the terminal."""
    monkeypatch.setenv("COLUMNS", "80")
    folder = recorded()
    said = perdure(command, folder)
    for path in (folder / "worlds").glob("*.db"):
        assert path.stem in said.out
    assert "…" not in said.out
    lines = [line for line in said.out.splitlines() if str(folder) not in line]
    assert max(map(len, lines)) <= 80


def test_status_of_an_interrupted_run(perdure, recorded):
    """A run that nobody holds and that did not end is interrupted, never running."""
    folder = recorded(ticks=1)
    assert perdure("status", folder, "--json").document["state"] == "interrupted"
    assert "running" not in perdure("status", folder).out


def test_status_of_a_paused_run_gives_the_cause(perdure, recorded):
    """A pause is shown with the cause that the run log holds."""
    folder = recorded(ticks=1, last=RunPaused(cause="It was asked to stop.", exit_status=75))
    found = perdure("status", folder, "--json").document
    assert (found["state"], found["cause"], found["exit_status"]) == (
        "paused",
        "It was asked to stop.",
        75,
    )


def test_json_has_every_field(perdure, recorded):
    """Fields that equal their default are written too: a zero is a zero and an absence is null."""
    found = perdure("ledger", recorded(), "--json").document
    assert found["total"]["unknown"] == 0
    assert found["total"]["amount"] == 0


def test_ledger_counts_unknown_amounts(perdure, recorded):
    """Unknown amounts stand beside the sum, and the registry's figure is compared."""
    said = perdure("ledger", recorded(amount=None))
    assert said.status == EXIT_DONE
    assert "0.00 USD + 48 unknown" in " ".join(said.out.split())
    assert "agrees" in said.out


def test_verify_prints_digests(perdure, recorded):
    """Each world's digest is printed whole."""
    folder = recorded()
    found = perdure("verify", folder, "--json").document
    assert found["sound"] is True
    text = perdure("verify", folder).out
    assert all(world["digest"] in text for world in found["worlds"])


def test_verify_names_the_first_bad_event(perdure, recorded):
    """A flipped payload ends with 74 and the event's own id."""
    folder = recorded()
    path = damage(folder)
    said = perdure("verify", folder)
    assert said.status == EXIT_STORAGE
    assert f"{path.stem}:5" in said.out
    document = perdure("verify", folder, "--json").document
    assert document["sound"] is False
    assert document["findings"][0]["where"] == f"{path.stem}:5"


def test_reading_a_damaged_record_ends_with_its_status(perdure, recorded):
    """A report of a damaged record is refused with 74: no figure is made of it."""
    folder = recorded()
    path = damage(folder)
    said = perdure("report", folder)
    assert said.status == EXIT_STORAGE
    assert said.out == ""
    assert f"{path.stem}:5" in said.err


def test_report_says_rule_and_partial(perdure, recorded):
    """A partial run says so before any figure, and the baseline is called a rule."""
    text = perdure("report", recorded(ticks=1)).out
    assert "partial" in text.splitlines()[1]
    assert text.index("This run is partial") < text.index("predicted and real")
    assert "answers by a declared rule, not a language model" in text


def test_report_groups_by_an_attribute(perdure, recorded):
    """The grouping can be named; one that does not exist lists those that do."""
    folder = recorded()
    assert perdure("report", folder, "--by", "lean", "--json").document["grouped_by"] == "lean"
    said = perdure("report", folder, "--by", "height")
    assert said.status == 2
    assert "lean" in said.err


def test_plan_spends_and_writes_nothing(perdure, study_file):
    """A plan lists the worlds and their ids, and leaves the folder as it was."""
    before = sorted(study_file.parent.iterdir())
    said = perdure("plan", study_file, "--json")
    assert said.status == EXIT_DONE
    assert len(said.document["forecast"]["worlds"]) == 2
    assert "not a language model" in perdure("plan", study_file).out
    assert sorted(study_file.parent.iterdir()) == before


HTTP = ("--model", "http", "--base-url", "http://127.0.0.1:9/v1", "--model-name", "m-1")


def test_plan_shows_a_budget_beside_the_cost(perdure, study_file):
    """What fits, which rungs to expect, what each price is and where it comes from."""
    flags = (*HTTP, "--price", "100,200", "--budget", "0.5")
    said = perdure("plan", study_file, *flags, "--json").document
    assert said["refused"] == []
    assert said["budget"]["amount"] == 500_000_000
    assert said["prices"]["tier_a"]["price"]["output"] == 200_000_000_000
    assert said["outlook"]["limits"][0]["expected"] == said["forecast"]["cost"]
    assert [one["rung"] for one in said["outlook"]["rungs"]][:2] == ["warn", "freeze"]
    text = perdure("plan", study_file, *flags).out
    assert "money: 0.500000 USD. Expected" in text
    assert "does not fit" in text
    assert "warn at tick" in text
    assert "100.00 in, 200.00 out, 100.00 cached (the study's own)" in text


def test_plan_says_that_not_even_the_first_tick_fits(perdure, study_file):
    """Then a run would end at once, and the plan says so beforehand."""
    flags = (*HTTP, "--price", "100,200", "--budget", "0.001")
    said = perdure("plan", study_file, *flags)
    assert "Not even the first tick fits" in said.out
    assert said.status == EXIT_DONE


def test_plan_says_what_a_run_would_refuse(perdure, study_file):
    """The forecast is shown all the same, since its calls are what a ceiling is made from."""
    said = perdure("plan", study_file, *HTTP)
    assert said.status == 65
    assert "`perdure run` refuses this study" in said.out
    assert "has no price" in said.out
    assert "turns at most" in said.out
    assert perdure("plan", study_file, *HTTP, "--json").document["refused"]
    assert perdure("plan", study_file, *HTTP, "--try").status == 65
    assert perdure("run", study_file, "--out", study_file.parent / "run", *HTTP).status == 65
    assert not (study_file.parent / "run").exists()


def test_plan_warns_of_dear_calls(perdure, study_file):
    """A typical call above one unit of the currency is named, and refused without a flag."""
    flags = (*HTTP, "--price", "100000,100000")
    said = perdure("plan", study_file, *flags)
    assert (said.status, perdure("plan", study_file, *flags, "--allow-dear-calls").status) == (2, 0)
    assert "--allow-dear-calls" in said.out
    said = perdure("run", study_file, "--out", study_file.parent / "run", *flags)
    assert said.status == 2
    assert "costs" in said.err
    allowed = perdure(
        "run", study_file, "--out", study_file.parent / "run", *flags, "--allow-dear-calls"
    )
    assert allowed.status == 69  # nobody answers there


def test_plan_tries_a_tick(perdure, study_file):
    """It says what it did and what it cost, and gives a time that it did not know before."""
    before = sorted(study_file.parent.iterdir())
    plain = perdure("plan", study_file, "--json").document
    tried = perdure("plan", study_file, "--try", "--json").document
    assert plain["forecast"]["seconds"] is None
    assert tried["forecast"]["seconds"] > 0
    assert tried["trial"]["calls"] == plain["forecast"]["personas"]
    assert "Tick 0 of plain (seed" in perdure("plan", study_file, "--try").out
    assert sorted(study_file.parent.iterdir()) == before


@pytest.mark.parametrize("columns", [80, 40])
def test_a_plan_can_be_read_on_a_narrow_terminal(perdure, study_file, monkeypatch, columns):
    """Nothing of a budget or a price is lost or runs past the edge."""
    monkeypatch.setenv("COLUMNS", str(columns))
    text = perdure("plan", study_file, *HTTP, "--price", "0.15,0.60", "--budget", "5").out
    part = text[text.index("Budget") : text.index("Calls")]
    assert max(map(len, part.splitlines())) <= columns
    flowing = " ".join(part.split())
    assert "money: 5.00 USD. Expected" in flowing
    assert "0.15 in, 0.60 out, 0.15 cached (the study's own)" in flowing
