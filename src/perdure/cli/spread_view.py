"""What the seeds of a scenario gave, drawn for a terminal: mean, spread, and how many differ.

What the figures do not say is said in words below them: seeds that made no difference, worlds that
are not counted, or not at their end, or ran under other rungs than the rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from perdure.analysis.address import address
from perdure.analysis.document import Block
from perdure.analysis.figures import MEAN
from perdure.analysis.prediction import Prediction
from perdure.analysis.questions import QuestionShares
from perdure.analysis.replicates import Between, ScenarioSeeds, SeedNote
from perdure.analysis.spread import EFFECTIVE_MIN, Spread
from perdure.cli.budget_view import rungs_text
from perdure.cli.figures import LEVELS, Writing, count, figure_name
from perdure.cli.tables import fits, heading, paragraph, table
from perdure.records.registry import WorldState
from perdure.records.scenario import QuestionType

NAMES_MAX = 8


class Line(NamedTuple):
    """One figure of one scenario at one place, with its spread.

    `of` is the figure's own name, `address` that of the whole line.
    """

    scenario: str
    at: str
    figure: str
    spread: Spread
    of: str = ""
    address: str = ""


class Place(NamedTuple):
    """Where the seeds of a scenario were measured, what they gave there, and its address."""

    scenario: str
    at: str
    between: Between
    keys: tuple[object, ...] = ()


def several(seeds: Sequence[ScenarioSeeds]) -> frozenset[str]:
    """Name the scenarios that were asked for with more than one seed."""
    return frozenset(one.scenario for one in seeds if len(one.seeds) > 1)


def seeds_parts(seeds: Sequence[ScenarioSeeds], note: str) -> Iterator[Block]:
    """Draw how many worlds each scenario with several seeds has, where they stand, which differ."""
    shown = [one for one in seeds if len(one.seeds) > 1]
    if not shown:
        return
    yield heading("Seeds: how many worlds of each scenario differ")
    states = [state for state in WorldState if any(one.states[state] for one in shown)]
    columns = ["scenario", "seeds", *(state.replace("_", " ") for state in states), "effective"]
    rows = [
        [
            one.scenario,
            count(len(one.seeds)),
            *(count(one.states[state]) for state in states),
            count(one.effective),
        ]
        for one in shown
    ]
    at = [address("seeds", one.scenario) for one in shown]
    yield table(columns, rows, figures=at, behind="seeds/SCENARIO")
    for one in shown:
        for same in one.identical:
            yield paragraph(
                f"{one.scenario}: {_worlds_of(same, one.seeds)} are the same, event by event: "
                "one replicate, not several.",
                indent=2,
            )
    yield paragraph(note, style="dim")


def spread_parts(
    question: QuestionShares,
    name: str,
    scenarios: frozenset[str],
    *,
    wave: bool,
    predictions: Sequence[Prediction] = (),
) -> Iterator[Block]:
    """Draw the spread of a question's shares, by tick: at its waves, or at all other ticks."""
    rows = [row for row in question.ticks if row.wave is wave and row.scenario in scenarios]
    if not rows:
        return
    yield heading(f"{name}: spread between seeds{in_percent(question)}", level=3)
    accuracy = {(one.scenario, one.tick): one.accuracy for one in predictions}
    places = [
        Place(
            row.scenario,
            str(row.tick),
            row.between,
            ("answers", question.id, row.scenario, row.tick),
        )
        for row in rows
    ]
    lines: list[Line] = []
    for row, place in zip(rows, places, strict=True):
        lines.extend(lines_of(place, question.choices))
        right = accuracy.get((row.scenario, row.tick))
        if right is not None and right.seeds:
            at = address("predictions", row.scenario, row.tick)
            lines.append(Line(place.scenario, place.at, "accuracy", right, address=at))
    behind = f"{address('answers', question.id)}/SCENARIO/TICK"
    yield from spread_tables(lines, "tick", LEVELS, behind)
    yield from note_parts(places, "tick")


def in_percent(question: QuestionShares) -> str:
    """Say in what the figures of a question are."""
    if not question.choices:
        return f", in {question.unit}" if question.unit else ""
    return ", shares in percent" if question.asks_for is QuestionType.LIKERT else ", in percent"


def lines_of(place: Place, choices: Mapping[str, str]) -> Iterator[Line]:
    """Give a line for each figure that was measured."""
    for choice, spread in place.between.spreads.items():
        if spread.seeds:
            name = figure_name(choice, choices)
            own = "mean" if choice == MEAN else choice
            at = address(*place.keys, own)
            yield Line(place.scenario, place.at, name, spread, of=choice, address=at)


def spread_tables(lines: Sequence[Line], at: str, writing: Writing, behind: str) -> Iterator[Block]:
    """Draw lines in one table if it fits on 80 columns, else in one for each scenario.

    `behind` says how the address of a line is made.
    """
    if not lines:
        return
    bounded = any(line.spread.low is not None for line in lines)
    figures = ["mean", "sd", "min", "max", *(["95 % interval"] if bounded else []), "effective"]
    columns = ["scenario", at, "figure", *figures]
    rows = [_row(line, writing, bounded=bounded) for line in lines]
    if fits(columns, [columns, *rows], whole=len(columns)):
        figures = [line.address for line in lines]
        yield table(columns, rows, left=3, figures=figures, behind=behind)
        return
    by_scenario: dict[str, list[tuple[str, list[str]]]] = {}
    for (scenario, *cells), line in zip(rows, lines, strict=True):
        by_scenario.setdefault(scenario, []).append((line.address, cells))
    for scenario, mine in by_scenario.items():
        yield paragraph(f"\n{scenario}", indent=2)
        yield table(
            columns[1:],
            [cells for _, cells in mine],
            left=2,
            figures=[figure for figure, _ in mine],
            behind=behind.replace("SCENARIO", address(scenario)),
        )


def note_parts(places: Sequence[Place], at: str) -> Iterator[Block]:
    """Say what is to know of the seeds behind some figures, each thing once for all places."""
    said: dict[tuple[str, str], list[str]] = {}
    for place in places:
        for note in _notes(place.between):
            said.setdefault((place.scenario, note), []).append(place.at)
    for (scenario, note), where in said.items():
        named = at if len(where) == 1 or at.endswith("s") else f"{at}s"
        yield paragraph(f"{scenario}, {named} {_listed(where)}: {note}.", indent=2)


def _notes(between: Between) -> Iterator[str]:
    if between.effective == 1 and len(between.seeds) > 1:
        yield (
            f"the seeds made no difference: {_seeds(between.seeds)} gave the same answers, person "
            "by person. They count as one replicate, and there is no spread to measure"
        )
    else:
        for same in between.identical:
            yield (
                f"{_seeds(same)} gave the same answers, person by person, and count as one "
                "replicate"
            )
        if 1 < between.effective < EFFECTIVE_MIN:
            yield f"no interval, with fewer than {EFFECTIVE_MIN} effective replicates"
    for why, notes in _by_why(between.missing).items():
        yield f"not counted: {_seeds(notes)}, {why}"
    for why, notes in _by_why(between.unfinished).items():
        yield f"counted, though not at its end: {_seeds(notes)}, {why}"
    if between.unlike:
        groups = "; ".join(
            f"{rungs_text(group.rungs) or 'none'} in {_listed(group.world_ids)}"
            for group in between.unlike
        )
        yield f"averaged over worlds that ran under unlike rungs, so no interval: {groups}"


def _by_why(notes: Iterable[SeedNote]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for note in notes:
        found.setdefault(note.why, []).append(note.seed)
    return found


def _row(line: Line, writing: Writing, *, bounded: bool) -> list[str]:
    spread, write = line.spread, writing.of(line.of)
    known = spread.low is not None
    interval = f"{write(spread.low)} to {write(spread.high)}" if known else "none"
    return [
        line.scenario,
        line.at,
        line.figure,
        write(spread.mean),
        "none" if spread.sd is None else LEVELS.of(line.of)(spread.sd),
        write(spread.least),
        write(spread.most),
        *([interval] if bounded else []),
        f"{count(spread.effective)} of {count(spread.seeds)}",
    ]


def _worlds_of(some: Sequence[int], every: Sequence[int]) -> str:
    if len(some) == len(every):
        return f"the worlds of all {count(len(every))} seeds"
    return f"the worlds of {_seeds(some)}"


def _seeds(seeds: Sequence[int]) -> str:
    return f"seed{'' if len(seeds) == 1 else 's'} {_listed([str(seed) for seed in seeds])}"


def _listed(names: Sequence[str]) -> str:
    if len(names) <= NAMES_MAX + 1:
        return ", ".join(names)
    return f"{', '.join(names[:NAMES_MAX])} and {count(len(names) - NAMES_MAX)} more"
