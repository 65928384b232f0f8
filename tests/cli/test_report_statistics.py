"""What a report says first, over whom, by weight, beside another run: through the command line."""

from __future__ import annotations

import shlex
from pathlib import Path

import msgspec
import pytest

from perdure.analysis.address import read_address
from perdure.analysis.document import Heading, Paragraph, Table
from perdure.analysis.report import build_report
from perdure.cli.record import opened
from perdure.cli.statistics_view import statistics_parts

from tests.cli.conftest import PEOPLE  # isort: skip

SECOND = ("seeds: [1, 2]", "  quiet:\n    variant: v1\nseeds: [1, 2]")
PULL = ("      noise: 0.1", "      claims: {C1: {ann: 1}}\n      noise: 0.1")
SEEDS = ("seeds: [1, 2]", "seeds: [1, 2, 3, 4, 5, 6]")
NOISE = ("noise: 0.1", "noise: 2")
WEIGHT = ("  id: id\n", "  id: id\n  weight: w\n")


@pytest.fixture
def ran(perdure, study_file, monkeypatch):
    """Run the small study with some of its text replaced; give the folder of the run."""
    monkeypatch.setenv("COLUMNS", "80")
    text = study_file.read_text()

    def run(name: str, *replaced: tuple[str, str]) -> Path:
        changed = text
        for old, new in replaced:
            assert old in changed
            changed = changed.replace(old, new)
        study_file.write_text(changed)
        out: Path = study_file.parent / name
        assert perdure("run", study_file, "--out", out, "--quiet").status == 0
        return out

    return run


def plain(text: str) -> str:
    """Undo the breaking of lines."""
    return " ".join(text.split())


def test_the_first_line_says_that_scenarios_cannot_be_told_apart(perdure, ran):
    """With and without a claim that moves nobody: said before the title of the report."""
    said = perdure("report", ran("null", SECOND, SEEDS, NOISE)).out
    assert said.startswith("This study cannot tell its scenarios apart: ")
    assert "\nReport of tiny" in said


def test_two_seeds_cannot_say(perdure, ran):
    """With two seeds it is said that it cannot be said; with one scenario, nothing is."""
    said = perdure("report", ran("few", SECOND, PULL, NOISE)).out
    assert said.startswith("This study cannot say whether its scenarios differ at the last wave: ")
    assert perdure("report", ran("alone", NOISE)).out.startswith("Report of tiny")


def test_weights_go_from_the_file_to_the_report(perdure, study_file, ran):
    """A file with weights, all of it taken: shares by weight stand there, as the JSON has them."""
    rows = PEOPLE.splitlines()
    people = [f"{rows[0]},w", *(f"{row},{1 + 9 * (n % 2)}" for n, row in enumerate(rows[1:]))]
    (study_file.parent / "people.csv").write_text("\n".join(people) + "\n")
    out = ran("weighted", WEIGHT, ("noise: 0.1", "noise: 0"))
    found = perdure("report", out, "--json").document
    assert found["weighting"]["applied"] is True
    row = found["over_personas"][0]
    # By the rule, the half that leans right says bob, and it stands for ten people each.
    assert row["figures"]["bob"]["value"] == 0.5
    assert row["weighted"]["figures"]["bob"]["value"] == pytest.approx(10 / 11)
    assert "by weight" in perdure("report", out).out
    by_weight = ran("drawn", WEIGHT, ("weight: w\n", "weight: w\n  draw: {n: 4, by: weight}\n"))
    said = plain(perdure("report", by_weight).out)
    assert "Not by weight: people were drawn in proportion to their weights" in said


def test_another_run_stands_beside(perdure, ran):
    """The same people, once by a noisy rule: each fit and the constant, over the same people."""
    sharp, noisy = (
        ran("sharp", ("noise: 0.1", "noise: 0")),
        ran("noisy", ("noise: 0.1", "noise: 9")),
    )
    found = perdure("report", sharp, "--beside", noisy, "--json").document["beside"]
    assert [(row["tick"], row["personas"]) for row in found["rows"]] == [(0, 8), (2, 8)]
    assert all(row["own"]["log_loss"] != row["other"]["log_loss"] for row in found["rows"])
    said = plain(perdure("report", sharp, "--beside", noisy).out)
    assert "most common" in said
    assert perdure("report", sharp, "--beside", sharp.parent).status == 2


def test_the_same_record_gives_the_same_report(perdure, ran):
    """Byte for byte, as JSON and as drawn."""
    out = ran("twice", SECOND, SEEDS, NOISE)
    for more in ((), ("--json",)):
        assert perdure("report", out, *more).out == perdure("report", out, *more).out


def test_rows_over_personas_say_their_question_and_where_their_events_are(perdure, ran):
    """Each question has a table of its own, and the address under it, as written, is one."""
    out = ran("asked", SECOND, SEEDS, NOISE)
    with opened(out) as record:
        report = build_report(record)
    (vote,) = (one for one in report.questions if one.id == "vote")
    second = msgspec.structs.replace(vote, id="hours", choices={}, unit="hours")
    mine = report.over_personas
    twice = msgspec.structs.replace(
        report,
        questions=(vote, second),
        over_personas=(*mine, *(msgspec.structs.replace(one, question="hours") for one in mine)),
    )
    blocks = list(statistics_parts(twice))
    heads = [one.text for one in blocks if isinstance(one, Heading) and one.level == 3]
    assert heads == [
        "vote: over personas, in percent",
        "vote: over personas, difference from plain, in percentage points",
        "hours: over personas, in hours",
        "hours: over personas, difference from plain, in hours",
    ]
    tables = [one for one in blocks if isinstance(one, Table) and "figure" in one.columns]
    for table in tables:
        (behind,) = shlex.split(table.behind)
        first = table.figures[0]
        assert read_address(behind).kind == "personas"
        assert len({read_address(one).path[1] for one in table.figures}) == 1
        if "/vote/" in first:
            assert perdure("show", out, first).status == 0
    against = [one.behind for one in tables if "against" in one.behind]
    assert against[0] == "'personas/vote/SCENARIO/TICK?against=plain'"


def test_a_long_table_over_personas_ends_after_a_wave(ran):
    """Never within one; how many rows are left out is said, and of which question."""
    with opened(ran("long")) as record:
        report = build_report(record)
    first = report.over_personas[0]
    waves = tuple(msgspec.structs.replace(first, tick=tick) for tick in range(50))
    blocks = list(statistics_parts(msgspec.structs.replace(report, over_personas=waves)))
    (table,) = (one for one in blocks if isinstance(one, Table) and "figure" in one.columns)
    assert len(first.figures) == 2
    assert len(table.rows) == 60
    assert any("40 more rows of vote" in one.text for one in blocks if isinstance(one, Paragraph))


def test_predicted_and_real_shares_say_of_how_many_they_are(perdure, ran):
    """They may be of different people: each has its number, and that it is so is said."""
    out = ran("both", NOISE)
    said = plain(perdure("report", out).out)
    assert ", of 16 scored answers and 8 real values; " in said
    assert "of all whose real value is known, scored or not." in said
    # Calibration is drawn of the last wave alone, which is said.
    assert "Calibration and log loss of earlier waves: --json." in said
