"""Proves that ties that a user has are read as they are, and all that is wrong is named by line."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest
from tests.support.sample_study import SAMPLE, Writer

from perdure.base.errors import InvalidStudyError
from perdure.population import Loaded, load_study
from perdure.population.edge_list import EdgeList

TIES = "a,b,contacts\nr00,r01,10\nr01,r00,4\nr02,r01,2.5\nr03,r04,0.001\nr10,r02,5\n"
GRAPH = "  graph: {file: ties.csv, from: a, to: b, strength: contacts}\n"


def asked(write: Writer, ties: str, keys: str = GRAPH) -> Path:
    """Write the sample study with these ties."""
    path = write(SAMPLE.replace("  id: id\n", f"  id: id\n{keys}", 1))
    (path.parent / "ties.csv").write_text(ties)
    return path


def loaded(write: Writer, ties: str = TIES, keys: str = GRAPH) -> Loaded:
    """Load the sample study with these ties."""
    return load_study(asked(write, ties, keys))


def problems(path: Path) -> list[tuple[str, int, str]]:
    """List what is wrong: file, line, sentence."""
    with pytest.raises(InvalidStudyError) as caught:
        load_study(path)
    return [(Path(one.file).name, one.line, one.wrong) for one in caught.value.problems]


def test_ties_have_no_direction_and_the_largest_strength_is_one(write: Writer) -> None:
    """Both directions are one tie, with the larger strength; the strongest of all counts as 1."""
    population = loaded(write).population
    held = {
        one.id: node.ties for one, node in zip(population.personas, population.graph, strict=True)
    }
    assert {name: ties for name, ties in held.items() if ties} == {
        "r00": {"r01": 1.0},
        "r01": {"r02": 0.25},
        "r02": {"r10": 0.5},
        "r03": {"r04": 0.01},
    }
    report = population.manifest.graph
    assert report is not None
    assert (report.ties, report.isolated, report.file, report.outside) == (4, 6, "ties.csv", 0)
    # A graph that the user has is measured and not judged.
    assert not population.manifest.gates


def test_a_parquet_file_and_the_order_of_rows_change_nothing(write: Writer) -> None:
    """The same ties have the same hash, however they are written."""
    first = loaded(write).population.graph_hash
    lines = TIES.splitlines(keepends=True)
    assert loaded(write, lines[0] + "".join(reversed(lines[1:]))).population.graph_hash == first
    rows = list(csv.DictReader(io.StringIO(TIES)))
    path = asked(write, "", GRAPH.replace("ties.csv", "ties.parquet"))
    columns = {name: [row[name] for row in rows] for name in ("a", "b")}
    columns["contacts"] = [float(row["contacts"]) for row in rows]
    pq.write_table(pa.table(columns), path.parent / "ties.parquet")
    assert load_study(path).population.graph_hash == first


def test_ties_are_in_the_order_of_the_people_whatever_that_of_the_file() -> None:
    """What is handed on to the search for communities is in one order."""
    ties = {("a", "c"): 2.0, ("b", "c"): 4.0, ("a", "b"): 1.0, ("c", "x"): 1.0}
    places = {"c": 0, "a": 1, "b": 2}
    first = EdgeList(ties, "").among(places)
    assert first == ([(0, 1), (0, 2), (1, 2)], [50, 100, 25], 1)
    assert EdgeList(dict(reversed(ties.items())), "").among(places) == first


def test_ties_to_people_who_are_not_drawn_are_counted(write: Writer) -> None:
    """A draw takes the ties among its own; the others are outside."""
    population = loaded(write, keys=f"  draw: {{n: 6}}\n{GRAPH}").population
    drawn = {one.id for one in population.personas}
    ties = [("r00", "r01"), ("r01", "r02"), ("r03", "r04"), ("r02", "r10")]
    inside = sum(set(tie) <= drawn for tie in ties)
    report = population.manifest.graph
    assert report is not None
    assert (report.ties, report.outside) == (inside, 4 - inside)
    assert 0 < inside < 4


def test_all_that_is_wrong_is_named_by_its_line(write: Writer) -> None:
    """Unknown people, ties to oneself and bad strengths are listed together."""
    bad = "a,b,contacts\nr00,r99,1\nr01,r01,1\nr02,r03,0\nr02,r03,x\nr02,r03,-1\n"
    assert problems(asked(write, bad)) == [
        ("ties.csv", 2, "The id `r99` is not in the population file."),
        ("ties.csv", 3, "`r01` is tied to itself."),
        ("ties.csv", 4, "`0` in the column `contacts` is no strength."),
        ("ties.csv", 5, "`x` in the column `contacts` is no strength."),
        ("ties.csv", 6, "`-1` in the column `contacts` is no strength."),
    ]


def test_problems_of_the_file_itself(write: Writer) -> None:
    """A file that is not there is named where the study names it; a column in the header."""
    path = asked(write, "a,c,contacts\nr00,r01,1\n")
    assert problems(path) == [("ties.csv", 1, "The column `b` is not in the header.")]
    (path.parent / "ties.csv").write_text("")
    assert problems(path) == [("ties.csv", 1, "The file is empty.")]
    (path.parent / "ties.csv").unlink()
    line = path.read_text().split("\n").index(GRAPH.rstrip()) + 1
    assert problems(path) == [("study.yaml", line, "The file `ties.csv` does not exist.")]


def test_no_ties_at_all_are_a_graph_too(write: Writer) -> None:
    """A header alone is a population in which nobody knows anybody."""
    population = loaded(write, "a,b,contacts\n").population
    assert population.graph_hash
    assert population.manifest.graph is not None
    assert population.manifest.graph.communities is None
    assert population.manifest.graph.isolated == 12
