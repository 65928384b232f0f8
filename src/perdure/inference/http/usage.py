"""Usage as endpoints report it, turned into four disjoint counts that add up to their totals.

Endpoints differ in whether a total includes what came from a cache, or the tokens of reasoning.
What is absent is unknown, never zero; what cannot be true is refused and marked.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from perdure.inference.http.extras import beyond_tokens
from perdure.records.usage import Usage

COUNT_MAX = 1_000_000_000

_PLAIN = frozenset(
    {
        "prompt_tokens",
        "completion_tokens",
        "total_tokens",
        "prompt_tokens_details",
        "completion_tokens_details",
    }
)
_PLAIN_INPUT = frozenset({"cached_tokens", "audio_tokens"})
_PLAIN_OUTPUT = frozenset(
    {
        "reasoning_tokens",
        "audio_tokens",
        "accepted_prediction_tokens",
        "rejected_prediction_tokens",
    }
)
_NOTHING: dict[str, Any] = {}


class ImpossibleUsageError(ValueError):
    """A reported usage that cannot be true."""


class _Input(NamedTuple):
    """Disjoint counts of an input. `is_apart`: its own count leaves out what is cached."""

    fresh: int
    read: int
    write: int
    is_apart: bool

    @property
    def total(self) -> int:
        return self.fresh + self.read + self.write


def normalise_usage(reported: object, *, has_output: bool) -> tuple[Usage | None, bool]:
    """Turn a reported usage into counts; the second value says that it was impossible.

    `has_output` is whether the call makes output tokens at all: an embedding does not.
    """
    if reported is None:
        return None, False
    if not isinstance(reported, Mapping):
        return None, True
    if has_output and (plain := _plain(reported)) is not None:
        return plain, False
    try:
        return _counts(reported, has_output=has_output), False
    except ImpossibleUsageError:
        return None, True


def _plain(reported: Mapping[str, Any]) -> Usage | None:
    """Read the commonest shape, at a quarter of the cost; None for any other, or any doubt."""
    cached = reported.get("prompt_tokens_details", _NOTHING)
    said_as = reported.get("completion_tokens_details", _NOTHING)
    if not (
        reported.keys() <= _PLAIN
        and type(cached) is type(said_as) is dict
        and cached.keys() <= _PLAIN_INPUT
        and said_as.keys() <= _PLAIN_OUTPUT
    ):
        return None
    given, said = reported.get("prompt_tokens"), reported.get("completion_tokens")
    read, total = cached.get("cached_tokens", 0), reported.get("total_tokens")
    thought = said_as.get("reasoning_tokens", 0)
    if not type(given) is type(said) is type(read) is type(total) is type(thought) is int:
        return None
    if cached.get("audio_tokens") or said_as.get("audio_tokens"):
        return None
    if not 0 <= read <= given <= COUNT_MAX or not 0 <= thought <= said <= COUNT_MAX:
        return None
    if total != given + said:
        return None
    return Usage(input_fresh=given - read, cache_read=read, output=said)


def _counts(reported: Mapping[str, Any], *, has_output: bool) -> Usage | None:
    given = _input(reported)
    if given is None:
        return None
    output = _output(reported, given, has_output=has_output)
    if output is None:
        return None
    return Usage(
        input_fresh=given.fresh,
        cache_write=given.write,
        cache_read=given.read,
        output=output,
        beyond_tokens=beyond_tokens(reported),
    )


def _input(reported: Mapping[str, Any]) -> _Input | None:
    details = (
        _details(reported, "prompt_tokens_details")
        or _details(reported, "input_tokens_details")
        or _details(reported, "prompt_token_details")
    )
    read, write = _cached(reported, details)
    whole = _first(reported, "prompt_tokens", "promptTokenCount")
    apart = _first(reported, "input_tokens")
    if whole is None and apart is not None and details:
        whole = apart
    whole = _with_misses(reported, whole)
    # What tools gave to the model is input too, and Gemini counts it beside the prompt.
    tools = _first(reported, "toolUsePromptTokenCount") or 0
    if whole is not None:
        fresh = whole - read - write
        if fresh < 0:
            raise ImpossibleUsageError("more cached tokens than tokens")
        return _Input(fresh + tools, read, write, is_apart=False)
    return None if apart is None else _Input(apart + tools, read, write, is_apart=True)


def _cached(reported: Mapping[str, Any], details: Mapping[str, Any]) -> tuple[int, int]:
    read = _first(details, "cached_tokens", "cache_read_tokens", "cache_read_input_tokens")
    if read is None:
        read = _first(
            reported,
            "cache_read_input_tokens",
            "prompt_cache_hit_tokens",
            "cachedContentTokenCount",
            "num_cached_tokens",
            "cached_tokens",
        )
    write = _first(details, "cache_write_tokens", "cache_creation_tokens")
    if write is None:
        write = _first(reported, "cache_creation_input_tokens")
    if write is None:
        kept = _details(reported, "cache_creation")
        write = (_first(kept, "ephemeral_5m_input_tokens") or 0) + (
            _first(kept, "ephemeral_1h_input_tokens") or 0
        )
    return read or 0, write


def _with_misses(reported: Mapping[str, Any], whole: int | None) -> int | None:
    """Hold a prompt against what DeepSeek says of it: its cached part and the rest."""
    hit = _first(reported, "prompt_cache_hit_tokens")
    missed = _first(reported, "prompt_cache_miss_tokens")
    if hit is None or missed is None:
        return whole
    if whole is not None and whole != hit + missed:
        raise ImpossibleUsageError("a prompt that is not its cached part and the rest")
    return hit + missed


def _output(reported: Mapping[str, Any], given: _Input, *, has_output: bool) -> int | None:
    said = _first(reported, "completion_tokens", "output_tokens", "candidatesTokenCount")
    details = _details(reported, "completion_tokens_details") or _details(
        reported, "output_tokens_details"
    )
    thought = _first(details, "reasoning_tokens", "thinking_tokens") or 0
    # Gemini leaves its thoughts out of what it said, and what is zero out of its reply.
    thoughts = _first(reported, "thoughtsTokenCount")
    if thoughts is not None and said is None:
        said = 0
    total = _first(reported, "total_tokens", "totalTokenCount")
    if total is not None:
        output = _rest(total, given, said)
        if output < max(said or 0, thought, thoughts or 0):
            raise ImpossibleUsageError("a total below the sum of its parts")
    elif said is None:
        return None if has_output else 0
    else:
        # Reasoning is in what was said, unless it is too much to be in there.
        output = said + (thoughts or 0) + (thought if thought > said else 0)
    if output > 0 and not has_output:
        raise ImpossibleUsageError("an output where there can be none")
    return output


def _rest(total: int, given: _Input, said: int | None) -> int:
    """Give what of a total is output: some leave reasoning out of the output, not of the total."""
    if given.is_apart and said is not None and total == given.fresh + said:
        return said
    return total - given.total


def _details(reported: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    details = reported.get(name)
    if details is None:
        return {}
    if not isinstance(details, Mapping):
        raise ImpossibleUsageError(f"{name} is not an object")
    return details


def _first(reported: Mapping[str, Any], *names: str) -> int | None:
    for name in names:
        if (value := reported.get(name)) is not None:
            return _count(value)
    return None


def _count(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ImpossibleUsageError("a count that is not a number")
    if not 0 <= value <= COUNT_MAX or value != int(value):
        raise ImpossibleUsageError("a count that is negative, absurd or not whole")
    return int(value)
