"""Reads the ties of a study from its file: one row a tie, both ends by the ids of the people."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from perdure.population.parquet import is_parquet, read_parquet
from perdure.population.rows import PLAIN, EnoughError, Report, Row, read_rows
from perdure.population.shape import HUNDREDTHS
from perdure.population.ties import Tie
from perdure.population.values import RefusedValueError, value_of
from perdure.records.persona import AttributeSpec
from perdure.records.study import CsvForm, GraphSpec
from perdure.study import files
from perdure.study.findings import Findings, quoted, suggestion
from perdure.study.schema import FILE_BYTES_MAX

_STRENGTH = AttributeSpec(name="strength", label="strength")


@dataclass
class EdgeList:
    """Every tie of a file by the ids of its ends, the lesser id first, and the file's digest."""

    ties: dict[tuple[str, str], float]
    digest: str

    def among(self, places: Mapping[str, int]) -> tuple[list[Tie], list[int], int]:
        """Give the ties among some people, their strengths, and how many ties lead to others.

        Ties are by the places of their ends, the lower first, in order. Strengths are in hundredths
        of the largest of the file, 1 at least.
        """
        largest = max(self.ties.values(), default=1.0)
        found = []
        for (one, other), strength in self.ties.items():
            if one in places and other in places:
                tie = sorted((places[one], places[other]))
                hundredths = max(1, round(HUNDREDTHS * strength / largest))
                found.append((tie[0], tie[1], hundredths))
        found.sort()
        outside = len(self.ties) - len(found)
        return [(one, other) for one, other, _ in found], [one[2] for one in found], outside


def read_edge_list(
    folder: Path,
    spec: GraphSpec,
    ids: Collection[str],
    *,
    form: CsvForm,
    asked: Findings,
    line: int,
    found: Findings,
) -> EdgeList | None:
    """Read every tie of a file; None if something is wrong.

    `ids` are those of everybody in the population file, drawn or not. If the file cannot be opened,
    `asked` is told at `line`; what is wrong inside it goes to `found`. A tie that is there twice,
    in either direction, is one tie with the larger strength. `form` is how a CSV file is written.
    """
    try:
        file = files.open_inside(folder, spec.file, FILE_BYTES_MAX)
    except files.RefusedFileError as error:
        asked.add(line, f"The file {quoted(spec.file)} {error}.", "Name a file that is there.")
        return None
    with file:
        edges = EdgeList({}, hashlib.file_digest(file, "sha256").hexdigest())
        file.seek(0)
        wanted = {spec.from_column, spec.to_column, spec.strength_column}
        report = Report(found)
        try:
            packed = is_parquet(file)
            rows = read_parquet(file, report, wanted) if packed else read_rows(file, report, form)
            header = next(rows, None)
            if header is None:
                report.add(1, "The file is empty.", "Give a header, and a row for each tie.")
                return None
            places = _places(header, spec, report)
            if places is not None:
                reader = _Reader(
                    spec=spec,
                    places=places,
                    decimal=PLAIN.decimal if packed else form.decimal,
                    ids=ids,
                    report=report,
                    ties=edges.ties,
                )
                for row in rows:
                    reader.read(row)
        except EnoughError:
            return None
    return None if found else edges


def _places(header: Row, spec: GraphSpec, report: Report) -> list[int] | None:
    counts = Counter(header.fields)
    columns = [spec.from_column, spec.to_column, *filter(None, [spec.strength_column])]
    sound = True
    for column in columns:
        if counts[column] == 1:
            continue
        sound = False
        how = "is not in" if not counts[column] else "is several times in"
        wrong = f"The column {quoted(column)} {how} the header."
        report.add(header.line, wrong, suggestion(column, header.fields))
    return [header.fields.index(column) for column in columns] if sound else None


@dataclass(frozen=True, kw_only=True)
class _Reader:
    """Turns rows into ties. `places` are those of the columns, `ids` those of everybody."""

    spec: GraphSpec
    places: Sequence[int]
    decimal: str
    ids: Collection[str]
    report: Report
    ties: dict[tuple[str, str], float]

    def read(self, row: Row) -> None:
        """Read one tie."""
        one, other, *rest = (row.fields[place] for place in self.places)
        sound = True
        for name in {one: None, other: None}:
            if name not in self.ids:
                wrong = f"The id {quoted(name)} is not in the population file."
                self.report.add(row.line, wrong, "Correct it, or remove the tie.")
                sound = False
        if sound and one == other:
            wrong = f"{quoted(one)} is tied to itself."
            self.report.add(row.line, wrong, "Remove the tie.")
            sound = False
        strength = self._strength(row, rest[0]) if rest else 1.0
        if sound and strength is not None:
            tie = (min(one, other), max(one, other))
            self.ties[tie] = max(strength, self.ties.get(tie, 0.0))

    def _strength(self, row: Row, text: str) -> float | None:
        try:
            strength = float(value_of(_STRENGTH, text, self.decimal))
        except RefusedValueError:
            strength = 0.0
        if strength <= 0:
            column = quoted(self.spec.strength_column)
            wrong = f"{quoted(text)} in the column {column} is no strength."
            self.report.add(row.line, wrong, "Write a number above 0.")
            return None
        return strength
