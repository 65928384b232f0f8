"""Builds a population from microdata: personas in file order, the held-out outcome strictly apart.

The draw is by a key that each row has of its own, from the seed and the row's id. So a smaller
draw is part of a larger one (unless it has quotas or audiences), and a row that is added to the
file moves no other row's key.
"""

from __future__ import annotations

import hashlib
import io
import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from perdure.base import canonical
from perdure.base.chance import Stream
from perdure.base.errors import InvalidStudyError
from perdure.base.text import is_plain_identifier
from perdure.population.columns import Columns, columns_of
from perdure.population.edge_list import EdgeList, read_edge_list
from perdure.population.gates import accepted, gates
from perdure.population.graph import build_graph
from perdure.population.leak import Leaks
from perdure.population.measure import Told
from perdure.population.parquet import is_parquet, read_parquet
from perdure.population.rows import PLAIN, EnoughError, Report, Row, read_rows
from perdure.population.select import Selected, select
from perdure.population.targets import Margins, margins
from perdure.population.values import RefusedValueError, plain_code, value_of
from perdure.records.persona import AttributeSpec, AttributeValue, Ontology, Persona
from perdure.records.population import HeldOut, Population, PopulationManifest
from perdure.records.study import PopulationSpec
from perdure.study import files
from perdure.study.findings import Findings, quoted
from perdure.study.schema import FILE_BYTES_MAX

LEAVE_OUT = "leave_out"
NOT_DRAWN = "not drawn"
NO_WEIGHT = "without a weight"
BY_WEIGHT = "weight"
_WEIGHT = AttributeSpec(name="weight", label="weight")
DRAW_FEWER = "Draw fewer."
MAY_TELL = (
    "Remove the attribute. If it is a real predictor that personas are meant to know, write "
    "`allow_determining: true` under it."
)


@dataclass(frozen=True)
class Drawn:
    """A population, and what is held out of it. Only the first goes on to worlds and agents."""

    population: Population
    held_out: HeldOut


class ShortageError(Exception):
    """A draw asks for more people than there are; the text says how many there are, and of whom."""


@dataclass
class Gathered:
    """What was gathered from all rows: who can take part, outcomes apart, who was left out.

    `weights` has that of each persona, in the same order; `ids` has those of all rows. `edges` are
    the ties that the study has, if it names a file of them.
    """

    personas: list[Persona] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)
    ids: set[str] = field(default_factory=set)
    edges: EdgeList | None = None
    outcomes: dict[str, str] = field(default_factory=dict)
    left_out: Counter[str] = field(default_factory=Counter)
    rows: int = 0
    digest: str = ""


def build(folder: str | Path, spec: PopulationSpec, ontology: Ontology) -> Drawn:
    """Build a population from the file that a study names in its folder.

    An attribute that tells the held-out outcome is refused unless the ontology allows it.

    Raises:
        InvalidStudyError: with everything that is wrong with the file at once.

    """
    found = Findings(spec.file)
    gathered = gather(Path(folder), spec, ontology, asked=found, line=0, found=found)
    ties = Findings("")
    if gathered is None or not gather_ties(
        Path(folder), spec, gathered, asked=found, line=0, found=ties
    ):
        raise InvalidStudyError([*found.listed(), *ties.listed()])
    try:
        return draw(gathered, spec, ontology)
    except ShortageError as error:
        found.add(0, str(error), DRAW_FEWER)
        raise InvalidStudyError(found.listed()) from None


def gather(
    folder: Path,
    spec: PopulationSpec,
    ontology: Ontology,
    *,
    asked: Findings,
    line: int,
    found: Findings,
) -> Gathered | None:
    """Read every row of the file; None if something is wrong.

    If the file cannot be opened, `asked` is told at `line`, where the file is named; what is wrong
    inside the file goes to `found`.
    """
    try:
        file = files.open_inside(folder, spec.file, FILE_BYTES_MAX)
    except files.RefusedFileError as error:
        asked.add(line, f"The file {quoted(spec.file)} {error}.", "Name a file that is there.")
        return None
    with file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        file.seek(0)
        gathered = Gathered(digest=digest)
        try:
            reader = _read(file, spec, ontology, Report(found), gathered)
            if reader is not None:
                reader.refuse_leaks()
        except EnoughError:
            return None
    return None if found else gathered


def gather_ties(
    folder: Path,
    spec: PopulationSpec,
    gathered: Gathered,
    *,
    asked: Findings,
    line: int,
    found: Findings,
) -> bool:
    """Read the ties that the study has, if it names a file of them; False if something is wrong.

    If the file cannot be opened, `asked` is told at `line`; what is wrong in it goes to `found`.
    """
    if spec.graph is None or not spec.graph.file:
        return True
    found.file = str(folder / spec.graph.file)
    gathered.edges = read_edge_list(
        folder,
        spec.graph,
        gathered.ids,
        form=spec.csv or PLAIN,
        asked=asked,
        line=line,
        found=found,
    )
    return gathered.edges is not None


def _read(
    file: io.BufferedReader,
    spec: PopulationSpec,
    ontology: Ontology,
    report: Report,
    gathered: Gathered,
) -> _Reader | None:
    wanted = {spec.id_column, spec.outcome_column, spec.weight_column, *spec.columns.values()}
    packed, form = is_parquet(file), spec.csv or PLAIN
    rows = read_parquet(file, report, wanted) if packed else read_rows(file, report, form)
    header = next(rows, None)
    if header is None:
        report.add(1, "The file is empty.", "Give a header, and a row for each person.")
        return None
    columns = columns_of(header, spec, report)
    if columns is None:
        return None
    decimal = PLAIN.decimal if packed else form.decimal
    reader = _Reader(spec, ontology, columns, report, gathered, decimal=decimal)
    reader.read(rows)
    return reader


class _Reader:
    """Turns rows into personas and outcomes."""

    def __init__(
        self,
        spec: PopulationSpec,
        ontology: Ontology,
        columns: Columns,
        report: Report,
        gathered: Gathered,
        *,
        decimal: str,
    ) -> None:
        self._spec = spec
        self._attributes = ontology.attributes
        self._columns = columns
        self._report = report
        self._gathered = gathered
        self._missing = frozenset(spec.missing)
        # In a Parquet file a number is a number, however anybody writes one.
        self._decimal = decimal
        self._choices = {code: choice for choice, code in spec.outcome_values.items()}
        self._lines: dict[str, int] = {}
        self._leaks = Leaks(spec.columns, spec.outcome_values)

    def read(self, rows: Iterable[Row]) -> None:
        """Read every row."""
        for row in rows:
            self._gathered.rows += 1
            self._row(row)
        if not self._gathered.rows:
            self._report.add(
                self._columns.line,
                "The file has a header and no rows.",
                "Give a row for each person.",
            )
        elif sum(self._gathered.left_out.values()) == self._gathered.rows:
            self._report.add(
                self._columns.line, "No row can be used.", "Give rows with the required attributes."
            )

    def refuse_leaks(self) -> None:
        """Say which attributes are the outcome in disguise, or give it away."""
        allowed = {spec.name for spec in self._attributes if spec.determining}
        for leak in self._leaks.found():
            column = quoted(self._spec.columns[leak.name])
            said = f"The column {column} (attribute `{leak.name}`)"
            if leak.told is None:
                wrong = f"{said} is the held-out outcome recoded."
                remedy = "Remove the attribute: no persona may carry the outcome."
                self._report.add(self._columns.line, wrong, remedy)
            elif leak.name not in allowed:
                wrong = f"{said} {_measured(leak.told, leak.by)}"
                self._report.add(self._columns.line, wrong, MAY_TELL)
        measured = self._leaks.in_ids()
        if measured is not None:
            column = quoted(self._spec.id_column)
            wrong = f"The column {column} (the id of a row) {_measured(measured, 'a part of it')}"
            self._report.add(self._columns.line, wrong, "Give ids that say nothing of the outcome.")

    def _row(self, row: Row) -> None:
        identity = self._identity(row)
        attributes = self._values(row)
        outcome = self._outcome(row)
        weight = self._weight(row)
        if identity is None or attributes is None or weight is None:
            return
        if not weight:
            self._gathered.left_out[NO_WEIGHT] += 1
            return
        lacking = [
            spec for spec in self._attributes if spec.required and spec.name not in attributes
        ]
        if lacking and self._spec.incomplete == LEAVE_OUT:
            self._gathered.left_out[f"without {lacking[0].name}"] += 1
            return
        for spec in lacking:
            wrong = f"The row has no {quoted(self._spec.columns[spec.name])}, which is required."
            remedy = "Fill it in, or write `incomplete: leave_out` under `population`."
            self._report.add(row.line, wrong, remedy)
        if lacking:
            return
        self._gathered.personas.append(Persona(id=identity, attributes=attributes))
        self._gathered.weights.append(weight)
        if outcome:
            self._gathered.outcomes[identity] = outcome
            self._leaks.watch(identity, attributes, outcome)

    def _identity(self, row: Row) -> str | None:
        identity = row.fields[self._columns.identity]
        if not is_plain_identifier(identity):
            wrong = f"The id {quoted(identity)} is not a plain id."
            self._report.add(row.line, wrong, "Use 1 to 64 Latin letters, digits, `.`, `_`, `-`.")
            return None
        self._gathered.ids.add(identity)
        first = self._lines.setdefault(identity, row.line)
        if first != row.line:
            wrong = f"The id {quoted(identity)} is already on line {first}."
            self._report.add(row.line, wrong, "Give each row an id of its own.")
            return None
        return identity

    def _values(self, row: Row) -> dict[str, AttributeValue] | None:
        values: dict[str, AttributeValue] = {}
        sound = True
        for spec, place in zip(self._attributes, self._columns.attributes, strict=True):
            text = row.fields[place]
            if self._is_missing(text):
                continue
            try:
                values[spec.name] = value_of(spec, text, self._decimal)
            except RefusedValueError as error:
                sound = False
                column = quoted(self._spec.columns[spec.name])
                wrong = f"{quoted(text)} in the column {column} is {error}."
                remedy = "Correct it, or add it to `scale` or to `missing`."
                self._report.add(row.line, wrong, remedy)
        return values if sound else None

    def _weight(self, row: Row) -> float | None:
        """Read how much a row counts: 0 if it has no weight, None if it has a bad one."""
        if self._columns.weight is None:
            return 1.0
        text = row.fields[self._columns.weight]
        if self._is_missing(text):
            return 0.0
        try:
            weight = float(value_of(_WEIGHT, text, self._decimal))
        except RefusedValueError:
            weight = -1.0
        if weight < 0:
            column = quoted(self._spec.weight_column)
            wrong = f"{quoted(text)} in the column {column} is no weight."
            self._report.add(row.line, wrong, "Write a number of 0 or more.")
            return None
        return weight

    def _is_missing(self, text: str) -> bool:
        return text in self._missing or plain_code(text) in self._missing

    def _outcome(self, row: Row) -> str:
        if self._columns.outcome is None:
            return ""
        text = row.fields[self._columns.outcome]
        if self._is_missing(text):
            return ""
        choice = self._choices.get(text) or self._choices.get(plain_code(text), "")
        if not choice:
            wrong = (
                f"{quoted(text)} in the column {quoted(self._spec.outcome_column)} is no choice."
            )
            self._report.add(row.line, wrong, "Add it to the outcome's `values`, or to `missing`.")
        return choice


def _measured(told: Told, by: str) -> str:
    whether = " or ".join(f"`{choice}`" for choice in told.part)
    what = f"whether the held-out outcome is {whether}" if told.part else "the held-out outcome"
    return (
        f"tells {what}: a guess by {by} alone is right for {told.right / told.rows:.1%} of the "
        f"{told.rows:,} rows compared, and without it for {told.plain / told.rows:.1%}."
    )


def draw(gathered: Gathered, spec: PopulationSpec, ontology: Ontology) -> Drawn:
    """Draw from those who can take part: all of them, or as many as the study asks for.

    Raises:
        ShortageError: there are too few of somebody, after everything that may be given up.

    """
    target = margins(gathered.personas, gathered.weights, spec, ontology)
    selected = _selected(gathered, spec, target)
    personas = [
        msgspec.structs.replace(persona, audience=selected.taken[persona.id])
        if spec.audiences
        else persona
        for persona in gathered.personas
        if persona.id in selected.taken
    ]
    left_out = dict(sorted(gathered.left_out.items()))
    if len(personas) < len(gathered.personas):
        left_out[NOT_DRAWN] = len(gathered.personas) - len(personas)
    counts = Counter(persona.audience for persona in personas)
    drawn = gates(personas, target, spec) if _is_judged(spec) else ()
    graph = build_graph(personas, ontology, spec.graph, gathered.edges) if spec.graph else None
    manifest = PopulationManifest(
        file=spec.file,
        file_sha256=gathered.digest,
        rows_read=gathered.rows,
        rows_drawn=len(personas),
        left_out=left_out,
        audiences={one.id: counts[one.id] for one in spec.audiences},
        relaxations=selected.relaxations,
        gates=accepted((*drawn, *(graph.gates if graph else ())), spec.accept),
        graph=graph.report if graph else None,
    )
    values = {
        persona.id: gathered.outcomes[persona.id]
        for persona in personas
        if persona.id in gathered.outcomes
    }
    return Drawn(
        population=Population(
            personas=tuple(personas),
            population_hash=canonical.hash_each(personas),
            manifest=manifest,
            graph=graph.nodes if graph else (),
            graph_hash=graph.graph_hash if graph else "",
            weights=_weights(gathered, spec, selected),
        ),
        held_out=HeldOut(
            values=values,
            held_out_hash=canonical.hash_hex(values),
            missing=len(personas) - len(values) if spec.outcome_column else 0,
        ),
    )


def _weights(gathered: Gathered, spec: PopulationSpec, selected: Selected) -> tuple[float, ...]:
    """Give the weights of those who were drawn, unless the draw made up for them already.

    A draw in proportion to weight does, and so do quotas and audiences, which are shares by weight:
    to count by weight once more would count it twice.
    """
    drawn_by = spec.draw and spec.draw_by == BY_WEIGHT
    if not spec.weight_column or drawn_by or (spec.draw and (spec.quotas or spec.audiences)):
        return ()
    pairs = zip(gathered.personas, gathered.weights, strict=True)
    return tuple(weight for persona, weight in pairs if persona.id in selected.taken)


def _is_judged(spec: PopulationSpec) -> bool:
    """Say whether there is anything to compare: all rows are exactly what the file has."""
    return bool(spec.draw or spec.weight_column or spec.targets)


def _selected(gathered: Gathered, spec: PopulationSpec, target: Margins) -> Selected:
    personas = gathered.personas
    if not spec.draw:
        return Selected(taken={one.id: "" for one in personas}, relaxations=(), lacking={})
    if len(personas) < spec.draw:
        raise ShortageError(
            f"The draw is of {spec.draw:,} people, and {len(personas):,} can take part."
        )
    quotas = {name: target.codes[name] for name in spec.quotas}
    selected = select(_ordered(gathered, spec), spec.draw, spec.audiences, quotas)
    if selected.lacking:
        lacking = ", ".join(f"{count:,} for `{name}`" for name, count in selected.lacking.items())
        raise ShortageError(
            f"The draw is of {spec.draw:,} people, and it lacks {lacking}, after everything that "
            "may be relaxed."
        )
    return selected


def _ordered(gathered: Gathered, spec: PopulationSpec) -> list[Persona]:
    """Put everyone into the seeded order in which they are drawn."""
    seed = str(spec.draw_seed)
    pairs = zip(gathered.personas, gathered.weights, strict=True)
    keys = {one.id: _key(seed, one.id, weight, spec.draw_by) for one, weight in pairs}
    return sorted(gathered.personas, key=lambda one: (keys[one.id], one.id))


def _key(seed: str, identity: str, weight: float, by: str) -> float:
    """Give the place of a row in the draw: with weights, first of clocks that tick by them.

    The first of exponential clocks is each one with the chance of its rate, and so on among the
    rest: that is a draw in proportion to weight, without putting back (Efraimidis and Spirakis).
    """
    stream = Stream(seed, 0, "population", identity)
    if by == BY_WEIGHT:
        return -math.log(1.0 - stream.uniform()) / weight
    return stream.uint64()
