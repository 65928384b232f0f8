"""Well-formed replies of an OpenAI-compatible server, as JSON trees and bytes."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from typing import Any

import msgspec

from perdure.records.tools import ToolCall

DIMENSIONS = 8
_PIECE = 7
_CREATED = 1_764_000_000


def chat_tree(
    text: str, model: str, request: Any, index: int = 0, calls: Sequence[ToolCall] = ()
) -> dict[str, Any]:
    """Build a chat completion as a tree: one choice that stopped by itself, with its usage.

    With `calls` it stopped to have these tools called.
    """
    prompt = sum(_tokens(message) for message in _messages(request))
    output = _count(text) + sum(_count(call.arguments) for call in calls)
    message: dict[str, Any] = {
        "role": "assistant",
        "content": text,
        "refusal": None,
        "annotations": [],
    }
    if calls:
        message["content"] = text or None
        message["tool_calls"] = [call_tree(call) for call in calls]
    return {
        "id": f"chatcmpl-{index:08d}",
        "object": "chat.completion",
        "created": _CREATED,
        "model": model,
        "choices": [
            {
                "index": 0,
                "message": message,
                "logprobs": _logprobs(text, request),
                "finish_reason": "tool_calls" if calls else "stop",
            }
        ],
        "usage": {
            "prompt_tokens": prompt,
            "completion_tokens": output,
            "total_tokens": prompt + output,
            "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
            "completion_tokens_details": {"reasoning_tokens": 0, "audio_tokens": 0},
        },
        "service_tier": "default",
        "system_fingerprint": "fp_perdure",
    }


def call_tree(call: ToolCall) -> dict[str, Any]:
    """Build a call of a tool, as a reply has it."""
    function = {"name": call.name, "arguments": call.arguments}
    return {"id": call.id, "type": "function", "function": function}


def _logprobs(text: str, request: Any) -> dict[str, Any] | None:
    """Make the log-probabilities of a reply's first character and of letters, if asked for."""
    if not isinstance(request, dict) or not request.get("logprobs"):
        return None
    first = text[:1]
    others = [letter for letter in "ABCDE" if letter != first]
    likely = [{"token": first, "logprob": math.log(0.6), "bytes": None}]
    likely += [{"token": f" {one}", "logprob": math.log(0.1), "bytes": None} for one in others]
    return {"content": [{**likely[0], "top_logprobs": likely}], "refusal": None}


def embedding_tree(texts: list[str], model: str) -> dict[str, Any]:
    """Build an embedding reply as a tree: equal texts have equal vectors, on any machine."""
    tokens = sum(_count(text) for text in texts)
    return {
        "object": "list",
        "data": [
            {"object": "embedding", "index": index, "embedding": embedding_of(text)}
            for index, text in enumerate(texts)
        ],
        "model": model,
        "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
    }


def embedding_of(text: str) -> list[float]:
    """Make a text's vector: as many numbers in [-1, 1) as `DIMENSIONS` says."""
    digest = hashlib.sha256(text.encode("utf-8", "replace")).digest()
    return [(byte - 128) / 128 for byte in digest[:DIMENSIONS]]


def error_tree(message: str, code: str | None, kind: str = "invalid_request_error") -> Any:
    """Build an error object as OpenAI sends it."""
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def models_tree(models: tuple[str, ...]) -> Any:
    """Build the reply to `GET /models`."""
    entries = [
        {"id": model, "object": "model", "created": _CREATED, "owned_by": "perdure"}
        for model in models
    ]
    return {"object": "list", "data": entries}


def chat_events(tree: dict[str, Any], *, with_usage: bool = True) -> list[dict[str, Any]]:
    """Take a chat completion apart into the chunks in which it would be streamed."""
    (choice,) = tree["choices"]
    message = choice["message"]
    base = {key: tree[key] for key in ("id", "created", "model", "service_tier")}
    base["object"] = "chat.completion.chunk"
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    deltas += [{"content": piece} for piece in _pieces(message["content"] or "")]
    for index, call in enumerate(message.get("tool_calls", ())):
        function = {**call["function"], "arguments": ""}
        deltas.append({"tool_calls": [{**call, "index": index, "function": function}]})
        deltas += [
            {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}
            for piece in _pieces(call["function"]["arguments"])
        ]
    chunks = [
        {**base, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
        for delta in deltas
    ]
    chunks[0]["choices"][0]["logprobs"] = choice["logprobs"]
    end = {"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}
    chunks.append({**base, "choices": [end]})
    if with_usage and "usage" in tree:
        chunks.append({**base, "choices": [], "usage": tree["usage"]})
    return chunks


def event(data: bytes) -> bytes:
    """Write one server-sent event."""
    return b"data: " + data + b"\n\n"


def to_stream(chunks: Sequence[dict[str, Any]]) -> list[bytes]:
    """Write chunks as server-sent events, and the one that says that there are no more."""
    return [*(event(to_bytes(chunk)) for chunk in chunks), event(b"[DONE]")]


def to_bytes(tree: Any) -> bytes:
    """Encode a tree as JSON."""
    return msgspec.json.encode(tree)


def _messages(request: Any) -> list[Any]:
    messages = request.get("messages") if isinstance(request, dict) else None
    return messages if isinstance(messages, list) else []


def _tokens(message: Any) -> int:
    content = message.get("content") if isinstance(message, dict) else None
    return 4 + (_count(content) if isinstance(content, str) else 0)


def _pieces(text: str) -> list[str]:
    return [text[at : at + _PIECE] for at in range(0, len(text), _PIECE)]


def _count(text: str) -> int:
    return max(1, len(text) // 4)
