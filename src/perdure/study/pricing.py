"""What tokens cost: from a usage and a price to nano-units. Pure, exact, rounded up once."""

from __future__ import annotations

import msgspec

from perdure.records.study import ModelSpec
from perdure.records.usage import Price, PriceTier, Usage

FREE_PROVIDERS = frozenset({"baseline", "local", "scripted"})
FREE = Price(input_fresh=0, output=0)

_MILLION = 1_000_000


def price_of(spec: ModelSpec) -> Price | None:
    """Give the price that a model's calls are counted at; None if it is not known."""
    return price_for(spec.pin.provider, spec.price, spec.price_bound)


def price_for(provider: str, price: Price | None, bound: Price | None = None) -> Price | None:
    """Choose a price: the known one, else the bound on it, else zero for what runs here."""
    if price is not None:
        return price
    if bound is not None:
        return msgspec.structs.replace(bound, is_bound=True)
    return FREE if provider in FREE_PROVIDERS else None


def is_free(price: Price | None) -> bool:
    """Say whether a price is known and nothing costs anything at it, a failed call included."""
    return price is not None and not (
        price.input_fresh or price.output or price.cache_read or price.cache_write or price.tiers
    )


def amount_of(usage: Usage | None, price: Price | None) -> int | None:
    """Price a usage, in nano-units; None where the usage or the price is unknown.

    A kind of cached token without a price of its own costs what fresh input costs.
    """
    if is_free(price):
        return 0
    if price is None or usage is None or usage.beyond_tokens:
        return None
    rates: Price | PriceTier = price
    if price.tiers:
        rates = _tiers_up_to(price, _input(usage))[-1]
    total = usage.input_fresh * rates.input_fresh + usage.output * rates.output
    if usage.cache_read:
        total += usage.cache_read * _or(rates.cache_read, rates.input_fresh)
    if usage.cache_write:
        total += usage.cache_write * _or(rates.cache_write, rates.input_fresh)
    return -(-total // _MILLION)


def most_for(worst: Usage, price: Price | None) -> int | None:
    """Price the most that a call may cost that uses no more than this; None if it is unknown.

    Its input counts as the dearest kind, at the dearest rates that an input of that size or a
    smaller one can have.
    """
    if price is None:
        return None
    tokens = _input(worst)
    total = max(
        tokens * _dearest(rates) + worst.output * rates.output
        for rates in _tiers_up_to(price, tokens)
    )
    return -(-total // _MILLION)


def _tiers_up_to(price: Price, tokens: int) -> list[Price | PriceTier]:
    """List the rates that inputs of up to so many tokens can have, those of the largest last."""
    return [price, *(tier for tier in price.tiers if tokens > tier.over)]


def _dearest(rates: Price | PriceTier) -> int:
    return max(rates.input_fresh, rates.cache_read or 0, rates.cache_write or 0)


def _input(usage: Usage) -> int:
    return usage.input_fresh + usage.cache_write + usage.cache_read


def _or(rate: int | None, fresh: int) -> int:
    return fresh if rate is None else rate
