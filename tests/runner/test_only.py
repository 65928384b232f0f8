"""Some of a run's cells now and the rest later: what is driven, what is said, the same end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.runner.test_budget import PRICE, Billing
from tests.runner.test_resume import answer
from tests.support.town import OwnParts, Ran, run_in_memory, town

from perdure.base.errors import EXIT_DONE, EXIT_PAUSED, EXIT_SOME_FAILED, UsageError
from perdure.records.budget import Budget
from perdure.records.registry import RunPaused, RunState, WorldState
from perdure.records.request import FailureCause
from perdure.records.scenario import Header
from perdure.runner.config import RunConfig
from perdure.runner.only import chosen
from perdure.study.identity import Cell, expand
from perdure.testing import ScriptedProvider
from perdure.world import ChannelWorld

NAMES = ("shown--activation-0.5", "shown--activation-1", "shown--activation-1--variant-v1", "calm")


def sweep(**changes: Any) -> RunConfig:
    """Make a run of eight cells: four scenarios, two seeds."""
    activations: tuple[dict[str, float], ...] = (
        {"activation": 0.5},
        {"activation": 0.7},
        {"activation": 0.9},
        {},
    )
    scenarios = tuple({"id": name, **one} for name, one in zip(NAMES, activations, strict=True))
    return town(4, scenarios=scenarios, seeds=(1, 2), **changes)


def cells_of(config: RunConfig) -> tuple[Cell, ...]:
    """Expand the run."""
    return expand(config.study, config.population)


class Watching:
    """Parts that note which worlds are driven; a world may be made to raise."""

    def __init__(self, config: RunConfig, breaks: Callable[[Header], bool] = lambda _h: False):
        self.driven: list[str] = []

        def make(header: Header) -> ChannelWorld:
            self.driven.append(f"{header.scenario.id}@{header.replicate_seed}")
            return _Broken() if breaks(header) else ChannelWorld()

        self.parts = OwnParts(config, world=make)


class _Broken(ChannelWorld):
    def step(self, *_args: Any) -> Any:
        raise ZeroDivisionError("the town is gone")


def go(config: RunConfig, *only: str, after: Ran | None = None, **given: Any) -> Ran:
    """Run or continue these cells of the sweep, or all of them."""
    given.setdefault("parts", Watching(config).parts)
    provider = given.pop("provider", None) or ScriptedProvider(answer)
    return run_in_memory(replace(config, only=only), provider, after=after, **given)


@pytest.fixture(scope="module")
def whole() -> Ran:
    """Run the sweep without leaving anything out."""
    ran = go(sweep())
    assert ran.result.state is RunState.COMPLETED
    return ran


def test_only_the_named_cells_are_driven_and_the_others_stay_as_they_are(whole: Ran):
    """The rest has no record, and the run says that it is partial, and why."""
    config = sweep()
    watching = Watching(config)
    ran = go(config, "calm", "shown--activation-1@2", parts=watching.parts)
    assert sorted(watching.driven) == ["calm@1", "calm@2", "shown--activation-1@2"]
    done = {3, 6, 7}
    for place, world in enumerate(ran.result.worlds):
        if place in done:
            assert world == whole.result.worlds[place]
        else:
            assert world.state is WorldState.NOT_STARTED
            assert world.world_id not in ran.partitions.worlds
    assert ran.result.state is RunState.PARTIAL
    assert ran.result.exit_status == EXIT_DONE
    assert ran.result.cause == (
        "5 worlds were left out by --only. Run it again without --only to go on with the rest."
    )
    last = ran.run.log[-1].payload
    assert last == RunPaused(cause=ran.result.cause, exit_status=EXIT_DONE)


def test_the_rest_goes_on_without_a_call_of_what_is_complete(whole: Ran):
    """A resumed sweep runs only what is not complete, to the digests of a run in one go."""
    config = sweep()
    first = go(config, "shown--activation-0.5")
    asked: Counter[str] = Counter()
    watching = Watching(config)

    def count(request: Any) -> str:
        asked["calls"] += 1
        return answer(request)

    last = go(config, after=first, provider=ScriptedProvider(count), parts=watching.parts)
    assert last.result.state is RunState.COMPLETED
    assert last.result.cause == ""
    assert last.digests == whole.digests
    assert not [name for name in watching.driven if name.startswith("shown--activation-0.5@")]
    assert len(watching.driven) == 6
    assert asked["calls"] == sum(world.calls for world in whole.result.worlds[2:])
    assert [w.calls for w in last.result.worlds] == [w.calls for w in whole.result.worlds]
    again = go(config, after=last, provider=ScriptedProvider(count))
    assert again.result == last.result
    assert asked["calls"] == sum(world.calls for world in whole.result.worlds[2:])


@settings(max_examples=25, deadline=None)
@given(st.lists(st.sets(st.integers(0, 7), min_size=1, max_size=5), min_size=1, max_size=3))
def test_whatever_is_driven_first_the_run_ends_the_same(whole: Ran, sittings: list[set[int]]):
    """Any cells in any sittings, the last of them for the rest: the digests of one go."""
    config = sweep()
    there = [f"{cell.entry.scenario}@{cell.entry.replicate_seed}" for cell in cells_of(config)]
    ran = None
    for places in sittings:
        ran = go(config, *(there[place] for place in places), after=ran)
        assert ran.result.exit_status == EXIT_DONE
    last = go(config, after=ran)
    assert last.digests == whole.digests


def test_cells_that_are_driven_do_not_wait_for_those_that_are_not(whole: Ran):
    """However small the skew, a cell that stands still holds nobody up."""
    config = sweep(skew=1)
    stopped = run_in_memory(config, stopping(9), attempts_max=1)
    assert stopped.result.state is RunState.PARTIAL
    ran = go(config, "calm@1", after=stopped)
    assert ran.result.worlds[6].state is WorldState.COMPLETED
    others = [world for place, world in enumerate(ran.result.worlds) if place != 6]
    was = [world for place, world in enumerate(stopped.result.worlds) if place != 6]
    assert [(one.tick, one.digest) for one in others] == [(one.tick, one.digest) for one in was]
    assert ran.result.exit_status == EXIT_DONE, "why the others stopped earlier is not asked now"
    assert go(config, after=ran).digests == whole.digests


def stopping(calls: int) -> ScriptedProvider:
    """Answer so many calls, then never again."""
    left = [calls]

    def play(request: Any) -> Any:
        left[0] -= 1
        return FailureCause.CONNECT if left[0] < 0 else answer(request)

    return ScriptedProvider(play)


def test_a_named_cell_that_fails_decides_the_exit_status():
    """The others are still left out, and the run says both."""
    config = sweep()
    watching = Watching(config, breaks=lambda header: header.scenario.id == "calm")
    ran = go(config, "calm@2", "shown--activation-1", parts=watching.parts)
    assert ran.result.exit_status == EXIT_SOME_FAILED
    assert ran.result.cause.startswith("1 of 8 worlds failed. The first: ")
    assert "ZeroDivisionError: the town is gone" in ran.result.cause
    assert ran.result.cause.endswith("Run it again without --only to go on with the rest.")
    last = ran.run.log[-1].payload
    assert isinstance(last, RunPaused)
    assert last.exit_status == EXIT_SOME_FAILED
    # What failed before is not what the next sitting is asked about.
    after = go(config, "shown--activation-0.5", after=ran)
    assert after.result.exit_status == EXIT_DONE
    assert "failed" not in after.result.cause


def test_the_budget_is_that_of_the_run():
    """What named cells spend is spent, and a budget that is used up pauses as ever."""
    config = sweep(price=PRICE, budget=Budget(amount=4_000))
    first = go(config, "calm@1", provider=Billing(), price=PRICE)
    assert first.result.exit_status == EXIT_DONE
    assert 0 < first.result.cost < 4_000
    second = go(config, "shown--activation-1", after=first, provider=Billing(), price=PRICE)
    assert second.result.exit_status == EXIT_PAUSED
    assert "budget" in second.result.cause
    assert first.result.cost < second.result.cost <= 4_000
    third = go(config, after=second, provider=(billing := Billing()), price=PRICE)
    assert third.result.exit_status == EXIT_PAUSED
    assert billing.asked == []


def test_all_cells_named_is_the_whole_run(whole: Ran):
    """Nothing is left out, so nothing is said of it."""
    config = sweep()
    ran = go(config, *NAMES)
    assert ran.result.state is RunState.COMPLETED
    assert ran.result.cause == ""
    assert ran.digests == whole.digests


def test_a_run_of_which_every_world_fails_returns_a_result():
    """Each world has its cause, and the run names how many and the first."""
    config = sweep()
    ran = go(config, parts=Watching(config, breaks=lambda _header: True).parts)
    assert [world.state for world in ran.result.worlds] == [WorldState.FAILED] * 8
    assert all("ZeroDivisionError: the town is gone" in one.cause for one in ran.result.worlds)
    assert ran.result.state is RunState.PARTIAL
    assert ran.result.exit_status == EXIT_SOME_FAILED
    assert ran.result.cause.startswith("8 of 8 worlds failed. The first: ")


def named(*only: str) -> list[str]:
    """Choose cells of the sweep, and give them as scenario@seed."""
    found = chosen(only, cells_of(sweep()))
    return [f"{cell.entry.scenario}@{cell.entry.replicate_seed}" for cell in found]


def test_a_cell_is_named_by_its_world_its_scenario_or_with_its_seed():
    """In the order of the run, each once, however it is named."""
    first = cells_of(sweep())[0].entry.world_id
    assert named("calm@2") == ["calm@2"]
    assert named("calm", "calm@1", first) == ["shown--activation-0.5@1", "calm@1", "calm@2"]
    assert len(named()) == 8
    # The name of a grid, or the beginning of its cells' ids, stands for all of them; an id that is
    # a scenario's own is that one's alone.
    assert len(named("shown")) == 6
    assert named("shown@1") == [f"{name}@1" for name in NAMES[:3]]
    assert named("shown--activation-1") == ["shown--activation-1@1", "shown--activation-1@2"]


@pytest.mark.parametrize(
    "only", ["cal", "calm@3", "calm@", "calm@x", "@1", "", "shown-", "show", "CALM", "calm@1@1"]
)
def test_a_name_of_nothing_is_refused_with_what_there_is(only: str):
    """Nothing is driven by mistake, or left out by one."""
    with pytest.raises(UsageError) as caught:
        chosen(("calm", only), cells_of(sweep()))
    assert caught.value.wrong.startswith(f"--only names no cell of the study: `{only}`")
    assert "calm" in caught.value.remedy
    assert "`perdure plan` lists" in caught.value.remedy


def test_several_names_of_nothing_are_refused_at_once():
    """A command is mended in one go, and a long list stays short."""
    with pytest.raises(UsageError) as caught:
        chosen(("x", "calm", "y@2"), cells_of(sweep()))
    assert "`x`, `y@2`" in caught.value.wrong
    assert len(str(caught.value)) < 1_000
