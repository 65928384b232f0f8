"""Usage as endpoints report it, turned into four disjoint counts that add up to their totals.

Endpoints differ in whether a total includes what came from a cache, or the tokens of reasoning.
What is absent is unknown, never zero; what cannot be true is refused and marked.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from perdure.records.usage import Usage

COUNT_MAX = 1_000_000_000
_CACHED = frozenset({"cached_tokens", "audio_tokens"})
_PLAIN = frozenset(
    {
        "prompt_tokens",
        "completion_tokens",
        "total_tokens",
        "prompt_tokens_details",
        "completion_tokens_details",
    }
)


class ImpossibleUsageError(ValueError):
    """A reported usage that cannot be true."""


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
    details = reported.get("prompt_tokens_details", {})
    if not reported.keys() <= _PLAIN or type(details) is not dict or not details.keys() <= _CACHED:
        return None
    given, said = reported.get("prompt_tokens"), reported.get("completion_tokens")
    read, total = details.get("cached_tokens", 0), reported.get("total_tokens")
    if not type(given) is type(said) is type(read) is type(total) is int:
        return None
    if not 0 <= read <= given <= COUNT_MAX or not 0 <= said <= COUNT_MAX:
        return None
    if total != given + said:
        return None
    return Usage(input_fresh=given - read, cache_read=read, output=said)


def _counts(reported: Mapping[str, Any], *, has_output: bool) -> Usage | None:
    inclusive = _first(reported, "prompt_tokens", "promptTokenCount")
    separate = _first(reported, "input_tokens")
    read, write = _cached(reported)
    if inclusive is None and separate is not None and _details(reported, "input_tokens_details"):
        inclusive = separate
    if inclusive is not None:
        fresh = inclusive - read - write
        if fresh < 0:
            raise ImpossibleUsageError("more cached tokens than tokens")
    elif separate is not None:
        fresh = separate
    else:
        return None
    output = _output(reported, fresh + read + write, has_output=has_output)
    if output is None:
        return None
    return Usage(input_fresh=fresh, cache_write=write, cache_read=read, output=output)


def _cached(reported: Mapping[str, Any]) -> tuple[int, int]:
    details = _details(reported, "prompt_tokens_details") or _details(
        reported, "input_tokens_details"
    )
    read = _first(details, "cached_tokens", "cache_read_tokens")
    if read is None:
        read = _first(
            reported,
            "cache_read_input_tokens",
            "prompt_cache_hit_tokens",
            "cachedContentTokenCount",
        )
    write = _first(details, "cache_write_tokens", "cache_creation_tokens")
    if write is None:
        write = _first(reported, "cache_creation_input_tokens")
    return read or 0, write or 0


def _output(reported: Mapping[str, Any], given: int, *, has_output: bool) -> int | None:
    said = _first(reported, "completion_tokens", "output_tokens", "candidatesTokenCount")
    total = _first(reported, "total_tokens", "totalTokenCount")
    if total is not None:
        # Some endpoints leave reasoning out of the output but not out of the total.
        output = total - given
        if output < (said or 0):
            raise ImpossibleUsageError("a total below the sum of its parts")
        if output > 0 and not has_output:
            raise ImpossibleUsageError("an output where there can be none")
        return output
    if said is None:
        return None if has_output else 0
    if said > 0 and not has_output:
        raise ImpossibleUsageError("an output where there can be none")
    return said


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
