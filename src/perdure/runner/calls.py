"""The models that an agent and a world are given: every call gets its key, seed and place.

One `TickCalls` serves one tick of one world. It numbers the calls of each (job, purpose), derives
each call's sampling seed from the world, and keeps every result for the record.
"""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Sequence

import msgspec

from perdure.agent import CallFailedError
from perdure.agent.drive.tools.function import FunctionTool
from perdure.base.chance import Stream
from perdure.base.errors import PerdureError, PluginError
from perdure.base.redaction import redacted
from perdure.base.vectors import rounded
from perdure.records.drive import EndCause
from perdure.records.facts import PersonaFacts
from perdure.records.presentation import Need, NeedAnswer
from perdure.records.request import (
    OUTSIDE,
    SCORER_JOB,
    WORLD_JOB,
    CallKey,
    CallResult,
    ChatRequest,
    EmbedRequest,
    Message,
    Reply,
    Vectors,
)
from perdure.records.scenario import Header
from perdure.records.tools import Effect, ToolAnswer, ToolCall, ToolSpec, WorldTool
from perdure.runner.furnished import Furniture
from perdure.runner.outside import OutsideTools
from perdure.runner.port import ModelHost

_PAUSE_EVERY = 64


class TickCalls:
    """All model calls of one tick of one world, made through the inference host."""

    def __init__(
        self,
        *,
        host: ModelHost,
        header: Header,
        tick: int,
        furniture: Furniture | None = None,
        outside: Sequence[FunctionTool] = (),
    ) -> None:
        self.host = host
        self.outside = outside
        self._world_id = header.world_id
        self._world_seed = header.world_seed
        self.settings = header.agent
        self.tick = tick
        self.furniture = furniture
        self.personas: Sequence[str] = ()
        # Of each job what its sampling seeds are drawn by: its persona, and which of an interview's
        # later questions it is.
        self.drawn_by: Sequence[str] = ()
        self._count = 0
        self.by_job: dict[int, list[tuple[str, CallResult]]] = defaultdict(list)
        # What kept a call from having any result: the tick cannot close, whatever is made of it.
        self.broken: PerdureError | None = None

    def results(self) -> list[CallResult]:
        """List every call made so far, job by job."""
        return [result for results in self.by_job.values() for _, result in results]

    def for_job(self, index: int) -> JobCalls:
        """Give the models of one job.

        Raises:
            IndexError: the tick has no such job.

        """
        if not 0 <= index < len(self.drawn_by):
            raise IndexError(
                f"tick {self.tick} has jobs 0 to {len(self.drawn_by) - 1}, not {index}"
            )
        return JobCalls(self, index, self.drawn_by[index])

    def for_scorer(self) -> JobCalls:
        """Give the models of the one who scores: those calls belong to no job."""
        return JobCalls(self, SCORER_JOB, "")

    async def answer(self, needs: Sequence[Need]) -> tuple[NeedAnswer, ...]:
        """Make a world's own calls, in order, and give their answers, in order."""
        models = JobCalls(self, WORLD_JOB, "")
        answers = []
        for need in needs:
            try:
                if need.texts:
                    vectors = await models.embed(need.purpose, need.texts, role=need.role)
                    answer = NeedAnswer(purpose=need.purpose, vectors=vectors.vectors)
                else:
                    reply = await models.chat(
                        need.purpose,
                        need.messages,
                        role=need.role,
                        tokens_max=need.tokens_max,
                        temperature=need.temperature,
                    )
                    answer = NeedAnswer(purpose=need.purpose, text=reply.text)
            except CallFailedError as error:
                answer = NeedAnswer(purpose=need.purpose, failed=error.cause)
            answers.append(answer)
        return tuple(answers)

    def sampling_seed(self, persona: str, purpose: str, ordinal: int) -> int:
        """Derive a call's sampling seed, 31 bits: the same in every scenario of a variant."""
        return Stream(self._world_seed, self.tick, f"sample:{purpose}:{ordinal}", persona).below(
            1 << 31
        )

    async def call(self, key: CallKey, request: ChatRequest | EmbedRequest) -> Reply | Vectors:
        """Make one call and keep its result.

        Raises:
            CallFailedError: the call has no answer.
            StorageError: it could not be journaled.

        """
        self._count += 1
        if self._count % _PAUSE_EVERY == 0:
            # A model that answers at once would let nobody else run until its tick is over.
            await asyncio.sleep(0)
        try:
            result = await self.host.call(key, request)
        except PerdureError as error:
            self.broken = self.broken or error
            raise
        self.by_job[key.job].append((request.role, result))
        if result.answer is None:
            assert result.failed is not None
            raise CallFailedError(result.failed)
        return result.answer

    def key(self, job: int, purpose: str, ordinal: int) -> CallKey:
        """Name a call of this tick."""
        return CallKey(
            world=self._world_id, tick=self.tick, job=job, purpose=purpose, ordinal=ordinal
        )


class TickModels:
    """The models as an agent is given them: what calls came to and cost is not in sight."""

    __slots__ = ("_tick_calls",)

    def __init__(self, tick_calls: TickCalls) -> None:
        self._tick_calls = tick_calls

    def for_job(self, index: int) -> JobCalls:
        """Give the models of one job.

        Raises:
            IndexError: the tick has no such job.

        """
        return self._tick_calls.for_job(index)


class JobCalls:
    """The models of one job, of the world itself, or of the scorer."""

    __slots__ = ("_job", "_ordinals", "_persona", "_tick_calls")

    def __init__(self, tick_calls: TickCalls, job: int, persona: str) -> None:
        self._tick_calls = tick_calls
        self._job = job
        self._persona = persona
        self._ordinals: Counter[str] = Counter()

    async def chat(
        self,
        purpose: str,
        messages: tuple[Message, ...],
        *,
        role: str = "tier_a",
        tokens_max: int,
        temperature: float = 0.0,
        facts: PersonaFacts | None = None,
        logprobs: bool = False,
        tools: tuple[ToolSpec, ...] = (),
    ) -> Reply:
        """Ask for one reply; with `logprobs` for the likeliest first tokens too.

        `tools` are those that it may ask for.

        Raises:
            CallFailedError: there is none, after every retry.

        """
        ordinal = self._next(purpose)
        request = ChatRequest(
            role=role,
            messages=messages,
            tokens_max=tokens_max,
            temperature=temperature,
            seed=self._tick_calls.sampling_seed(self._persona, purpose, ordinal),
            facts=facts,
            logprobs=logprobs,
            tools=tools,
        )
        key = self._tick_calls.key(self._job, purpose, ordinal)
        answer = await self._tick_calls.call(key, request)
        assert isinstance(answer, Reply), "a chat request is answered by a reply"
        return answer

    @property
    def tools(self) -> tuple[WorldTool, ...]:
        """The tools that the world gives to the persona of this job."""
        calls = self._tick_calls
        return calls.furniture.of(calls.personas[self._job]) if calls.furniture is not None else ()

    async def use(self, call: ToolCall, did: Sequence[ToolCall]) -> ToolAnswer:
        """Use one of them.

        Raises:
            PluginError: the world raised, or gave something else than an answer.

        """
        calls = self._tick_calls
        assert calls.furniture is not None, "there is a tool to be used"
        try:
            answer = await calls.furniture.use(calls.personas[self._job], call, did)
        except PluginError as error:
            calls.broken = calls.broken or error
            raise
        return msgspec.structs.replace(answer, text=redacted(answer.text))

    @property
    def outside(self) -> OutsideTools | None:
        """The tools outside the world, for one drive of this job; None if there are none.

        Raises:
            PluginError: one has the name of a tool of the world.

        """
        calls = self._tick_calls
        if not calls.outside:
            return None
        both = {tool.spec.name for tool in self.tools} & {one.spec.name for one in calls.outside}
        if both:
            calls.broken = calls.broken or PluginError(
                f"The world has a tool of the same name: {', '.join(sorted(both))}.",
                where="agent.outside.tools",
                remedy="Give the function another one: `@tool(name=...)`.",
            )
            raise calls.broken
        return OutsideTools(calls.outside, self.effect)

    async def effect(
        self, call: ToolCall, effect: Effect, make: Callable[[], Awaitable[ToolAnswer]]
    ) -> ToolAnswer:
        """Make a call of a tool outside the world, once in all sittings of the run.

        Where it was made before, what it came to then is given.

        Raises:
            InternalError: another call was made in its place before.
            StorageError: it could not be journaled.

        """
        calls = self._tick_calls
        key = calls.key(self._job, OUTSIDE, self._next(OUTSIDE))
        try:
            answer = await calls.host.begin_effect(key, call, effect)
            if answer is None:
                answer = await make()
                await calls.host.end_effect(key, answer)
        except PerdureError as error:
            calls.broken = calls.broken or error
            raise
        return answer

    def limit(self) -> EndCause | None:
        """Say which limit of a turn the calls of this job have reached."""
        settings, made = self._tick_calls.settings, self._tick_calls.by_job[self._job]
        turns = [result for _, result in made if result.key.purpose == "turn"]
        if settings.turn_calls_max and len(turns) >= settings.turn_calls_max:
            return EndCause.TURNS
        paid = sum(attempt.amount or 0 for result in turns for attempt in result.attempts)
        return (
            EndCause.MONEY if settings.turn_money_max and paid >= settings.turn_money_max else None
        )

    async def embed(self, purpose: str, texts: tuple[str, ...], *, role: str = "embed") -> Vectors:
        """Ask for one vector per text.

        They are rounded to the precision in which they are recorded, so that whoever is rebuilt
        from the record sees the same numbers.

        Raises:
            CallFailedError: there are none, after every retry.

        """
        key = self._tick_calls.key(self._job, purpose, self._next(purpose))
        answer = await self._tick_calls.call(key, EmbedRequest(role=role, texts=tuple(texts)))
        assert isinstance(answer, Vectors), "an embedding request is answered by vectors"
        return msgspec.structs.replace(answer, vectors=rounded(answer.vectors))

    def _next(self, purpose: str) -> int:
        ordinal = self._ordinals[purpose]
        self._ordinals[purpose] += 1
        return ordinal
