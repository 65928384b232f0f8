"""What a report says first, over whom, by weight, beside another run: through the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

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
