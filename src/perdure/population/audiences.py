"""Who is in which audience, and how a number of people is shared out. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from perdure.records.persona import Persona
from perdure.records.study import Audience, Filter


def passes(persona: Persona, where: Iterable[Filter], dropped: Collection[str] = ()) -> bool:
    """Say whether a persona passes every filter, but for those of dropped attributes."""
    return all(_passes(persona, one) for one in where if one.attribute not in dropped)


def audience_of(persona: Persona, audiences: Sequence[Audience]) -> int | None:
    """Give the place of the first audience whose filters a persona passes."""
    for place, audience in enumerate(audiences):
        if passes(persona, audience.where):
            return place
    return None


def shared_out(total: int, shares: Mapping[str, float]) -> dict[str, int]:
    """Share a number out in whole parts, as near the shares as can be (largest remainders).

    Shares are relative to their sum. Of equal remainders the earlier one is rounded up.
    """
    whole = sum(shares.values())
    due = {name: total * share / whole for name, share in shares.items()}
    parts = {name: int(value) for name, value in due.items()}
    order = sorted(due, key=lambda name: parts[name] - due[name])
    for name in order[: total - sum(parts.values())]:
        parts[name] += 1
    return parts


def _passes(persona: Persona, one: Filter) -> bool:
    value = persona.attributes.get(one.attribute)
    if value is None:
        return False
    if one.values and str(value) not in one.values:
        return False
    if one.least is None and one.most is None:
        return True
    if isinstance(value, str):
        return False
    return (one.least is None or value >= one.least) and (one.most is None or value <= one.most)
