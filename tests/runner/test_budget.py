"""That a budget is a ceiling and degrading a behaviour: seen at the model, and in the record."""

from __future__ import annotations

import asyncio
import copy
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import msgspec
import pytest
from tests.support.town import OwnParts, Ran, run_in_memory, town

from perdure.agent import Models, PersonaAgent
from perdure.base.errors import EXIT_DONE, EXIT_PAUSED
from perdure.records.budget import Budget, Ladder, Rung
from perdure.records.events import Cost, Degraded, Reflected, Restored, TickClosed, Turn
from perdure.records.outcome import Outcome, TurnDone
from perdure.records.presentation import Plan, TurnJob
from perdure.records.registry import (
    BudgetChanged,
    CallsLost,
    RungLifted,
    RungTaken,
    RunPaused,
    WorldState,
)
from perdure.records.request import (
    ChatRequest,
    EmbedRequest,
    Failure,
    FailureCause,
    Message,
    Reply,
    Vectors,
)
from perdure.records.scenario import AgentSettings, Header
from perdure.records.usage import Price, Usage
from perdure.runner.config import RunConfig
from perdure.runner.session import Session
from perdure.trace.journal_memory import MemoryCalls
from perdure.trace.memory import MemoryPartitions, MemoryRegistry

PRICE = Price(input_fresh=1_000_000, output=1_000_000)  # one nano-unit a token
COST = 110  # of every call
TICKS = 10


class Billing:
    """A model that says what each call used, and keeps what it was asked."""

    name = "billing"

    def __init__(self, usage: Usage | None = None) -> None:
        self.usage = usage or Usage(input_fresh=100, output=10)
        self.asked: list[ChatRequest] = []
        self.billed = 0

    async def open(self) -> None:
        pass

    async def close(self) -> None:
        pass

    async def chat(self, request: ChatRequest, timeout_s: float) -> Reply | Failure:
        self.asked.append(request)
        self.billed += self.usage.input_fresh + self.usage.output
        return Reply(text="Ada Hill. I agree.", served="m", usage=self.usage)

    async def embed(self, request: EmbedRequest, timeout_s: float) -> Vectors | Failure:
        return Failure(cause=FailureCause.UNSUPPORTED)


def campaign(budget: Budget, *, personas: int = 6, **changes: Any) -> RunConfig:
    """Make a run of two worlds that show something at every tick, with a wave in the middle."""
    scenario = {
        "horizon": TICKS,
        "waves": (5,),
        "exposures": {str(tick): ("c1",) for tick in range(TICKS) if tick != 5},
        "activation": 1.0,
    }
    return town(
        personas,
        scenarios=(scenario,),
        agent=changes.pop("agent", AgentSettings(reflect_every=2)),
        budget=budget,
        price=PRICE,
        **changes,
    )


def spend(budget: Budget, model: Billing | None = None, **changes: Any) -> tuple[Ran, Billing]:
    """Run the campaign under a budget."""
    model = model or Billing()
    return run_in_memory(campaign(budget, **changes), model), model


def rungs(ran: Ran, place: int) -> list[tuple[int, str]]:
    """List the rungs that a world recorded: at which tick, and which; lifted ones with a minus."""
    found = []
    for event in ran.events(place):
        match event.payload:
            case Degraded(rung=rung):
                found.append((event.tick, rung.value))
            case Restored(rung=rung):
                found.append((event.tick, "-" + rung.value))
            case _:
                pass
    return found


def recorded_cost(ran: Ran) -> int:
    """Sum the costs in the record of every world."""
    return sum(
        event.payload.amount or 0
        for place in range(len(ran.result.worlds))
        for event in ran.events(place)
        if isinstance(event.payload, Cost)
    )


WHOLE, WHOLE_MODEL = spend(Budget())
FULL_COST = WHOLE.result.cost


def test_without_a_budget_nothing_is_restrained():
    """The undisturbed run takes no rung."""
    assert WHOLE.result.exit_status == EXIT_DONE
    assert WHOLE_MODEL.billed == FULL_COST == recorded_cost(WHOLE)
    assert rungs(WHOLE, 0) == rungs(WHOLE, 1) == []


@pytest.mark.parametrize("percent", range(5, 135, 5))
def test_any_budget_is_kept_and_nearly_used(percent: int):
    """P5: never more than the amount, and a paused run leaves less than one round could take."""
    amount = FULL_COST * percent // 100
    ran, model = spend(Budget(amount=amount))
    assert model.billed == ran.result.cost <= amount
    assert recorded_cost(ran) <= model.billed
    if ran.result.exit_status == EXIT_DONE:
        assert rungs(ran, 0) == rungs(ran, 1)
        return
    assert ran.result.exit_status == EXIT_PAUSED
    assert "perdure budget" in ran.result.cause
    assert amount - model.billed < 12 * 1_000 + 12 * 1_500  # a round's worst case, reflections too
    logged = [row.payload for row in ran.run.log if isinstance(row.payload, RungTaken)]
    assert [row.rung for row in logged] == [
        rung for rung in Rung if rung in {row.rung for row in logged}
    ]
    for place, world in enumerate(ran.result.worlds):
        taken = rungs(ran, place)
        assert len(set(taken)) == len(taken)
        if world.state is not WorldState.COMPLETED:
            assert taken[-1] == (world.tick + 1, "pause")
            before = [(row.tick, row.rung.value) for row in logged if row.tick <= world.tick]
            assert taken[:-1] == before


def plans(ran: Ran, place: int = 0) -> dict[int, Plan]:
    """Give the plan of every tick of a world."""
    return {
        event.tick: event.payload.plan
        for event in ran.events(place)
        if isinstance(event.payload, TickClosed)
    }


def active(ran: Ran, tick: int, place: int = 0) -> set[str]:
    """List who took a turn at a tick."""
    return {
        event.persona
        for event in ran.events(place)
        if event.tick == tick and isinstance(event.payload, Turn)
    }


def test_each_rung_has_its_effect():
    """Nobody reflects; then fewer act, all of whom would have acted; waves are whole."""
    ran, _ = spend(Budget(amount=FULL_COST * 70 // 100, ceiling=FULL_COST * 2), personas=20)
    whole, _ = spend(Budget(), personas=20)
    seen = plans(ran)
    frozen = [tick for tick, plan in seen.items() if not plan.optional_work]
    thinned = [tick for tick, plan in seen.items() if plan.activation < 1]
    assert frozen
    assert thinned
    assert min(frozen) <= min(thinned)
    assert rungs(ran, 0) == rungs(ran, 1)
    for tick in frozen:
        assert not any(
            isinstance(event.payload, Reflected) for event in ran.events() if event.tick == tick
        )
    for tick in thinned:
        if tick == 5:
            assert active(ran, tick) == active(whole, tick)
        else:
            assert active(ran, tick) < active(whole, tick)


@pytest.mark.parametrize("percent", [5, 20, 40, 60, 80, 100])
def test_a_raised_budget_goes_on_without_paying_twice(percent: int):
    """P3, P6: raising is recorded, rungs lift by record, and no finished call is made again."""
    first = Budget(amount=FULL_COST * percent // 100, ladder=Ladder(share=1.0))
    ran, model = spend(first)
    assert ran.result.exit_status == EXIT_PAUSED
    again = run_in_memory(campaign(first), model, after=ran)
    assert (again.result.exit_status, again.result.cost) == (EXIT_PAUSED, ran.result.cost)
    assert [rungs(again, place) for place in (0, 1)] == [rungs(ran, place) for place in (0, 1)]
    asyncio.run(_log(again, BudgetChanged(budget=Budget(amount=FULL_COST * 3))))
    done = run_in_memory(campaign(first), model, after=again)
    assert done.result.exit_status == EXIT_DONE
    assert model.billed == done.result.cost == recorded_cost(done)
    asked = Counter(msgspec.json.encode(request) for request in model.asked)
    assert max(asked.values()) == 1
    for place in (0, 1):
        taken = rungs(done, place)
        for _, rung in taken:
            if not rung.startswith("-"):
                assert [name for _, name in taken].count("-" + rung) <= 1
    lifted = [row.payload for row in done.run.log if isinstance(row.payload, RungLifted)]
    assert {row.rung for row in lifted} == {
        row.payload.rung for row in done.run.log if isinstance(row.payload, RungTaken)
    }


async def _log(ran: Ran, row: BudgetChanged) -> None:
    registry = await MemoryRegistry.open(ran.run)
    await registry.log(row)


@pytest.mark.parametrize(
    ("budget", "less", "flag"),
    [
        (Budget(amount=FULL_COST // 2), Budget(amount=10), "--amount"),
        (
            Budget(amount=FULL_COST // 2, ceiling=FULL_COST // 2 + 1),
            Budget(amount=10, ceiling=11),
            "--ceiling",
        ),
        (Budget(calls=15), Budget(calls=10), "--calls"),
        (Budget(tokens=2_000), Budget(tokens=10), "--tokens"),
    ],
)
def test_a_run_again_says_why_it_is_paused_as_it_did(budget: Budget, less: Budget, flag: str):
    """The cause names the flag that helps, however often the run is run again."""
    ran, model = spend(budget)
    again = run_in_memory(campaign(budget), model, after=ran)
    third = run_in_memory(campaign(budget), model, after=again)
    assert ran.result.exit_status == third.result.exit_status == EXIT_PAUSED
    assert flag in ran.result.cause
    assert ran.result.cause == again.result.cause == third.result.cause
    # Killed before it could say so, it says so when it is run again.
    assert isinstance(third.run.log.pop().payload, RunPaused)
    fourth = run_in_memory(campaign(budget), model, after=third)
    assert flag in fourth.result.cause
    # A change that does not help is judged anew: the cause is one of the budget in force.
    asyncio.run(_log(fourth, BudgetChanged(budget=less)))
    changed = run_in_memory(campaign(budget), model, after=fourth)
    assert changed.result.exit_status == EXIT_PAUSED
    assert flag in changed.result.cause
    assert changed.result.cause != ran.result.cause
    assert changed.result.cost == ran.result.cost


class Swallowing:
    """An agent that makes something up whenever a call fails, whatever it is told."""

    def __init__(self) -> None:
        self._real = PersonaAgent()

    def reset(self, header: Header) -> None:
        self._real.reset(header)

    async def act(self, jobs: Sequence[TurnJob], plan: Plan, models: Models) -> list[Outcome]:
        outcomes: list[Outcome] = []
        for job in jobs:
            calls = models.for_job(job.index)
            message = Message(role="user", content=f"{job.persona.id} {job.tick}")
            try:
                text = (await calls.chat("turn", (message,), tokens_max=50)).text
            except Exception:  # noqa: BLE001 - that is its fault
                text = "Ada Hill. I made this up."
            outcomes.append(TurnDone(messages=(message,), answer=text))
        return outcomes


def test_an_agent_that_swallows_a_refusal_cannot_close_its_tick():
    """P9: whatever the agent made of it, a tick in which a call was refused is not kept."""
    config = campaign(Budget(calls=15))
    parts = OwnParts(config, agent=lambda _header: Swallowing())
    model = Billing()
    ran = run_in_memory(config, model, parts=parts)
    assert ran.result.exit_status == EXIT_PAUSED
    assert len(model.asked) <= 15
    said = [
        event.payload.answer
        for place in (0, 1)
        for event in ran.events(place)
        if isinstance(event.payload, Turn)
    ]
    assert said
    assert not any("made this up" in answer for answer in said)


@pytest.mark.parametrize(
    "budget", [Budget(calls=40), Budget(tokens=9_000), Budget(calls=1), Budget(tokens=10)]
)
def test_calls_and_tokens_are_ceilings_too(budget: Budget):
    """The same mechanism keeps them: never more than asked, and a pause that can be lifted."""
    ran, model = spend(budget)
    assert ran.result.exit_status == EXIT_PAUSED
    assert len(model.asked) <= (budget.calls or 10_000)
    assert model.billed <= (budget.tokens or 10_000_000)
    asyncio.run(_log(ran, BudgetChanged(budget=Budget())))
    done = run_in_memory(campaign(budget), model, after=ran)
    assert done.result.exit_status == EXIT_DONE
    assert len(model.asked) == len(WHOLE_MODEL.asked)
    assert done.digests == WHOLE.digests


def test_a_budget_that_cannot_open_its_first_tick_spends_nothing():
    """`run` ends with 76, and the model was never asked."""
    ran, model = spend(Budget(amount=COST))
    assert (ran.result.exit_status, ran.result.cost, model.asked) == (EXIT_PAUSED, 0, [])
    assert {world.state for world in ran.result.worlds} == {WorldState.NOT_STARTED}


def test_what_a_provider_reports_above_a_reservation_is_marked_and_raises_the_bound():
    """P5: it counts as reported, it shows in the record, and the next call reserves more."""
    model = Billing(Usage(input_fresh=5_000, output=10))
    ran, _ = spend(Budget(amount=100_000), model)
    marked = [
        event.payload.above_reservation
        for place in (0, 1)
        for event in ran.events(place)
        if isinstance(event.payload, Cost)
    ]
    assert 0 < marked.count(True) <= 2  # of each role, those in flight before it was known
    assert model.billed <= 100_000


def test_a_run_paused_before_its_first_tick_records_that_once():
    """However often it is run again, or taken up before anything was called."""
    ran, model = spend(Budget(calls=1))
    for _ in range(3):
        ran = run_in_memory(campaign(Budget(calls=1)), model, after=ran)
        assert [rungs(ran, place) for place in (0, 1)] == [[(0, "pause")]] * 2
    assert model.asked == []


class Copying(Billing):
    """Copies what is durable while a call is billed and not answered: a kill at that moment."""

    def __init__(self, every: int) -> None:
        super().__init__()
        self.calls = MemoryCalls()
        self.moments: list[tuple[Ran, int]] = []
        self._every = every
        self._durable: Ran | None = None

    async def watch(self, session: Session) -> None:
        """Take note of what the run writes to, before it begins."""
        registry, partitions = session.registry, session.partitions
        assert isinstance(registry, MemoryRegistry)
        assert isinstance(partitions, MemoryPartitions)
        self._durable = replace(WHOLE, run=registry.run, partitions=partitions, calls=self.calls)

    async def chat(self, request: ChatRequest, timeout_s: float) -> Reply | Failure:
        reply = await super().chat(request, timeout_s)
        asked = len(self.asked)
        await asyncio.sleep(0)  # so that others are in flight as well
        if asked % self._every == 0:
            assert self._durable is not None
            self.moments.append((copy.deepcopy(self._durable), self.billed))
        return reply


@pytest.mark.parametrize("percent", [30, 55, 80, 95])
def test_a_crash_makes_a_run_stop_sooner_and_never_later(percent: int):
    """P5: what is lost is charged; the rest buys at most what it would have, and not much less."""

    def budget(amount: int) -> Budget:
        return Budget(amount=amount, ladder=Ladder(share=1.0))

    amount = FULL_COST * percent // 100
    whole = Copying(every=7)
    run_in_memory(campaign(budget(amount)), whole, before=whole.watch, calls=whole.calls)
    assert len(whole.moments) > 3
    for killed, billed in whole.moments:
        model = Billing()
        ran = run_in_memory(campaign(budget(amount)), model, after=killed)
        lost = [row.payload for row in ran.run.log if isinstance(row.payload, CallsLost)]
        charged, attempts = sum(row.cost for row in lost), sum(row.calls for row in lost)
        assert attempts
        assert billed + model.billed <= ran.result.cost <= amount
        _, least_model = spend(budget(amount - charged))
        finished = billed + model.billed - attempts * COST
        assert least_model.billed - attempts * COST <= finished <= whole.billed
        logged = [row.payload.rung for row in ran.run.log if isinstance(row.payload, RungTaken)]
        assert logged == [rung for rung in Rung if rung is not Rung.SUBSAMPLE], "a jump takes all"
