"""What varies between the scenarios of a study, by the keys of a study file. Pure.

It does not matter whether a grid made the scenarios or an author wrote them out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from perdure.base.canonical import encode
from perdure.records.channels import Channels
from perdure.records.scenario import Scenario

_WITHIN = ("settings", "exposures")


def varying(scenarios: Sequence[Scenario]) -> tuple[Mapping[str, Any], ...]:
    """Give for each scenario the keys in which not all are the same, with its own value of each.

    Keys inside `settings`, `exposures` and `channels` are dotted; one that a scenario does not have
    is left out of it. Their ticks are of one length, in every study.
    """
    flat = [dict(_keys(scenario)) for scenario in scenarios]
    names = dict.fromkeys(name for one in flat for name in one)
    apart = [
        name
        for name in names
        if len({encode(one[name]) if name in one else b"" for one in flat}) > 1
    ]
    return tuple({name: one[name] for name in apart if name in one} for one in flat)


def _keys(scenario: Scenario) -> Iterator[tuple[str, Any]]:
    yield from _of_channels(scenario.channels)
    for field in Scenario.__struct_fields__:
        value = msgspec.to_builtins(getattr(scenario, field))
        if field in _WITHIN:
            for key, inner in value.items():
                yield from _within(f"{field}.{key}", inner)
        elif field not in ("id", "channels"):
            yield field, value


def _of_channels(channels: Channels) -> Iterator[tuple[str, Any]]:
    """Give what each channel has, its defaults too: where one differs from another, it is said."""
    for name in Channels.__struct_fields__:
        channel = getattr(channels, name)
        if channel is not None:
            for key in channel.__struct_fields__:
                yield f"channels.{name}.{key}", msgspec.to_builtins(getattr(channel, key))


def _within(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from _within(f"{name}.{key}", inner)
    else:
        yield name, value
