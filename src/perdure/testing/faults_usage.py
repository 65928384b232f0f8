"""Faults of the usage that a good chat reply reports."""

from __future__ import annotations

from typing import Any

import msgspec

from perdure.testing.exchange import Exchange
from perdure.testing.fault import Fault

_HONEST: dict[str, Any] = {"prompt_tokens": 40, "completion_tokens": 10, "total_tokens": 50}


def _usage(name: str, about: str, usage: bytes | None) -> Fault:
    async def play(exchange: Exchange) -> None:
        tree = msgspec.json.decode(exchange.good_body, type=dict[str, msgspec.Raw])
        if usage is None:
            del tree["usage"]
        else:
            tree["usage"] = msgspec.Raw(usage)
        await exchange.reply(msgspec.json.encode(tree))

    return Fault(name, "content", about, play)


def _with(**changes: Any) -> bytes:
    return msgspec.json.encode({**_HONEST, **changes})


USAGE_FAULTS: tuple[Fault, ...] = (
    _usage("usage_missing", "no usage", None),
    _usage("usage_null", "usage is null", b"null"),
    _usage("usage_empty", "usage without counts", b"{}"),
    _usage("usage_list", "usage is a list", b"[1, 2]"),
    _usage("usage_text", "counts are text", _with(prompt_tokens="40")),
    _usage("usage_bool", "a count is true", _with(completion_tokens=True)),
    _usage("usage_negative", "a negative count", _with(prompt_tokens=-40, total_tokens=-30)),
    _usage("usage_fraction", "a count with a fraction", _with(completion_tokens=10.5)),
    _usage("usage_infinite", "a count beyond any number", b'{"prompt_tokens": 1e999}'),
    _usage("usage_absurd", "10^15 tokens", _with(prompt_tokens=10**15, total_tokens=10**15 + 10)),
    _usage("usage_contradictory", "a total that is not the sum", _with(total_tokens=7)),
    _usage(
        "usage_cached_beyond_prompt",
        "more cached tokens than tokens",
        _with(prompt_tokens_details={"cached_tokens": 400}),
    ),
)
