"""One world, tick by tick: step, act, score, write. Whole ticks only.

What a tick produces is held in memory until it is written in one transaction with its closing
mark; if anything goes wrong before, nothing of the tick is in the record. The world's own code,
scoring and encoding run off the event loop, so that no other world's calls wait for them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import msgspec

from perdure.agent import Agent
from perdure.agent.drive.tools.function import FunctionTool
from perdure.base.canonical import hash_hex
from perdure.base.crashpoints import crashpoint
from perdure.base.errors import BudgetReachedError, MovedError, PluginError
from perdure.elicitation import score, score_chances
from perdure.records.events import Batch, Cost, Head
from perdure.records.journal import TickOpening
from perdure.records.outcome import Outcome, Scored, TurnDone, TurnFailed
from perdure.records.people import People
from perdure.records.persona import Persona
from perdure.records.presentation import Need, NeedAnswer, Plan, TurnJob, WorldDelta
from perdure.records.reaction import own_words
from perdure.records.registry import WorldDiverged
from perdure.records.request import SCORER_JOB, CallKey
from perdure.records.scenario import Header, Question, Scoring
from perdure.runner.bill import Bill
from perdure.runner.calls import TickCalls, TickModels
from perdure.runner.carried import Carried
from perdure.runner.compose import TickResult, compose, pause
from perdure.runner.departure import departure
from perdure.runner.endings import (
    CONCERNS_THE_RUN,
    blame,
    no_quorum,
    refusal,
    require_outcomes,
    theirs,
)
from perdure.runner.furnished import Furniture
from perdure.runner.ladder import recorded
from perdure.runner.past import PastTick, past_ticks
from perdure.runner.port import ModelHost, TickOpened, TickPaused, TickReport
from perdure.runner.quorum import shortfall, unanswered, unrated
from perdure.runner.rating import due, rate_all
from perdure.runner.tally import Tally, settled
from perdure.trace.port import Partition, Reading
from perdure.trace.rungs import Rungs
from perdure.world import Acquainted, World, check_delta

Guard = Callable[[], None]

_PROBLEMS_SHOWN = 3


def unguarded() -> None:
    """Forbid nothing."""


class WorldRun:
    """Drives one world. It owns the partition of this world and all that the world carries."""

    def __init__(
        self,
        *,
        header: Header,
        personas: Mapping[str, Persona],
        people: People,
        world: World,
        agent: Agent,
        partition: Partition,
        host: ModelHost,
        forced_until: int = -1,
        guard: Guard = unguarded,
        quorum: float | None = None,
        outside: Sequence[FunctionTool] = (),
    ) -> None:
        """Make the run of a world. `personas` are those of its `people`, by id.

        `outside` are the tools outside the world that its personas have.

        Its ticks up to `forced_until` are from before the run was last forced. `guard` is called
        before a tick is written, off the event loop, and raises what forbids it. `quorum` stands in
        for the header's where a tick is known to close.
        """
        self.header = header
        self._quorum = header.quorum if quorum is None else quorum
        self.partition = partition
        self._people = people
        self._world = world
        self._agent = agent
        self._host = host
        self._outside = outside
        self._forced_until = forced_until
        self._guard = guard
        self._header_hash = hash_hex(header)
        self._carried = Carried(header, personas)
        self._rungs: Rungs = ()
        # Of the last tick of the record, as far as that was lived through again.
        self._last_calls: set[CallKey] = set()

    async def begin(self) -> None:
        """Build the world and the agent from the header.

        Raises:
            PluginError: one of them raised.

        """
        world = self.header.scenario.world
        await theirs(world, self._place(), self._meet_and_reset)
        with blame(self.header.agent.agent, self._place()):
            self._agent.reset(self.header)

    def _meet_and_reset(self) -> None:
        if isinstance(self._world, Acquainted):
            self._world.meet(self._people)
        self._world.reset(self.header)

    async def recall(self, reading: Reading, *, before: int | None = None) -> TickReport:
        """Bring world and personas to where the record ends; give the record's totals.

        The world steps through every closed tick again, under the recorded plans and answers, and
        each delta is compared with the record. A world that has reached its horizon does not. In a
        tick from before the run was forced, a difference is reported and the record holds. With
        `before`, the tick of that number and all after it are left to come.

        Raises:
            MovedError: a delta is not the recorded one; names the first difference.
            PluginError: the world raised, or gave something else than a delta.

        """
        return await asyncio.to_thread(self._recall, reading, before)

    def _recall(self, reading: Reading, before: int | None) -> TickReport:
        world_id = self.header.world_id
        done = self.partition.head.tick == self.header.scenario.horizon - 1
        tally = Tally(world_id, self.partition.head)
        diverged: WorldDiverged | None = None
        events = tally.watched(reading.events(world_id))
        for past in past_ticks(events, partial(reading.blob, world_id)):
            if past.tick == before:
                break
            if not done:
                found = self._step_again(past)
                diverged = diverged or found
                self._carried.relive(past)
            tally.add(past)
        self._rungs, self._last_calls = tally.rungs, tally.last_calls
        return msgspec.structs.replace(tally.report(), diverged=diverged)

    async def settle(self, report: TickReport) -> TickReport:
        """Add to the report of a recall what its last tick is still to be charged with.

        Raises:
            DamagedRecordError: what the journal holds of the tick is not what was written.
            StorageError: storage failed.

        """
        return await settled(self._host, report, self._last_calls)

    def _step_again(self, past: PastTick) -> WorldDiverged | None:
        """Step through a recorded tick again; give the first difference, if it may be one."""
        turns = self._carried.turns
        with blame(self.header.scenario.world, self._place(past.tick)):
            needs = len(self._world.needs(past.tick, turns, past.plan))
            delta = self._world.step(past.tick, turns, past.plan, past.answers)
            found = departure(past, delta, needs=needs)
        if found is None:
            return None
        seq, wrong = found
        if past.tick > self._forced_until:
            raise MovedError(
                f"The world does not step as it is recorded: {wrong}.",
                moved=("world",),
                where=self._place(past.tick),
                remedy="Its code moved, or it is not deterministic.",
            )
        world_id = self.header.world_id
        return WorldDiverged(
            world_id=world_id, tick=past.tick, event=f"{world_id}:{seq}", wrong=wrong
        )

    async def run_tick(self, tick: int, opened: TickOpened) -> TickReport:
        """Live one tick and write it.

        Raises:
            EndpointUnreachableError: too few jobs got any reply; nothing of the tick is written.
            KeyOrModelRefusedError: the endpoint refused the key or the model; likewise.
            ProviderPausedError: the provider's account is empty; likewise.
            PluginError: the world or the agent raised, or broke its contract; likewise.
            MovedError: code or data that nothing was compared with had a part in it; likewise.
            StorageError: the tick could not be written.

        """
        plan = await self._open(tick, opened.plan)
        crashpoint("tick.opened")
        calls = TickCalls(
            host=self._host,
            header=self.header,
            tick=tick,
            furniture=Furniture(self._world, self.header.scenario.world, self._place(tick)),
            outside=self._outside,
        )
        answers, delta = await self._step(tick, plan, calls)
        self._carried.publish(delta)
        jobs = self._carried.jobs(delta)
        later = self.header.scenario.more_questions
        calls.personas = tuple(job.persona.id for job in jobs)
        calls.drawn_by = tuple(
            f"{job.persona.id}\n{job.question.id}" if job.question.id in later else job.persona.id
            for job in jobs
        )
        outcomes = await self._act(jobs, plan, calls)
        causes = unanswered(
            (outcome, [call for _, call in calls.by_job[job.index]])
            for job, outcome in zip(jobs, outcomes, strict=True)
        )
        self._require_not_refused(tick)
        self._require_not_stopped(tick)
        self._require_quorum(tick, len(jobs), causes, calls)
        asked = due(jobs, outcomes)
        rated = await rate_all(asked, self.header.anchors, calls)
        self._require_not_refused(tick)
        self._require_not_stopped(tick)
        self._require_quorum(tick, len(asked), unrated(rated, calls.by_job[SCORER_JOB]), calls)

        def make() -> tuple[Batch, PastTick]:
            result = TickResult(
                tick=tick,
                plan=plan,
                delta=delta,
                answers=answers,
                jobs=jobs,
                outcomes=outcomes,
                scores=_scores(jobs, outcomes, rated, self._carried.questions),
                calls=calls.by_job,
                unanswered=len(causes),
                last=tick == self.header.scenario.horizon - 1,
                due=opened.due,
            )
            batch = compose(result, self.partition.head, self.header.pins)
            self._guard()
            return batch, next(past_ticks(batch.events, batch.blobs.__getitem__))

        batch, lived = await asyncio.to_thread(make)
        crashpoint("tick.before-append")
        await self.partition.append(batch, epoch=opened.epoch, log_head=opened.log_head)
        self._rungs = recorded(self._rungs, tick, opened.due)
        crashpoint("tick.after-append")
        self._carried.relive(lived)
        return await self._report(tick, batch, outcomes, calls)

    def _require_quorum(
        self, tick: int, jobs: int, causes: Sequence[str], calls: TickCalls
    ) -> None:
        short = shortfall(jobs, causes, self._quorum)
        if short is not None:
            raise no_quorum(short, calls.results(), self.header.agent.agent, self._place(tick))

    async def pause(self, paused: TickPaused) -> Head:
        """Record that the run is paused before the world's next tick.

        Raises:
            StorageError: it could not be written.

        """
        batch = pause(self.partition.head)
        return await self.partition.append(batch, epoch=paused.epoch, log_head=paused.log_head)

    async def give_up(self, tick: int) -> None:
        """Let the journal forget a tick that is in the record and charged.

        Raises:
            StorageError: storage failed.

        """
        await self._host.close_tick(self.header.world_id, tick)

    async def _open(self, tick: int, plan: Plan) -> Plan:
        """Open a tick in the journal. One that was open before keeps the plan it had."""
        opening = TickOpening(
            world=self.header.world_id,
            tick=tick,
            plan=plan,
            input_hash=hash_hex([self._header_hash, self.partition.head.digest]),
        )
        return (await self._host.open_tick(opening)).plan

    async def _step(
        self, tick: int, plan: Plan, calls: TickCalls
    ) -> tuple[tuple[NeedAnswer, ...], WorldDelta]:
        turns = self._carried.turns

        def ask_or_step() -> tuple[Sequence[Need], WorldDelta | None]:
            needs = tuple(self._world.needs(tick, turns, plan))
            return needs, None if needs else self._world.step(tick, turns, plan, ())

        world, place = self.header.scenario.world, self._place(tick)
        needs, delta = await theirs(world, place, ask_or_step)
        answers = await calls.answer(needs)
        self._require_not_refused(tick)
        self._require_not_stopped(tick)
        if needs:
            step = partial(self._world.step, tick, turns, plan, answers)
            delta = await theirs(world, place, step)
        return answers, self._checked(tick, delta)

    def _checked(self, tick: int, delta: object) -> WorldDelta:
        problems = check_delta(
            delta,
            tick=tick,
            known_stimuli=self._carried.stimuli,
            persona_ids=self._carried.personas,
            questions=self._carried.questions,
        )
        if problems:
            more = len(problems) - _PROBLEMS_SHOWN
            listed = " ".join(problems[:_PROBLEMS_SHOWN])
            raise PluginError(
                f"Its delta breaks the contract: {listed}"
                + (f" There are {more} more problems like these." if more > 0 else ""),
                where=f"{self.header.scenario.world}, {self._place(tick)}",
            )
        assert isinstance(delta, WorldDelta), "a delta without problems is one"
        return delta

    async def _act(
        self, jobs: tuple[TurnJob, ...], plan: Plan, calls: TickCalls
    ) -> tuple[Outcome, ...]:
        reference, place = self.header.agent.agent, self._place(calls.tick)
        models = TickModels(calls)
        try:
            with blame(reference, place):
                outcomes = tuple(await self._agent.act(jobs, plan, models)) if jobs else ()
        except PluginError:
            # An error of ours went through the agent's code, and is not the agent's.
            if isinstance(calls.broken, CONCERNS_THE_RUN):
                raise calls.broken from None
            raise
        if calls.broken is not None:
            raise calls.broken
        return require_outcomes(outcomes, jobs, f"{reference}, {place}")

    def _require_not_stopped(self, tick: int) -> None:
        cause = self._host.stop_cause
        if cause is not None:
            raise refusal(cause, self._place(tick))

    def _require_not_refused(self, tick: int) -> None:
        """Hold a tick in which a call was refused: it is missing, whatever came of its turn."""
        limit = self._host.refusal(self.header.world_id, tick)
        if limit is not None:
            raise BudgetReachedError(
                f"The budget has no room for a call of this tick ({limit}).",
                limit=limit,
                where=self._place(tick),
                remedy="The tick is not kept; closed ticks are, and so are its finished calls.",
            )

    def _place(self, tick: int | None = None) -> str:
        return f"world {self.header.world_id}" + ("" if tick is None else f", tick {tick}")

    async def _report(
        self, tick: int, batch: Batch, outcomes: Sequence[Outcome], calls: TickCalls
    ) -> TickReport:
        failed = sum(isinstance(outcome, TurnFailed) for outcome in outcomes)
        world_id, used = self.header.world_id, {result.key for result in calls.results()}
        bill = Bill()
        bill.add(event.payload for event in batch.events if isinstance(event.payload, Cost))
        report = TickReport(
            world_id=world_id,
            tick=tick,
            head=self.partition.head,
            turns=len(outcomes) - failed,
            turns_failed=failed,
            calls=sum(len(results) for results in calls.by_job.values()),
            rungs=self._rungs,
            lost=await self._host.lost(world_id, tick),
            orphaned=await self._host.orphans(world_id, tick, used),
        )
        return bill.on(report)


def _scores(
    jobs: Sequence[TurnJob],
    outcomes: Sequence[Outcome],
    rated: Mapping[int, Scored],
    questions: Mapping[str, Question],
) -> tuple[Scored | None, ...]:
    """Give each turn its score, in job order. What is `rated` was scored already, by job."""

    def scored(job: TurnJob, outcome: TurnDone) -> Scored:
        if job.question.scoring is Scoring.LOGPROBS:
            order = [choice.id for choice in questions[job.question.id].choices]
            return score_chances(outcome.first_tokens, job.question, order)
        # Choices are given in the order of the study, whatever order they were listed in.
        choices = questions[job.question.id].choices
        asked = msgspec.structs.replace(job.question, choices=choices)
        return rated.get(job.index) or score(own_words(outcome.answer, outcome.reaction), asked)

    return tuple(
        scored(job, outcome) if isinstance(outcome, TurnDone) and job.question.is_scored else None
        for job, outcome in zip(jobs, outcomes, strict=True)
    )
