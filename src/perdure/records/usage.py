"""What a call used and what it cost. An unknown amount is absent, never zero."""

from __future__ import annotations

from enum import StrEnum

from perdure.records.record import Record


class Usage(Record):
    """Token counts of one call: four disjoint counts that add up to the provider's totals."""

    input_fresh: int = 0
    cache_write: int = 0
    cache_read: int = 0
    output: int = 0


class CostSource(StrEnum):
    """Where an amount of money comes from."""

    PROVIDER = "provider"
    PRICE_TABLE = "price_table"
    ESTIMATE = "estimate"
    CACHE = "cache"
    UNKNOWN = "unknown"


class Price(Record):
    """Nano-units of the study's currency per million tokens, by kind of token."""

    input_fresh: int
    output: int
    cache_read: int | None = None
    cache_write: int | None = None
