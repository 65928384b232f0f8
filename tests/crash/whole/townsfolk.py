"""Worlds and agents of the runs that are killed: loaded by them as a study's own plug-ins."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

from perdure.agent import CallFailedError
from perdure.agent.drive.tools.function import tool
from perdure.base.chance import Stream
from perdure.records.outcome import Outcome, TurnDone, TurnFailed, TurnFailureCause
from perdure.records.presentation import (
    CompletedTurn,
    Exposure,
    Impression,
    Need,
    Plan,
    Presentation,
    Stimulus,
    TurnJob,
    View,
    WorldDelta,
)
from perdure.records.reaction import Action
from perdure.records.request import Message
from perdure.records.scenario import Header
from perdure.records.tools import Effect
from perdure.world import BaseWorld, ChannelWorld


@tool()
async def look_up(word: str) -> str:
    """Look a word up."""
    await asyncio.sleep(0.01)
    return f"{word} is a word."


@tool(effect=Effect.WRITE)
async def append_line(text: str) -> str:
    """Append a line to a book. That it is called is all that it does."""
    await asyncio.sleep(0.01)
    return f"Written: {text}."


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


class Square(BaseWorld):
    """People see what was said of late on the square, and half of them one thing more at a corner.

    They like, answer and write; what they write is seen from the next tick on. Whoever sees both
    has two turns in one tick.
    """

    ACTIONS = (
        Action(name="like"),
        Action(name="reply", says=True),
        Action(name="post", about=False, says=True),
    )

    def reset(self, header: Header) -> None:
        """Begin with an empty square."""
        self._header = header
        self._said: list[Stimulus] = []
        self._likes: dict[str, int] = {}

    def step(self, tick: int, turns: Any, plan: Plan, answers: Any) -> WorldDelta:
        """Publish the claims, and then what people wrote; show everybody the latest."""
        if tick == 0:
            new = [
                Stimulus(id=claim.id, kind="claim", text=claim.text, claim=claim.id)
                for claim in self._header.brief.claims
            ]
        else:
            new = [one for one in (self._heard(tick, turn) for turn in turns) if one is not None]
        before = tuple(self._said)
        self._said += new
        return WorldDelta(
            tick=tick,
            stimuli=tuple(new),
            presentations=tuple(self._shown(tick, before)) if tick else (),
        )

    def _heard(self, tick: int, turn: CompletedTurn) -> Stimulus | None:
        reaction = turn.reaction
        if reaction is None or not reaction.done:
            return None
        if reaction.done == "like":
            self._likes[reaction.stimulus] = self._likes.get(reaction.stimulus, 0) + 1
            return None
        about = next((one for one in self._said if one.id == reaction.stimulus), None)
        return Stimulus(
            id=f"t{tick}-{turn.persona}-{turn.presentation.impression.channel}",
            kind="peer",
            text=reaction.words,
            claim=about.claim if about else "",
            author=turn.persona,
            reply_to=reaction.stimulus if reaction.done == "reply" else "",
            stance=turn.choice,
        )

    def _shown(self, tick: int, before: Sequence[Stimulus]) -> Iterator[Presentation]:
        for number, persona in enumerate(self._header.persona_ids):
            seen = [one for one in before if one.author != persona]
            yield self._presentation(persona, "square", seen[-3:], number)
            if (number + tick) % 2:
                yield self._presentation(persona, "corner", seen[:1], number)

    def _presentation(
        self, persona: str, channel: str, seen: Sequence[Stimulus], number: int
    ) -> Presentation:
        exposures = tuple(
            Exposure(stimulus=one.id, reason="latest", attention=1.0 - 0.2 * place)
            for place, one in enumerate(seen)
        )
        return Presentation(
            persona=persona,
            impression=Impression(channel=channel, exposures=exposures),
            question=self._header.scenario.exposure_question,
            view=View(
                counts={one.id: {"like": self._likes.get(one.id, 0)} for one in seen},
                ties={one.id: 0.5 for one in seen if one.author},
                told_by={one.id: one.author for one in seen[: number % 2] if one.author},
                threads={one.id: (one.reply_to,) for one in seen if one.reply_to},
            ),
            actions=self.ACTIONS,
        )


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
