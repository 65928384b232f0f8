"""Proves that a Parquet file makes the same people as the CSV file with the same values."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest
from tests.support.sample_study import PEOPLE, SAMPLE, Writer

from perdure.base.errors import InvalidStudyError
from perdure.population import load_study

STUDY = SAMPLE.replace("people.csv", "people.parquet")
ROWS = list(csv.DictReader(io.StringIO(PEOPLE)))


def texts(name: str) -> list[str]:
    """Give a column of the sample as text."""
    return [row[name] for row in ROWS]


def numbers(name: str) -> list[int]:
    """Give a column of the sample as whole numbers."""
    return [int(row[name]) for row in ROWS]


def typed() -> dict[str, pa.Array]:
    """Give the sample's columns in the types that other programs write them in."""
    return {
        "id": pa.array(texts("id")),
        "PID": pa.array(numbers("PID"), pa.int8()),
        "L": pa.array([float(number) for number in numbers("L")], pa.float32()),
        "R": pa.array(texts("R")).dictionary_encode(),
        "age": pa.array([float(number) for number in numbers("age")]),
        "town": pa.array(texts("town"), pa.large_string()),
        "vote": pa.array(numbers("vote"), pa.uint64()),
        "unused": pa.array([[1, 2]] * len(ROWS)),
    }


def written(write: Writer, columns: dict[str, pa.Array], **options: object) -> Path:
    """Write the sample study with a Parquet file of these columns."""
    path = write(STUDY, None)
    pq.write_table(pa.table(columns), path.parent / "people.parquet", **options)
    return path


def problems(path: Path) -> list[tuple[str, int, str]]:
    """List what is wrong with a study: file, line, sentence."""
    with pytest.raises(InvalidStudyError) as caught:
        load_study(path)
    return [(Path(one.file).name, one.line, one.wrong) for one in caught.value.problems]


@pytest.mark.parametrize("options", [{}, {"row_group_size": 5}, {"compression": "zstd"}])
def test_the_people_and_their_hash_are_those_of_the_csv_file(
    write: Writer, options: dict[str, object]
) -> None:
    """Whatever types and row groups a Parquet file has, its people are those of the CSV file."""
    as_csv = load_study(write())
    as_parquet = load_study(written(write, typed(), **options))
    assert as_parquet.population.personas == as_csv.population.personas
    assert as_parquet.population.population_hash == as_csv.population.population_hash
    assert as_parquet.held_out == as_csv.held_out


def test_a_null_and_a_nan_are_missing_values(write: Writer) -> None:
    """What pandas and Arrow write for a value that is not there is no value of a persona."""
    ages = [None, float("nan"), *(float(number) for number in numbers("age")[2:])]
    towns = [None, "", *texts("town")[2:]]
    columns = typed() | {"age": pa.array(ages), "town": pa.array(towns)}
    people = load_study(written(write, columns)).population.personas
    assert all({"age", "town"}.isdisjoint(one.attributes) for one in people[:2])
    assert all({"age", "town"} <= set(one.attributes) for one in people[2:])


def test_a_bad_value_is_named_by_its_row(write: Writer) -> None:
    """All that is wrong is listed at once, each with the number of its row."""
    parties = [0, 7, *numbers("PID")[2:]]
    ids = [*texts("id")[:3], "r02", *texts("id")[4:]]
    columns = typed() | {"PID": pa.array(parties), "id": pa.array(ids)}
    found = problems(written(write, columns, row_group_size=2))
    assert found == [
        ("people.parquet", 2, "`7` in the column `PID` is not a code of its scale."),
        ("people.parquet", 4, "The id `r02` is already on line 3."),
    ]


def test_a_missing_column_and_one_of_lists_are_refused(write: Writer) -> None:
    """The columns are checked as a CSV file's are; one whose values have no text is refused."""
    columns = typed()
    lacking = {name: column for name, column in columns.items() if name != "age"}
    (only,) = problems(written(write, lacking))
    assert only[2] == "The column `age` (the attribute `age`) is not in the header."
    nested = columns | {"town": pa.array([["a"]] * len(ROWS))}
    ((_, line, wrong),) = problems(written(write, nested))
    assert line == 0
    assert wrong.startswith("The column `town` holds list<")


@pytest.mark.parametrize("damage", ["cut", "turned", "empty"])
def test_a_damaged_file_is_a_problem_and_no_traceback(write: Writer, damage: str) -> None:
    """A file that says it is Parquet and is not read to its end is refused in a sentence."""
    path = written(write, typed(), compression="none")
    file = path.parent / "people.parquet"
    data = file.read_bytes()
    if damage == "cut":
        data = data[: len(data) // 2]
    elif damage == "turned":
        data = data[:-30] + bytes(byte ^ 0x5A for byte in data[-30:-8]) + data[-8:]
    else:
        data = b"PAR1"
    file.write_bytes(data)
    ((name, _, wrong),) = problems(path)
    assert name == "people.parquet"
    assert wrong.startswith("The file cannot be read as Parquet: ")


def test_a_file_without_rows_is_refused(write: Writer) -> None:
    """A table without rows is no population."""
    columns = {name: column[:0] for name, column in typed().items()}
    ((_, _, wrong),) = problems(written(write, columns))
    assert wrong == "The file has a header and no rows."
