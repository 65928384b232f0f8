"""The model of an agent that is driven alone: an endpoint of its own."""

from __future__ import annotations

from perdure.agent.drive.ports import ModelFailedError
from perdure.base.text import one_line
from perdure.inference.asking import ask_once
from perdure.inference.provider import Provider
from perdure.inference.retry import RETRIED
from perdure.inference.running_clock import RunningClock
from perdure.inference.telling import OnIncrement
from perdure.records.request import ChatRequest, Failure, FailureCause, Reply

_UNTOLD = ("The model endpoint failed", "Go on when it answers again.")
_TOLD = {
    FailureCause.REJECTED: (
        "The model endpoint rejected the request",
        "Change what it does not take, such as --reply-tokens or the model, in a drive of its own.",
    ),
    FailureCause.KEY_REFUSED: (
        "The model endpoint refused the key",
        "Go on with a key that may use this model (--key-env).",
    ),
    FailureCause.MODEL_UNKNOWN: (
        "The model endpoint does not know the model, or this address",
        "Go on with the right address (--base-url), or begin with a model that it serves.",
    ),
    FailureCause.OUT_OF_MONEY: (
        "The model endpoint refuses further calls until its account is paid",
        "Add credit at the provider, then go on.",
    ),
    FailureCause.WRONG_MODEL: (
        "Another model answers than the one that was asked for",
        "Begin with the model's name as the endpoint serves it (--model-name).",
    ),
    FailureCause.REPLY_TOO_LARGE: ("The reply was larger than any can be", ""),
    FailureCause.BAD_REPLY: (
        "The model endpoint's reply cannot be read",
        "Look whether it is an OpenAI-compatible endpoint, then go on.",
    ),
}


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
        where: str = "",
    ) -> None:
        """Take an open provider, its model's name, the time of an attempt, and where it is."""
        self._provider = provider
        self._name = name
        self._attempt_s = attempt_s
        self._running = running or RunningClock()
        self._where = where

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
            raise self._failed(outcome)
        assert isinstance(outcome, Reply), "a chat request is answered by a reply"
        return outcome

    def _failed(self, failure: Failure) -> ModelFailedError:
        """Say what failed where, in the endpoint's own words if it has any, and what helps."""
        what, remedy = _TOLD.get(failure.cause, _UNTOLD)
        status = f"HTTP {failure.status}, " if failure.status else ""
        stop = "" if failure.detail.endswith((".", "!", "?", "…")) else "."
        said = f" It says: {failure.detail}{stop}" if failure.detail else ""
        if failure.cause is FailureCause.WRONG_MODEL and failure.served:
            said = f" It answers as {one_line(failure.served)!r}."
        return ModelFailedError(
            failure.cause,
            again=failure.cause in RETRIED,
            status=failure.status,
            retry_after_s=failure.retry_after_s,
            usage=failure.usage,
            detail=f"{what} ({status}{failure.cause.value}).{said}",
            where=self._where,
            remedy=remedy,
        )
