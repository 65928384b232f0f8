"""Proves that a CSV file as other programs write it makes the same people as a plain one."""

from __future__ import annotations

import csv
import io
import itertools
from pathlib import Path

import pytest
from tests.support.sample_study import PEOPLE, SAMPLE, Writer

from perdure.base.errors import InvalidStudyError
from perdure.population import load_study

TIES = """  graph:
    file: ties.csv
    from: a
    to: b
    strength: s
    communities: {least: 2, most: 1000, share: 0, modularity: 0}
"""
GERMAN = "  csv: {separator: semicolon, encoding: windows-1252, decimal: comma}\n"


def study(keys: str) -> str:
    """Give the sample study with more keys in its population."""
    return SAMPLE.replace("  id: id\n", f"  id: id\n{keys}", 1)


def german(text: str) -> bytes:
    """Write a CSV text with semicolons, decimal commas and bytes of an older Windows."""
    out = io.StringIO(newline="")
    writer = csv.writer(out, delimiter=";")
    for number, row in enumerate(csv.reader(io.StringIO(text))):
        writer.writerow(field.replace(".", ",") if number else field for field in row)
    return out.getvalue().encode("windows-1252")


def test_semicolons_decimal_commas_and_older_bytes_make_the_same_people(write: Writer) -> None:
    """People, their numbers and the strengths of their ties are those of the plain file."""
    people = PEOPLE.replace("Springfield", "Köln")
    ids = [row["id"] for row in csv.DictReader(io.StringIO(people))]
    pairs = itertools.pairwise(ids)
    ties = "a,b,s\n" + "".join(
        f"{one},{other},{place % 7 + 0.5}\n" for place, (one, other) in enumerate(pairs)
    )
    plain = write(study(TIES), people)
    (plain.parent / "ties.csv").write_text(ties, encoding="utf-8")
    expected = load_study(plain).population
    path = write(study(GERMAN + TIES), None)
    (path.parent / "people.csv").write_bytes(german(people))
    (path.parent / "ties.csv").write_bytes(german(ties))
    found = load_study(path).population
    assert found.personas == expected.personas
    assert (found.population_hash, found.graph_hash) == (
        expected.population_hash,
        expected.graph_hash,
    )
    assert {node.ties.get(ids[1]) for node in found.graph[:1]} == {0.08}


@pytest.mark.parametrize(
    ("keys", "data", "says"),
    [
        ("", b"id;PID\nx;1\n", "separated by semicolons, not by commas"),
        ("  csv: {separator: tab}\n", b"id,PID\nx,1\n", "separated by commas, not by tabs"),
        ("", "id,ä\n".encode("windows-1252"), "not valid UTF-8"),
        ("  csv: {decimal: comma}\n", PEOPLE.encode(), "both between fields and before decimals"),
        ("  csv: {separator: ','}\n", PEOPLE.encode(), "separator"),
    ],
)
def test_a_file_that_is_written_otherwise_is_refused_with_what_it_is(
    write: Writer, keys: str, data: bytes, says: str
) -> None:
    """Nothing is guessed: what the file is instead is said, and what to write."""
    path = write(study(keys), None)
    Path(path.parent / "people.csv").write_bytes(data)
    with pytest.raises(InvalidStudyError) as caught:
        load_study(path)
    assert any(says in problem.wrong for problem in caught.value.problems), caught.value.problems
