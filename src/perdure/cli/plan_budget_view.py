"""What a study may spend, drawn for a terminal: its limits, its ladder, its prices."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from perdure.analysis.document import Block
from perdure.base.money import NANO, show
from perdure.cli.figures import count, duration
from perdure.cli.tables import heading, paragraph
from perdure.inference.prices import Priced
from perdure.records.study import ModelSpec, Study
from perdure.records.usage import Price
from perdure.runner.foreseen import Foreseen, Limit
from perdure.study.forecast import Forecast
from perdure.study.pricing import is_free, price_of


def budget_parts(study: Study, forecast: Forecast, foreseen: Foreseen) -> Iterator[Block]:
    """Draw a budget beside what is expected and the worst case; nothing if nothing is paid for."""
    if not foreseen.limits:
        if forecast.cost != 0:
            yield heading("Budget")
            yield paragraph("There is none: nothing limits what the run may spend.")
        return
    yield heading("Budget")
    for limit in foreseen.limits:
        yield paragraph(_limit(limit, forecast))
    if study.budget.amount is not None:
        yield paragraph(_on_the_way(foreseen))
    if not foreseen.starts:
        yield paragraph(
            "Not even the first tick fits: `perdure run` would end with exit code 76 before it is "
            "closed."
        )
    if study.budget.unpriced_accepted:
        yield paragraph(
            "Calls without a price are accepted: there is no limit in money, and what they cost "
            "will not be known."
        )


def price_parts(priced: Priced) -> Iterator[Block]:
    """Draw the price of each model, per million tokens, and where it comes from."""
    models = priced.study.models
    if all(is_free(price_of(spec)) for spec in models.values()):
        return
    yield heading(f"Prices, in {priced.study.currency} per million tokens")
    lines: dict[str, list[str]] = {}
    for role, spec in models.items():
        reason = priced.unpriced.get(role, "")
        lines.setdefault(f"{spec.pin.model}: {_price(spec, reason)}", []).append(role)
    for line, roles in lines.items():
        yield paragraph(f"{' and '.join(roles)}, {line}")


def _limit(limit: Limit, forecast: Forecast) -> str:
    what = "time" if limit.what == "seconds" else limit.what
    expected = _held(limit, limit.expected, forecast, fits=limit.expected_fits)
    worst = _held(limit, limit.worst, forecast, fits=limit.worst_fits)
    most = _figure(limit, limit.most, forecast)
    if limit.soft != limit.most:
        most = f"{_figure(limit, limit.soft, forecast)}, never above {most}"
    return f"{what}: {most}. Expected {expected}, at worst {worst}."


def _held(limit: Limit, value: float | None, forecast: Forecast, *, fits: bool | None) -> str:
    if value is None:
        return "not known"
    return f"{_figure(limit, value, forecast)} ({'fits' if fits else 'does not fit'})"


def _figure(limit: Limit, value: float, forecast: Forecast) -> str:
    if limit.what == "money":
        return show(round(value), forecast.currency)
    return duration(value) if limit.what == "seconds" else count(round(value))


def _on_the_way(foreseen: Foreseen) -> str:
    if not foreseen.together:
        return "Not all worlds go on together, so each meets a rung of the ladder at its own tick."
    if not foreseen.rungs:
        return "No rung of the ladder is expected."
    steps = [f"{one.rung} at tick {one.tick}" for one in foreseen.rungs]
    return f"Expected on the way: {', '.join(steps)}."


def _price(spec: ModelSpec, reason: str) -> str:
    price = price_of(spec)
    if price is None:
        return f"not known. {reason}".strip()
    cached = price.input_fresh if price.cache_read is None else price.cache_read
    steps = [f"{_rate(price.input_fresh)} in, {_rate(price.output)} out, {_rate(cached)} cached"]
    steps += [
        f"above {tier.over:,} tokens in, {_rate(tier.input_fresh)} in, {_rate(tier.output)} out"
        for tier in price.tiers
    ]
    return f"{'; '.join(steps)} ({_source(spec, price)})."


def _rate(nano: int) -> str:
    """Write a rate with as many decimals as it has, and two at least."""
    digits = f"{Decimal(nano) / NANO:f}"
    whole, _, rest = digits.partition(".")
    return f"{whole}.{rest.rstrip('0').ljust(2, '0')}"


def _source(spec: ModelSpec, price: Price) -> str:
    source = spec.price_source
    if source is not None:
        name = f"{source.table} {source.version}, {source.entry}"
        return f"{name}, the dearest of its prices" if price.is_bound else name
    if price.is_bound:
        return "the study's bound"
    return "the study's own" if spec.price is not None else "free here"
