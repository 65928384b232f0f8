"""Proves that a study opens nothing outside its folder, imports nothing, and creates nothing."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tests.support.sample_study import PEOPLE, SAMPLE, Writer

from perdure.base.errors import InvalidStudyError
from perdure.population import load_study
from perdure.records.study import Study
from perdure.study import schema
from perdure.study.findings import Findings
from perdure.study.load import load
from perdure.study.parse import parse

_seen: list[tuple[str, str]] = []
_watching: list[bool] = []


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    # A file that is opened by its number is already open.
    if _watching and event in {"open", "import"} and isinstance(arguments[0], str):
        _seen.append((event, arguments[0]))


# A hook cannot be taken away again, so this one listens only while it is told to.
sys.addaudithook(_hook)


def problems_of(path: Path) -> list[str]:
    """List what is wrong."""
    with pytest.raises(InvalidStudyError) as caught:
        load_study(path)
    return [str(problem) for problem in caught.value.problems]


def named(write: Writer, file: str) -> Path:
    """Write a study that names this population file."""
    return write(SAMPLE.replace("file: people.csv", f"file: {file}"))


@pytest.mark.parametrize(
    "file",
    [
        "../people.csv",
        "a/../../people.csv",
        "/etc/passwd",
        "/dev/zero",
        "~/people.csv",
        "'C:/people.csv'",
        "nowhere.csv",
        "'..'",
        "'.'",
        "folder",
        "pipe",
        "link-out",
        "link-device",
        "loop",
        "linked-folder/secret.csv",
        '"people.csv\\\\..\\\\x"',
    ],
)
def test_a_path_that_leaves_the_folder_is_one_problem(write: Writer, file: str) -> None:
    """A path that leaves the folder is one problem."""
    path = named(write, file)
    folder = path.parent
    outside = folder.parent / "outside"
    outside.mkdir()
    (outside / "secret.csv").write_text(PEOPLE)
    (folder.parent / "people.csv").write_text(PEOPLE)
    (folder / "folder").mkdir()
    os.mkfifo(folder / "pipe")
    (folder / "link-out").symlink_to(outside / "secret.csv")
    (folder / "link-device").symlink_to("/dev/zero")
    (folder / "loop").symlink_to("loop")
    (folder / "linked-folder").symlink_to(outside)
    problems = problems_of(path)
    assert len(problems) == 1, problems
    assert problems[0].startswith(f"{path}:26: ")


def test_declared_data_files_are_held_to_the_same(write: Writer) -> None:
    """Every data file that is missing, elsewhere or no file is a problem, all listed at once."""
    files = ["nowhere.csv", "../outside.csv", "/etc/passwd", "folder", "pipe", "link-out", "huge"]
    files += ["people.csv", "./people.csv", "link-in"]
    listed = "".join(f"  - {file}\n" for file in files)
    text = SAMPLE.replace("horizon: 4", "horizon: x") + f"files:\n{listed}"
    path = write(text)
    folder = path.parent
    (folder.parent / "outside.csv").write_text("1\n")
    (folder / "folder").mkdir()
    os.mkfifo(folder / "pipe")
    (folder / "link-out").symlink_to(folder.parent / "outside.csv")
    (folder / "link-in").symlink_to("people.csv")
    with (folder / "huge").open("wb") as file:
        file.truncate(schema.FILE_BYTES_MAX + 1)
    first = text.count("\n", 0, text.index("files:")) + 2
    says = [
        "`nowhere.csv` does not exist",
        "`../outside.csv` leads out of the study's folder",
        "`/etc/passwd` is not a path below the study's folder",
        "`folder` is a folder, not a file",
        "`pipe` is not a regular file",
        "`link-out` leads out of the study's folder by a link",
        "`huge` is larger than 1,073,741,824 bytes",
    ]
    assert problems_of(path)[1:] == [
        *(
            f"{path}:{first + place}: The file {said}. Name a file that is there."
            for place, said in enumerate(says)
        ),
        f"{path}:{first + 8}: The file `./people.csv` is there twice. Name it once.",
    ]
    sound = load_study(write(SAMPLE + "files: [people.csv, link-in]\n")).study
    assert sound.files == ("people.csv", "link-in")
    assert load_study(write(SAMPLE)).study.files == ()


def test_data_files_have_a_limit(write: Writer) -> None:
    """More files than are allowed, or something that is no path, are one problem each."""
    many = write(SAMPLE + f"files: {[f'f{n}' for n in range(schema.FILES_MAX + 1)]}\n")
    assert "`files` has 101 items" in problems_of(many)[0]
    assert "`files` is not a list" in problems_of(write(SAMPLE + "files: people.csv\n"))[0]
    assert "`files[0]` is" in problems_of(write(SAMPLE + "files: ['a\\b']\n"))[0]


def test_a_link_inside_the_folder_is_followed(write: Writer) -> None:
    """A link inside the folder is followed."""
    path = named(write, "link.csv")
    (path.parent / "link.csv").symlink_to("people.csv")
    assert len(load_study(path).population.personas) == 12


def test_a_study_in_a_linked_folder_reads_from_that_folder_and_no_other(write: Writer) -> None:
    """A link above the study's folder is the user's own; one below it may not lead out."""
    path = write(SAMPLE.replace("file: people.csv", "file: data/people.csv"))
    folder = path.parent
    link = folder.parent / "link"
    link.symlink_to(folder)
    inside, outside = folder / "real", folder.parent / "outside"
    for place in (inside, outside):
        place.mkdir()
        (place / "people.csv").write_text(PEOPLE)
    (folder / "data").symlink_to(inside)
    assert len(load_study(link / "study.yaml").population.personas) == 12
    (folder / "data").unlink()
    (folder / "data").symlink_to(outside)
    assert "leads out of the study's folder by a link" in problems_of(link / "study.yaml")[0]


@pytest.mark.parametrize("kind", ["missing", "folder", "pipe", "device"])
def test_a_study_that_is_not_a_file_is_one_problem(tmp_path: Path, kind: str) -> None:
    """A study that is not a file is one problem."""
    path = tmp_path / "study.yaml"
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    assert len(problems_of(path)) == 1


def test_a_key_in_a_study_is_a_problem_of_its_line(write: Writer) -> None:
    """What a study says is stored in every run of it, in a comment too; the key is not shown."""
    key = "sk-proj-Ab3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dF3hJ5kL7n"
    path = write(f"# my key: {key}\n{SAMPLE}")
    (problem,) = problems_of(path)
    assert problem.startswith(f"{path}:1: There is a key in this line")
    assert key not in problem


def test_both_files_problems_are_listed_together(write: Writer) -> None:
    """The problems of both files are listed together."""
    path = write(SAMPLE.replace("horizon: 4", "horizon: x"), PEOPLE.replace("r03,0,", "r03,9,"))
    problems = problems_of(path)
    assert [problem.split(": ")[0] for problem in problems] == [
        f"{path}:41",
        f"{path.parent / 'people.csv'}:5",
    ]


def test_loading_opens_two_files_imports_nothing_and_creates_nothing(write: Writer) -> None:
    """Loading opens two files imports nothing and creates nothing."""
    text = SAMPLE.replace("  s1:\n", "  s1:\n    world: evil_plugin:World\n")
    path = write(text)
    (path.parent / "evil_plugin.py").write_text("raise SystemExit('imported')")
    load_study(path)  # whatever Python itself loads late is loaded now
    before = sorted(path.parent.iterdir())
    _seen.clear()
    _watching.append(True)
    try:
        load_study(path)
    finally:
        _watching.clear()
    assert set(_seen) == {("open", str(path)), ("open", str(path.parent / "people.csv"))}
    assert sorted(path.parent.iterdir()) == before


def outcome_of(data: bytes) -> Study | None:
    """Parse bytes: a study, or at least one problem."""
    found = Findings("study.yaml")
    study = parse(data, found).study
    assert (study is None) == bool(found)
    return study


@given(st.binary(max_size=400))
@example(b"\xef\xbb\xbfperdure: 1")
@example(b"brief: [")
def test_any_bytes_are_a_study_or_problems(data: bytes) -> None:
    """Any bytes are a study or problems."""
    outcome_of(data)


_PIECES = st.sampled_from(
    ["&a ", "*a", "!!str ", "no", "[", "]", "{", "}", ": ", "\n", "- ", "'", '"', "|\n", "#", "0x1",
     "1e999", "-1", "\u0430", "../", "\t", "  ", "~", "9" * 400, "\\x00", "${HOME}", "{{x}}", "%s"]
)  # fmt: skip


@given(st.lists(st.tuples(st.integers(0, len(SAMPLE)), _PIECES), min_size=1, max_size=4))
@settings(suppress_health_check=[HealthCheck.too_slow], max_examples=150, deadline=None)
def test_a_study_with_anything_put_into_it_is_a_study_or_problems(
    changes: list[tuple[int, str]],
) -> None:
    """A study with anything put into it is a study or problems."""
    text = SAMPLE
    for place, piece in changes:
        text = text[:place] + piece + text[place:]
    outcome_of(text.encode())


@given(st.integers(0, len(SAMPLE)), st.integers(0, 60))
@settings(max_examples=150, deadline=None)
def test_a_study_with_a_piece_cut_out_is_a_study_or_problems(start: int, length: int) -> None:
    """A study with a piece cut out is a study or problems."""
    outcome_of((SAMPLE[:start] + SAMPLE[start + length :]).encode())


def test_an_invalid_study_raises_no_other_error(write: Writer) -> None:
    """An invalid study raises no other error."""
    with pytest.raises(InvalidStudyError):
        load(write(b"\x00"))
