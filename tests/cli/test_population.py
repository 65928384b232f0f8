"""`perdure plan` shows who is drawn, and no run begins whose draw fails a gate unless it may."""

from __future__ import annotations

import json
import re
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest
from tests.cli.conftest import STUDY

from perdure.base.errors import EXIT_DONE, EXIT_INVALID_STUDY, EXIT_MOVED, EXIT_STORAGE
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
    shares = dict(re.findall(r"lean ([01]) (?:75|25)\.0 % ([\d.]+) %", text))
    assert sum(map(float, shares.values())) == pytest.approx(100, abs=0.2)
    assert "The population fails the gate `lean`" in text
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


MADE = "  graph: {degree: 8, alike: [lean, age]}\n"


def test_the_graph_is_planned_kept_in_the_run_and_verified(perdure, asked, tmp_path):
    """The plan shows graph and communities; the run keeps them, and every header their hash."""
    study, out = asked(MADE), tmp_path / "run"
    said = flat(perdure("plan", study).out)
    assert "Graph: 1,600 ties; 8.0 a persona on average" in said
    assert "Communities: " in said
    assert "4 gates passed, 0 failed." in said
    found = perdure("plan", study, "--json").document["population"]["graph"]
    assert (found["ties"], found["isolated"]) == (1_600, 0)
    assert sum(found["communities"]["sizes"]) == 400
    assert perdure("run", study, "--out", out, "--quiet").status == EXIT_DONE
    with RunReader.open(out) as reader:
        assert len(reader.graph) == 400
        assert sum(len(node.ties) for node in reader.graph) == 1_600
        assert {node.community for node in reader.graph} == set(
            range(len(found["communities"]["sizes"]))
        )
        ties = {
            (persona.id, other)
            for persona, node in zip(reader.personas, reader.graph, strict=True)
            for other in node.ties
        }
        asked_for = reader.entry.hashes["graph"]
        assert {reader.header(one.world_id).graph_hash for one in reader.worlds} == {asked_for}
        assert reader.entry.versions["graspologic-native"]
    assert perdure("verify", out).status == EXIT_DONE
    assert perdure("export", out).status == EXIT_DONE
    rows = pq.read_table(out / "export" / "ties.parquet").to_pylist()
    assert {(row["persona"], row["other"]) for row in rows} == ties
    personas = pq.read_table(out / "export" / "personas.parquet").to_pylist()
    assert Counter(row["community"] for row in personas) == dict(
        enumerate(found["communities"]["sizes"])
    )
    script = Path(__file__).parents[2] / "docs" / "format_check.py"
    checked = subprocess.run([sys.executable, str(script), str(out)], check=False)
    assert checked.returncode == 0


def test_other_ties_are_other_worlds_and_a_run_does_not_go_on_with_them(perdure, asked, tmp_path):
    """A graph moves the ids of worlds; a run whose graph moved is refused, with what moved."""
    study, out = asked(MADE), tmp_path / "run"
    ids = [cell["world_id"] for cell in perdure("plan", study, "--json").document["cells"]]
    perdure("run", study, "--out", out, "--quiet")
    for keys, said in (
        (MADE.replace("8", "6"), "1600 ties then and 1200 now"),
        (MADE.replace("8,", "8, seed: 1,"), "of the 1600 ties are gone"),
        ("", "1600 ties then and 0 now"),
        (MADE.replace("age]", "age], communities: {least: 2, most: 3}"), "their communities"),
    ):
        study = asked(keys)
        cells = perdure("plan", study, "--json").document["cells"]
        assert {cell["world_id"] for cell in cells}.isdisjoint(ids)
        refused = perdure("resume", out, "--json")
        assert refused.status == EXIT_MOVED
        assert json.loads(refused.out or refused.err)["error"]["moved"] == ["graph"]
        assert said in flat(perdure("resume", out).err)
        forced = perdure("resume", out, "--force", "graph")
        assert "--force graph is not possible" in flat(forced.err)
    asked(MADE)
    assert perdure("resume", out, "--quiet").status == EXIT_DONE


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE graph SET payload = CAST(replace(payload, '0.9', '0.8') AS BLOB)",
        "DELETE FROM graph WHERE position = 399",
        "DELETE FROM graph WHERE position = 3",
        "DELETE FROM graph",
        "DROP TABLE graph",
    ],
)
def test_a_graph_that_was_changed_is_found(perdure, asked, tmp_path, statement):
    """`verify` names a graph that is not the one that the run was asked with."""
    out = tmp_path / "run"
    perdure("run", asked(MADE), "--out", out, "--quiet")
    database = sqlite3.connect(out / "run.db")
    assert database.execute(statement).rowcount  # -1 where no rows are counted
    database.commit()
    database.close()
    said = perdure("verify", out)
    assert said.status == EXIT_STORAGE
    assert "graph" in said.out + said.err or "node" in said.out + said.err


def test_without_communities_polarization_is_not_measurable(perdure, asked, tmp_path):
    """Where no partition qualifies, plan and report say so and why; with one they do not."""
    scattered = "  graph: {degree: 12, far: 1}\n  gates: {accept: [graph.clustering]}\n"
    out = tmp_path / "scattered"
    study = asked(scattered)
    assert "Polarization is not measurable." in flat(perdure("plan", study).out)
    said = flat(perdure("run", study, "--out", out, "--quiet").out)
    assert "polarization" in said
    gaps = perdure("report", out, "--json").document["gaps"]
    (gap,) = [one for one in gaps if one["what"] == "polarization"]
    assert gap["why"].startswith("no partition of the graph qualifies as communities: it")
    out = tmp_path / "made"
    perdure("run", asked(MADE), "--out", out, "--quiet")
    gaps = perdure("report", out, "--json").document["gaps"]
    assert "polarization" not in [one["what"] for one in gaps]
