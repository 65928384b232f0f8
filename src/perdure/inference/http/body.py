"""Request bodies: what is sent to an endpoint, and nothing else."""

from __future__ import annotations

from typing import Any

import msgspec

from perdure.inference.http.settings import HttpSettings
from perdure.inference.http.tools import message_fields, tool_fields
from perdure.records.request import ChatRequest, EmbedRequest

# As many as any endpoint gives.
TOP_LOGPROBS = 20

_encoder = msgspec.json.Encoder()


def chat_body(
    request: ChatRequest, model: str, settings: HttpSettings, *, streamed: bool = False
) -> bytes:
    """Encode a chat request. The facts of a request never leave this machine."""
    fields: dict[str, Any] = {
        "model": model,
        "messages": [message_fields(message) for message in request.messages],
        settings.tokens_field: request.tokens_max,
        "temperature": request.temperature,
        "seed": request.seed,
    }
    if request.logprobs:
        fields |= {"logprobs": True, "top_logprobs": TOP_LOGPROBS}
    if request.tools:
        fields["tools"] = [tool_fields(spec) for spec in request.tools]
    if streamed:
        fields |= {"stream": True, "stream_options": {"include_usage": True}}
    for name in settings.omit:
        fields.pop(name, None)
    return _encoder.encode(fields)


def embed_body(request: EmbedRequest, model: str, settings: HttpSettings) -> bytes:
    """Encode a request for vectors."""
    fields: dict[str, Any] = {
        "model": model,
        "input": request.texts,
        "encoding_format": "float",
    }
    for name in settings.omit:
        fields.pop(name, None)
    return _encoder.encode(fields)
