"""`perdure plan` shows who is drawn, and no run begins whose draw fails a gate unless it may."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.conftest import STUDY

from perdure.base.errors import EXIT_DONE, EXIT_INVALID_STUDY
from perdure.records.population import PopulationManifest
from perdure.trace.reader import RunReader

# 400 people, of whom 100 lean left; a census says that three quarters do.
PEOPLE = "id,lean,age,vote\n" + "".join(
    f"p{number:03},{int(number % 4 > 0)},{18 + number % 61},{number // 2 % 2}\n"
    for number in range(400)
)
WITH_AGE = STUDY.replace("  outcome:\n", "    age: {column: age, label: Age}\n  outcome:\n", 1)
CENSUS = "  draw: {n: 60}\n  targets: {lean: {0: 0.75, 1: 0.25}}\n"


@pytest.fixture
def asked(tmp_path: Path) -> Callable[[str], Path]:
    """Give a function that writes a study with more keys in its population."""

    def write(keys: str) -> Path:
        folder = tmp_path / "study"
        folder.mkdir(exist_ok=True)
        text = WITH_AGE.replace("  id: id\n", f"  id: id\n{keys}", 1)
        (folder / "study.yaml").write_text(text)
        (folder / "people.csv").write_text(PEOPLE)
        return folder / "study.yaml"

    return write


def flat(text: str) -> str:
    """Give a text without its line ends."""
    return " ".join(text.split())


def test_a_draw_that_fails_its_gate_is_planned_and_not_run(perdure, asked, tmp_path):
    """The plan shows the evidence and that the run is refused; nothing is created or called."""
    study, out = asked(CENSUS), tmp_path / "run"
    said = perdure("plan", study)
    assert said.status == EXIT_INVALID_STUDY
    text = flat(said.out)
    assert "60 personas of the 400 rows of people.csv. Left out: 340 not drawn." in text
    assert "1 gate passed, 1 failed." in text
    assert "`perdure run` refuses this study" in text
    assert "Who is drawn fails the gate `lean`" in text
    refused = perdure("run", study, "--out", out, "--quiet")
    assert refused.status == EXIT_INVALID_STUDY
    assert "accept: [lean]" in refused.err
    assert not out.exists()


def test_plan_as_json_has_all_of_the_evidence(perdure, asked):
    """With --json a program gets every gate with its levels, and why the study is refused."""
    found = perdure("plan", asked(CENSUS), "--json").document
    lean, age = found["population"]["gates"]
    assert (lean["name"], lean["state"], lean["test"]) == ("lean", "failed", "chi-squared")
    assert [level["target"] for level in lean["levels"]] == [0.75, 0.25]
    assert sum(level["drawn"] for level in lean["levels"]) == 60
    assert (age["name"], age["state"], age["test"]) == ("age", "passed", "Kolmogorov-Smirnov")
    assert 0 < age["p"] <= 1
    assert len(found["refused"]) == 1


def test_a_failure_that_the_study_accepts_is_on_record_for_ever(perdure, asked, tmp_path):
    """Accepted in so many words, the draw is run, and record and report say that it failed."""
    study, out = asked(f"{CENSUS}  gates: {{accept: [lean]}}\n"), tmp_path / "run"
    assert perdure("plan", study).status == EXIT_DONE
    said = perdure("run", study, "--out", out, "--quiet")
    assert said.status == EXIT_DONE
    assert "The gate `lean` failed, which the study accepts" in flat(said.out)
    with RunReader.open(out) as reader:
        manifest = reader.entry.population
    assert isinstance(manifest, PopulationManifest)
    assert [(gate.state, gate.accepted) for gate in manifest.gates] == [
        ("failed", True),
        ("passed", False),
    ]
    report = perdure("report", out, "--json").document
    assert report["population"]["gates"][0]["accepted"] is True
    assert perdure("verify", out).status == EXIT_DONE


def test_what_a_draw_gave_up_is_shown_planned_run_and_reported(perdure, asked, tmp_path):
    """Each step of the ladder is in the plan, in the record and in the report, word for word."""
    keys = (
        "  draw: {n: 200, quotas: [lean]}\n"
        "  targets: {lean: {0: 0.6, 1: 0.4}}\n"
        "  gates: {accept: [lean]}\n"
        "  audiences:\n"
        "    young: {share: 0.5, where: {age: {to: 40}}, relax: [age]}\n"
        "    rest: {share: 0.5}\n"
    )
    study, out = asked(keys), tmp_path / "run"
    said = flat(perdure("plan", study).out)
    assert "the quota of lean, when 27 were lacking; that gave 27" in said
    assert "young 100 50.0 %" in said
    run = flat(perdure("run", study, "--out", out, "--quiet").out)
    assert "the quota of lean, when 27 were lacking; that gave 27" in run
    (step,) = perdure("report", out, "--json").document["population"]["relaxations"]
    assert step == {"dropped": "lean", "audience": "", "lacking": 27, "gained": 27}
    rows = sqlite3.connect(out / "run.db").execute("SELECT payload FROM personas").fetchall()
    assert sum(b'"audience":"young"' in payload for (payload,) in rows) == 100


def test_a_shortfall_that_nothing_mends_is_a_problem_of_the_study(perdure, asked):
    """Who cannot be found is named, at the line of the draw, and with --n at the flag."""
    keys = (
        "  draw: {n: 200}\n  audiences:\n    old: {share: 0.5, where: {age: {from: 77}}}\n"
        "    rest: {share: 0.5}\n"
    )
    study = asked(keys)
    said = perdure("plan", study)
    assert said.status == EXIT_INVALID_STUDY
    line = study.read_text().split("\n").index("  draw: {n: 200}") + 1
    assert f"study.yaml:{line}" in said.err
    assert "lacks 88 for `old`" in flat(said.err)
    assert perdure("plan", study, "--n", "8").status == EXIT_DONE
