"""What a reported usage holds beside tokens of text: what the four counts do not pay for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

# Counts of what has a price of its own, where endpoints report them.
_COUNTED = (
    "server_tool_use",
    "server_side_tool_usage_details",
    "num_server_side_tools_used",
    "num_sources_used",
    "num_search_queries",
    "citation_tokens",
    "prompt_audio_seconds",
)
_DETAILS = (
    "prompt_tokens_details",
    "input_tokens_details",
    "completion_tokens_details",
    "output_tokens_details",
)
_OTHER_MEDIA = ("audio_tokens", "image_tokens", "video_tokens")
_BY_MODALITY = (
    "promptTokensDetails",
    "candidatesTokensDetails",
    "cacheTokensDetails",
    "toolUsePromptTokensDetails",
)
_DEPTH_MAX = 4


def beyond_tokens(reported: Mapping[str, Any]) -> bool:
    """Say whether a usage holds more than text: searches, sound, pictures, a long-lived cache."""
    if any(_some(reported.get(name)) for name in _COUNTED):
        return True
    if _some(_part(reported, "cache_creation").get("ephemeral_1h_input_tokens")):
        return True
    if any(_some(_part(reported, name).get(kind)) for name in _DETAILS for kind in _OTHER_MEDIA):
        return True
    return any(_has_media(reported.get(name)) for name in _BY_MODALITY)


def _part(reported: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = reported.get(name)
    return part if isinstance(part, Mapping) else {}


def _has_media(listed: object) -> bool:
    if not isinstance(listed, Sequence) or isinstance(listed, str):
        return False
    return any(
        isinstance(item, Mapping)
        and item.get("modality") not in {None, "TEXT"}
        and _some(item.get("tokenCount"))
        for item in listed
    )


def _some(value: object, depth: int = 0) -> bool:
    """Say whether there is a count above zero in here."""
    if isinstance(value, bool) or depth > _DEPTH_MAX:
        return False
    if isinstance(value, int | float):
        return value > 0
    if isinstance(value, Mapping):
        return any(_some(item, depth + 1) for item in value.values())
    return False
