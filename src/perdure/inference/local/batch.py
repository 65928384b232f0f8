"""What the engine's thread asks of a batch, in records; and how a batch fails."""

from __future__ import annotations

from typing import Any, Protocol

from perdure.records.record import Record
from perdure.records.request import FinishReason, Message
from perdure.records.tools import ToolSpec


class Job(Record):
    """One reply to be generated, and how. `tools` are those that the model may ask for."""

    messages: tuple[Message, ...]
    tokens_max: int
    temperature: float
    seed: int
    tools: tuple[ToolSpec, ...] = ()


class Prompt(Record):
    """A prompt in the model's own tokens. `ids` is the batch's own form of them."""

    tokens: int
    ids: Any


class Generated(Record):
    """A finished text. `tokens` counts all that was generated, the end mark included."""

    number: int
    text: str
    tokens: int
    finish: FinishReason


class PromptRefusedError(Exception):
    """The messages cannot be made into a prompt for this model. Never leaves this folder."""


class ToolsUnsupportedError(Exception):
    """The model's template knows no tools. Never leaves this folder."""


class Batch(Protocol):
    """A set of texts that grow together. Used by one thread only."""

    def prompt(self, job: Job) -> Prompt:
        """Apply the model's chat template and its tokenizer.

        A prompt longer than the limit comes back longer than the limit, never cut to it.

        Raises:
            PromptRefusedError: the template does not take these messages.
            ToolsUnsupportedError: it does not tell the model of tools.

        """
        ...

    def start(self, number: int, prompt: Prompt, job: Job) -> None:
        """Take a request into the batch."""
        ...

    def drop(self, number: int) -> None:
        """Let a request go before it is finished, and free its place."""
        ...

    def step(self) -> list[Generated | int]:
        """Advance every text; give those that are done, and the numbers of those that broke."""
        ...
