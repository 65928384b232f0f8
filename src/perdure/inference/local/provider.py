"""A real language model on this machine, with no network: the `local` provider."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from perdure.inference.local.batch import Batch, Job
from perdure.inference.local.engine import Engine
from perdure.inference.local.openvino_batch import OpenVinoBatch
from perdure.inference.local.settings import LocalSettings
from perdure.inference.local.weights import Weights, check_local
from perdure.inference.running_clock import RunningClock
from perdure.records.request import ChatRequest, EmbedRequest, Failure, FailureCause, Reply, Vectors


class LocalProvider:
    """Answers from weights on this machine.

    Making one checks that engine and weights are here, and raises `UsageError` if not, before
    anything is created. `open` loads the model; `close` ends its thread.
    """

    def __init__(
        self,
        settings: LocalSettings | None = None,
        *,
        weights: Weights | None = None,
        batch: Callable[[], Batch] | None = None,
    ) -> None:
        """Check what is needed. `weights` and `batch` stand in for the real ones in tests."""
        self._clock = RunningClock()
        settings = settings if settings is not None else LocalSettings()
        self.weights = weights if weights is not None else check_local(settings)
        load = batch if batch is not None else partial(OpenVinoBatch, self.weights, settings)
        self._engine = Engine(load, served=self.weights.name, settings=settings)

    @property
    def name(self) -> str:
        """What this provider is called in a study file."""
        return "local"

    async def open(self) -> None:
        """Load the model, in its own thread."""
        await self._engine.open()

    async def close(self) -> None:
        """End the model's thread. What is still in flight fails."""
        await self._engine.close()

    async def chat(self, request: ChatRequest, timeout_s: float) -> Reply | Failure:
        """Answer one prompt. After `timeout_s` the call fails and its place is free."""
        job = Job(
            messages=request.messages,
            tokens_max=request.tokens_max,
            temperature=request.temperature,
            seed=request.seed,
            tools=request.tools,
        )
        try:
            return await self._clock.within(timeout_s, self._engine.run(job))
        except TimeoutError:
            return Failure(cause=FailureCause.TIMEOUT)

    async def embed(self, request: EmbedRequest, timeout_s: float) -> Vectors | Failure:  # noqa: ARG002
        """Fail as unsupported: a chat model has no embeddings worth having."""
        return Failure(cause=FailureCause.UNSUPPORTED)
