"""A study's anchors come from files of their own, with every problem of all files at once."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from tests.support.sample_study import Writer

from perdure.base.canonical import hash_hex
from perdure.base.errors import InvalidStudyError
from perdure.elicitation.anchor_check import judged
from perdure.records.anchors import AnchorCheck, Anchors
from perdure.records.scenario import ModelPin
from perdure.records.study import Study
from perdure.study.anchor_receipts import receipt_of
from perdure.study.findings import Findings
from perdure.study.identity import inputs_of
from perdure.study.load import Examined, examine, load
from perdure.study.read_anchors import load_anchors, parse_anchors

GOOD = """\
construct: intent
version: "1"
points: ["no", perhaps, "yes"]
sets:
  - [I would never go., I might go., I would certainly go.]
  - [Not for me., I am of two minds., I am eager.]
ladder:
  - [Never., Not at all.]
  - [Hard to say.]
  - ["Yes, gladly."]
"""
NAMED = "anchors: {intent: anchors/intent-1.yaml}\n"
READ = Anchors(
    construct="intent",
    version="1",
    points=("no", "perhaps", "yes"),
    sets=(
        ("I would never go.", "I might go.", "I would certainly go."),
        ("Not for me.", "I am of two minds.", "I am eager."),
    ),
    ladder=(("Never.", "Not at all."), ("Hard to say.",), ("Yes, gladly.",)),
)


def put(study: Path, text: str = GOOD, name: str = "anchors/intent-1.yaml") -> Path:
    """Write a file of anchors beside a study."""
    path = study.parent / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def problems(text: str) -> list[tuple[int, str]]:
    """Give what is wrong with a file of anchors: each line and its sentence."""
    found = Findings("intent.yaml")
    assert parse_anchors(text.encode(), found) is None
    return [(problem.line, problem.wrong) for problem in found.listed()]


def test_a_file_is_read_with_all_that_it_says(write: Writer, sample: str) -> None:
    """A file is read with all that it says."""
    path = write(sample + NAMED)
    put(path)
    assert load(path).anchors == {"intent": READ}
    assert load_anchors(path.parent / "anchors" / "intent-1.yaml") == READ


def test_anchors_are_an_input_that_is_compared_and_none_move_nothing(
    write: Writer, sample: str
) -> None:
    """Anchors are an input that is compared and none move nothing."""
    plain = load(write(sample))
    assert plain.anchors == {}
    assert "anchors" not in inputs_of(plain)
    assert b"anchors" not in msgspec.json.encode(plain)
    path = write(sample + NAMED)
    put(path)
    with_anchors = load(path)
    assert inputs_of(with_anchors) == inputs_of(plain) | {"anchors": {"intent": READ}}
    again = msgspec.json.decode(msgspec.json.encode(with_anchors), type=Study)
    assert again == with_anchors
    assert hash_hex(again) != hash_hex(plain)


MISTAKES = [
    ("construct: intent\n", "", 1, "`construct` is missing."),
    ("version:", "verson:", 2, "The key `verson` is not known."),
    ('"yes"]\n', '"no"]\n', 3, "The point `no` is there twice."),
    ("I would certainly go.]", '""]', 5, "`sets[0][2]` is empty."),
    (", I might go.", "", 5, "Set 1 has 2 statements for 3 points."),
    ("I am of two minds.", "I MIGHT go.", 6, "The text `I MIGHT go.` is already on line 5."),
    ("Hard to say.", "I am eager.", 9, "The text `I am eager.` is already on line 6."),
    ("Not at all.", "NEVER.", 8, "The text `NEVER.` is already on line 8."),
    ("  - [Hard to say.]\n", "", 7, "`ladder` has 2 steps for 3 points."),
    ("  - [Hard to say.]\n", "  - []\n", 9, "`ladder[1]` has 0 items."),
    ("  - [Not for me., I am of two minds., I am eager.]\n", "", 5, "`sets` has 1 items."),
]


@pytest.mark.parametrize(("old", "new", "line", "wrong"), MISTAKES, ids=lambda one: str(one)[:20])
def test_a_mistake_is_named_with_its_line(old: str, new: str, line: int, wrong: str) -> None:
    """A mistake is named with its line."""
    assert old in GOOD
    said = problems(GOOD.replace(old, new, 1))
    assert said == [(line, wrong)]


def test_all_mistakes_come_at_once() -> None:
    """All mistakes come at once."""
    text = GOOD.replace(", I might go.", "").replace('"yes"', '"no"')
    text = text.replace("Hard to say.", "Never.").replace('  - ["Yes, gladly."]\n', "")
    assert [line for line, _ in problems(text)] == [3, 5, 7, 9]


@pytest.mark.parametrize("text", ["", "- a\n", "construct: [\n", "\x00", "a: *b\n"])
def test_what_is_no_such_file_is_refused(text: str) -> None:
    """What is no such file is refused."""
    assert problems(text)


def test_problems_of_the_study_and_of_its_anchors_come_together(write: Writer, sample: str) -> None:
    """Problems of the study and of its anchors come together."""
    path = write((sample + NAMED).replace("seeds: [1, 2]", "seeds: [x]"))
    anchors = put(path, GOOD.replace('"yes"', '"no"'))
    with pytest.raises(InvalidStudyError) as caught:
        load(path)
    said = [(problem.file, problem.wrong) for problem in caught.value.problems]
    assert [file for file, _ in said] == [str(path), str(anchors)]
    assert "The point `no` is there twice." in said[1][1]


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("anchors/none.yaml", "does not exist"),
        ("../intent.yaml", "leads out of the study's folder"),
        ("anchors", "is a folder"),
    ],
)
def test_a_file_that_is_not_there_is_refused(
    write: Writer, sample: str, name: str, wrong: str
) -> None:
    """A file that is not there is refused."""
    text = sample + f"anchors: {{intent: {name}}}\n"
    path = write(text)
    put(path)
    with pytest.raises(InvalidStudyError) as caught:
        load(path)
    (problem,) = caught.value.problems
    assert wrong in problem.wrong
    assert problem.line == len(text.splitlines())


def test_anchors_of_another_construct_are_refused(write: Writer, sample: str) -> None:
    """Anchors of another construct are refused."""
    path = write(sample + NAMED.replace("intent:", "trust:"))
    put(path)
    with pytest.raises(InvalidStudyError, match="anchors for `intent`, not for `trust`"):
        load(path)


def receipt(write: Writer, sample: str, data: bytes | None) -> Examined:
    """Examine a study whose anchors have this receipt beside them."""
    path = write(sample + NAMED)
    place = receipt_of(put(path))
    assert place.name == "intent-1.check.json"
    if data is not None:
        place.write_bytes(data)
    return examine(path)


def test_a_receipt_is_read_from_beside_the_file(write: Writer, sample: str) -> None:
    """A receipt is read from beside the file."""
    near = ((0.9, 0.8, 0.7),) * 2
    check = judged(READ, [[near, near], [near], [near]], ModelPin(provider="local", model="m"))
    examined = receipt(write, sample, msgspec.json.encode(check))
    assert not examined.found
    assert examined.anchors["intent"].check == check
    assert isinstance(examined.anchors["intent"].check, AnchorCheck)


@pytest.mark.parametrize("data", [None, b"", b"{", b"{}", b'{"anchors_hash": 1}', b"\xff"])
def test_a_receipt_that_cannot_be_read_is_none(
    write: Writer, sample: str, data: bytes | None
) -> None:
    """A receipt that cannot be read is none."""
    examined = receipt(write, sample, data)
    assert not examined.found
    assert examined.anchors["intent"].check is None


def test_the_command_that_checks_them_can_be_copied(write: Writer, sample: str) -> None:
    """The command that checks them can be copied."""
    examined = receipt(write, sample, None)
    line = examined.anchors["intent"].check_line(Path("my study/study.yaml"))
    assert line == (
        "perdure anchors check 'my study/anchors/intent-1.yaml' --study 'my study/study.yaml'"
    )


def test_a_file_of_anchors_is_not_taken_for_a_study(tmp_path: Path) -> None:
    """An empty one is told how such a file starts, and its problems are counted as its own."""
    path = tmp_path / "intent.yaml"
    path.write_text("")
    with pytest.raises(InvalidStudyError) as caught:
        load_anchors(path)
    (problem,) = caught.value.problems
    assert problem.remedy == "Start with `construct:`."
    assert str(caught.value).endswith("1 problem in the anchors.")
