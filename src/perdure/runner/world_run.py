"""One world, tick by tick: step, act, score, write. Whole ticks only.

What a tick produces is held in memory until it is written in one transaction with its closing
mark; if anything goes wrong before, nothing of the tick is in the record. The world's own code runs
off the event loop, so a slow step makes no other world's calls wait.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial

import msgspec

from perdure.agent import Agent, advance, advance_by
from perdure.base.crashpoints import crashpoint
from perdure.base.errors import MovedError, PluginError
from perdure.elicitation import score
from perdure.records.events import Batch, Cost
from perdure.records.outcome import Outcome, Scored, TurnDone, TurnFailed
from perdure.records.persona import Persona, PersonaState
from perdure.records.presentation import (
    CompletedTurn,
    NeedAnswer,
    Plan,
    Stimulus,
    TurnJob,
    WorldDelta,
)
from perdure.records.request import FailureCause
from perdure.records.scenario import Header
from perdure.runner.calls import TickCalls
from perdure.runner.compose import TickResult, compose
from perdure.runner.difference import first_difference
from perdure.runner.endings import blame, no_quorum, refusal
from perdure.runner.ledger import spend_of
from perdure.runner.past import PastTick, past_ticks
from perdure.runner.port import ModelHost, TickDropped, TickOpened, TickReport
from perdure.runner.quorum import shortfall, unanswered
from perdure.trace.port import Partition, Reading
from perdure.world import World, check_delta


class WorldRun:
    """Drives one world. It owns the partition and the personas' states of this world."""

    def __init__(
        self,
        *,
        header: Header,
        personas: Mapping[str, Persona],
        world: World,
        agent: Agent,
        partition: Partition,
        host: ModelHost,
    ) -> None:
        self.header = header
        self.partition = partition
        self._personas = personas
        self._questions = {question.id: question for question in header.questions}
        self._world = world
        self._agent = agent
        self._host = host
        self._states: dict[str, PersonaState] = {}
        self._stimuli: dict[str, Stimulus] = {}
        self._turns: tuple[CompletedTurn, ...] = ()
        self._calls: TickCalls | None = None

    @property
    def open_tick(self) -> TickDropped | None:
        """The tick that was begun and is not written, with what its calls cost; None if none is."""
        if self._calls is None:
            return None
        results = self._calls.results()
        spend = spend_of(attempt for result in results for attempt in result.attempts)
        return TickDropped(
            world_id=self.header.world_id,
            tick=self._calls.tick,
            calls=len(results),
            cost=spend.known,
            unknown_costs=spend.unknown,
        )

    async def begin(self) -> None:
        """Build the world and the agent from the header.

        Raises:
            PluginError: one of them raised.

        """
        with blame(self.header.scenario.world):
            await asyncio.to_thread(self._world.reset, self.header)
        with blame(self.header.agent.agent):
            self._agent.reset(self.header)

    async def recall(self, reading: Reading) -> TickReport:
        """Bring world and personas to where the record ends; give the record's totals.

        The world steps through every closed tick again, under the recorded plans and answers, and
        each delta is compared with the record. A world that has reached its horizon does not.

        Raises:
            MovedError: a delta is not the recorded one; names the first difference.
            PluginError: the world raised.

        """
        return await asyncio.to_thread(self._recall, reading)

    def _recall(self, reading: Reading) -> TickReport:
        world_id = self.header.world_id
        report = TickReport(world_id=world_id, tick=-1, head=self.partition.head)
        done = self.partition.head.tick == self.header.scenario.horizon - 1
        for past in past_ticks(reading.events(world_id), partial(reading.blob, world_id)):
            if not done:
                self._relive(past)
            report = msgspec.structs.replace(
                report,
                tick=past.tick,
                turns=report.turns + len(past.turns),
                turns_failed=report.turns_failed + past.turns_failed,
                calls=report.calls + past.calls,
                cost=report.cost + past.spend.known,
                unknown_costs=report.unknown_costs + past.spend.unknown,
            )
        return report

    def _relive(self, past: PastTick) -> None:
        with blame(self.header.scenario.world):
            needs = self._world.needs(past.tick, self._turns, past.plan)
            delta = self._world.step(past.tick, self._turns, past.plan, past.answers)
        found = first_difference(past.delta, delta)
        if len(needs) != len(past.answers):
            found = f"needs had {len(past.answers)} parts and has {len(needs)}"
        if found:
            raise MovedError(
                f"The world does not step as it is recorded: {found}.",
                moved=("world",),
                where=self._place(past.tick),
                remedy="Its code moved, or it is not deterministic.",
            )
        self._stimuli.update((stimulus.id, stimulus) for stimulus in past.delta.stimuli)
        for turn in past.turns:
            self._states[turn.persona] = advance(
                self._states.get(turn.persona, PersonaState()),
                turn.presentation,
                turn.memories,
                reflected=turn.reflected,
                memories_max=self.header.agent.memories_max,
            )
        self._turns = past.completed

    async def run_tick(self, tick: int, opened: TickOpened) -> TickReport:
        """Live one tick and write it.

        Raises:
            EndpointUnreachableError: too few jobs got any reply; nothing of the tick is written.
            KeyOrModelRefusedError: the endpoint refused the key or the model; likewise.
            ProviderPausedError: the provider's account is empty; likewise.
            PluginError: the world or the agent raised, or broke its contract; likewise.
            StorageError: the tick could not be written.

        """
        crashpoint("tick.opened")
        calls = TickCalls(
            host=self._host,
            world_id=self.header.world_id,
            world_seed=self.header.world_seed,
            tick=tick,
        )
        self._calls = calls
        answers, delta = await self._step(tick, opened.plan, calls)
        jobs = self._jobs(tick, delta)
        calls.personas = tuple(job.persona.id for job in jobs)
        outcomes = await self._act(jobs, opened.plan, calls)
        causes = unanswered([[call for _, call in calls.by_job[job.index]] for job in jobs])
        self._require_replies(tick, len(jobs), causes)
        scores = await asyncio.to_thread(_scores, jobs, outcomes)
        result = TickResult(
            tick=tick,
            plan=opened.plan,
            delta=delta,
            answers=answers,
            jobs=jobs,
            outcomes=outcomes,
            scores=scores,
            calls=calls.by_job,
            unanswered=len(causes),
            last=tick == self.header.scenario.horizon - 1,
        )
        batch = await asyncio.to_thread(compose, result, self.partition.head, self.header.pins)
        crashpoint("tick.before-append")
        head = await self.partition.append(batch, epoch=opened.epoch, log_head=opened.log_head)
        self._calls = None
        crashpoint("tick.after-append")
        self._carry(jobs, outcomes, scores)
        assert head == self.partition.head
        return self._report(tick, batch, outcomes, calls)

    async def _step(
        self, tick: int, plan: Plan, calls: TickCalls
    ) -> tuple[tuple[NeedAnswer, ...], WorldDelta]:
        world = self.header.scenario.world
        with blame(world):
            needs = await asyncio.to_thread(self._world.needs, tick, self._turns, plan)
        answers = await calls.answer(needs)
        self._require_not_stopped(tick)
        with blame(world):
            delta = await asyncio.to_thread(self._world.step, tick, self._turns, plan, answers)
        problems = check_delta(
            delta,
            tick=tick,
            known_stimuli=self._stimuli,
            persona_ids=self._personas,
            questions=self._questions,
        )
        if problems:
            raise PluginError(
                f"The world's delta of tick {tick} breaks the contract: {'; '.join(problems)}.",
                where=world,
            )
        self._stimuli.update((stimulus.id, stimulus) for stimulus in delta.stimuli)
        return answers, delta

    def _jobs(self, tick: int, delta: WorldDelta) -> tuple[TurnJob, ...]:
        nothing = PersonaState()
        return tuple(
            TurnJob(
                index=index,
                tick=tick,
                persona=self._personas[presentation.persona],
                state=self._states.get(presentation.persona, nothing),
                presentation=presentation,
                shown=tuple(
                    self._stimuli[exposure.stimulus]
                    for exposure in presentation.impression.exposures
                ),
                question=self._questions[presentation.question],
            )
            for index, presentation in enumerate(delta.presentations)
        )

    async def _act(
        self, jobs: tuple[TurnJob, ...], plan: Plan, calls: TickCalls
    ) -> tuple[Outcome, ...]:
        with blame(self.header.agent.agent):
            outcomes = tuple(await self._agent.act(jobs, plan, calls)) if jobs else ()
        if len(outcomes) != len(jobs):
            raise PluginError(
                f"The agent gave {len(outcomes)} outcomes for {len(jobs)} jobs.",
                where=self.header.agent.agent,
                remedy="`act` returns one outcome for every job, in job order.",
            )
        for outcome in outcomes:
            if not isinstance(outcome, TurnDone | TurnFailed):
                raise PluginError(
                    f"The agent gave a {type(outcome).__name__} as an outcome.",
                    where=self.header.agent.agent,
                    remedy="An outcome is a TurnDone or a TurnFailed.",
                )
        return outcomes

    def _require_replies(self, tick: int, jobs: int, causes: Sequence[FailureCause]) -> None:
        self._require_not_stopped(tick)
        short = shortfall(jobs, causes, self.header.quorum)
        if short is not None:
            raise no_quorum(short, self._place(tick))

    def _require_not_stopped(self, tick: int) -> None:
        cause = self._host.stop_cause
        if cause is not None:
            raise refusal(cause, self._place(tick))

    def _place(self, tick: int) -> str:
        return f"world {self.header.world_id}, tick {tick}"

    def _carry(
        self,
        jobs: Sequence[TurnJob],
        outcomes: Sequence[Outcome],
        scores: Sequence[Scored | None],
    ) -> None:
        turns = []
        for job, outcome, scored in zip(jobs, outcomes, scores, strict=True):
            if not isinstance(outcome, TurnDone):
                continue
            persona = job.persona.id
            self._states[persona] = advance_by(
                self._states.get(persona, PersonaState()),
                job.presentation,
                outcome,
                memories_max=self.header.agent.memories_max,
            )
            turns.append(
                CompletedTurn(
                    persona=persona,
                    presentation=job.presentation,
                    answer=outcome.answer,
                    choice=scored.choice if scored is not None else "",
                )
            )
        self._turns = tuple(turns)

    def _report(
        self, tick: int, batch: Batch, outcomes: Sequence[Outcome], calls: TickCalls
    ) -> TickReport:
        spend = spend_of(event.payload for event in batch.events if isinstance(event.payload, Cost))
        failed = sum(isinstance(outcome, TurnFailed) for outcome in outcomes)
        return TickReport(
            world_id=self.header.world_id,
            tick=tick,
            head=self.partition.head,
            turns=len(outcomes) - failed,
            turns_failed=failed,
            calls=sum(len(results) for results in calls.by_job.values()),
            cost=spend.known,
            unknown_costs=spend.unknown,
        )


def _scores(jobs: Sequence[TurnJob], outcomes: Sequence[Outcome]) -> tuple[Scored | None, ...]:
    return tuple(
        score(outcome.answer, job.question)
        if isinstance(outcome, TurnDone) and job.question.choices
        else None
        for job, outcome in zip(jobs, outcomes, strict=True)
    )
