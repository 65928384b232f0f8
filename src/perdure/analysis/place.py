"""What an event's id names: a world of the run and a number in its record. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from perdure.analysis.address import KINDS
from perdure.base.errors import UsageError
from perdure.records.registry import WorldEntry
from perdure.study.findings import nearest, quoted

_NUMBER = re.compile(r"[0-9]{1,18}", re.ASCII)
_SHOWN_MAX = 6


def place_of(name: str, worlds: Sequence[WorldEntry]) -> tuple[WorldEntry, int]:
    """Read an event's id: the world it is in, and its number there.

    The full id is `<world id>:<number>`. For the world, `<scenario>@<seed>` will do, and so will
    the scenario alone if it has one world; in a run of one world, the number alone.

    Raises:
        UsageError: it is no such id, or names no world of the run, or several; says what there is.

    """
    world, _, number = name.rpartition(":")
    if not _NUMBER.fullmatch(number):
        first = worlds[0].world_id if worlds else "0123456789ab"
        raise UsageError(
            f"{quoted(name)} is not the id of an event.",
            where="ID",
            remedy=f"Write a world and a number, such as `{first}:12`, or the address of a figure, "
            "such as `answers/QUESTION/SCENARIO/TICK`; it can begin with "
            f"{', '.join(KINDS)}.{_meant(name)}",
        )
    named = [one for one in worlds if not world or world in _names(one)]
    if len(named) == 1:
        return named[0], int(number)
    if named:
        wrong = f"{quoted(world)} has" if world else "The run has"
        raise UsageError(
            f"{wrong} {len(named):,} worlds, so {quoted(name)} can be an event of each.",
            where="ID",
            remedy=f"Write {_listed(named, number)}.",
        )
    known = [known for one in worlds for known in _names(one)]
    near = nearest(world, dict.fromkeys(known))
    remedy = f"Did you mean `{near}:{number}`?" if near else f"Write {_listed(worlds, number)}."
    raise UsageError(f"{quoted(world)} is no world of this run.", where="ID", remedy=remedy)


def _meant(name: str) -> str:
    near = nearest(name.partition("?")[0].partition("/")[0], KINDS)
    return f" Did you mean `{near}`?" if near else ""


def _names(world: WorldEntry) -> tuple[str, str, str]:
    return world.world_id, f"{world.scenario}@{world.replicate_seed}", world.scenario


def _listed(worlds: Sequence[WorldEntry], number: str) -> str:
    shown = [
        f"`{one.world_id}:{number}` ({quoted(one.scenario).strip('`')}, seed {one.replicate_seed})"
        for one in worlds[:_SHOWN_MAX]
    ]
    left = len(worlds) - len(shown)
    if left > 0:
        return f"{', '.join(shown)}, or that of one of {left:,} more worlds"
    return " or ".join((", ".join(shown[:-1]), shown[-1]) if len(shown) > 1 else shown)
