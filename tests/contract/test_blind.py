"""World and agent get plans and never learn of budgets: nothing that they are given tells of one.

Everything is looked at that can be reached from what they are handed, by any public name.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from enum import Enum
from typing import Any

import msgspec
import pytest
from tests.support.budget_figure import Figure
from tests.support.town import OwnParts, run_in_memory, town

from perdure.agent import PersonaAgent
from perdure.records.budget import Budget, Ladder, Rung
from perdure.records.events import Degraded
from perdure.records.presentation import Plan
from perdure.records.registry import BudgetChanged, RungTaken
from perdure.records.request import Attempt, CallKey, CallResult
from perdure.records.usage import CostSource, Price
from perdure.runner.calls import TickCalls, TickModels
from perdure.runner.ladder import Outlook, stand
from perdure.testing.contracts import example_header
from perdure.world import ChannelWorld

BUDGET = Budget(
    amount=7_130_171_017,
    ceiling=8_130_171_019,
    calls=713_021,
    tokens=71_303_333,
    wall_s=71_304.25,
    ladder=Ladder(warn=0.71301, freeze=0.81302, subsample=0.91303, share=0.31304),
)
PRICE = Price(input_fresh=71_305_000, output=71_306_000)
# The share is not among them: a plan that thins says by how much, and not why.
NUMBERS = frozenset(
    {
        *(BUDGET.amount, BUDGET.ceiling, BUDGET.calls, BUDGET.tokens, BUDGET.wall_s),
        *(BUDGET.ladder.warn, BUDGET.ladder.freeze, BUDGET.ladder.subsample),
        *(PRICE.input_fresh, PRICE.output),
    }
)
WORDS = re.compile(
    r"budget|ceiling|ledger|ladder|rung|degrad|amount|price|spen[dt]|reserv|afford"
    r"|(?<![a-z])costs?(?![a-z])|subsampl",
    re.IGNORECASE,
)


def reached(value: Any, path: str, seen: set[int]) -> Iterator[tuple[str, Any]]:
    """Go through all that can be reached from a value: each name, text and number, and where."""
    if isinstance(value, Enum):
        value = value.value
    if value is None or isinstance(value, bool | str | bytes | int | float):
        yield path, value
        return
    if id(value) in seen:
        return
    seen.add(id(value))
    for name, part in _parts(value):
        yield path, name
        yield from reached(part, f"{path}.{name}", seen)


def _parts(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        yield from ((str(key), part) for key, part in value.items())
    elif isinstance(value, list | tuple | set | frozenset):
        yield from ((str(place), part) for place, part in enumerate(value))
    elif inspect.ismodule(value) or inspect.isclass(value):
        return
    elif inspect.isroutine(value):
        yield from ((name, None) for name in inspect.signature(value).parameters)
    else:
        public = [name for name in dir(value) if not name.startswith("_")]
        yield from ((name, getattr(value, name)) for name in public)


def telling(value: Any) -> list[str]:
    """List what tells of a budget, and where it stands."""
    found = []
    for path, one in reached(value, type(value).__name__, set()):
        words = isinstance(one, str) and WORDS.search(one)
        if words or (isinstance(one, int | float) and one in NUMBERS):
            found.append(f"{path}: {one!r}")
    return found


class Given:
    """Collects what is handed over, looked at when it is: later it may have moved on."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.looked = 0

    def look(self, *values: Any) -> None:
        """Look at what is handed over now."""
        for value in values:
            self.looked += 1
            self.told += telling(value)


class SeenWorld(ChannelWorld):
    """A world that shows all that it is given."""

    def __init__(self, given: Given) -> None:
        super().__init__()
        self._given = given

    def reset(self, header):
        self._given.look(header)
        super().reset(header)

    def needs(self, tick, turns, plan):
        self._given.look(tick, turns, plan)
        return super().needs(tick, turns, plan)

    def step(self, tick, turns, plan, answers):
        self._given.look(tick, turns, plan, answers)
        return super().step(tick, turns, plan, answers)


class SeenAgent(PersonaAgent):
    """An agent that shows all that it is given, and what its calls come to."""

    def __init__(self, given: Given) -> None:
        super().__init__()
        self._given = given

    def reset(self, header):
        self._given.look(header)
        super().reset(header)

    async def act(self, jobs, plan, models):
        self._given.look(jobs, plan, models, models.for_job(0))
        reply = await models.for_job(0).chat("look", (), tokens_max=9)
        self._given.look(reply, models, models.for_job(0))
        return await super().act(jobs, plan, models)


@pytest.mark.parametrize("budget", [Budget(), BUDGET], ids=["without", "with"])
def test_nothing_that_world_and_agent_are_given_tells_of_a_budget(budget: Budget) -> None:
    """P5, P8: no word and no number of one, in a whole run whose calls are paid for."""
    config = town(budget=budget)
    given = Given()
    parts = OwnParts(config, world=lambda _: SeenWorld(given), agent=lambda _: SeenAgent(given))
    ran = run_in_memory(config, parts=parts, price=PRICE)
    assert not [world.cause for world in ran.result.worlds if world.cause]
    assert given.looked > 100
    assert given.told == []


@pytest.mark.parametrize(
    "planted",
    [
        BUDGET,
        Budget(),
        BudgetChanged(budget=Budget()),
        RungTaken(rung=Rung.WARN, tick=0),
        Degraded(rung=Rung.FREEZE),
        stand(Budget(), ()),
        Outlook(tick=0, spent=0),
        Figure(),
        Plan(routing={"turn": "subsample"}),
        Plan(activation=BUDGET.ladder.warn),
        {"left": [BUDGET.amount]},
        ({"calls": BUDGET.calls},),
        CallResult(
            key=CallKey(world="w", tick=0, job=0, purpose="turn", ordinal=0),
            attempts=(Attempt(source=CostSource.UNKNOWN),),
        ),
        lambda ceiling: ceiling,
    ],
    ids=lambda one: type(one).__name__,
)
def test_what_tells_of_a_budget_is_found(planted: Any) -> None:
    """Control: a name, a text or a number, however deep, is found."""
    assert telling(planted)
    assert telling({"a": [(planted,)]})


def test_calls_as_the_runner_keeps_them_would_tell() -> None:
    """Control: what a tick's calls cost is in sight of the runner, and not of the agent."""
    calls = TickCalls(host=None, header=example_header(), tick=0)  # type: ignore[arg-type]
    key = CallKey(world="w", tick=0, job=0, purpose="turn", ordinal=0)
    calls.by_job[0].append(("tier_a", CallResult(key=key, attempts=(Attempt(amount=5),))))
    assert telling(calls)
    assert telling(TickModels(calls)) == []


def test_a_plan_holds_nothing_but_what_a_tick_may_do() -> None:
    """Control: a new field of a plan is thought about before world and agent get it."""
    fields = [field.name for field in msgspec.structs.fields(Plan)]
    assert fields == ["activation", "optional_work", "routing"]
