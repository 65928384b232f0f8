"""The batch over openvino-genai: the only file that imports it, and only when a model is loaded."""

from __future__ import annotations

import importlib
import json
import re
from typing import Any

from perdure.base.errors import UsageError
from perdure.base.text import one_line, storable
from perdure.inference.local.batch import (
    Generated,
    Job,
    Prompt,
    PromptRefusedError,
    ToolsUnsupportedError,
)
from perdure.inference.local.settings import ENGINE_MODULE, ENGINE_PROPERTIES, LocalSettings
from perdure.inference.local.weights import Weights
from perdure.records.request import FinishReason, Message
from perdure.records.tools import ToolCall, ToolSpec

# A block of the engine's cache on a CPU, in tokens.
_BLOCK_TOKENS = 32
# Tokens whose text would end a message if a message could say it.
_CONTROL_TOKEN = re.compile(r"<\|(\w{1,40})\|>")


class OpenVinoBatch:
    """Continuous batching of one GGUF model on the CPU."""

    def __init__(self, weights: Weights, settings: LocalSettings) -> None:
        """Load the model.

        Raises:
            UsageError: the engine cannot load this file, or not with these settings.

        """
        # Heavy, untyped, and an extra: imported by name when a model is loaded, not before.
        self._genai: Any = importlib.import_module(ENGINE_MODULE)
        self._prompt_tokens_max = settings.prompt_tokens_max
        scheduler = self._genai.SchedulerConfig()
        scheduler.max_num_seqs = settings.slots
        # Prompts begin with what all personas share; measured, it changes no text.
        scheduler.enable_prefix_caching = True
        scheduler.num_kv_blocks = -(-settings.cache_tokens // _BLOCK_TOKENS)
        try:
            self._pipeline: Any = self._genai.ContinuousBatchingPipeline(
                weights.path, scheduler, "CPU", ENGINE_PROPERTIES
            )
            self._tokenizer: Any = self._pipeline.get_tokenizer()
            self._base: Any = self._pipeline.get_config()
        except Exception as fault:  # native code reports a bad file by any of many types
            raise UsageError(
                f"openvino-genai cannot load this model: {one_line(str(fault), 300)}",
                where=one_line(weights.path),
                remedy="Use a GGUF file of a model family that it supports.",
            ) from fault
        self._handles: dict[int, Any] = {}
        self._check_model(weights)

    def prompt(self, job: Job) -> Prompt:
        """Apply the model's chat template and its tokenizer."""
        history = [_turn(message) for message in job.messages]
        offers = {"tools": [_offer(spec) for spec in job.tools]} if job.tools else {}
        try:
            text = self._tokenizer.apply_chat_template(
                history, add_generation_prompt=True, **offers
            )
        except RuntimeError as fault:
            raise PromptRefusedError(str(fault)) from fault
        if not all(_inert(spec.name) in text for spec in job.tools):
            raise ToolsUnsupportedError
        ids = self._encode(text)
        return Prompt(tokens=int(ids.shape[1]), ids=ids)

    def start(self, number: int, prompt: Prompt, job: Job) -> None:
        """Take a request into the batch."""
        config = self._genai.GenerationConfig()
        config.max_new_tokens = job.tokens_max
        config.eos_token_id = self._base.eos_token_id
        config.stop_token_ids = self._base.stop_token_ids
        if job.temperature > 0:
            config.do_sample = True
            config.temperature = job.temperature
            config.rng_seed = job.seed
        self._handles[number] = self._pipeline.add_request(number, prompt.ids, config)

    def drop(self, number: int) -> None:
        """Let a request go before it is finished, and free its place."""
        handle = self._handles.pop(number, None)
        if handle is not None:
            handle.cancel()

    def step(self) -> list[Generated | int]:
        """Advance every text; give those that are done, and the numbers of those that broke."""
        if self._pipeline.has_non_finished_requests():
            self._pipeline.step()
        running = self._genai.GenerationStatus.RUNNING
        ended = [
            number for number, handle in self._handles.items() if handle.get_status() != running
        ]
        return [self._end(number, self._handles.pop(number)) for number in ended]

    def _end(self, number: int, handle: Any) -> Generated | int:
        if handle.get_status() != self._genai.GenerationStatus.FINISHED:
            return number
        output = handle.read_all()[0]
        by_length = output.finish_reason == self._genai.GenerationFinishReason.LENGTH
        return Generated(
            number=number,
            text=storable(self._tokenizer.decode(output.generated_ids)).strip(),
            tokens=len(output.generated_ids),
            finish=FinishReason.LENGTH if by_length else FinishReason.STOP,
        )

    def _encode(self, text: str) -> Any:
        # Cut one past the limit: enough to see that it is too long, whatever was sent.
        return self._tokenizer.encode(
            text,
            add_special_tokens=False,
            max_length=self._prompt_tokens_max + 1,
            truncation=True,
        ).input_ids

    def _check_model(self, weights: Weights) -> None:
        if not self._tokenizer.chat_template:
            raise UsageError(
                "This model has no chat template, so it cannot be talked to.",
                where=one_line(weights.path),
                remedy="Use the instruction-tuned form of the model.",
            )
        # The tokenizer's own limit is the model's context: a text known to be longer shows it.
        text = " a" * (self._prompt_tokens_max + 1)
        context = int(self._tokenizer.encode(text, add_special_tokens=False).input_ids.shape[1])
        if context <= self._prompt_tokens_max:
            raise UsageError(
                f"This model reads at most {context} tokens, "
                f"less than the {self._prompt_tokens_max} that a prompt may have here.",
                where=one_line(weights.path),
                remedy="Use a model with a longer context.",
            )


def _turn(message: Message) -> dict[str, Any]:
    turn: dict[str, Any] = {"role": message.role, "content": _inert(message.content)}
    if message.calls:
        turn["tool_calls"] = [_call(call) for call in message.calls]
    if message.call_id:
        turn["tool_call_id"] = _inert(message.call_id)
    return turn


def _call(call: ToolCall) -> dict[str, Any]:
    """Give a call as templates know it: with arguments that are an object, if they are one."""
    arguments: Any = _inert(call.arguments)
    try:
        tree = json.loads(arguments)
    except (ValueError, RecursionError):
        tree = None
    function = {
        "name": _inert(call.name),
        "arguments": tree if isinstance(tree, dict) else arguments,
    }
    return {"id": _inert(call.id), "type": "function", "function": function}


def _offer(spec: ToolSpec) -> dict[str, Any]:
    described = {
        "name": _inert(spec.name),
        "description": _inert(spec.description),
        "parameters": json.loads(_inert(json.dumps(spec.parameters))),
    }
    return {"type": "function", "function": described}


def _inert(text: str) -> str:
    """Break the text of control tokens: a message must not end itself and speak for another."""
    return _CONTROL_TOKEN.sub(r"< |\1| >", storable(text))
