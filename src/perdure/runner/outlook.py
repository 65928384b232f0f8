"""What lies ahead of a run that is about to open its next tick: work in hand, and the round. Pure.

A round is one tick in every live world. Worlds stand at different ticks; what the slower ones still
have to run before the round is committed, since rungs taken now do not reach it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import msgspec

from perdure.records.presentation import Plan
from perdure.records.record import Record
from perdure.runner.estimates import Estimates, RoleAndPurpose
from perdure.runner.expected import NeedsOf, Numbers, calls_left, calls_under
from perdure.runner.ladder import FULL, Outlook, Standing, least_plan, plan_at


class LiveWorld(Record):
    """A world that is not at its end: the next tick that it opens, and the one that is open.

    `plan` is that of its open tick, None if none is; `begun` counts that tick's calls so far.
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
    worlds: Iterable[LiveWorld], tick: int, standing: Standing, needs_of: NeedsOf
) -> Ahead:
    """Count the calls up to where every live world has closed `tick`, which none has opened yet.

    A world that has its horizon before has no part in the round.
    """
    least = least_plan(standing)
    committed, full, thin = (Counter[RoleAndPurpose]() for _ in range(3))
    for world in worlds:
        name = world.world_id
        if world.plan is not None:
            committed.update(
                calls_left(needs_of(name, world.next_tick - 1), world.plan, world.begun)
            )
        for before in range(world.next_tick, min(tick, world.horizon)):
            needs = needs_of(name, before)
            committed.update(calls_under(needs, plan_at(standing, before)))
        if world.next_tick <= tick < world.horizon:
            needs = needs_of(name, tick)
            full.update(calls_under(needs, FULL))
            thin.update(calls_under(needs, least))
    return Ahead(committed=committed, full=full, least=thin)


def outlook(ahead: Ahead, tick: int, *, spent: int, estimates: Estimates, beyond: str) -> Outlook:
    """Price what lies ahead. Calls of which nothing is known are in no sum."""
    return Outlook(
        tick=tick,
        spent=spent,
        committed=estimates.calls(ahead.committed).known,
        full=estimates.calls(ahead.full).known,
        least=estimates.calls(ahead.least).known,
        beyond=beyond,
    )
