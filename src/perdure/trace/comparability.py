"""Which cells of a run can be compared with each other, from how its worlds stand. Pure.

Two cells can be compared if they are at their end, were restrained by the same rungs at the same
ticks, and lost like shares of their turns. It is known here, and not in a report, because the run's
own result and its export say it, too.

Only rungs that change what a cell does count: a warning changes nothing, and a pause lies between
ticks. Shares of failed turns are alike if they are less than `POINTS` percentage points apart: a
turn that failed may have said anything, so that is how far a difference between two cells can come
from turns that failed alone, and it is half of what a tick may lose under the default quorum.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

from perdure.records.budget import Rung
from perdure.records.comparability import Alike, Comparability, Unlike
from perdure.records.registry import RungAt, WorldEntry, WorldOutcome, WorldState

POINTS = 5

_RESTRAINING = frozenset({Rung.FREEZE, Rung.SUBSAMPLE})
_STATE_WORDS = {
    WorldState.FAILED: "It failed",
    WorldState.PARTIAL: "It is not at its end",
    WorldState.NOT_STARTED: "It has not started",
}


def comparability(
    worlds: Sequence[WorldEntry], outcomes: Mapping[str, WorldOutcome | None]
) -> Comparability:
    """Say which cells of a run can be compared. Groups of one size are in the order of the cells.

    A world without an outcome has not started.
    """
    known = {
        world.world_id: outcomes.get(world.world_id) or WorldOutcome(world_id=world.world_id)
        for world in worlds
    }
    by_rungs: dict[tuple[RungAt, ...], list[WorldOutcome]] = defaultdict(list)
    for outcome in known.values():
        if outcome.state is WorldState.COMPLETED:
            by_rungs[_restraining(outcome.rungs)].append(outcome)
    place = {name: number for number, name in enumerate(known)}
    groups = [
        Alike(
            worlds=tuple(sorted((one.world_id for one in alike), key=place.__getitem__)),
            rungs=rungs,
            failed_min=float(_share(alike[0])),
            failed_max=float(_share(alike[-1])),
        )
        for rungs, outcomes in by_rungs.items()
        for alike in _by_share(outcomes)
    ]
    groups.sort(key=lambda group: (-len(group.worlds), place[group.worlds[0]]))
    group_of = {name: group for group in groups for name in group.worlds}
    first = groups[0] if groups else None
    return Comparability(
        groups=tuple(groups),
        unlike=tuple(
            Unlike(world_id=world.world_id, why=_why(world, known[world.world_id], first))
            for world in worlds
            if first is None or group_of.get(world.world_id) is not first
        ),
    )


def _restraining(rungs: Iterable[RungAt]) -> tuple[RungAt, ...]:
    return tuple(at for at in rungs if at.rung in _RESTRAINING and at.lifted != at.tick)


def _share(outcome: WorldOutcome) -> Fraction:
    """Give the share of turns that failed; none of none."""
    asked = outcome.turns + outcome.turns_failed
    return Fraction(outcome.turns_failed, asked) if asked else Fraction(0)


def _by_share(outcomes: Iterable[WorldOutcome]) -> Iterable[list[WorldOutcome]]:
    """Part cells so that any two shares of a part are alike, from the lowest share up."""
    parts: list[list[WorldOutcome]] = []
    for outcome in sorted(outcomes, key=_share):
        if parts and _share(outcome) - _share(parts[-1][0]) < Fraction(POINTS, 100):
            parts[-1].append(outcome)
        else:
            parts.append([outcome])
    return parts


def _why(world: WorldEntry, outcome: WorldOutcome, first: Alike | None) -> str:
    if outcome.state is not WorldState.COMPLETED:
        closed = f"{outcome.tick + 1} of {world.horizon} ticks are closed"
        return f"{_STATE_WORDS[outcome.state]}: {closed}."
    assert first is not None, "a cell at its end is in a group"
    rungs = _restraining(outcome.rungs)
    if rungs != first.rungs:
        return f"It had {_named(rungs)}; the largest group had {_named(first.rungs)}."
    asked = outcome.turns + outcome.turns_failed
    lost = f"{outcome.turns_failed} of its {asked} turns failed ({_percent(_share(outcome))})"
    low, high = _percent(Fraction(first.failed_min)), _percent(Fraction(first.failed_max))
    return f"{lost}; in the largest group {low if low == high else f'{low} to {high}'} did."


def _named(rungs: Sequence[RungAt]) -> str:
    return ", ".join(map(_one, rungs)) or "no restraining rung"


def _one(at: RungAt) -> str:
    until = "" if at.lifted is None else f" to before tick {at.lifted}"
    return f"{at.rung} from tick {at.tick}{until}"


def _percent(share: Fraction) -> str:
    return f"{float(100 * share):.1f} %"
