"""What users' own type checkers see. Nothing here is run; mypy reads it, and it must stay true."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import assert_type

import perdure
from perdure import PerdureError, RunConfig, RunResult, load_study, run
from perdure.agent import Agent, CallFailedError, Models, PersonaAgent
from perdure.population import Loaded
from perdure.records.outcome import Outcome, TurnDone, TurnFailed, TurnFailureCause
from perdure.records.presentation import CompletedTurn, NeedAnswer, Plan, TurnJob, WorldDelta
from perdure.records.request import FailureCause, Message, Reply
from perdure.records.scenario import Header
from perdure.testing import MisbehavingServer
from perdure.world import BaseWorld, ChannelWorld, World


def runs_a_study(path: Path) -> RunResult:
    """Load, run, read the result."""
    loaded = load_study(path)
    assert_type(loaded, Loaded)
    config = RunConfig(
        study=loaded.study,
        population=loaded.population,
        held_out=loaded.held_out,
        study_path=str(path),
        out="runs/mine",
    )
    result = run(config)
    assert_type(result, RunResult)
    assert_type(result.exit_status, int)
    assert_type(perdure.run(config), RunResult)
    return result


def catches_every_error(path: Path) -> int:
    """Every error has its exit status and says what is wrong."""
    try:
        return runs_a_study(path).exit_status
    except PerdureError as error:
        assert_type(error.code, str)
        return error.exit_status


class MyWorld(BaseWorld):
    """A world of a user's own."""

    def reset(self, header: Header) -> None:
        """Start."""

    def step(
        self,
        tick: int,
        turns: Sequence[CompletedTurn],
        plan: Plan,
        answers: Sequence[NeedAnswer],
    ) -> WorldDelta:
        """Show nothing."""
        return WorldDelta(tick=tick)


class MyAgent:
    """An agent of a user's own."""

    def reset(self, header: Header) -> None:
        """Start."""

    async def act(self, jobs: Sequence[TurnJob], plan: Plan, models: Models) -> Sequence[Outcome]:
        """Ask once per job."""
        outcomes: list[Outcome] = []
        for job in jobs:
            messages = (Message(role="user", content=job.question.text),)
            try:
                reply = await models.for_job(job.index).chat("turn", messages, tokens_max=80)
            except CallFailedError as error:
                assert_type(error.cause, FailureCause)
                failed = TurnFailed(cause=TurnFailureCause.CALL_FAILED, call=error.cause)
                outcomes.append(failed)
                continue
            assert_type(reply, Reply)
            outcomes.append(TurnDone(answer=reply.text, messages=messages))
        return outcomes


worlds: list[World] = [MyWorld(), ChannelWorld()]
agents: list[Agent] = [MyAgent(), PersonaAgent()]


def talks_to_a_server() -> str:
    """Ask the server for users' own tests for its address."""
    with MisbehavingServer() as server:
        assert_type(server.base_url, str)
        return server.base_url
