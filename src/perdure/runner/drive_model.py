"""The model of an agent that is driven alone: an endpoint of its own."""

from __future__ import annotations

from perdure.agent.drive.ports import ModelFailedError
from perdure.inference.asking import ask_once
from perdure.inference.provider import Provider
from perdure.inference.retry import RETRIED
from perdure.inference.running_clock import RunningClock
from perdure.inference.telling import OnIncrement
from perdure.records.request import ChatRequest, Failure, Reply


class EndpointModel:
    """The model of an agent that is driven alone: each call is one attempt at one provider.

    Whoever makes one opens the provider before, and closes it after.
    """

    def __init__(
        self,
        provider: Provider,
        name: str,
        *,
        attempt_s: float,
        running: RunningClock | None = None,
    ) -> None:
        """Take an open provider, the name of its model, and the time that an attempt may take."""
        self._provider = provider
        self._name = name
        self._attempt_s = attempt_s
        self._running = running or RunningClock()

    @property
    def name(self) -> str:
        """The model's name, as it is recorded."""
        return self._name

    async def chat(self, request: ChatRequest, on_increment: OnIncrement | None) -> Reply:
        """Ask for one whole reply; with `on_increment`, told piece by piece under way as well.

        Raises:
            ModelFailedError: there is no whole reply.

        """
        outcome = await ask_once(
            self._provider, request, self._attempt_s, self._running, on_increment
        )
        if isinstance(outcome, Failure):
            raise ModelFailedError(
                outcome.cause,
                again=outcome.cause in RETRIED,
                status=outcome.status,
                retry_after_s=outcome.retry_after_s,
                usage=outcome.usage,
            )
        assert isinstance(outcome, Reply), "a chat request is answered by a reply"
        return outcome
