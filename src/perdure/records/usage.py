"""What a call used and what it cost. An unknown amount is absent, never zero."""

from __future__ import annotations

from enum import StrEnum

from perdure.records.record import Record


class Usage(Record):
    """Token counts of one call: four disjoint counts that add up to the provider's totals.

    `beyond_tokens` says that something else was used as well that has a price of its own, such as
    a search, sound, or a cache kept for long: these counts do not tell what the call cost.
    """

    input_fresh: int = 0
    cache_write: int = 0
    cache_read: int = 0
    output: int = 0
    beyond_tokens: bool = False


class CostSource(StrEnum):
    """Where an amount of money comes from."""

    PROVIDER = "provider"
    PRICE_TABLE = "price_table"
    ESTIMATE = "estimate"
    CACHE = "cache"
    UNKNOWN = "unknown"


class PriceTier(Record):
    """The rates of a call whose whole input, cached tokens included, is above `over` tokens."""

    over: int
    input_fresh: int
    output: int
    cache_read: int | None = None
    cache_write: int | None = None


class Price(Record):
    """Nano-units of the study's currency per million tokens, by kind of token.

    `tiers` are dearer rates for large inputs, by size; the rates of a tier hold for all tokens of
    its calls. Where `is_bound`, a call costs at most what these rates make of it: amounts that
    follow from them are estimates.
    """

    input_fresh: int
    output: int
    cache_read: int | None = None
    cache_write: int | None = None
    tiers: tuple[PriceTier, ...] = ()
    is_bound: bool = False


class PriceSource(Record):
    """Where a price was looked up: which entry of which table, in which version."""

    table: str
    version: str
    entry: str
