"""Which cells a sitting drives, if it is told to drive only some of them. Pure.

The others stay as they are, and the run waits for them: a later sitting goes on with the rest.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from perdure.base.errors import UsageError
from perdure.study.findings import nearest, quoted
from perdure.study.grid import JOINT
from perdure.study.identity import Cell

SEED_MARK = "@"

_SHOWN_MAX = 6


def chosen(only: Sequence[str], cells: Sequence[Cell]) -> tuple[Cell, ...]:
    """Choose the cells that are named; all of them if none is.

    A name is a world's id, a scenario's id, or a scenario's id with a seed (`calm@2`). The id of a
    scenario with a grid names every cell of it, and so does each further part of a cell's id.

    Raises:
        UsageError: something named is no cell; says what there is.

    """
    if not only:
        return tuple(cells)
    scenarios = {cell.entry.scenario for cell in cells}
    found = {name: _named(name, cells, scenarios) for name in only}
    unknown = [name for name, named in found.items() if not named]
    if unknown:
        raise UsageError(
            f"--only names no cell of the study: {', '.join(map(quoted, unknown))}.",
            remedy=f"{_there_is(unknown, cells)} `perdure plan` lists every cell.",
        )
    named = {world_id for names in found.values() for world_id in names}
    return tuple(cell for cell in cells if cell.entry.world_id in named)


def left_out(number: int) -> str:
    """Say that so many worlds were not to be driven."""
    worlds = "1 world was" if number == 1 else f"{number:,} worlds were"
    return f"{worlds} left out by --only. Run it again without --only to go on with the rest."


def _named(name: str, cells: Sequence[Cell], scenarios: Collection[str]) -> set[str]:
    scenario, _, seed = name.partition(SEED_MARK)

    def fits(cell: Cell) -> bool:
        own = cell.entry.scenario
        # A scenario's own id is not also taken for the beginning of others.
        is_it = own == scenario if scenario in scenarios else own.startswith(scenario + JOINT)
        return is_it and (SEED_MARK not in name or str(cell.entry.replicate_seed) == seed)

    return {cell.entry.world_id for cell in cells if cell.entry.world_id == name or fits(cell)}


def _there_is(unknown: Sequence[str], cells: Sequence[Cell]) -> str:
    """Say which cell was meant, if that is plain, or else what scenarios and seeds there are."""
    scenarios = list(dict.fromkeys(cell.entry.scenario for cell in cells))
    seeds = list(dict.fromkeys(str(cell.entry.replicate_seed) for cell in cells))
    full = [f"{cell.entry.scenario}{SEED_MARK}{cell.entry.replicate_seed}" for cell in cells]
    if len(unknown) == 1 and (near := nearest(unknown[0], [*scenarios, *full])):
        return f"Did you mean `{near}`?"
    return f"Its scenarios are {_listed(scenarios)}, its seeds {_listed(seeds)}."


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN_MAX:,} more" if len(names) > _SHOWN_MAX else ""
    return ", ".join(f"`{name}`" for name in names[:_SHOWN_MAX]) + more
