"""What lies ahead of a run that is about to open its next tick: work in hand, and the round. Pure.

A round is one tick in every live world. Worlds stand at different ticks; what the slower ones still
have to run before the round is committed, since rungs taken now do not reach it. In depth order the
round is the next tick of each world, wherever it stands.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

import msgspec

from perdure.records.presentation import Plan
from perdure.records.record import Record
from perdure.runner.estimates import Estimates, RoleAndPurpose
from perdure.runner.expected import Needs, NeedsOf, Numbers, calls_left, calls_under
from perdure.runner.ladder import FULL, Outlook, Standing, least_plan, plan_at

_Place = tuple[int, tuple[float, bool] | None]


class LiveWorld(Record):
    """A world that is not at its end: the next tick that it opens, and the one that is open.

    `plan` is that of its open tick, None if none is; `begun` counts that tick's calls so far. A
    tick that an earlier sitting left in the journal is open.
    """

    world_id: str
    next_tick: int
    horizon: int
    plan: Plan | None = None
    begun: Numbers = msgspec.field(default_factory=dict)


class Ahead(Record):
    """The calls that lie ahead, by role and purpose: see `Outlook`."""

    committed: Numbers
    full: Numbers
    least: Numbers


def calls_ahead(
    worlds: Iterable[LiveWorld], tick: int | None, standing: Standing, needs_of: NeedsOf
) -> Ahead:
    """Count the calls up to where every live world has closed `tick`, which none has opened yet.

    Without a tick, it is the next one of each world. A world that has its horizon before has no
    part in the round.
    """
    committed, full, thin = (Counter[RoleAndPurpose]() for _ in range(3))
    ticks, plans = _Ticks(), _Plans(standing)
    for world in worlds:
        name = world.world_id
        if world.plan is not None:
            needs = needs_of(name, world.next_tick - 1)
            committed.update(calls_left(ticks.under(needs, world.plan), world.begun))
        last = world.next_tick if tick is None else tick
        for number in range(world.next_tick, min(last, world.horizon)):
            ticks.add(needs_of(name, number), plans.at(name, number))
        if world.next_tick <= last < world.horizon:
            ticks.add(needs_of(name, last), None)
    least = least_plan(standing)
    for needs, plan, worlds_alike in ticks:
        if plan is not None:
            _add(committed, ticks.under(needs, plan), worlds_alike)
        else:
            _add(full, ticks.under(needs, FULL), worlds_alike)
            _add(thin, ticks.under(needs, least), worlds_alike)
    return Ahead(committed=committed, full=full, least=thin)


class _Plans:
    """The plans of ticks; those that are the same in every world are made once."""

    def __init__(self, standing: Standing) -> None:
        self._standing = standing
        self._is_even = standing.moves.is_even
        self._even: dict[int, Plan] = {}

    def at(self, world_id: str, tick: int) -> Plan:
        if not self._is_even:
            return plan_at(self._standing.of(world_id), tick)
        if tick not in self._even:
            self._even[tick] = plan_at(self._standing, tick)
        return self._even[tick]


class _Ticks:
    """Ticks that are to be run, with those that need the same under the same plan together.

    Those without a plan are the round. Worlds of one scenario share their needs, so a run of very
    many is looked through quickly.
    """

    def __init__(self) -> None:
        self._alike: dict[_Place, tuple[Needs, Plan | None, int]] = {}
        self._under: dict[_Place, tuple[Needs, Numbers]] = {}

    def add(self, needs: Needs, plan: Plan | None) -> None:
        # What an id stands for is kept beside it, so that no other object gets the same.
        place = _place(needs, plan)
        *_, count = self._alike.get(place, (needs, plan, 0))
        self._alike[place] = needs, plan, count + 1

    def under(self, needs: Needs, plan: Plan) -> Numbers:
        place = _place(needs, plan)
        if place not in self._under:
            self._under[place] = needs, calls_under(needs, plan)
        return self._under[place][1]

    def __iter__(self) -> Iterator[tuple[Needs, Plan | None, int]]:
        return iter(self._alike.values())


def _place(needs: Needs, plan: Plan | None) -> _Place:
    return id(needs), None if plan is None else (plan.activation, plan.optional_work)


def _add(numbers: Counter[RoleAndPurpose], more: Numbers, times: int) -> None:
    for kind, number in more.items():
        numbers[kind] += number * times


def outlook(ahead: Ahead, tick: int, *, spent: int, estimates: Estimates, beyond: str) -> Outlook:
    """Price what lies ahead. Calls of which nothing is known are in no sum."""
    return Outlook(
        tick=tick,
        spent=spent,
        committed=estimates.calls(ahead.committed).money,
        full=estimates.calls(ahead.full).money,
        least=estimates.calls(ahead.least).money,
        beyond=beyond,
    )
