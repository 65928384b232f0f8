"""Reads the scenarios: each on its own, on top of the timeline that they share."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec

from perdure.records.scenario import Scenario
from perdure.study import schema
from perdure.study.findings import Findings, quoted, suggestion
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
    scenarios = tuple(_Reader(entry, timeline, known).scenario() for entry in entries)
    _check_repeats(entries, scenarios, study.found)
    return scenarios


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


def _check_repeats(
    entries: tuple[Named[str, Section], ...], scenarios: tuple[Scenario, ...], found: Findings
) -> None:
    first: list[Scenario] = []
    for entry, scenario in zip(entries, scenarios, strict=True):
        bare = msgspec.structs.replace(scenario, id="")
        twin = next((one.id for one in first if msgspec.structs.replace(one, id="") == bare), "")
        if twin and entry.value.sound:
            wrong = f"The scenario `{scenario.id}` is the same as `{twin}`."
            found.add(entry.line, wrong, "Change it, or remove it: use `seeds` for replicates.")
        if first and scenario.tick_unit != first[0].tick_unit:
            wrong = f"The scenarios `{first[0].id}` and `{scenario.id}` have ticks of two lengths."
            found.add(entry.line, wrong, "Use one `tick` in a study.")
        first.append(scenario)
