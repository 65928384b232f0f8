"""Loads a study from its file: reads it, applies the flags, and reports every problem at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

import msgspec

from perdure.base.errors import InvalidStudyError
from perdure.base.redaction import holds_key
from perdure.records.study import Study
from perdure.study import files
from perdure.study.findings import Findings, quoted
from perdure.study.kinds import Spot
from perdure.study.money_flags import budgeted
from perdure.study.overrides import Overrides, chosen, drawn
from perdure.study.parse import Parsed, parse
from perdure.study.read_anchors import AnchorsAsRead, read_all
from perdure.study.read_models import EMBED
from perdure.study.schema import FILE_BYTES_MAX
from perdure.study.yaml_reader import BYTES_MAX


@dataclass(frozen=True)
class Examined:
    """A study file and everything found in it so far, with the anchors that it names, as read."""

    path: Path
    parsed: Parsed
    found: Findings
    anchors: Mapping[str, AnchorsAsRead] = field(default_factory=dict)

    @property
    def folder(self) -> Path:
        """The folder that the study may read from."""
        return self.path.parent


def examine(path: str | Path) -> Examined:
    """Read a study file and its anchors, and look at the data files that it declares.

    Problems are in the result, and nothing is raised for them.
    """
    path = Path(path)
    found = Findings(str(path))
    data = _read(path, found)
    if data is None:
        empty = Parsed(study=None, roles={}, people=None, file_line=0, draw_line=0)
        return Examined(path=path, parsed=empty, found=found)
    _look_for_keys(data, found)
    parsed = parse(data, found)
    _check_files(path.parent, parsed.files, found)
    anchors = read_all(path.parent, parsed.anchors, found)
    if parsed.study is not None:
        _check_rated(parsed.study, parsed.roles, anchors, found)
    if parsed.study is not None and anchors:
        held = {construct: one.anchors for construct, one in anchors.items()}
        parsed = replace(parsed, study=msgspec.structs.replace(parsed.study, anchors=held))
    return Examined(path=path, parsed=parsed, found=found, anchors=anchors)


def settle(examined: Examined, overrides: Overrides) -> Study:
    """Make the frozen study of a file in which nothing was found, with the flags applied.

    `models` of the result maps each role (`tier_a`, `tier_b`, and `embed` if the study has one) to
    the model that serves it.

    Raises:
        InvalidStudyError: something was found.
        UsageError: a flag does not fit the study.

    """
    study = examined.parsed.study
    if study is None or examined.found:
        raise InvalidStudyError(examined.found.listed())
    return msgspec.structs.replace(
        study,
        population=drawn(study.population, overrides),
        models=chosen(study.models, examined.parsed.roles, overrides),
        budget=budgeted(study.budget, overrides.budget),
    )


def load(path: str | Path, *, overrides: Overrides = Overrides()) -> Study:  # noqa: B008 - frozen
    """Load a study without looking at its population file (`perdure.population.load` does both).

    Raises:
        InvalidStudyError: with every problem of the file at once.
        UsageError: a flag does not fit the study.

    """
    return settle(examine(path), overrides)


def _look_for_keys(data: bytes, found: Findings) -> None:
    """Note every key beyond doubt: what a study says is in the record of each of its worlds."""
    text = data.decode("utf-8", errors="replace")
    for number, line in enumerate(text.splitlines(), 1):
        if holds_key(line):
            found.add(
                number,
                "There is a key in this line, and a study is stored in every run of it.",
                "Leave it out: a key is read from the variable that `key_env` names.",
            )


def _check_rated(
    study: Study, roles: Mapping[str, str], anchors: Mapping[str, AnchorsAsRead], found: Findings
) -> None:
    """Note what keeps a question from being scored by likeness: other points, or no vectors."""
    for question in study.questions:
        if question.similarity is None:
            continue
        read = anchors.get(question.similarity.anchors)
        points = tuple(choice.id for choice in question.choices)
        if read is not None and read.anchors.points != points:
            wrong = (
                f"The anchors of the question `{question.id}` are for the points "
                f"{', '.join(read.anchors.points)}, and its choices are {', '.join(points)}."
            )
            found.add(read.line, wrong, "Give both the same ids, in the same order.")
        if EMBED not in roles:
            wrong = (
                f"The question `{question.id}` is scored by likeness, and no model gives vectors."
            )
            found.add(read.line if read else 0, wrong, "Write `roles: {embed: MODEL}`.")


def _check_files(folder: Path, named: Iterable[Spot[str]], found: Findings) -> None:
    """Note every declared data file that is not a file of the study's folder."""
    seen: set[PurePosixPath] = set()
    for spot in named:
        name = PurePosixPath(spot.value)
        if name in seen:
            found.add(spot.line, f"The file {quoted(spot.value)} is there twice.", "Name it once.")
        seen.add(name)
        try:
            files.open_inside(folder, spot.value, FILE_BYTES_MAX).close()
        except files.RefusedFileError as error:
            wrong = f"The file {quoted(spot.value)} {error}."
            found.add(spot.line, wrong, "Name a file that is there.")


def _read(path: Path, found: Findings) -> bytes | None:
    try:
        with files.open_named(path, BYTES_MAX) as file:
            return file.read(BYTES_MAX + 1)
    except files.RefusedFileError as error:
        found.add(0, f"The study file {error}.", "Give the path of a study file.")
    except OSError:
        found.add(0, "The study file cannot be read.", "Give the path of a study file.")
    return None
