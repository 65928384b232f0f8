"""Reads the anchors of a study from files of their own, with the receipts of their checks."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from perdure.base.errors import InvalidStudyError
from perdure.base.text import normalise, one_line
from perdure.records.anchors import AnchorCheck, Anchors
from perdure.study import files, schema
from perdure.study.anchor_receipts import read_receipt
from perdure.study.findings import Findings, quoted
from perdure.study.kinds import Named, Spot
from perdure.study.nodes import Table
from perdure.study.section import Section
from perdure.study.yaml_reader import BYTES_MAX, read_yaml


@dataclass(frozen=True)
class AnchorsAsRead:
    """Anchors from a file of a study, with the line that names it.

    `check` is the receipt beside the file, None if there is none that can be read. Whether it says
    anything of these anchors is not looked at here.
    """

    file: str
    line: int
    anchors: Anchors
    check: AnchorCheck | None

    def check_line(self, study: Path) -> str:
        """Write the command that checks these anchors under the study's own model of vectors."""
        path, asked = (one_line(str(one)) for one in (study.parent / self.file, study))
        return f"perdure anchors check {shlex.quote(path)} --study {shlex.quote(asked)}"


def read_all(
    folder: Path, named: Iterable[Named[str, str]], found: Findings
) -> dict[str, AnchorsAsRead]:
    """Read the files of anchors that a study names, by construct; problems go to `found`."""
    read = {}
    for entry in named:
        at = Findings(str(folder / entry.value))
        try:
            with files.open_inside(folder, entry.value, BYTES_MAX) as file:
                anchors = parse_anchors(file.read(BYTES_MAX + 1), at)
        except files.RefusedFileError as error:
            wrong = f"The file {quoted(entry.value)} {error}."
            found.add(entry.line, wrong, "Name a file of anchors that is there.")
            continue
        found.take(at)
        if anchors is None:
            continue
        if anchors.construct != entry.key:
            wrong = (
                f"The file {quoted(entry.value)} has anchors for `{anchors.construct}`, not for "
                f"`{entry.key}`."
            )
            found.add(entry.line, wrong, f"Write `{anchors.construct}:` before it.")
        read[entry.key] = AnchorsAsRead(
            file=entry.value,
            line=entry.line,
            anchors=anchors,
            check=read_receipt(folder, entry.value),
        )
    return read


def load_anchors(path: Path) -> Anchors:
    """Read a file of anchors that was named on the command line.

    Raises:
        InvalidStudyError: with every problem of the file at once.

    """
    found = Findings(str(path))
    anchors = None
    try:
        with files.open_named(path, BYTES_MAX) as file:
            anchors = parse_anchors(file.read(BYTES_MAX + 1), found)
    except files.RefusedFileError as error:
        found.add(0, f"The file of anchors {error}.", "Give the path of a file of anchors.")
    if anchors is None or found:
        raise InvalidStudyError(found.listed(), within="the anchors")
    return anchors


def parse_anchors(data: bytes, found: Findings) -> Anchors | None:
    """Parse a file of anchors; every problem goes to `found`. None if anything was found."""
    before = len(found)
    root = read_yaml(data, found, start=f"{schema.CONSTRUCT.key}:")
    if root is not None and not isinstance(root, Table):
        found.add(root.line, "The file is not a mapping.", "Start with `construct:`.")
    if not isinstance(root, Table):
        return None
    section = Section("", root.line, found)
    section.fill(root.entries, schema.ANCHORS_FILE.fields)
    points = section.get(schema.POINTS)
    sets, ladder = section.get(schema.SETS), section.get(schema.LADDER_OF_ANSWERS)
    _check_points(points, found)
    _check_texts([*sets, *ladder], found)
    if section.sound:
        _check_sizes(section, len(points))
    if len(found) > before:
        return None
    return Anchors(
        construct=section.get(schema.CONSTRUCT),
        version=section.get(schema.ANCHORS_VERSION),
        points=tuple(point.value for point in points),
        sets=_texts(sets),
        ladder=_texts(ladder),
    )


def _check_points(points: Iterable[Spot[str]], found: Findings) -> None:
    seen: set[str] = set()
    for point in points:
        if point.value in seen:
            wrong = f"The point `{point.value}` is there twice."
            found.add(point.line, wrong, "Give each point an id of its own.")
        seen.add(point.value)


def _check_texts(parts: Iterable[Spot[tuple[Spot[str], ...]]], found: Findings) -> None:
    """Refuse a text that is there twice: it would say the same of two points, or nothing anew."""
    first: dict[str, int] = {}
    for part in parts:
        for text in part.value:
            folded = normalise(text.value)
            if folded in first:
                wrong = f"The text {quoted(text.value)} is already on line {first[folded]}."
                found.add(text.line, wrong, "Write each statement and each answer once.")
            first.setdefault(folded, text.line)


def _check_sizes(section: Section, points: int) -> None:
    sets = section.get(schema.SETS)
    for number, statements in enumerate(sets, start=1):
        if len(statements.value) != points:
            wrong = f"Set {number} has {len(statements.value)} statements for {points} points."
            remedy = "Write one for each point, in the order of `points`."
            section.found.add(statements.line, wrong, remedy)
    steps = len(section.get(schema.LADDER_OF_ANSWERS))
    if steps < points:
        wrong = f"`ladder` has {steps} steps for {points} points."
        section.wrong(schema.LADDER_OF_ANSWERS, wrong, f"Write {points} steps or more.")


def _texts(parts: Iterable[Spot[tuple[Spot[str], ...]]]) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(text.value for text in part.value) for part in parts)
