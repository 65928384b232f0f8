"""What each fault of the test server must come to, and by which cause: the policy as a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from perdure.records.request import FailureCause, FinishReason

End = Literal["unharmed", "healed", "failed", "stopped"]


@dataclass(frozen=True)
class Expected:
    """How a call ends whose first attempt meets the fault."""

    end: End
    cause: FailureCause | None = None
    finish: FinishReason = FinishReason.STOP
    text: str | None = None
    has_usage: bool = True
    usage_impossible: bool = False


def _healed(cause: FailureCause, *names: str) -> dict[str, Expected]:
    return {name: Expected("healed", cause) for name in names}


def _failed(cause: FailureCause, *names: str) -> dict[str, Expected]:
    return {name: Expected("failed", cause) for name in names}


def _stopped(cause: FailureCause, *names: str) -> dict[str, Expected]:
    return {name: Expected("stopped", cause) for name in names}


def _unharmed(*names: str) -> dict[str, Expected]:
    return {name: Expected("unharmed") for name in names}


_IMPOSSIBLE = Expected("unharmed", has_usage=False, usage_impossible=True)
_UNKNOWN = Expected("unharmed", has_usage=False)

EXPECTED: dict[str, Expected] = {
    # Row 6: statuses.
    **_failed(
        FailureCause.REJECTED,
        *(f"status_{status}" for status in (400, 405, 409, 410, 413, 418, 422, 451)),
        *("error_text", "error_list", "redirect_301", "redirect_307", "redirect_308"),
    ),
    **_stopped(FailureCause.KEY_REFUSED, "status_401", "status_403", "ok_with_key_error"),
    **_stopped(FailureCause.OUT_OF_MONEY, "status_402", "quota_used_up"),
    **_stopped(FailureCause.MODEL_UNKNOWN, "status_404", "not_found_html"),
    **_healed(FailureCause.TIMEOUT, "status_408"),
    **_healed(
        FailureCause.RATE_LIMITED,
        *("status_429", "ok_with_rate_limit", "retry_after_seconds", "retry_after_date"),
        *("retry_after_past", "retry_after_absent", "retry_after_negative", "retry_after_huge"),
        *("retry_after_garbage", "retry_after_nan"),
    ),
    **_healed(
        FailureCause.SERVER_ERROR,
        *(f"status_{status}" for status in (500, 501, 502, 503, 504, 520, 529)),
        *("error_html", "error_empty", "ok_with_error"),
    ),
    **_failed(FailureCause.BAD_REPLY, "no_content"),
    **_unharmed("informational"),
    # Row 7: transport.
    **_healed(
        FailureCause.TRANSPORT,
        *("reset_before", "close_before", "reset_mid_head", "reset_mid_body"),
        *("truncated_with_length", "truncated_chunks", "bad_chunk_size", "two_lengths"),
        *("length_is_no_number", "header_flood", "endless_header", "header_unprintable"),
        *("not_http", "bad_status_line"),
    ),
    **_healed(
        FailureCause.TIMEOUT,
        *("huge_length", "length_too_long", "stall", "stall_mid_body", "drip_body", "drip_head"),
        "late",
    ),
    **_failed(
        FailureCause.BAD_REPLY,
        *("truncated_without_length", "length_too_short", "gzip_bomb", "deflate_bomb"),
        *("gzip_unasked", "encoding_unknown"),
    ),
    **_failed(FailureCause.REPLY_TOO_LARGE, "endless_chunks", "endless_body", "text_50_mb"),
    **_unharmed(
        *("reset_after", "whole_without_length", "answered_twice", "answered_again_later"),
        *("same_answer_twice", "encoding_identity"),
    ),
    # Row 8: content.
    **_failed(
        FailureCause.BAD_REPLY,
        *("body_empty", "body_space", "body_html", "body_null", "body_number", "body_list"),
        *("body_object_empty", "body_not_utf8", "body_sse", "body_deep", "json_truncated"),
        *("json_bom", "json_twice", "json_nan", "json_duplicate_key", "json_deep_inside"),
        *("text_number", "text_list", "text_null", "finish_number", "message_missing"),
        *("tool_unknown", "tool_duplicate", "choices_missing", "choices_empty"),
        *("choices_number", "choices_two", "model_number", "other_call"),
    ),
    **_failed(FailureCause.WRONG_MODEL, "model_wrong", "model_missing"),
    **_unharmed("json_1e999"),
    "text_surrogate": Expected("unharmed", text="half \ufffd of a pair"),
    "text_nul": Expected("unharmed", text="nul \x00 inside"),
    "text_terminal": Expected("unharmed", text="\x1b]0;owned\x07 \x1b[2J"),
    "text_empty": Expected("unharmed", text=""),
    "refusal": Expected("unharmed", finish=FinishReason.REFUSAL, text="I cannot help."),
    "content_filter": Expected("unharmed", finish=FinishReason.REFUSAL),
    "finish_length": Expected("unharmed", finish=FinishReason.LENGTH),
    "finish_unknown": Expected("unharmed", finish=FinishReason.OTHER),
    "finish_missing": Expected("unharmed", finish=FinishReason.OTHER),
    "usage_missing": _UNKNOWN,
    "usage_null": _UNKNOWN,
    "usage_empty": _UNKNOWN,
    "usage_list": _IMPOSSIBLE,
    "usage_text": _IMPOSSIBLE,
    "usage_bool": _IMPOSSIBLE,
    "usage_negative": _IMPOSSIBLE,
    "usage_fraction": _IMPOSSIBLE,
    "usage_infinite": _IMPOSSIBLE,
    "usage_absurd": _IMPOSSIBLE,
    "usage_contradictory": _IMPOSSIBLE,
    "usage_cached_beyond_prompt": _IMPOSSIBLE,
}
