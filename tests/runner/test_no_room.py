"""A run that finds no room pauses and says why, and nobody takes that for a failure of theirs."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.support.town import OwnParts, run_in_memory, town

from perdure.agent import PersonaAgent
from perdure.base.errors import StorageFullError
from perdure.records.outcome import TurnFailed, TurnFailureCause
from perdure.records.registry import (
    LogHead,
    RunClosed,
    RunOpened,
    RunPaused,
    RunState,
    TickDiscarded,
    WorldFailed,
    WorldState,
)
from perdure.study.identity import expand
from perdure.trace.memory import MemoryRegistry
from perdure.world import ChannelWorld


def full_at_call(number: int) -> Any:
    """Let the disk of the call journal be full from so many calls on."""

    async def fill(session: Any) -> None:
        journal = session.host._journal
        real, calls = journal.intend, [0]

        async def intend(intent: Any) -> None:
            calls[0] += 1
            if calls[0] > number:
                raise StorageFullError("The disk is full.")
            await real(intent)

        journal.intend = intend

    return fill


@pytest.mark.parametrize("makes_up", [False, True])
def test_no_room_in_the_journal_is_not_the_agents_failure(*, makes_up: bool):
    """P9: it pauses the run, whatever the agent makes of it; with room the run ends as ever."""

    class Dreams(PersonaAgent):
        """Makes up outcomes where anything goes wrong."""

        async def act(self, jobs: Any, plan: Any, models: Any) -> Any:
            try:
                return await super().act(jobs, plan, models)
            except Exception:  # noqa: BLE001 - what is tested
                return [TurnFailed(cause=TurnFailureCause.AGENT_DECLINED) for _ in jobs]

    config = town(seeds=(1,))
    parts = OwnParts(config, agent=lambda _header: Dreams() if makes_up else PersonaAgent())
    ran = run_in_memory(config, parts=parts, before=full_at_call(20))
    assert ran.result.exit_status == 75
    assert ran.result.cause == "The disk is full."
    assert {world.state for world in ran.result.worlds} == {WorldState.PARTIAL}
    assert ran.run.log[-1].payload == RunPaused(
        cause="The disk is full.", exit_status=75, holds_open=True
    )
    again = run_in_memory(config, after=ran)
    assert again.result.state is RunState.COMPLETED
    assert again.digests == run_in_memory(config).digests


def test_a_failure_that_cannot_be_recorded_pauses_the_run():
    """P9, P10: without room to say that a world failed it is not failed; it fails again later."""

    class Ends(ChannelWorld):
        def step(self, tick: int, *args: Any) -> Any:
            if tick == 2:
                raise ValueError
            return super().step(tick, *args)

    async def fill(session: Any) -> None:
        real = session.registry.log

        async def log(payload: Any, *notes: Any) -> Any:
            if isinstance(payload, WorldFailed):
                raise StorageFullError("The disk is full.")
            return await real(payload, *notes)

        session.registry.log = log

    config = town(seeds=(1,))
    first = expand(config.study, config.population)[0].header.world_id
    parts = OwnParts(config, world=lambda h: Ends() if h.world_id == first else ChannelWorld())
    ran = run_in_memory(config, parts=parts, before=fill)
    assert (ran.result.exit_status, ran.result.cause) == (75, "The disk is full.")
    assert ran.result.worlds[0].state is WorldState.PARTIAL
    again = run_in_memory(config, parts=parts, after=ran)
    assert [world.state for world in again.result.worlds] == [
        WorldState.FAILED,
        WorldState.COMPLETED,
    ]
    # The calls of the tick at which it failed are in the journal still.
    assert again.run.log[-1].payload == RunClosed(
        state=RunState.PARTIAL, exit_status=1, holds_open=True
    )


@pytest.mark.parametrize("fails", [1, 2])
def test_the_last_word_is_short_where_there_is_no_room_for_more(fails: int):
    """F7: an end that finds no room is a pause that says so, and the error is the caller's."""

    async def fill(session: Any) -> None:
        real, left = session.registry.log, [fails]

        async def log(payload: Any, *notes: Any) -> Any:
            left[0] -= 1
            if left[0] >= 0:
                raise StorageFullError("The disk is full.")
            return await real(payload, *notes)

        session.registry.log = log

    config = town(seeds=(1,))
    held: list[Any] = []

    async def keep(session: Any) -> None:
        held.append(session.registry.run)
        await fill(session)

    with pytest.raises(StorageFullError):
        run_in_memory(config, before=keep)
    last = held[0].log[-1].payload
    paused = RunPaused(cause="The disk is full.", exit_status=75)
    assert last == (paused if fails == 1 else RunOpened(epoch=1))
    assert not any(outcome and outcome.cause for outcome in held[0].outcomes.values())


def test_a_killed_sitting_is_a_loss_even_if_the_next_one_did_nothing():
    """P3: between a kill and the next tick there may be sittings that came to nothing."""
    config = town(seeds=(1,))
    ran = run_in_memory(config, before=full_at_call(20))
    # One world may have closed a tick just then, and not have opened its next.
    left = sorted(ran.calls.ticks)
    assert left
    # As a kill leaves it: no word of an end. Then a sitting that found no room, and said so.
    ran.run.log.pop()
    ran.run.log_head = LogHead(seq=ran.run.log[-1].seq, chain=ran.run.log[-1].chain)

    async def come_to_nothing() -> None:
        registry = await MemoryRegistry.open(ran.run)
        await registry.log(RunPaused(cause="full", exit_status=75, holds_open=True))

    asyncio.run(come_to_nothing())
    again = run_in_memory(config, after=ran)
    assert again.result.state is RunState.COMPLETED
    losses = [row.payload for row in again.run.log if isinstance(row.payload, TickDiscarded)]
    assert sorted((loss.world_id, loss.tick) for loss in losses) == left
    assert {loss.epoch for loss in losses} == {1}
    assert sum(loss.kept for loss in losses) > 0
