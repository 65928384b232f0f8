"""Proves that a population is exactly the rows of its file, and that no persona has the outcome."""

from __future__ import annotations

import io
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.sample_study import PEOPLE, SAMPLE, Writer

from perdure.base import canonical
from perdure.base.chance import Stream
from perdure.base.errors import InvalidStudyError, UsageError
from perdure.population import Drawn, build, load_study
from perdure.population.rows import PROBLEMS_MAX, EnoughError, Report, read_rows
from perdure.records.persona import AttributeSpec, Ontology, OutcomeSpec, Persona
from perdure.records.study import PopulationSpec
from perdure.study.findings import Findings
from perdure.study.identity import expand
from perdure.study.overrides import Overrides

EXAMPLE = Path(__file__).parents[2] / "examples" / "vote96" / "study.yaml"
ONTOLOGY = Ontology(
    attributes=(
        AttributeSpec(name="p", label="P", scale={"1": "one", "2": "two"}, required=True),
        AttributeSpec(name="age", label="Age"),
        AttributeSpec(name="town", label="Town", text=True),
    ),
    outcome=OutcomeSpec(name="vote", question="q"),
)
SPEC = PopulationSpec(
    file="p.csv",
    id_column="id",
    columns={"p": "P", "age": "AGE", "town": "TOWN"},
    outcome_column="V",
    outcome_values={"a": "0", "b": "1"},
    missing=("", "NA"),
)
HEADER = "id,P,AGE,TOWN,V\n"


def built(folder: Path, rows: str, **changes: object) -> Drawn:
    """Build a population from rows."""
    (folder / "p.csv").write_text(HEADER + rows)
    return build(folder, msgspec.structs.replace(SPEC, **changes), ONTOLOGY)


def problems_of(folder: Path, data: str | bytes, **changes: object) -> list[tuple[int, str]]:
    """List what is wrong."""
    (folder / "p.csv").write_bytes(data if isinstance(data, bytes) else data.encode())
    with pytest.raises(InvalidStudyError) as caught:
        build(folder, msgspec.structs.replace(SPEC, **changes), ONTOLOGY)
    return [(problem.line, problem.wrong) for problem in caught.value.problems]


def test_values_are_what_the_ontology_says(tmp_path: Path) -> None:
    """Values are what the ontology says."""
    drawn = built(tmp_path, 'x,1, 41 ,"Old, town",0\ny,2.0,40.5,NA,1\nz,2,,007,NA\n')
    assert drawn.population.personas == (
        Persona(id="x", attributes={"p": 1, "age": 41, "town": "Old, town"}),
        Persona(id="y", attributes={"p": 2, "age": 40.5}),
        Persona(id="z", attributes={"p": 2, "town": "007"}),
    )
    assert drawn.held_out.values == {"x": "a", "y": "b"}
    assert drawn.held_out.missing == 1


def test_the_population_hash_is_over_the_personas_alone(tmp_path: Path) -> None:
    """The population hash is over the personas alone."""
    one = built(tmp_path, "x,1,41,T,0\ny,2,42,T,1\n")
    other = built(tmp_path, "x,1,41,T,1\n\ny,2.0,42,T,0\n")
    assert one.population.population_hash == other.population.population_hash
    assert one.population.population_hash == canonical.hash_hex(one.population.personas)
    assert one.held_out.held_out_hash != other.held_out.held_out_hash
    assert one.population.manifest.file_sha256 != other.population.manifest.file_sha256


@pytest.mark.parametrize(
    ("data", "line", "says"),
    [
        ("", 1, "empty"),
        (HEADER, 1, "no rows"),
        ("id,P,AGE,TOWN\nx,1,2,T\n", 1, "`V` (the held-out outcome) is not in the header"),
        ("id,P,AEG,TOWN,V\nx,1,2,T,0\n", 1, "`AGE` (the attribute `age`) is not in"),
        ("id,P,AGE,TOWN,V,P\nx,1,2,T,0,1\n", 1, "`P` is in the header 2 times"),
        (HEADER + "x,1,2,T,0\ny,1,2,T\n", 3, "4 fields, and the header 5"),
        (HEADER + "x,1,2,T,0\ny,1,2,T,0,\n", 3, "6 fields"),
        (HEADER + "x,1,2,T,0\nx,1,2,T,0\n", 3, "already on line 2"),
        (HEADER + "a b,1,2,T,0\n", 2, "not a plain id"),
        (HEADER + ",1,2,T,0\n", 2, "not a plain id"),
        (HEADER + "x,3,2,T,0\n", 2, "`3` in the column `P` is not a code"),
        (HEADER + "x,NA,2,T,0\n", 2, "no `P`, which is required"),
        (HEADER + "x,1,old,T,0\n", 2, "not a number"),
        (HEADER + "x,1,nan,T,0\n", 2, "not a number"),
        (HEADER + "x,1,0x10,T,0\n", 2, "not a number"),
        (HEADER + "x,1,1_0,T,0\n", 2, "not a number"),
        (HEADER + "x,1,1e300,T,0\n", 2, "too large"),
        (HEADER + "x,1,1e999,T,0\n", 2, "too large"),
        (HEADER + "x,1,2,T,7\n", 2, "`7` in the column `V` is no choice"),
        (HEADER + 'x,1,2,"T,0\n', 2, "not CSV"),
        (HEADER + 'x,1,2,"T"x,0\n', 2, "not CSV"),
        (HEADER + 'w,1,2,"T\n",0\nx,3,2,T,0\n', 4, "not a code"),
        (HEADER + "x,1,2," + "T" * 20_000 + ",0\n", 2, "20,000 characters"),
        (HEADER + "x,1,2," + "T" * 1_100_000 + ",0\n", 2, "bytes"),
        (HEADER + "x,1,2,T\x1b[2J,0\n", 2, "control character"),
        (HEADER + "x,1,2,T\x00,0\n", 2, "control character"),
        (HEADER.encode() + b"x,1,2,\xff,0\n", 2, "UTF-8"),
        ((HEADER + "x,1,2,T,0\n").encode("utf-16"), 1, "in UTF-16"),
        ((HEADER + "x,1,2,T,0\n").encode("utf-16-be"), 1, "NUL"),
        (HEADER.replace("id,", "id\x00,"), 1, "NUL"),
        (HEADER.replace(",", ";") + "x;1;2,5;T;0\n", 1, "by semicolons, not by commas"),
        ('"id";"P, of it"\n', 1, "by semicolons, not by commas"),
        ("sep=;\n" + HEADER.replace(",", ";"), 1, "by semicolons, not by commas"),
        (HEADER.replace(",", "\t") + "x\t1\t2\tT\t0\n", 1, "by tabs, not by commas"),
        (HEADER.replace(",", "|") + "x|1|2|T|0\n", 1, "by bars, not by commas"),
        (HEADER.replace("\n", "\r") + "x,1,2,T,0\r", 1, "carriage return alone"),
        (HEADER + "x,1,2,T,0\ry,1,2,T,0\n", 2, "not CSV"),
        (HEADER + "=cmd,1,2,T,0\n", 2, "`=cmd` is not a plain id"),
        (HEADER + "@x,1,2,T,0\n", 2, "not a plain id"),
        (HEADER + "-1,1,2,T,0\n", 2, "not a plain id"),
        (HEADER + "\u0440x,1,2,T,0\n", 2, "not a plain id"),
        (HEADER + "x\u200b,1,2,T,0\n", 2, "not a plain id"),
        (HEADER + '"x\ny",1,2,T,0\n', 2, "not a plain id"),
        (HEADER + "x\x1f,1,2,T,0\n", 2, "control character"),
        (HEADER + f"x,1,{'9' * 18},T,0\n", 2, "too large"),
        (HEADER + f"x,1,{'9' * 9_000},T,0\n", 2, "not a number"),
        (HEADER + f"x,{'9' * 9_000},2,T,0\n", 2, "not a code"),
        (HEADER + "x,1,\uff11\uff12,T,0\n", 2, "not a number"),
        (HEADER + "x,1,2," + '"' + "T\n" * 100_000 + '",0\n', 2, "not CSV"),
    ],
)
def test_each_fault_of_the_file_is_one_problem_on_its_line(
    tmp_path: Path, data: str | bytes, line: int, says: str
) -> None:
    """Each fault of the file is one problem on its line."""
    problems = problems_of(tmp_path, data)
    assert len(problems) == 1, problems
    assert problems[0][0] == line
    assert says in problems[0][1]


def test_what_to_write_instead_of_another_separator_is_said(tmp_path: Path) -> None:
    """What to write instead of another separator is said."""
    (tmp_path / "p.csv").write_text(HEADER.replace(",", ";"))
    with pytest.raises(InvalidStudyError) as caught:
        build(tmp_path, SPEC, ONTOLOGY)
    (problem,) = caught.value.problems
    assert problem.remedy == (
        "Write `csv: {separator: semicolon}` under `population`, or save it otherwise."
    )


def test_line_ends_of_windows_a_mark_and_no_last_line_end_make_no_difference(
    tmp_path: Path,
) -> None:
    """Line ends of Windows, a byte-order mark and a missing last line end make no difference."""
    rows = 'x,1,41,T;U,0\ny,2,42,"T\tU",1\n'
    plain = built(tmp_path, rows).population
    (tmp_path / "p.csv").write_bytes(
        ("\ufeff" + HEADER + rows).replace("\n", "\r\n").rstrip("\r\n").encode()
    )
    assert build(tmp_path, SPEC, ONTOLOGY).population.personas == plain.personas


def test_a_missing_code_with_decimals_is_missing(tmp_path: Path) -> None:
    """A missing code is missing when a program has written it as `99.0`, outcome included."""
    drawn = built(tmp_path, "x,1,99.0,T,0\ny,1,98.0,T,9.0\n", missing=("", "99", "9"))
    assert [persona.attributes.get("age") for persona in drawn.population.personas] == [None, 98]
    assert drawn.held_out.values == {"x": "a"}


def test_no_text_of_a_header_reaches_a_terminal_as_it_is(tmp_path: Path) -> None:
    """No text of a header reaches a terminal as it is, not even as a suggestion."""
    header = "id,P\x1b[31m,AGE\u202e,TOWN,V\n"
    (tmp_path / "p.csv").write_text(header + "x,1,2,T,0\n")
    with pytest.raises(InvalidStudyError) as caught:
        build(tmp_path, SPEC, ONTOLOGY)
    told = " ".join(problem.wrong + problem.remedy for problem in caught.value.problems)
    assert "Did you mean" in told
    assert "\x1b" not in told
    assert "\u202e" not in told


def test_a_header_of_many_columns_takes_no_time(tmp_path: Path) -> None:
    """Looking for what was meant is bounded, however many columns there are."""
    header = "id," + ",".join(f"attribute{number:06d}" for number in range(50_000)) + "\n"
    columns = {f"a{number}": f"attribute{number:05d}x" for number in range(90)}
    problems = problems_of(tmp_path, header, columns=columns)
    assert len(problems) == 91


def test_all_faults_of_a_file_are_listed_at_once(tmp_path: Path) -> None:
    """All faults of a file are listed at once."""
    problems = problems_of(tmp_path, HEADER + "x,3,old,T,7\ny,1\nx,1,2,T,0\n")
    assert [line for line, _ in problems] == [2, 2, 2, 3, 4]


def test_a_file_that_is_wrong_throughout_is_given_up_on(tmp_path: Path) -> None:
    """A file that is wrong throughout is given up on."""
    problems = problems_of(tmp_path, HEADER + "x y,1,2,T,0\n" * 5_000)
    assert len(problems) == PROBLEMS_MAX + 1


def test_incomplete_rows_are_left_out_and_counted_on_request(tmp_path: Path) -> None:
    """Incomplete rows are left out and counted on request."""
    rows = "x,1,2,T,0\ny,NA,2,T,0\nz,2,2,T,1\n"
    drawn = built(tmp_path, rows, incomplete="leave_out")
    assert drawn.population.persona_ids == ("x", "z")
    assert "y" not in drawn.held_out.values
    manifest = drawn.population.manifest
    assert (manifest.rows_read, manifest.rows_drawn) == (3, 2)
    assert manifest.left_out == {"without p": 1}
    problems = problems_of(tmp_path, HEADER + "y,NA,2,T,0\n", incomplete="leave_out")
    assert problems == [(1, "No row can be used.")]


def many(count: int) -> str:
    """Make rows of random people."""
    stream = Stream("test", 0, "rows")
    return "".join(
        f"r{number},{1 + stream.below(2)},{20 + stream.below(60)},T,{stream.below(2)}\n"
        for number in range(count)
    )


def test_a_smaller_draw_is_part_of_a_larger_one_in_file_order(tmp_path: Path) -> None:
    """A smaller draw is part of a larger one in file order."""
    ids = [
        built(tmp_path, many(200), draw=count, draw_seed=3).population.persona_ids
        for count in (30, 60, 200)
    ]
    assert [len(drawn) for drawn in ids] == [30, 60, 200]
    assert set(ids[0]) < set(ids[1]) < set(ids[2])
    for drawn in ids:
        assert list(drawn) == sorted(drawn, key=lambda name: int(name[1:]))
    other = built(tmp_path, many(200), draw=30, draw_seed=4).population.persona_ids
    assert other != ids[0]


def test_the_draw_is_pinned(tmp_path: Path) -> None:
    """The draw is pinned."""
    drawn = built(tmp_path, many(50), draw=5, draw_seed=1)
    assert drawn.population.persona_ids == ("r13", "r27", "r29", "r43", "r46")
    assert drawn.population.manifest.left_out == {"not drawn": 45}


def test_a_row_that_is_added_moves_no_other(tmp_path: Path) -> None:
    """A row that is added moves no other."""
    before = set(built(tmp_path, many(100), draw=20).population.persona_ids)
    after = set(built(tmp_path, many(100) + "new,1,30,T,0\n", draw=20).population.persona_ids)
    assert len(before - after) <= 1


def test_a_draw_of_more_than_there_are_is_refused(tmp_path: Path) -> None:
    """A draw of more than there are is refused."""
    problems = problems_of(tmp_path, HEADER + "x,1,2,T,0\n", draw=2)
    assert problems == [(0, "The draw is of 2 people, and 1 can take part.")]


@pytest.mark.parametrize(
    ("column", "code"),
    [("P", lambda vote: 2 - vote), ("AGE", lambda vote: 90 + vote), ("TOWN", "ab".__getitem__)],
)
def test_a_recoded_copy_of_the_outcome_is_refused_by_name(
    tmp_path: Path, column: str, code: object
) -> None:
    """A recoded copy of the outcome is refused by name."""
    assert callable(code)
    place = HEADER.strip().split(",").index(column)
    rows = []
    for number in range(20):
        fields = [
            f"r{number}",
            str(1 + number % 2),
            str(20 + number % 7),
            "T",
            str(number // 3 % 2),
        ]
        fields[place] = str(code(number // 3 % 2))
        rows.append(",".join(fields))
    ((_, wrong),) = problems_of(tmp_path, HEADER + "\n".join(rows) + "\n")
    assert f"`{column}`" in wrong
    assert "held-out outcome" in wrong


def test_an_attribute_that_merely_goes_with_the_outcome_is_kept(tmp_path: Path) -> None:
    """An attribute that merely goes with the outcome is kept."""
    rows = "".join(f"r{n},{1 + n % 2},{n},T,{n % 2 if n else 1}\n" for n in range(20))
    assert len(built(tmp_path, rows).population.personas) == 20


def test_the_outcome_column_is_never_an_attribute(tmp_path: Path) -> None:
    """The outcome column is never an attribute."""
    columns = {**SPEC.columns, "age": "V"}
    problems = problems_of(tmp_path, HEADER + "x,1,2,T,0\n", columns=columns)
    assert any("is held out and cannot be an attribute" in wrong for _, wrong in problems)


def test_no_byte_of_the_outcome_is_in_what_a_worker_gets(write: Writer) -> None:
    """No byte of the outcome is in what a worker gets."""
    marked = "\n".join(
        line if index == 0 else line[:-1] + ("HELD0" if line.endswith("0") else "HELD1")
        for index, line in enumerate(PEOPLE.strip().split("\n"))
    )
    text = SAMPLE.replace("values: {a: 0, b: 1}", "values: {a: HELD0, b: HELD1}")
    loaded = load_study(write(text, marked + "\n"))
    cells = expand(loaded.study, loaded.population)
    for handed in (loaded.population, *cells):
        data = canonical.encode(handed)
        assert b"HELD" not in data
        assert loaded.held_out.held_out_hash.encode() not in data
    assert set(loaded.held_out.values.values()) == {"a", "b"}
    for persona in loaded.population.personas:
        assert set(persona.attributes) <= {spec.name for spec in loaded.study.ontology.attributes}


def test_changing_every_outcome_changes_nothing_that_a_worker_gets(write: Writer) -> None:
    """Changing every outcome changes nothing that a worker gets."""
    one = load_study(write())
    lines = PEOPLE.strip().split("\n")
    lines[1:] = [line[:-1] + str(1 - int(line[-1])) for line in lines[1:]]
    other = load_study(write(SAMPLE, "\n".join(lines) + "\n"))
    assert expand(one.study, one.population) == expand(other.study, other.population)
    assert one.population.personas == other.population.personas
    assert one.held_out != other.held_out


def test_a_flag_that_draws_too_many_is_a_usage_error(write: Writer) -> None:
    """A flag that draws too many is a usage error."""
    with pytest.raises(UsageError, match="12 can take part"):
        load_study(write(), overrides=Overrides(n=13))
    assert len(load_study(write(), overrides=Overrides(n=5)).population.personas) == 5


def test_a_study_that_no_machine_could_finish_is_refused(
    write: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Turns are counted over all worlds before anything is made."""
    path = write()
    monkeypatch.setattr("perdure.population.load.TURNS_MAX", 4 * 4 * 12)
    assert len(load_study(path).population.personas) == 12
    monkeypatch.setattr("perdure.population.load.TURNS_MAX", 4 * 4 * 12 - 1)
    with pytest.raises(InvalidStudyError, match="1 problem") as caught:
        load_study(path)
    assert "192 turns" in str(caught.value)


def test_the_example_is_the_survey_as_it_was() -> None:
    """The example is the survey as it was."""
    loaded = load_study(EXAMPLE)
    assert len(loaded.population.personas) == 944
    assert loaded.population.persona_ids[0] == "anes96-0001"
    votes = list(loaded.held_out.values.values())
    assert (votes.count("clinton"), votes.count("dole")) == (551, 393)
    assert all(len(persona.attributes) == 9 for persona in loaded.population.personas)


def test_a_hundred_thousand_people_are_a_population(tmp_path: Path) -> None:
    """A hundred thousand people are a population."""
    rows = "".join(f"r{n},{1 + n % 2},{n % 97},T,{n // 2 % 2}\n" for n in range(100_000))
    drawn = built(tmp_path, rows, draw=50_000)
    assert len(drawn.population.personas) == 50_000
    assert drawn.population.manifest.rows_read == 100_000


@given(st.binary(max_size=200))
def test_any_bytes_are_rows_or_problems(data: bytes) -> None:
    """Any bytes are rows or problems."""
    found = Findings("p.csv")
    try:
        widths = {len(row.fields) for row in read_rows(io.BytesIO(data), Report(found))}
    except EnoughError:
        assert found
    else:
        assert len(widths) <= 1
