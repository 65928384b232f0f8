"""Worlds and agents of the runs that are killed: loaded by them as a study's own plug-ins."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from perdure.agent import CallFailedError
from perdure.base.chance import Stream
from perdure.records.outcome import Outcome, TurnDone, TurnFailed, TurnFailureCause
from perdure.records.presentation import Need, Plan, TurnJob, WorldDelta
from perdure.records.request import Message
from perdure.records.scenario import Header
from perdure.world import ChannelWorld


class Ranking(ChannelWorld):
    """Asks for embeddings and a word before every step, and lets them decide who is active."""

    def needs(self, tick: int, turns: Any, plan: Any) -> tuple[Need, ...]:
        said = " ".join(turn.answer for turn in turns)
        return (
            Need(purpose="rank", texts=(f"tick {tick}", said or "nothing"), role="embed"),
            Need(purpose="tell", messages=(Message(role="user", content=f"{tick}: {said}"),)),
        )

    def step(self, tick: int, turns: Any, plan: Any, answers: Any) -> WorldDelta:
        share = abs(answers[0].vectors[1][0]) % 1 + len(answers[1].text) % 2
        chance = Stream("rank", tick, "share").uniform()
        return super().step(tick, turns, Plan(activation=0.5 + 0.25 * share * chance), answers)


class Breaking(ChannelWorld):
    """Raises at the tick that its scenario names."""

    def reset(self, header: Header) -> None:
        self._breaks_at = header.scenario.settings.get("breaks_at")
        super().reset(header)

    def step(self, tick: int, turns: Any, plan: Any, answers: Any) -> WorldDelta:
        if tick == self._breaks_at:
            raise ValueError("The bridge is down.")
        return super().step(tick, turns, plan, answers)


class Undecided:
    """Looks first; asks somebody else if that fails; and then says the same in either case.

    When the endpoint comes back and looking succeeds, what it asked somebody else is of no use.
    """

    def reset(self, header: Header) -> None:
        """Nothing is kept."""

    async def act(self, jobs: Sequence[TurnJob], plan: Plan, models: Any) -> Sequence[Outcome]:
        """Take every turn, one after another."""
        return [await self._turn(job, models.for_job(job.index)) for job in jobs]

    async def _turn(self, job: TurnJob, models: Any) -> Outcome:
        text = f"{job.persona.id} at {job.tick}: {job.question.text}"
        messages = (Message(role="user", content=text),)
        try:
            await models.chat("look", messages, tokens_max=40)
        except CallFailedError:
            with suppress(CallFailedError):
                await models.chat("ask", messages, tokens_max=60)
        try:
            reply = await models.chat("turn", messages, tokens_max=80)
        except CallFailedError as failed:
            return TurnFailed(cause=TurnFailureCause.CALL_FAILED, call=failed.cause)
        return TurnDone(messages=messages, answer=reply.text)
