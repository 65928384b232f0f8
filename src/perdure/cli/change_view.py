"""Changes between waves and differences between scenarios, drawn for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from perdure.analysis.address import address
from perdure.analysis.change import Change
from perdure.analysis.difference import Difference
from perdure.analysis.document import Block
from perdure.analysis.figures import MEAN
from perdure.analysis.questions import QuestionShares
from perdure.cli.figures import MOVES, count, plural
from perdure.cli.plot_view import change_plots, difference_plots, moved_keys
from perdure.cli.spread_view import Place, lines_of, note_parts, spread_tables
from perdure.cli.tables import fits, heading, paragraph, table
from perdure.records.scenario import QuestionType

_BY_WORLD = "world by world"


def change_parts(
    changes: Sequence[Change], name: str, question: QuestionShares, note: str
) -> Iterator[Block]:
    """Draw the change of a question's answers in each scenario: over its seeds, and by world."""
    if not changes:
        return
    choices = question.choices
    yield heading(f"{name}: change from first to last wave{in_points(question)}", level=3)
    yield from change_plots(changes, name, question)
    places = [
        Place(one.scenario, f"{one.first} to {one.last}", one.between, moved_keys(one))
        for one in changes
    ]
    behind = f"{address('changes', question.id)}/SCENARIO"
    lines = [line for place in places for line in lines_of(place, choices)]
    yield from spread_tables(lines, "ticks", MOVES, behind)
    if any(change.seeds for change in changes):
        yield paragraph("")
        yield _by_world(changes, figure_names(question), f"'{behind}?seed=SEED'")
    for change in changes:
        if change.unmeasured:
            yield paragraph(f"{change.scenario}: {change.unmeasured}.", indent=2)
    yield from note_parts([place for place in places if _has_several(place)], "ticks")
    yield paragraph(note, style="dim")


def difference_parts(
    differences: Sequence[Difference], name: str, question: QuestionShares, note: str
) -> Iterator[Block]:
    """Draw how the answers in each scenario differ from those in the first of its variant."""
    choices = question.choices
    for reference in dict.fromkeys(one.reference for one in differences):
        yield heading(f"{name}: difference from {reference}{in_points(question)}", level=3)
        mine = [one for one in differences if one.reference == reference]
        yield from difference_plots(mine, name, question)
        places = [
            Place(one.scenario, str(one.tick), one.between, moved_keys(one))
            for one in mine
            if not same_throughout(one)
        ]
        lines = [line for place in places for line in lines_of(place, choices)]
        behind = f"{address('differences', question.id)}/SCENARIO/TICK"
        yield from spread_tables(lines, "tick", MOVES, behind)
        for one in mine:
            if same_throughout(one):
                yield paragraph(
                    f"{one.scenario}, tick {one.tick}: everyone who was scored under both answered "
                    f"the same as under {reference}, with {_each(len(one.seeds))}.",
                    indent=2,
                )
        yield from note_parts([place for place in places if _has_several(place)], "tick")
        yield paragraph(note, style="dim")


def figure_names(question: QuestionShares) -> dict[str, str]:
    """Name every figure of a question: its choices, and the mean where there is one."""
    has_mean = any(row.mean is not None for row in question.ticks)
    return {**question.choices, **({MEAN: "mean"} if has_mean else {})}


def in_points(question: QuestionShares) -> str:
    """Say in what the changes of a question's figures are."""
    if not question.choices:
        return f", in {question.unit}" if question.unit else ""
    if question.asks_for is QuestionType.LIKERT:
        return ", shares in percentage points"
    return ", in percentage points"


def same_throughout(difference: Difference) -> bool:
    """Say whether nobody answered otherwise, with any seed."""
    return bool(difference.seeds) and not any(seed.moved for seed in difference.seeds)


def _each(seeds: int) -> str:
    return f"{'' if seeds == 1 else 'each of '}{plural(seeds, 'seed')}"


def _has_several(place: Place) -> bool:
    return len(place.between.seeds) + len(place.between.missing) > 1


def _by_world(changes: Sequence[Change], figures: Mapping[str, str], behind: str) -> Block:
    at = [
        address(*moved_keys(change), seed=str(seed.seed))
        for change in changes
        for seed in change.seeds
    ]
    found = [
        (
            [seed.world_id, change.scenario, str(seed.seed)],
            [count(seed.paired), count(seed.moved), count(seed.unpaired)],
            [MOVES.of(figure)(seed.change.get(figure)) for figure in figures],
        )
        for change in changes
        for seed in change.seeds
    ]
    named = ["world", "scenario", "seed"]
    counted = ["at both", "moved", "left out"]
    columns = [*named, *counted, *figures.values()]
    wide = [[*start, *counts, *moved] for start, counts, moved in found]
    if fits(columns, wide):
        return table(columns, wide, left=2, ids=2, caption=_BY_WORLD, figures=at, behind=behind)
    empty = [""] * len(named), [""] * len(counted)
    rows = [
        [*(empty[0] if place else start), label, change, *(empty[1] if place else counts)]
        for start, counts, moved in found
        for place, (label, change) in enumerate(zip(figures.values(), moved, strict=True))
    ]
    columns = ["world", "scenario", "seed", "choice", "change", *counted]
    each = [one for one in at for _ in figures]
    return table(columns, rows, left=4, ids=2, caption=_BY_WORLD, figures=each, behind=behind)
