"""The `http` provider: one attempt at an OpenAI-compatible endpoint."""

from __future__ import annotations

import http
import os
from collections.abc import Mapping

from perdure.base.clock import Clock, SystemClock
from perdure.inference.http.billing import Billing
from perdure.inference.http.body import chat_body, embed_body
from perdure.inference.http.key import load_key
from perdure.inference.http.preflight import verdict
from perdure.inference.http.reply import (
    asked_by,
    billed,
    billed_for,
    read_chat,
    read_chat_tree,
    read_embeddings,
)
from perdure.inference.http.retry_after import parse_retry_after
from perdure.inference.http.settings import HttpSettings, require_usable
from perdure.inference.http.status import cause_of_status, said_in
from perdure.inference.http.streamed import StreamedChat, joined
from perdure.inference.http.transport import Answer, Transport
from perdure.inference.telling import OnIncrement, tell_whole
from perdure.records.request import ChatRequest, EmbedRequest, Failure, Reply, Vectors
from perdure.records.scenario import ModelPin

_SUCCESSES = range(http.HTTPStatus.OK, http.HTTPStatus.MULTIPLE_CHOICES)


class HttpProvider:
    """A model behind an OpenAI-compatible endpoint."""

    name = "http"

    def __init__(
        self,
        settings: HttpSettings,
        pin: ModelPin,
        *,
        environment: Mapping[str, str] | None = None,
        clock: Clock | None = None,
        billing: Billing | None = None,
    ) -> None:
        """Read the key and get ready to connect; nothing is sent.

        `billing` says how to read what replies say of money, where they do.

        Raises:
            UsageError: the base URL is not one that can be used.
            KeyOrModelRefusedError: the place that is named for the key holds none.

        """
        self._settings = settings
        self._pin = pin
        self._clock = clock or SystemClock()
        self._billing = billing or Billing()
        self._base_url = require_usable(settings.base_url)
        self._key = load_key(
            os.environ if environment is None else environment,
            key_env=settings.key_env,
            key_file=settings.key_file,
        )
        self._transport = Transport(settings, self._base_url, self._key)

    @property
    def bytes_read(self) -> int:
        """How many bytes of reply bodies were read so far."""
        return self._transport.bytes_read

    async def open(self) -> None:
        """Get ready to answer. Nothing is connected yet.

        Raises:
            InternalError: it is open already.

        """
        self._transport.open()

    async def close(self) -> None:
        """Close all connections."""
        await self._transport.close()

    async def check(self) -> None:
        """Ask the open endpoint for its list of models, which costs nothing.

        Raises:
            EndpointUnreachableError: nobody answers there, or not in HTTP.
            KeyOrModelRefusedError: the key is refused, or the model is not among those listed.
            ProviderPausedError: the account is out of money.

        """
        answer = await self._transport.get("/models", self._settings.check_s)
        if (error := verdict(answer, self._pin, self._base_url)) is not None:
            raise error

    async def chat(self, request: ChatRequest, timeout_s: float) -> Reply | Failure:
        """Make one attempt at a reply, within `timeout_s` seconds."""
        body = chat_body(request, self._pin.model, self._settings)
        answer = await self._transport.post("/chat/completions", body, timeout_s)
        return self._read(request, answer)

    async def stream(
        self, request: ChatRequest, timeout_s: float, on_increment: OnIncrement
    ) -> Reply | Failure:
        """Make one attempt like `chat`, and tell the reply piece by piece.

        An endpoint that answers in one piece is told in one piece.
        """
        body = chat_body(request, self._pin.model, self._settings, streamed=True)
        asked = asked_by(request)
        chat = StreamedChat(
            on_increment, asked=asked, key=self._key, bytes_max=self._settings.reply_bytes_max
        )
        answer = await self._transport.stream("/chat/completions", body, timeout_s, chat)
        if isinstance(answer, Answer):
            outcome = self._read(request, answer)
            tell_whole(outcome, on_increment)
            return outcome
        tree = chat.end() if answer is None else answer
        if isinstance(tree, Failure):
            return billed_for(tree, chat.usage)
        outcome = read_chat_tree(joined(tree), self._pin, self._key, self._billing, asked)
        return billed_for(outcome, chat.usage) if isinstance(outcome, Failure) else outcome

    def _read(self, request: ChatRequest, answer: Answer | Failure) -> Reply | Failure:
        if isinstance(answer, Failure):
            return answer
        if answer.status not in _SUCCESSES:
            return billed(self._refused(answer), answer.body, has_output=True)
        outcome = read_chat(answer.body, self._pin, self._key, self._billing, asked_by(request))
        if isinstance(outcome, Failure):
            return billed(outcome, answer.body, has_output=True)
        return outcome

    async def embed(self, request: EmbedRequest, timeout_s: float) -> Vectors | Failure:
        """Make one attempt at a vector per text, within `timeout_s` seconds."""
        body = embed_body(request, self._pin.model, self._settings)
        answer = await self._transport.post("/embeddings", body, timeout_s)
        if isinstance(answer, Failure):
            return answer
        if answer.status not in _SUCCESSES:
            return billed(self._refused(answer), answer.body, has_output=False)
        count = len(request.texts)
        outcome = read_embeddings(answer.body, count, self._pin, self._key, self._billing)
        if isinstance(outcome, Failure):
            return billed(outcome, answer.body, has_output=False)
        return outcome

    def _refused(self, answer: Answer) -> Failure:
        wait_s = parse_retry_after(answer.retry_after, self._clock.wall_s())
        cause = cause_of_status(answer.status, answer.body)
        return Failure(
            cause=cause,
            status=answer.status,
            retry_after_s=wait_s,
            detail=said_in(answer.body, self._key),
        )
