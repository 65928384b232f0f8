"""A user's own world and agent: six evenings in a town hall.

They use what a study's own code may use: embeddings and a question of the world's own, chance by
streams, settings, attention, counts, interventions, exposures that are dropped, memories, and
reflections; and turns fail in every way in which an agent can let them fail.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from perdure.agent import CallFailedError, JobModels, Models
from perdure.base.chance import Stream
from perdure.records.outcome import (
    Outcome,
    ReflectionDone,
    TurnDone,
    TurnFailed,
    TurnFailureCause,
)
from perdure.records.persona import Memory
from perdure.records.presentation import (
    CompletedTurn,
    DroppedExposure,
    Exposure,
    Impression,
    Intervention,
    Need,
    NeedAnswer,
    Plan,
    Presentation,
    Stimulus,
    TurnJob,
    View,
    WorldDelta,
)
from perdure.records.request import Message
from perdure.records.scenario import Header

SPOKEN = "spoken"
CHAIR_FROM = 2
LATE = 4


class Hall:
    """Everybody who comes hears what a few said the evening before, the best speech first."""

    def reset(self, header: Header) -> None:
        """Open the hall."""
        settings = header.scenario.settings
        self.header = header
        self.speakers = int(settings["speakers"])
        self.budget = int(settings["budget"])
        self.chair = str(settings.get("chair", ""))
        self.cheers: dict[str, dict[str, int]] = {}
        self.best: Stimulus | None = None

    def needs(self, tick: int, turns: Sequence[CompletedTurn], plan: Plan) -> Sequence[Need]:
        """Ask for the vectors of the speeches, and for a summary of the evening."""
        said = self.heard(tick, turns)
        if not said:
            return ()
        texts = tuple(turn.answer or "(silence)" for turn in said)
        asked = f"Evening {tick}. Sum up in one sentence:\n" + "\n".join(texts)
        return (
            Need(purpose="rank", texts=texts, role="tier_b"),
            Need(purpose="summary", messages=(Message(role="user", content=asked),), tokens_max=40),
        )

    def step(
        self,
        tick: int,
        turns: Sequence[CompletedTurn],
        plan: Plan,
        answers: Sequence[NeedAnswer],
    ) -> WorldDelta:
        """Rank the speeches; show as many as fit, and the best of the evening before."""
        for turn in turns:
            for exposure in turn.presentation.impression.exposures:
                counts = self.cheers.setdefault(exposure.stimulus, {"heard": 0})
                counts["heard"] += 1
        stimuli = self.stimuli(tick, turns, answers)
        shown, left = stimuli[: self.budget], stimuli[self.budget :]
        again = (self.best,) if self.best is not None else ()
        self.best = stimuli[0] if stimuli else None
        impression = Impression(
            channel="hall",
            exposures=tuple(
                Exposure(stimulus=one.id, reason=SPOKEN, attention=1 - 0.25 * place)
                for place, one in enumerate((*shown, *again))
            ),
        )
        here = [name for name in self.header.persona_ids if self.comes(tick, name, plan)]
        known = {one.id: dict(self.cheers[one.id]) for one in again if one.id in self.cheers}
        presentations = [
            Presentation(
                persona=name, impression=impression, question="talk", view=View(counts=known)
            )
            for name in here
            if tick > 0
        ]
        if tick == LATE:
            door = Impression(channel="door")
            presentations.append(Presentation(persona=here[0], impression=door, question="talk"))
        if tick in self.header.scenario.waves:
            presentations += [
                Presentation(
                    persona=name, impression=Impression(channel="survey"), question="bridge"
                )
                for name in self.header.persona_ids
            ]
        return WorldDelta(
            tick=tick,
            stimuli=stimuli,
            interventions=self.interventions(tick),
            dropped=tuple(
                DroppedExposure(persona=name, stimulus=one.id, channel="hall", reason="budget")
                for name in here
                for one in left
            ),
            presentations=tuple(presentations),
        )

    def stimuli(
        self, tick: int, turns: Sequence[CompletedTurn], answers: Sequence[NeedAnswer]
    ) -> tuple[Stimulus, ...]:
        """Publish the speeches by what their vectors say, and the summary if there is one."""
        said = list(self.heard(tick, turns))
        given = {answer.purpose: answer for answer in answers}
        ranked = given.get("rank")
        if ranked is not None and ranked.failed is None:
            order = sorted(range(len(said)), key=lambda n: ranked.vectors[n], reverse=True)
            said = [said[n] for n in order]
        speeches = [
            Stimulus(id=f"e{tick}-{n}", kind="speech", text=turn.answer, author=turn.persona)
            for n, turn in enumerate(said)
            if turn.answer.strip()
        ]
        summary = given.get("summary")
        if summary is not None and summary.failed is None:
            speeches.insert(1, Stimulus(id=f"e{tick}-s", kind="summary", text=summary.text))
        return tuple(speeches)

    def interventions(self, tick: int) -> tuple[Intervention, ...]:
        """Let the chair take over, and leave on the last evening but one."""
        if not self.chair or tick not in {CHAIR_FROM, self.header.scenario.horizon - 2}:
            return ()
        what = "takes" if tick == CHAIR_FROM else "leaves"
        return (Intervention(kind="chair", detail=f"{self.chair} {what} the chair"),)

    def heard(self, tick: int, turns: Sequence[CompletedTurn]) -> Sequence[CompletedTurn]:
        """Draw who is heard of those who spoke the evening before."""
        draw = Stream(self.header.world_seed, tick, "speakers")
        return draw.sample([turn for turn in turns if turn.answer], self.speakers)

    def comes(self, tick: int, name: str, plan: Plan) -> bool:
        """Say whether a person comes; fewer come under a lower plan, and no others."""
        draw = Stream(self.header.world_seed, tick, "comes", name)
        return draw.uniform() < self.header.scenario.activation * plan.activation


class Neighbour:
    """Answers in words, remembers what was heard, and thinks it over now and then."""

    def reset(self, header: Header) -> None:
        """Read the settings."""
        self.header = header
        self.patience = int(header.agent.settings["patience"])

    async def act(self, jobs: Sequence[TurnJob], plan: Plan, models: Models) -> Sequence[Outcome]:
        """Take every turn at once."""
        return await asyncio.gather(
            *(self.turn(job, plan, models.for_job(job.index)) for job in jobs)
        )

    async def turn(self, job: TurnJob, plan: Plan, models: JobModels) -> Outcome:
        """Take one turn, or say why not."""
        if "age" not in job.persona.attributes:
            return TurnFailed(cause=TurnFailureCause.UNCONDITIONED)
        if not job.shown and not job.question.choices:
            return TurnFailed(cause=TurnFailureCause.NOTHING_SHOWN)
        if job.persona.id == "n05" and job.tick == 3:
            return TurnFailed(cause=TurnFailureCause.AGENT_DECLINED)
        messages = self.prompt(job, self.heard(job), job.question.text)
        if sum(len(message.content) for message in messages) > self.patience:
            return TurnFailed(cause=TurnFailureCause.CONTEXT_EXCEEDED)
        try:
            reply = await models.chat(
                "turn",
                messages,
                role=plan.routing.get("turn", "tier_a"),
                tokens_max=self.header.agent.answer_tokens_max,
                temperature=self.header.agent.temperature,
            )
        except CallFailedError as failed:
            return TurnFailed(cause=TurnFailureCause.CALL_FAILED, call=failed.cause)
        memories = tuple(
            Memory(
                tick=job.tick,
                text=f"{one.author or 'The hall'} said: {one.text}",
                importance=exposure.attention / 3,
            )
            for one, exposure in zip(job.shown, job.presentation.impression.exposures, strict=True)
        )
        due = job.state.turns_since_reflection + 1 >= self.header.agent.reflect_every
        reflection = None
        if memories and due and plan.optional_work:
            reflection = await self.reflect(job, models)
        return TurnDone(
            messages=messages, answer=reply.text, memories=memories, reflection=reflection
        )

    async def reflect(self, job: TurnJob, models: JobModels) -> ReflectionDone:
        """Think it over."""
        messages = self.prompt(job, (), "Think it over: what remains of all this?")
        try:
            reply = await models.chat("reflection", messages, role="tier_b", tokens_max=40)
        except CallFailedError as failed:
            return ReflectionDone(messages=messages, failed=failed.cause)
        thought = Memory(tick=job.tick, text=reply.text, importance=0.9, source="reflection")
        return ReflectionDone(messages=messages, text=reply.text, memories=(thought,))

    def heard(self, job: TurnJob) -> tuple[str, ...]:
        """Word what is shown, with how many have heard it before."""
        counts = job.presentation.view.counts
        return tuple(
            f'"{one.text}" (heard by {counts.get(one.id, {}).get("heard", 0)})' for one in job.shown
        )

    def prompt(self, job: TurnJob, heard: Sequence[str], question: str) -> tuple[Message, ...]:
        """Word a prompt."""
        known = ", ".join(f"{name} {value}" for name, value in job.persona.attributes.items())
        lines = [f"Evening {job.tick}. You are {job.persona.id}: {known}."]
        lines += [f"You remember: {memory.text}" for memory in job.state.memories]
        lines += [f"You hear: {line}" for line in heard]
        return (
            Message(role="system", content=self.header.brief.text),
            Message(role="user", content="\n".join([*lines, question])),
        )
