"""The models that an agent and a world are given: every call gets its key, seed and place.

One `TickCalls` serves one tick of one world. It numbers the calls of each (job, purpose), derives
each call's sampling seed from the world, and keeps every result for the record.
"""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import Sequence

import msgspec

from perdure.agent import CallFailedError
from perdure.base.chance import Stream
from perdure.base.errors import PerdureError
from perdure.base.vectors import rounded
from perdure.records.facts import PersonaFacts
from perdure.records.presentation import Need, NeedAnswer
from perdure.records.request import (
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
from perdure.records.tools import ToolSpec
from perdure.runner.port import ModelHost

_PAUSE_EVERY = 64


class TickCalls:
    """All model calls of one tick of one world, made through the inference host."""

    def __init__(self, *, host: ModelHost, world_id: str, world_seed: str, tick: int) -> None:
        self._host = host
        self._world_id = world_id
        self._world_seed = world_seed
        self.tick = tick
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
            result = await self._host.call(key, request)
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
