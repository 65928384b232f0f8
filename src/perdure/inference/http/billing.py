"""What a reply says of money: the cost that a provider states, and the tier that it charged."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import msgspec

from perdure.base.money import nano
from perdure.records.record import Record
from perdure.records.usage import Usage

CURRENCY = "USD"
COST_MAX = 1_000_000

# Who states in `usage.cost` what a call cost, in US dollars.
_STATING_HOSTS = frozenset({"openrouter.ai", "api.openrouter.ai"})
_STATING = "openrouter/"
# Service tiers that are billed at the standard rates.
_STANDARD_TIERS = frozenset({None, "default", "standard", "auto", "on_demand"})


class Bill(NamedTuple):
    """What was used, what the provider says that it cost, and whether that cannot be true."""

    usage: Usage | None
    cost: int | None
    impossible: bool


class Billing(Record):
    """How to read what replies say of money.

    `states_cost`: what `usage.cost` states is in the run's currency. `is_by_table`: the price is
    a table's, so it holds for the standard service tier alone.
    """

    states_cost: bool = False
    is_by_table: bool = False


def bill(usage: Usage | None, billing: Billing, *, tier: object, reported: object) -> Bill:
    """Read what a reply says of money, and mark a usage whose cost does not follow from it."""
    if billing.is_by_table and usage is not None and not _is_standard(tier, reported):
        usage = msgspec.structs.replace(usage, beyond_tokens=True)
    cost, impossible = _stated_cost(reported) if billing.states_cost else (None, False)
    return Bill(usage, cost, impossible)


def states_cost(base_url: str, price_as: str, currency: str) -> bool:
    """Say whether an endpoint states the cost of its replies in the study's currency."""
    if currency != CURRENCY:
        return False
    parts = urlsplit(base_url)
    at_home = parts.scheme == "https" and parts.hostname in _STATING_HOSTS
    return at_home or price_as.startswith(_STATING)


def _stated_cost(usage: object) -> tuple[int | None, bool]:
    """Read the cost that a usage states, in nano-units; the second value: it cannot be true.

    With a key of the user's own, the upstream provider's charge is not part of `cost`.
    """
    if not isinstance(usage, Mapping) or usage.get("cost") is None:
        return None, False
    cost = _amount(usage["cost"])
    if cost is None:
        return None, True
    details = usage.get("cost_details")
    upstream = details.get("upstream_inference_cost") if isinstance(details, Mapping) else None
    if upstream is None:
        return cost, False
    beside = _amount(upstream)
    if beside is None:
        return None, True
    is_own_key = usage.get("is_byok") is True or beside > cost
    return (cost + beside if is_own_key else cost), False


def _is_standard(service_tier: object, usage: object) -> bool:
    """Say whether a reply was charged at the standard rates, as far as it says."""
    tiers: list[Any] = [service_tier]
    if isinstance(usage, Mapping):
        tiers += [usage.get("service_tier"), usage.get("serviceTier")]
    return all(
        tier is None or (isinstance(tier, str) and tier.lower() in _STANDARD_TIERS)
        for tier in tiers
    )


def _amount(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if not 0 <= value <= COST_MAX:
        return None
    # The shortest text of a number is what was sent; its binary digits are not.
    return nano(Decimal(repr(value)))
