"""How many calls a tick makes before it is run. Pure.

With our own world and agent that follows from the schedule; a world or an agent of the user's own
is taken to do in a tick what it did at most in one so far.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Protocol

import msgspec

from perdure.records.events import Cost
from perdure.records.presentation import Plan
from perdure.records.record import Record
from perdure.records.scenario import AgentSettings, Header, Scenario
from perdure.runner.estimates import RoleAndPurpose, calls_of
from perdure.study.read_models import EMBED
from perdure.study.schedule import Schedule, rated_questions

Numbers = Mapping[RoleAndPurpose, int]


class Needs(Record):
    """How many calls a tick makes of each role and purpose, under a plan that restrains nothing.

    `whole` are made under every plan (survey waves), `thinned` in proportion to the plan's
    activation, `optional` likewise and only if the plan has optional work.
    """

    whole: Numbers = msgspec.field(default_factory=dict)
    thinned: Numbers = msgspec.field(default_factory=dict)
    optional: Numbers = msgspec.field(default_factory=dict)


NO_NEEDS = Needs()


NeedsOf = Callable[[str, int], Needs]


def exact(number: float) -> Fraction:
    """Read a number as it is written: 0.95 is 95 hundredths, and not the float nearest to them."""
    return Fraction(str(number))


def calls_under(needs: Needs, plan: Plan) -> dict[RoleAndPurpose, int]:
    """Count the calls that a tick makes under a plan, rounded up."""
    share = exact(plan.activation)
    numbers = Counter(needs.whole)
    for part in (needs.thinned, needs.optional if plan.optional_work else {}):
        numbers.update({kind: math.ceil(number * share) for kind, number in part.items()})
    return dict(numbers)


def calls_left(expected: Numbers, begun: Numbers) -> dict[RoleAndPurpose, int]:
    """Count the calls that an open tick still makes, given those that it has begun."""
    return {kind: max(0, number - begun.get(kind, 0)) for kind, number in expected.items()}


def schedule(
    scenario: Scenario,
    agent: AgentSettings,
    personas: int,
    *,
    embeds: bool = False,
    rated: Collection[str] = (),
) -> dict[int, Needs]:
    """Count the calls of our own world and agent, for that many personas; as in `Schedule`.

    The result has an entry for every tick that makes any. How many personas are active, and how
    many of them reflect, is what is expected, rounded up.
    """
    planned = Schedule(scenario, agent, embeds=embeds, rated=rated)
    needs = {}
    for tick in planned.ticks:
        parts = planned.parts(tick, personas)
        needs[tick] = Needs(
            whole=_up(parts.whole), thinned=_up(parts.thinned), optional=_up(parts.optional)
        )
    return needs


def _up(calls: Mapping[RoleAndPurpose, float]) -> Numbers:
    """Round up, but not for what is only in the last digits of a float."""
    return {kind: math.ceil(round(count, 6)) for kind, count in calls.items()}


class Seen:
    """The most calls that a tick made so far, by world: for worlds without a known schedule.

    `before_any` is asked until some world has closed a tick. `optional` are the kinds of calls of
    which it is known that they are optional work.
    """

    def __init__(
        self, before_any: NeedsOf, *, optional: Collection[RoleAndPurpose] = frozenset()
    ) -> None:
        self._before_any = before_any
        self._optional = frozenset(optional)
        self._by_world: dict[str, Counter[RoleAndPurpose]] = {}
        self._of_all: Counter[RoleAndPurpose] = Counter()

    def note(self, world_id: str, numbers: Numbers) -> None:
        """Take note of a tick's calls by role and purpose."""
        self._by_world[world_id] = self._by_world.get(world_id, Counter()) | Counter(numbers)
        self._of_all |= Counter(numbers)

    def needs(self, world_id: str, tick: int) -> Needs:
        """Say what a world's tick is taken to need. Which of it a plan thins is not known: all."""
        most = self._by_world.get(world_id) or self._of_all
        if not most:
            return self._before_any(world_id, tick)
        return Needs(
            thinned={kind: most[kind] for kind in most if kind not in self._optional},
            optional={kind: most[kind] for kind in most if kind in self._optional},
        )


def numbers_of(costs: Iterable[Cost]) -> dict[RoleAndPurpose, int]:
    """Count the calls of a tick by role and purpose, from its costs in the order of its record."""
    return dict(Counter((calls[0].role, calls[0].purpose) for calls in calls_of(costs)))


class Prospect(Protocol):
    """Says what the ticks of a run's worlds need, and learns from those that closed."""

    def needs(self, world_id: str, tick: int) -> Needs:
        """Say what a world's tick is taken to need."""
        ...

    def note(self, world_id: str, numbers: Numbers) -> None:
        """Take note of a tick's calls by role and purpose."""
        ...


class Known:
    """The schedule of our own worlds and agent: it follows from the study."""

    def __init__(self, by_world: Mapping[str, Mapping[int, Needs]]) -> None:
        self._by_world = by_world

    def needs(self, world_id: str, tick: int) -> Needs:
        """Say what a world's tick needs."""
        return self._by_world[world_id].get(tick, NO_NEEDS)

    def note(self, world_id: str, numbers: Numbers) -> None:
        """Learn nothing: it is known."""


def prospect_of(agent: AgentSettings, headers: Sequence[Header], personas: int) -> Prospect:
    """Choose how the calls of a run's ticks are foreseen: as scheduled, or from those seen."""
    # Once for each scenario, not for each of its replicates.
    scenarios = {header.scenario.id: header.scenario for header in headers}
    embeds = any(EMBED in header.pins for header in headers)
    # Every header of a study has its questions.
    rated = rated_questions(headers[0].questions) if headers else frozenset[str]()
    by_scenario = {
        name: schedule(one, agent, personas, embeds=embeds, rated=rated)
        for name, one in scenarios.items()
    }
    known = Known({header.world_id: by_scenario[header.scenario.id] for header in headers})
    own = [agent.agent, *(scenario.world for scenario in scenarios.values())]
    if all(name.startswith("perdure.") for name in own):
        return known
    return Seen(known.needs)
