"""Finds the columns of a study in the header of its population file."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from perdure.population.rows import Report, Row
from perdure.records.study import PopulationSpec
from perdure.study.findings import quoted, suggestion


@dataclass(frozen=True)
class Columns:
    """Where things are in a row: the id, the attributes in the ontology's order, and the rest.

    `line` is that of the header.
    """

    line: int
    identity: int
    attributes: tuple[int, ...]
    outcome: int | None
    weight: int | None


def columns_of(header: Row, spec: PopulationSpec, report: Report) -> Columns | None:
    """Find every column that the study names; None, with problems in the report, if not all."""
    asked = {spec.id_column: "the id of a row"}
    asked |= {column: f"the attribute `{name}`" for name, column in spec.columns.items()}
    if spec.outcome_column:
        asked[spec.outcome_column] = "the held-out outcome"
    if spec.weight_column:
        asked.setdefault(spec.weight_column, "the weight of a row")
    counts = Counter(header.fields)
    sound = True
    for column, use in asked.items():
        if counts[column] == 1:
            continue
        sound = False
        if counts[column]:
            wrong = f"The column {quoted(column)} is in the header {counts[column]} times."
            report.add(header.line, wrong, "Give each column a name of its own.")
        else:
            wrong = f"The column {quoted(column)} ({use}) is not in the header."
            report.add(header.line, wrong, suggestion(column, header.fields))
    # An attribute may not read the outcome, however the request was made.
    if spec.outcome_column and spec.outcome_column in spec.columns.values():
        sound = False
        wrong = f"The column {quoted(spec.outcome_column)} is held out and cannot be an attribute."
        report.add(header.line, wrong, "Remove the attribute.")
    if not sound:
        return None
    place = {column: index for index, column in enumerate(header.fields)}
    return Columns(
        line=header.line,
        identity=place[spec.id_column],
        attributes=tuple(place[column] for column in spec.columns.values()),
        outcome=place[spec.outcome_column] if spec.outcome_column else None,
        weight=place[spec.weight_column] if spec.weight_column else None,
    )
