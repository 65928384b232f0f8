"""Loads a study together with its population, and reports every problem of both at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from perdure.base.errors import InvalidStudyError, Problem, UsageError
from perdure.population.build import (
    DRAW_FEWER,
    Drawn,
    ShortageError,
    draw,
    gather,
    gather_ties,
)
from perdure.population.fit import misfits
from perdure.records.population import HeldOut, Population
from perdure.records.study import Study
from perdure.study.findings import Findings
from perdure.study.load import Examined, examine, settle
from perdure.study.overrides import Overrides, drawn
from perdure.study.read_anchors import AnchorsAsRead
from perdure.study.schema import TURNS_MAX
from perdure.study.turns import turns_of


@dataclass(frozen=True)
class Loaded:
    """A study as asked, who is in it, what is held out of them, and its anchors as read."""

    study: Study
    population: Population
    held_out: HeldOut
    anchors: Mapping[str, AnchorsAsRead] = field(default_factory=dict)


def load_study(
    path: str | Path,
    *,
    overrides: Overrides = Overrides(),  # noqa: B008 - frozen
) -> Loaded:
    """Load a study file and the population file that it names.

    Nothing is created, and nothing is opened outside the study's folder.

    Raises:
        InvalidStudyError: with every problem of both files at once.
        UsageError: a flag does not fit the study.

    """
    examined = examine(path)
    rows, ties = Findings(""), Findings("")
    people = _people(examined, overrides, rows, ties)
    problems: list[Problem] = [*examined.found.listed(), *rows.listed(), *ties.listed()]
    if problems or people is None:
        raise InvalidStudyError(problems)
    study = settle(examined, overrides)
    _require_size(study, people.population, str(path))
    if unfit := list(misfits(study, people.population)):
        raise InvalidStudyError(
            [Problem(file=str(path), line=0, wrong=one.wrong, remedy=one.remedy) for one in unfit]
        )
    return Loaded(
        study=study,
        population=people.population,
        held_out=people.held_out,
        anchors=examined.anchors,
    )


def _people(
    examined: Examined, overrides: Overrides, rows: Findings, ties: Findings
) -> Drawn | None:
    parsed = examined.parsed
    if parsed.people is None:
        return None
    spec = parsed.people.population
    rows.file = str(examined.folder / spec.file)
    gathered = gather(
        examined.folder,
        spec,
        parsed.people.ontology,
        asked=examined.found,
        line=parsed.file_line,
        found=rows,
    )
    if gathered is None or not gather_ties(
        examined.folder, spec, gathered, asked=examined.found, line=parsed.ties_line, found=ties
    ):
        return None
    try:
        return draw(gathered, drawn(spec, overrides), parsed.people.ontology)
    except ShortageError as error:
        if overrides.n is not None:
            raise UsageError(str(error), where="--n", remedy=DRAW_FEWER) from None
        examined.found.add(parsed.draw_line, str(error), DRAW_FEWER)
        return None


def _require_size(study: Study, population: Population, file: str) -> None:
    """Refuse a study that no machine could finish, before anything is made of it."""
    shown = sum(at.most for one in study.scenarios for at in turns_of(one).values())
    turns = shown * len(study.seeds) * len(population.personas)
    if turns > TURNS_MAX:
        wrong = f"The study has up to {turns:,} turns, and {TURNS_MAX:,} is the most that is run."
        remedy = "Draw fewer people, or give fewer seeds, scenarios or ticks."
        raise InvalidStudyError([Problem(file=file, line=0, wrong=wrong, remedy=remedy)])
