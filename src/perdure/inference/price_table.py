"""The data of `genai-prices`, read as it was installed, and its prices turned into ours.

The one module that imports the package, which takes about a second.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from importlib import metadata
from typing import NamedTuple
from urllib.parse import urlsplit

from genai_prices.data import providers as bundled
from genai_prices.data_snapshot import DataSnapshot
from genai_prices.types import (
    ModelInfo,
    ModelPrice,
    Provider,
    StartDateConstraint,
    Tier,
    TieredPrices,
    TimeOfDateConstraint,
)

from perdure.base.money import nano
from perdure.base.text import one_line
from perdure.records.usage import Price, PriceSource, PriceTier
from perdure.study.findings import nearest

TABLE = "genai-prices"
# A run may last, so what begins within this time counts as well.
_AHEAD = timedelta(days=30)
_TEXT = ("input_mtok", "output_mtok", "cache_read_mtok", "cache_write_mtok")
# Kinds of output tokens that can have a rate of their own and come without being asked for.
_OUTPUT_KINDS = ("output_reasoning_mtok", "output_citation_mtok")
_SEARCHES = re.compile(r"search|sonar")


class _Rates(NamedTuple):
    """Rates by kind of token; a kind of cached token without one costs what fresh input costs."""

    fresh: int
    output: int
    read: int | None
    write: int | None


@dataclass(frozen=True)
class Entry:
    """A price that was found, and where."""

    price: Price
    source: PriceSource


class PriceTable:
    """Finds prices in the bundled data, as they hold at a moment and in the days after it."""

    def __init__(self, now_s: float, providers: Sequence[Provider] = bundled) -> None:
        self._now = datetime.fromtimestamp(now_s, UTC)
        # The data that was installed: another package in this process may have fetched its own.
        self._providers = list(providers)
        self._data = DataSnapshot(providers=self._providers, from_auto_update=False)
        self._version = metadata.version(TABLE)

    def by_entry(self, entry: str, *, speaks: bool = True) -> Entry | str:
        """Look up `provider/model`; or say in a sentence why there is no price.

        A model that only gives vectors, and does not speak, needs no price for what it says.
        """
        provider_id, _, model = entry.partition("/")
        for provider in self._providers:
            if provider.id == provider_id:
                return self._priced(provider, model, speaks=speaks)
        near = nearest(provider_id, [provider.id for provider in self._providers])
        return (
            f"`price_as` names the provider `{_short(provider_id)}`, which {TABLE} "
            f"{self._version} does not have." + (f" It has `{near}`." if near else "")
        )

    def by_address(self, base_url: str, model: str, *, speaks: bool = True) -> Entry | str:
        """Look up the model of whoever answers at an address; or say why there is no price."""
        provider = self._at(base_url)
        if provider is None:
            return f"Nobody whose prices {TABLE} {self._version} has answers at {base_url}."
        return self._priced(provider, model, speaks=speaks)

    def _at(self, base_url: str) -> Provider | None:
        """Find who answers at an address: by scheme and whole host, on the usual port."""
        parts = urlsplit(base_url)
        if parts.hostname is None or parts.port not in {None, 443}:
            return None
        host = f"{parts.scheme}://{parts.hostname}"
        # A dot in the path could stand in for a host; the patterns need none there.
        address = f"{host}{parts.path.replace('.', '_')}/"
        for provider in self._providers:
            found = re.match(provider.api_pattern, address)
            # The whole host, that is, and not the beginning of a longer one.
            if found is not None and found.end() >= len(host):
                return provider
        return None

    def _priced(self, provider: Provider, name: str, *, speaks: bool) -> Entry | str:
        called = f"{provider.id}/{_short(name)}"
        try:
            _, model = self._data.find_provider_model(name, provider, None, None)
        except LookupError:
            return f"{TABLE} {self._version} has no {called}."
        if _SEARCHES.search(name.lower()) or _SEARCHES.search(model.id.lower()):
            return f"{called} searches the web, and bills that beside its tokens."
        at_times = [model.get_prices(moment) for moment in _moments(model, self._now)]
        lacking = _not_by_tokens(at_times, speaks=speaks)
        if lacking:
            return f"{TABLE} {self._version} has {called} {lacking}."
        source = PriceSource(table=TABLE, version=self._version, entry=f"{provider.id}/{model.id}")
        return Entry(price=_dearest(at_times), source=source)


def _moments(model: ModelInfo, now: datetime) -> Iterator[datetime]:
    """List the moments at which a price can change: now, days ahead, and times of those days."""
    yield now
    if isinstance(model.prices, ModelPrice):
        return
    constraints = [one.constraint for one in model.prices]
    begins = {one.start_date for one in constraints if isinstance(one, StartDateConstraint)}
    days = {now.date()} | {day for day in begins if now.date() < day <= (now + _AHEAD).date()}
    times = {time(0, 0, tzinfo=UTC)} | {
        moment
        for one in constraints
        if isinstance(one, TimeOfDateConstraint)
        for moment in (one.start_time, one.end_time)
    }
    for day in sorted(days):
        for moment in times:
            yield _on(day, moment)


def _on(day: date, moment: time) -> datetime:
    return datetime.combine(day, moment if moment.tzinfo else moment.replace(tzinfo=UTC))


def _not_by_tokens(prices: Iterable[ModelPrice], *, speaks: bool) -> str:
    """Say what is missing for a call to be priced by its tokens; nothing if nothing is."""
    for price in prices:
        given = {key for key, value in vars(price).items() if value is not None}
        if "requests_kcount" in given:
            return "by the request too"
        if not ({"input_mtok", "output_mtok"} if speaks else {"input_mtok"}) <= given:
            kinds = ", ".join(sorted(given)) or "nothing"
            text = "text in and out" if speaks else "text in"
            return f"without a price for {text} (but for {kinds})"
    return ""


def _dearest(prices: list[ModelPrice]) -> Price:
    """Make one price of those of several times: exact if they are one, else a bound on each."""
    tables = list(dict.fromkeys(_table(price) for price in prices))
    starts = sorted({start for table in tables for start, _ in table if start >= 0})
    base = _over(tables, -1)
    return Price(
        input_fresh=base.fresh,
        output=base.output,
        cache_read=base.read,
        cache_write=base.write,
        tiers=tuple(_tier(start, _over(tables, start)) for start in starts),
        is_bound=len(tables) > 1 or any(_has_kinds(price) for price in prices),
    )


def _tier(start: int, rates: _Rates) -> PriceTier:
    return PriceTier(
        over=start,
        input_fresh=rates.fresh,
        output=rates.output,
        cache_read=rates.read,
        cache_write=rates.write,
    )


def _table(price: ModelPrice) -> tuple[tuple[int, _Rates], ...]:
    """List the rates by input size: those of any size under -1, then each threshold's."""
    values = [getattr(price, key) for key in _TEXT]
    outputs = [values[1], *(getattr(price, kind) for kind in _OUTPUT_KINDS)]
    starts = {tier.start for value in (*values, *outputs) for tier in _tiers(value)}
    return tuple(
        (
            start,
            _Rates(
                fresh=_rate(values[0], start) or 0,
                output=max(_rate(value, start) or 0 for value in outputs),
                read=_rate(values[2], start),
                write=_rate(values[3], start),
            ),
        )
        for start in (-1, *sorted(starts))
    )


def _over(tables: Iterable[tuple[tuple[int, _Rates], ...]], start: int) -> _Rates:
    """Give the dearest rates that inputs just above a size have in any of the tables."""
    found = [[rates for begin, rates in table if begin <= start][-1] for table in tables]
    return _Rates(
        fresh=max(rates.fresh for rates in found),
        output=max(rates.output for rates in found),
        read=_most((rates.read, rates.fresh) for rates in found),
        write=_most((rates.write, rates.fresh) for rates in found),
    )


def _most(rates: Iterable[tuple[int | None, int]]) -> int | None:
    """Give the dearest rate of a kind, where one that is absent is that of fresh input."""
    known = list(rates)
    if all(rate is None for rate, _ in known):
        return None
    return max(fresh if rate is None else rate for rate, fresh in known)


def _has_kinds(price: ModelPrice) -> bool:
    return any(getattr(price, kind) is not None for kind in _OUTPUT_KINDS)


def _tiers(value: Decimal | TieredPrices | None) -> list[Tier]:
    return list(value.tiers) if isinstance(value, TieredPrices) else []


def _rate(value: Decimal | TieredPrices | None, start: int) -> int | None:
    """Give a rate in nano-units per million tokens, for inputs just above a size."""
    if value is None:
        return None
    if isinstance(value, TieredPrices):
        reached = [tier.price for tier in value.tiers if tier.start <= start]
        return nano(reached[-1] if reached else value.base)
    return nano(value)


def _short(text: str) -> str:
    return one_line(text, 60)
