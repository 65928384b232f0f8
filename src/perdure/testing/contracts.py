"""Contract suites for your own worlds and agents: what the runner relies on, as ready-made tests.

Derive from a suite in a test file of yours and say how to make the thing under test; pytest, or
any runner that calls methods named `test_*`, does the rest. Nothing here opens a connection.

    from perdure.testing.contracts import WorldContract

    class TestTownHall(WorldContract):
        def make_world(self):
            return TownHall()

Override `header` when your class needs settings, claims or questions of its own.
"""

from __future__ import annotations

import asyncio
import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence

import msgspec

from perdure.agent import Agent, CallFailedError
from perdure.agent.drive.ports import Tools
from perdure.base import canonical
from perdure.base.chance import Stream
from perdure.records.drive import EndCause
from perdure.records.events import Batch, Head
from perdure.records.facts import PersonaFacts
from perdure.records.graph import Node
from perdure.records.outcome import Outcome, TurnDone, TurnFailed
from perdure.records.people import People
from perdure.records.persona import (
    AttributeSpec,
    Choice,
    Ontology,
    OutcomeSpec,
    Persona,
    PersonaState,
)
from perdure.records.presentation import (
    CompletedTurn,
    Exposure,
    Impression,
    Need,
    NeedAnswer,
    Plan,
    Presentation,
    Stimulus,
    TurnJob,
    View,
    WorldDelta,
)
from perdure.records.reaction import Action, Change, Reaction, Rejection
from perdure.records.record import Record
from perdure.records.request import FailureCause, Message, Reply, Vectors
from perdure.records.scenario import (
    AgentSettings,
    Brief,
    Claim,
    Header,
    ModelPin,
    Question,
    Scenario,
    Variant,
)
from perdure.records.tools import ToolAnswer, ToolCall, ToolSpec, WorldTool
from perdure.runner.carried import Carried
from perdure.runner.compose import TickResult, compose
from perdure.runner.past import PastTick, past_ticks
from perdure.trace.sealing import first_head, seal
from perdure.world import Acquainted, World, check_delta

VECTOR_LENGTH = 4

# What can be done on a channel of the suite for agents.
ACTIONS = (
    Action(name="like"),
    Action(name="reply", says=True),
    Action(name="post", about=False, says=True),
)


def example_header(personas: int = 12, *, settings: dict[str, object] | None = None) -> Header:
    """Make the header of a small world: two claims, an open vote, an agree-or-disagree question.

    `settings` become those of both the scenario and the agent.
    """
    given = dict(settings or {})
    return Header(
        format=1,
        world_id="0123456789ab",
        world_seed="0123456789abcdef",
        replicate_seed=1,
        study="contract",
        scenario=Scenario(
            id="contract",
            variant="v1",
            horizon=6,
            waves=(0, 5),
            wave_question="vote",
            exposures={"1": ("c1", "c2"), "2": ("c1",), "3": ("c1", "c2"), "4": ("c2",)},
            exposure_question="react",
            activation=0.8,
            settings=given,
        ),
        variant=Variant(id="v1"),
        brief=Brief(
            title="A town election",
            text="The town chooses a mayor.",
            claims=(
                Claim(id="c1", text="The harbour will be rebuilt."),
                Claim(id="c2", text="Rents will be frozen."),
            ),
        ),
        ontology=Ontology(
            attributes=(
                AttributeSpec(name="age", label="Age", unit="years", required=True),
                AttributeSpec(name="view", label="Politics", scale={"1": "left", "2": "right"}),
            ),
            outcome=OutcomeSpec(name="voted", question="vote"),
        ),
        questions=(
            Question(
                id="vote",
                text="Who would you vote for?",
                choices=(Choice(id="ada", label="Ada Hill"), Choice(id="ben", label="Ben Cole")),
            ),
            Question(
                id="react",
                text="Do you agree?",
                choices=(
                    Choice(id="agree", label="Agree"),
                    Choice(id="disagree", label="Disagree"),
                ),
            ),
        ),
        population_hash="0" * 64,
        persona_ids=tuple(f"p{number}" for number in range(personas)),
        pins={},
        agent=AgentSettings(reflect_every=2, settings=given),
        quorum=0.9,
    )


def example_personas(header: Header) -> dict[str, Persona]:
    """Make the personas that `example_header` lists."""
    return {
        persona: Persona(id=persona, attributes={"age": 20 + number, "view": 1 + number % 2})
        for number, persona in enumerate(header.persona_ids)
    }


def example_people(header: Header) -> People:
    """Make the personas that `example_header` lists, each tied to the next two of a ring.

    The ring has two communities, halves of it; the last persona is in none.
    """
    personas = tuple(example_personas(header).values())
    count = len(personas)
    ties: list[dict[str, float]] = [{} for _ in personas]
    for one in range(count):
        for step, strength in ((1, 0.8), (2, 0.35)):
            first, last = sorted((one, (one + step) % count))
            if first != last:
                ties[first][personas[last].id] = strength
    graph = tuple(
        Node(ties=known, community=None if place == count - 1 else 2 * place // count)
        for place, known in enumerate(ties)
    )
    return People(personas=personas, graph=graph)


class Step(Record):
    """One step of a world as it would be recorded: what it was given and what it did."""

    tick: int
    turns: tuple[CompletedTurn, ...]
    plan: Plan
    answers: tuple[NeedAnswer, ...]
    delta: WorldDelta


class WorldContract(ABC):
    """What every world keeps: it is deterministic, it can be rebuilt, its deltas are whole."""

    @abstractmethod
    def make_world(self) -> World:
        """Make a new world, as the runner does: without arguments."""

    def header(self) -> Header:
        """Give the header to test under; override it for settings and claims of your own."""
        return example_header()

    def people(self) -> People:
        """Give those who live in the world; override it together with `header`."""
        return example_people(self.header())

    def plan(self, tick: int) -> Plan:
        """Give the plan of a tick; the suite lowers activation now and then."""
        return Plan(activation=0.5 if tick % 3 == 2 else 1.0)  # noqa: PLR2004 - every third

    def turn(self, presentation: Presentation, tick: int) -> CompletedTurn | None:
        """Answer a presentation as some persona might; None leaves the turn out, as a failure."""
        header = self.header()
        draw = Stream(header.world_seed, tick, "contract", presentation.persona)
        if draw.uniform() < 0.1:  # noqa: PLR2004 - a few turns fail
            return None
        question = next(q for q in header.questions if q.id == presentation.question)
        choice = draw.choice(question.choices) if question.choices else None
        return CompletedTurn(
            persona=presentation.persona,
            presentation=presentation,
            answer=choice.label if choice is not None else "I see.",
            choice=choice.id if choice is not None else "",
            reaction=_reaction(presentation, draw) if presentation.actions else None,
        )

    def test_deltas_are_whole(self) -> None:
        """Every delta is dated at its tick and shows only what exists, once, to who exists."""
        header = self.header()
        known: set[str] = set()
        questions = {question.id for question in header.questions}
        for step in self._live():
            problems = check_delta(step.delta, step.tick, known, set(header.persona_ids), questions)
            assert not problems, "\n".join(problems)
            known.update(stimulus.id for stimulus in step.delta.stimuli)

    def test_a_second_world_does_the_same(self) -> None:
        """Two worlds under one header live the same life: nothing but the header decides."""
        for first, second in zip(self._live(), self._live(), strict=True):
            _require_same(first.delta, second.delta, f"tick {first.tick} of two worlds")

    def test_a_reset_leaves_nothing_behind(self) -> None:
        """A world that has lived and is reset lives as a new one does."""
        world = self._made()
        lived = list(self._live(world))
        for before, after in zip(lived, self._live(world), strict=True):
            _require_same(before.delta, after.delta, f"tick {before.tick} after a reset")

    def test_rebuilding_at_every_tick_changes_nothing(self) -> None:
        """A world rebuilt from the record before each tick goes on as the one that lived."""
        lived = list(self._live())
        for step in lived:
            world = self._rebuilt(lived[: step.tick])
            world.needs(step.tick, step.turns, step.plan)
            delta = world.step(step.tick, step.turns, step.plan, step.answers)
            _require_same(step.delta, delta, f"tick {step.tick} after a rebuild")

    def test_asking_for_needs_changes_nothing(self) -> None:
        """Needs are the same each time they are asked for, whole, and move no state."""
        lived = list(self._live())
        for step in lived:
            world = self._rebuilt(lived[: step.tick])
            asked = [tuple(world.needs(step.tick, step.turns, step.plan)) for _ in range(2)]
            assert asked[0] == asked[1], f"the needs of tick {step.tick} differ when asked twice"
            for need in asked[0]:
                assert bool(need.messages) != bool(need.texts), (
                    f"a need of tick {step.tick} must give either messages or texts"
                )
            delta = world.step(step.tick, step.turns, step.plan, step.answers)
            _require_same(step.delta, delta, f"tick {step.tick} after its needs were asked twice")

    def test_a_lower_activation_shows_no_more(self) -> None:
        """At a lower activation, those who are active are a part of those at the full one."""
        lived = list(self._live())
        for step in lived:
            full, less = (self._active(lived, step, activation) for activation in (1.0, 0.4))
            assert less <= full, (
                f"at tick {step.tick} a lower activation shows something to {less - full}"
            )

    def _active(self, lived: Sequence[Step], step: Step, activation: float) -> set[tuple[str, str]]:
        world = self._rebuilt(lived[: step.tick])
        plan = msgspec.structs.replace(step.plan, activation=activation)
        answers = tuple(map(answer_need, world.needs(step.tick, step.turns, plan)))
        delta = world.step(step.tick, step.turns, plan, answers)
        return {(shown.persona, shown.impression.channel) for shown in delta.presentations}

    def _made(self) -> World:
        world = self.make_world()
        if isinstance(world, Acquainted):
            world.meet(self.people())
        return world

    def _rebuilt(self, lived: Sequence[Step]) -> World:
        world = self._made()
        world.reset(self.header())
        for step in lived:
            world.step(step.tick, step.turns, step.plan, step.answers)
        return world

    def _live(self, world: World | None = None) -> Iterator[Step]:
        world = world if world is not None else self._made()
        header = self.header()
        world.reset(header)
        turns: tuple[CompletedTurn, ...] = ()
        for tick in range(header.scenario.horizon):
            plan = self.plan(tick)
            answers = tuple(map(answer_need, world.needs(tick, turns, plan)))
            delta = world.step(tick, turns, plan, answers)
            yield Step(tick=tick, turns=turns, plan=plan, answers=answers, delta=delta)
            taken = (self.turn(presentation, tick) for presentation in delta.presentations)
            turns = tuple(turn for turn in taken if turn is not None)


def _reaction(presentation: Presentation, draw: Stream) -> Reaction:
    """Do something that can be done, or nothing; now and then it is something that cannot."""
    shown = [exposure.stimulus for exposure in presentation.impression.exposures]
    action = draw.choice((None, *presentation.actions))
    if action is None:
        return Reaction(change=draw.choice(tuple(Change)), stimulus=draw.choice(shown or [""]))
    is_unknown = draw.uniform() < 0.1  # noqa: PLR2004 - a few
    return Reaction(
        action="applaud" if is_unknown else action.name,
        stimulus=draw.choice(shown) if shown and action.about else "",
        words=f"{presentation.persona} says {draw.below(100)}." if action.says else "",
        change=draw.choice(tuple(Change)),
        rejected=Rejection.NOT_ACCEPTED if is_unknown else None,
    )


def answer_need(need: Need) -> NeedAnswer:
    """Answer a world's own call from the call alone: equal calls get equal answers."""
    if need.texts:
        vectors = tuple(_vector(text) for text in need.texts)
        return NeedAnswer(purpose=need.purpose, vectors=vectors)
    return NeedAnswer(purpose=need.purpose, text=_reply_text(need.messages))


class FakeModels:
    """Models for a test: equal prompts get equal replies, chosen jobs get none.

    A prompt whose facts say that something can be done is answered in the form that is asked for.
    `failing` are the jobs of which every call fails, `failing_embeddings` those of which only calls
    for vectors do. `calls` lists (job, purpose, role) of every call in the order in which they were
    made.
    """

    def __init__(
        self, *, failing: Sequence[int] = (), failing_embeddings: Sequence[int] = ()
    ) -> None:
        self._failing = frozenset(failing)
        self._failing_embeddings = frozenset(failing_embeddings)
        self._open: set[tuple[int, str]] = set()
        self.calls: list[tuple[int, str, str]] = []
        self.facts: list[PersonaFacts] = []
        self.prompts: dict[tuple[int, str], tuple[Message, ...]] = {}

    def for_job(self, index: int) -> FakeJobModels:
        """Give the models of one job."""
        return FakeJobModels(self, index)

    async def answer(self, job: int, purpose: str, role: str) -> None:
        """Note a call, and let others run before it is answered.

        Raises:
            CallFailedError: the job is one of those whose calls fail.

        """
        key = (job, purpose)
        assert key not in self._open, f"job {job} made two calls for {purpose!r} at once"
        self._open.add(key)
        self.calls.append((job, purpose, role))
        # Later jobs are answered first, so that an agent cannot rely on the order.
        for _ in range(1 + (7 - job) % 5):
            await asyncio.sleep(0)
        self._open.discard(key)
        if job in self._failing:
            raise CallFailedError(FailureCause.TIMEOUT)

    def refuse_vectors(self, job: int) -> None:
        """Refuse vectors to a job that gets none.

        Raises:
            CallFailedError: the job is one of those.

        """
        if job in self._failing_embeddings:
            raise CallFailedError(FailureCause.TIMEOUT)


class NoTools:
    """A job without tools and limits, for models of a test to derive from."""

    tools: tuple[WorldTool, ...] = ()
    outside: Tools | None = None

    async def use(self, call: ToolCall, did: Sequence[ToolCall]) -> ToolAnswer:
        """Refuse: there is nothing to be used.

        Raises:
            AssertionError: always.

        """
        raise AssertionError(f"There is no tool {call.name!r}, after {len(did)} actions.")

    def limit(self) -> EndCause | None:
        """Reach none."""
        return None


class FakeJobModels(NoTools):
    """The models of one job of `FakeModels`."""

    def __init__(self, models: FakeModels, job: int) -> None:
        self._models = models
        self._job = job

    async def chat(
        self,
        purpose: str,
        messages: tuple[Message, ...],
        *,
        role: str = "tier_a",
        tokens_max: int,
        temperature: float = 0.0,  # noqa: ARG002 - the port's signature
        facts: PersonaFacts | None = None,
        logprobs: bool = False,  # noqa: ARG002 - the port's signature
        tools: tuple[ToolSpec, ...] = (),  # noqa: ARG002 - the port's signature
    ) -> Reply:
        """Reply with a text that follows from the messages alone.

        Raises:
            CallFailedError: this job's calls fail.

        """
        assert tokens_max > 0, "a call must allow at least one token"
        if facts is not None:
            self._models.facts.append(facts)
        self._models.prompts[self._job, purpose] = messages
        await self._models.answer(self._job, purpose, role)
        return Reply(text=_reply_text(messages, facts), served="fake")

    async def embed(self, purpose: str, texts: tuple[str, ...], *, role: str = "embed") -> Vectors:
        """Reply with one vector per text, each following from its text alone.

        Raises:
            CallFailedError: this job's calls fail.

        """
        await self._models.answer(self._job, purpose, role)
        self._models.refuse_vectors(self._job)
        return Vectors(vectors=tuple(_vector(text) for text in texts), served="fake")


class AgentContract(ABC):
    """What every agent keeps: an outcome per job, no state between ticks, failures as outcomes."""

    @abstractmethod
    def make_agent(self) -> Agent:
        """Make a new agent, as the runner does: without arguments."""

    def header(self) -> Header:
        """Give the header to test under; override it for settings of your own."""
        return example_header()

    def personas(self) -> dict[str, Persona]:
        """Give the personas by id; override it together with `header`."""
        return example_personas(self.header())

    def test_one_outcome_per_job_in_order(self) -> None:
        """There are as many outcomes as jobs, and each belongs to the job at its place."""
        jobs = self._jobs(1)
        together = self._act(jobs)
        assert len(together) == len(jobs), f"{len(together)} outcomes for {len(jobs)} jobs"
        for outcome in together:
            assert isinstance(outcome, TurnDone | TurnFailed), f"{outcome!r} is not an outcome"
            canonical.encode(outcome)
        for job, outcome in zip(jobs, together, strict=True):
            (alone,) = self._act((job,))
            _require_same(alone, outcome, f"job {job.index}, alone and among the others")

    def test_no_jobs_no_outcomes(self) -> None:
        """A tick in which nobody acts is not a special case."""
        assert not list(self._act(())), "outcomes without jobs"

    def test_rebuilding_at_every_tick_changes_nothing(self) -> None:
        """An agent that is made anew at each tick answers as the one that goes on."""
        kept = self.make_agent()
        kept.reset(self.header())
        header = self.header()
        for tick, (lived, rebuilt) in enumerate(
            zip(self._live(kept, header), self._live(None, header), strict=True)
        ):
            assert lived == rebuilt, f"the outcomes of tick {tick} change when rebuilt"

    def test_rebuilding_changes_nothing_where_everything_is_on(self) -> None:
        """Nor does it with embeddings, probes, and channels where something can be done.

        What a persona carries is then rebuilt at every tick from the record alone.
        """
        header = self._rich_header()
        kept = self.make_agent()
        kept.reset(header)
        for tick, (lived, rebuilt) in enumerate(
            zip(self._live(kept, header), self._live(None, header), strict=True)
        ):
            assert lived == rebuilt, f"the outcomes of tick {tick} change when rebuilt"

    def test_a_failed_embedding_is_that_turn_s_alone(self) -> None:
        """A job that gets no vectors ends as an outcome, and the others do not notice."""
        header = self._rich_header()
        for jobs, expected in self._live(None, header):
            models = FakeModels(failing_embeddings=(1,))
            for job, outcome in zip(
                jobs, self._act(jobs, models=models, header=header), strict=True
            ):
                assert isinstance(outcome, TurnDone | TurnFailed), f"{outcome!r} is not an outcome"
                if job.index != 1:
                    what = f"job {job.index} beside one without vectors"
                    _require_same(expected[job.index], outcome, what)

    def test_a_failed_call_is_an_outcome(self) -> None:
        """A job whose calls fail ends as a failed turn, and the others do not notice."""
        jobs = self._jobs(1)
        undisturbed = self._act(jobs)
        models = FakeModels(failing=(1,))
        disturbed = self._act(jobs, models=models)
        called = any(job == 1 for job, _, _ in models.calls)
        if called:
            assert isinstance(disturbed[1], TurnFailed), (
                "a turn without any reply must be a TurnFailed: nothing may stand in for a reply"
            )
        for job in jobs:
            if job.index != 1:
                what = f"job {job.index} beside a failing one"
                _require_same(undisturbed[job.index], disturbed[job.index], what)

    def test_optional_work_is_only_left_out(self) -> None:
        """Without optional work an agent makes no call that it would not make with it."""
        jobs = self._jobs(3)
        with_it, without = FakeModels(), FakeModels()
        self._act(jobs, models=with_it)
        self._act(jobs, models=without, plan=Plan(optional_work=False))
        extra = set(without.calls) - set(with_it.calls)
        assert not extra, f"calls made only where optional work is off: {sorted(extra)}"

    def test_a_large_tick_is_one_batch(self) -> None:
        """Some thousands of jobs at once are all answered, in order."""
        few = self._jobs(1)
        jobs = tuple(
            msgspec.structs.replace(few[place % len(few)], index=place) for place in range(3_000)
        )
        outcomes = self._act(jobs)
        assert len(outcomes) == len(jobs), f"{len(outcomes)} outcomes for {len(jobs)} jobs"
        for place in range(len(few), len(jobs), len(few)):
            _require_same(outcomes[0], outcomes[place], f"the same turn as job {place}")

    def _act(
        self,
        jobs: Sequence[TurnJob],
        *,
        agent: Agent | None = None,
        models: FakeModels | None = None,
        plan: Plan | None = None,
        header: Header | None = None,
    ) -> Sequence[Outcome]:
        if agent is None:
            agent = self.make_agent()
            agent.reset(header or self.header())
        given = models if models is not None else FakeModels()
        return asyncio.run(_acted(agent, jobs, plan if plan is not None else Plan(), given))

    def _live(
        self, agent: Agent | None, header: Header
    ) -> Iterator[tuple[tuple[TurnJob, ...], list[Outcome]]]:
        """Live the ticks of a header with an agent; or with a new one, and all rebuilt, at each.

        Gives the jobs of each tick, and their outcomes.
        """
        head, lived = first_head(b""), list[PastTick]()
        carried = Carried(header, self.personas())
        for tick in range(header.scenario.horizon):
            if agent is None:
                carried = Carried(header, self.personas())
                for past in lived:
                    carried.relive(past)
            delta = self._delta(tick)
            carried.publish(delta)
            jobs = carried.jobs(delta)
            outcomes = list(self._act(jobs, agent=agent, header=header))
            batch = _batch(delta, jobs, outcomes, head)
            head = seal(head, batch).head
            lived += past_ticks(batch.events, batch.blobs.__getitem__)
            carried.relive(lived[-1])
            yield jobs, outcomes

    def _rich_header(self) -> Header:
        """Turn on what an agent may have: vectors for memories, few of them told, and probes."""
        header = self.header()
        settings = msgspec.structs.replace(
            header.agent,
            memories_max=min(header.agent.memories_max, 2),
            probe_every=2,
            probe_share=0.5,
        )
        pins = {**header.pins, "embed": ModelPin(provider="fake", model="fake")}
        return msgspec.structs.replace(header, agent=settings, pins=pins)

    def _jobs(self, tick: int) -> tuple[TurnJob, ...]:
        """Make a tick's jobs of personas who have not reflected for a while."""
        header, delta = self.header(), self._delta(tick)
        state = PersonaState(turns_since_reflection=header.agent.reflect_every)
        carried = Carried(header, self.personas())
        carried.publish(delta)
        return tuple(msgspec.structs.replace(job, state=state) for job in carried.jobs(delta))

    def _delta(self, tick: int) -> WorldDelta:
        """Make a tick: odd ones ask the header's first question, even ones its last.

        Each persona sees a claim. At every third tick all see every claim, where something can be
        done about it.
        """
        header = self.header()
        claims, question = header.brief.claims, header.questions[0 if tick % 2 else -1]
        acts = tick % 3 == 2  # noqa: PLR2004 - every third
        return WorldDelta(
            tick=tick,
            stimuli=tuple(_stimulus(tick, claim) for claim in claims),
            presentations=tuple(
                _presentation(
                    tick,
                    persona,
                    claims if acts else (claims[index % len(claims)],),
                    question,
                    ACTIONS if acts else (),
                )
                for index, persona in enumerate(header.persona_ids)
            ),
        )


async def _acted(
    agent: Agent, jobs: Sequence[TurnJob], plan: Plan, models: FakeModels
) -> Sequence[Outcome]:
    return await agent.act(jobs, plan, models)


def _batch(
    delta: WorldDelta, jobs: tuple[TurnJob, ...], outcomes: Sequence[Outcome], head: Head
) -> Batch:
    """Write a tick as the runner does, without what it cost."""
    result = TickResult(
        tick=delta.tick,
        plan=Plan(),
        delta=delta,
        answers=(),
        jobs=jobs,
        outcomes=tuple(outcomes),
        scores=tuple(None for _ in jobs),
        calls={},
        unanswered=0,
        last=False,
    )
    return compose(result, head, {})


def _stimulus(tick: int, claim: Claim) -> Stimulus:
    return Stimulus(id=f"t{tick}-{claim.id}", kind="claim", text=claim.text, claim=claim.id)


def _presentation(
    tick: int,
    persona: str,
    claims: Sequence[Claim],
    question: Question,
    actions: tuple[Action, ...],
) -> Presentation:
    shown = [_stimulus(tick, claim).id for claim in claims]
    counts = {action.name: 2 for action in actions} or {one.id: 2 for one in question.choices}
    return Presentation(
        persona=persona,
        impression=Impression(
            channel="contract",
            exposures=tuple(Exposure(stimulus=name, reason="contract") for name in shown),
        ),
        question=question.id,
        view=View(counts=dict.fromkeys(shown, counts)),
        actions=actions,
    )


def _require_same(expected: object, found: object, what: str) -> None:
    left, right = canonical.encode(expected), canonical.encode(found)
    assert left == right, f"{what} differ:\n  {left.decode()}\n  {right.decode()}"


def _reply_text(messages: Sequence[Message], facts: PersonaFacts | None = None) -> str:
    digest = hashlib.sha256(canonical.encode(tuple(messages))).hexdigest()
    words = f"I would say {digest[:8]}."
    if facts is None or not facts.actions:
        return words
    message, action, change = (int(digest[at : at + 4], 16) for at in (8, 12, 16))
    named = message % (len(facts.messages) + 1)
    names = [*(one.name for one in facts.actions), "none"]
    changes = ("much less convinced", "less convinced", "unchanged", "more convinced")
    return "\n".join(
        [
            words,
            f"Message: {named or 'none'}",
            f"Action: {names[action % len(names)]}",
            f"Belief: {changes[change % len(changes)]}",
        ]
    )


def _vector(text: str) -> tuple[float, ...]:
    digest = hashlib.sha256(text.encode("utf-8", "replace")).digest()
    return tuple((byte - 128) / 128 for byte in digest[:VECTOR_LENGTH])
