"""Reads the scenarios, those of a grid written out: each on top of the timeline they share."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any, TypeVar

import msgspec

from perdure.base.canonical import encode
from perdure.records.channels import Channels
from perdure.records.scenario import Scenario
from perdure.study import schema
from perdure.study.findings import Findings, quoted, suggestion
from perdure.study.grid import cells, size
from perdure.study.kinds import Named
from perdure.study.read_calendar import Dated, counts, read_calendar
from perdure.study.read_channels import (
    read_channels,
    read_interventions,
    read_involvement,
    read_rhythm,
)
from perdure.study.references import Known, References
from perdure.study.section import Field, Section

T = TypeVar("T")


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
            scenarios.append(_Reader(cell, timeline, study, known).scenario())
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

    def __init__(
        self, entry: Named[str, Section], timeline: Section, study: Section, known: Known
    ) -> None:
        self._entry = entry
        self._timeline = timeline
        self._known = known
        source = self._from(schema.HORIZON)
        horizon = source.get(schema.HORIZON) if source.has(schema.HORIZON) else None
        dated = self._dated(horizon)
        self._calendar = dated.calendar
        self._horizon = horizon if dated.ticks is None else dated.ticks
        self._references = References(study, known, self._horizon)

    def _from(self, field: Field[Any]) -> Section:
        own = self._entry.value
        return self._timeline if self._timeline.present(field) and not own.present(field) else own

    def _get(self, field: Field[T]) -> T:
        return self._from(field).get(field)

    def scenario(self) -> Scenario:
        """Read the scenario; what is wrong with it is among the findings."""
        self._check_horizon()
        horizon = self._horizon or schema.HORIZON.kind.blank
        shown = self._from(schema.EXPOSURES)
        exposures = self._references.claims_at(shown.get(schema.EXPOSURES), "exposure", shown.found)
        asked = self._wave_questions()
        self._check_question(schema.EXPOSURES, schema.EXPOSURE_QUESTION)
        return Scenario(
            id=self._entry.key,
            variant=self._variant(),
            horizon=horizon,
            tick_unit=self._get(schema.TICK),
            waves=self._waves(),
            wave_question=asked[0] if asked else "",
            exposures=exposures,
            exposure_question=self._get(schema.EXPOSURE_QUESTION),
            activation=self._get(schema.ACTIVATION),
            world=self._world(),
            settings=self._get(schema.WORLD_SETTINGS),
            **self._channels(),
            more_questions=asked[1:],
            shuffle_questions=self._get(schema.SHUFFLE_QUESTIONS),
            calendar=self._calendar,
        )

    def _dated(self, horizon: int | None) -> Dated:
        """Read the calendar, if there is one, and how many ticks it has, if it says so."""
        source = self._from(schema.CALENDAR)
        if not source.has(schema.CALENDAR):
            return Dated()
        calendar = source.get(schema.CALENDAR)
        if counts(calendar) and (where := self._from(schema.HORIZON)).present(schema.HORIZON):
            wrong = f"`{where.trail}.horizon` is written, and `{calendar.trail}` counts it."
            remedy = "Leave it out, or leave out how long the calendar takes."
            where.wrong(schema.HORIZON, wrong, remedy)
        return read_calendar(calendar, self._get(schema.TICK), horizon)

    def _channels(self) -> dict[str, Any]:
        """Read the channels and what belongs to them. What is not there is left out."""
        given: dict[str, Any] = {}
        own, references = self._from(schema.CHANNELS), self._references
        asked, planned = own.get(schema.CHANNELS), self._from(schema.INTERVENTIONS)
        channels = read_channels(asked, references)
        # The default itself, so that it is left out of what is hashed.
        if channels != Channels():
            given["channels"] = channels
        if own.has(schema.CHANNELS) or not own.present(schema.CHANNELS):
            given["interventions"] = read_interventions(planned, asked, channels, references)
        involved = self._from(schema.INVOLVEMENT)
        if involved.has(schema.INVOLVEMENT):
            section = involved.get(schema.INVOLVEMENT)
            given["involvement"] = read_involvement(section, references)
        given["rhythm"] = read_rhythm(
            self._from(schema.RHYTHM), self._get(schema.TICK), self._calendar, self._horizon or 0
        )
        return given

    def _world(self) -> str:
        """Read which world it is. The one that ships is one, by whichever of its names."""
        name = self._get(schema.WORLD)
        return schema.WORLD_THAT_SHIPS if name == schema.ITS_NAME else name

    def _check_horizon(self) -> None:
        dated = self._from(schema.CALENDAR)
        if dated.present(schema.CALENDAR) and (
            not dated.has(schema.CALENDAR) or counts(dated.get(schema.CALENDAR))
        ):
            return
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
            self._references.check_tick(spot.line, spot.value, "wave", section.found)
            if spot.value in seen:
                section.found.add(spot.line, f"The wave {spot.value} is there twice.", "Keep one.")
            seen.add(spot.value)
        return tuple(sorted(seen))

    def _wave_questions(self) -> tuple[str, ...]:
        """Read what is asked at waves: one question, or several."""
        own = self._entry.value
        mine = own.present(schema.WAVE_QUESTION) or own.present(schema.WAVE_QUESTIONS)
        source = own if mine else self._timeline
        if not source.present(schema.WAVE_QUESTIONS):
            self._check_question(schema.WAVES, schema.WAVE_QUESTION)
            one = self._get(schema.WAVE_QUESTION)
            return (one,) if one else ()
        if source.present(schema.WAVE_QUESTION):
            wrong = "`wave_question` and `wave_questions` are both there."
            source.wrong(schema.WAVE_QUESTION, wrong, "Keep one of them.")
        names: dict[str, None] = {}
        for spot in source.get(schema.WAVE_QUESTIONS):
            if spot.value in names:
                wrong = f"The question {quoted(spot.value)} is there twice."
                source.found.add(spot.line, wrong, "Ask it once.")
            self._references.check_asked(spot.line, spot.value, source.found)
            names[spot.value] = None
        return tuple(names)

    def _check_question(self, asked: Field[Any], field: Field[str]) -> None:
        where, source = self._from(asked), self._from(field)
        if where.get(asked) and not source.present(field):
            wrong = f"`{where.trail}` has `{asked.key}` but no `{field.key}`."
            where.wrong(asked, wrong, f"Write `{field.key}:` and the id of a question.")
        self._references.check_question(source, field)


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
