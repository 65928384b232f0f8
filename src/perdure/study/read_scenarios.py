"""Reads the scenarios, those of a grid written out: each on top of the timeline they share."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeVar

import msgspec

from perdure.base.canonical import encode
from perdure.records.scenario import Scenario
from perdure.study import schema
from perdure.study.findings import Findings, quoted, suggestion
from perdure.study.grid import cells, size
from perdure.study.kinds import Named
from perdure.study.section import Field, Section

T = TypeVar("T")


@dataclass(frozen=True)
class Known:
    """The ids that a scenario may refer to; None where they could not be read."""

    variants: Collection[str] | None
    claims: Collection[str] | None
    questions: Collection[str] | None


def read_scenarios(study: Section, known: Known) -> tuple[Scenario, ...]:
    """Read every scenario and check it against what it refers to."""
    if study.has(schema.TIMELINE_FIELD):
        timeline = study.get(schema.TIMELINE_FIELD)
    else:
        timeline = Section("timeline", study.line, study.found)
    entries = study.get(schema.SCENARIOS)
    checked = _Checked(study.found)
    scenarios: list[Scenario] = []
    for entry in entries:
        for cell in _written_out(entry, timeline, room=schema.CELLS_MAX - len(scenarios)):
            scenarios.append(_Reader(cell, timeline, known).scenario())
            if not checked.may_go_on(cell, scenarios[-1]):
                return tuple(scenarios)
    return tuple(scenarios)


def _written_out(
    entry: Named[str, Section], timeline: Section, *, room: int
) -> Iterator[Named[str, Section]]:
    """Give a scenario, or every cell of its grid; the first cell alone if there are too many."""
    section = entry.value
    if not section.has(schema.GRID):
        return iter((entry,))
    axes = section.get(schema.GRID)
    found = cells(entry, axes, timeline)
    if (number := size(axes)) <= room:
        return found
    wrong = f"The grid of `{entry.key}` has {number:,} scenarios."
    section.wrong(schema.GRID, wrong, schema.CELLS_REASON)
    return islice(found, 1)


class _Reader:
    """One scenario over the shared timeline."""

    def __init__(self, entry: Named[str, Section], timeline: Section, known: Known) -> None:
        self._entry = entry
        self._timeline = timeline
        self._known = known

    def _from(self, field: Field[Any]) -> Section:
        own = self._entry.value
        return self._timeline if self._timeline.present(field) and not own.present(field) else own

    def _get(self, field: Field[T]) -> T:
        return self._from(field).get(field)

    def scenario(self) -> Scenario:
        """Read the scenario; what is wrong with it is among the findings."""
        self._check_horizon()
        exposures = self._exposures()
        self._check_question(schema.WAVES, schema.WAVE_QUESTION)
        self._check_question(schema.EXPOSURES, schema.EXPOSURE_QUESTION)
        return Scenario(
            id=self._entry.key,
            variant=self._variant(),
            horizon=self._get(schema.HORIZON),
            tick_unit=self._get(schema.TICK),
            waves=self._waves(),
            wave_question=self._get(schema.WAVE_QUESTION),
            exposures=exposures,
            exposure_question=self._get(schema.EXPOSURE_QUESTION),
            activation=self._get(schema.ACTIVATION),
            world=self._get(schema.WORLD),
            settings=self._get(schema.WORLD_SETTINGS),
        )

    def _check_horizon(self) -> None:
        if not self._from(schema.HORIZON).present(schema.HORIZON):
            wrong = f"The scenario `{self._entry.key}` has no horizon."
            remedy = "Write `horizon:` in it or in `timeline`, such as `horizon: 6`."
            self._entry.value.found.add(self._entry.line, wrong, remedy)

    def _variant(self) -> str:
        section, variants = self._entry.value, self._known.variants
        name = section.get(schema.VARIANT)
        if variants is None or (section.present(schema.VARIANT) and not name):
            return name
        if not name:
            if len(variants) == 1:
                return next(iter(variants))
            wrong = f"The scenario `{self._entry.key}` has no variant."
            section.found.add(self._entry.line, wrong, suggestion("", variants))
        elif name not in variants:
            wrong = f"The variant {quoted(name)} is not among the variants."
            section.wrong(schema.VARIANT, wrong, suggestion(name, variants))
        return name

    def _waves(self) -> tuple[int, ...]:
        section = self._from(schema.WAVES)
        seen: set[int] = set()
        for spot in section.get(schema.WAVES):
            self._check_tick(spot.line, spot.value, "wave", section.found)
            if spot.value in seen:
                section.found.add(spot.line, f"The wave {spot.value} is there twice.", "Keep one.")
            seen.add(spot.value)
        return tuple(sorted(seen))

    def _exposures(self) -> dict[str, tuple[str, ...]]:
        section = self._from(schema.EXPOSURES)
        exposures: dict[str, tuple[str, ...]] = {}
        entries = section.get(schema.EXPOSURES)
        for entry in sorted(entries, key=lambda named: named.key):
            self._check_tick(entry.line, entry.key, "exposure", section.found)
            claims = tuple(dict.fromkeys(spot.value for spot in entry.value))
            if len(claims) != len(entry.value):
                wrong = f"A claim is listed twice at tick {entry.key}."
                section.found.add(entry.line, wrong, "Keep one.")
            for spot in entry.value:
                self._check_claim(spot.line, spot.value, section.found)
            exposures[str(entry.key)] = claims
        return exposures

    def _check_claim(self, line: int, claim: str, found: Findings) -> None:
        claims = self._known.claims
        if claims is not None and claim not in claims:
            wrong = f"The claim {quoted(claim)} is not among the brief's claims."
            found.add(line, wrong, suggestion(claim, claims))

    def _check_tick(self, line: int, tick: int, what: str, found: Findings) -> None:
        source = self._from(schema.HORIZON)
        if source.has(schema.HORIZON) and tick >= source.get(schema.HORIZON):
            last = source.get(schema.HORIZON) - 1
            wrong = f"The {what} at tick {tick} is beyond the last tick, {last}."
            found.add(line, wrong, f"Write a tick from 0 to {last}, or raise `horizon`.")

    def _check_question(self, asked: Field[Any], field: Field[str]) -> None:
        where, source = self._from(asked), self._from(field)
        questions = self._known.questions
        if where.get(asked) and not source.present(field):
            wrong = f"`{where.trail}` has `{asked.key}` but no `{field.key}`."
            where.wrong(asked, wrong, f"Write `{field.key}:` and the id of a question.")
        name = source.get(field)
        if name and questions is not None and name not in questions:
            wrong = f"The question {quoted(name)} is not among the questions."
            source.wrong(field, wrong, suggestion(name, questions))


class _Checked:
    """The scenarios so far: what may be there once, and how much they are together."""

    def __init__(self, found: Findings) -> None:
        self._found = found
        self._by_grid: dict[str, bool] = {}
        self._first: dict[bytes, str] = {}
        self._tick = ""
        self._told: set[tuple[str, int]] = set()
        self._bytes = 0

    def may_go_on(self, cell: Named[str, Section], scenario: Scenario) -> bool:
        """Check a scenario against those before it; say whether more of them can be read.

        The cells of one grid are told of once for each mistake.
        """
        same = encode(msgspec.structs.replace(scenario, id=""))
        twin = self._first.setdefault(same, scenario.id)
        # A key that is written twice is told of where it is read.
        by_grid = cell.value.has(schema.GRID)
        if scenario.id in self._by_grid and (by_grid or self._by_grid[scenario.id]):
            wrong = f"There are two scenarios with the id `{scenario.id}`."
            self._tell(cell, "id", wrong, "Rename one: a grid makes the ids of its cells itself.")
        elif twin != scenario.id and cell.value.sound:
            wrong = f"The scenario `{scenario.id}` is the same as `{twin}`."
            remedy = "Change it, or remove it: use `seeds` for replicates."
            self._tell(cell, "twin", wrong, remedy)
        self._by_grid[scenario.id] = by_grid
        self._tick = self._tick or scenario.tick_unit
        if scenario.tick_unit != self._tick:
            first = next(iter(self._first.values()))
            wrong = f"The scenarios `{first}` and `{scenario.id}` have ticks of two lengths."
            self._tell(cell, "tick", wrong, "Use one `tick` in a study.")
        self._bytes += len(same)
        if self._bytes <= schema.SCENARIOS_BYTES_MAX:
            return True
        wrong = f"The scenarios are more than {schema.SCENARIOS_BYTES_MAX >> 20} MiB, written out."
        remedy = "Every run keeps them all: make them shorter, or vary less in one study."
        self._found.add(cell.line, wrong, remedy)
        return False

    def _tell(self, cell: Named[str, Section], what: str, wrong: str, remedy: str) -> None:
        if (what, cell.line) not in self._told:
            self._told.add((what, cell.line))
            self._found.add(cell.line, wrong, remedy)
