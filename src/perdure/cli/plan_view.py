"""A forecast drawn for a terminal: worlds and ids, calls, price, and useful concurrency."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from perdure.analysis.models import answered_by
from perdure.base.money import show
from perdure.cli.figures import UNKNOWN, count, duration, plural
from perdure.cli.tables import heading, paragraph, table
from perdure.records.study import Study
from perdure.study.forecast import CallForecast, Forecast

if TYPE_CHECKING:
    from rich.console import RenderableType


def plan_parts(study: Study, forecast: Forecast) -> Iterator[RenderableType]:
    """Draw every part of a forecast in order."""
    currency = forecast.currency
    yield paragraph(f"Plan of {study.name}: {study.brief.title}", style="bold")
    yield paragraph(f"Model: {answered_by(study.models)}.")
    yield paragraph(
        f"{plural(forecast.personas, 'persona')}, {plural(len(forecast.worlds), 'world')}, "
        f"{count(forecast.calls_total)} calls expected, {count(forecast.calls_worst)} at most, "
        f"{count(forecast.attempts_worst)} with every retry"
    )
    yield paragraph(
        f"Cost: {_money(forecast.cost, currency)} expected, "
        f"{_money(forecast.cost_worst, currency)} at worst. Time: {_time(forecast.seconds)}."
    )
    yield paragraph(
        f"Useful concurrency: up to {count(forecast.widest_tick)} calls in flight, "
        "the widest tick over all worlds."
    )
    if forecast.own_parts:
        yield paragraph(
            "The study names a world or an agent of its own: calls are what ours would make."
        )
    yield heading("Calls")
    yield table(
        [
            "purpose",
            "role",
            "model",
            "expected",
            "at most",
            "tokens in",
            "tokens out",
            f"{currency}/call",
        ],
        [_call(part, currency) for part in forecast.calls],
        left=3,
    )
    yield heading("Worlds")
    rows = [
        [
            world.world_id,
            world.scenario,
            str(world.replicate_seed),
            str(world.ticks),
            count(world.turns),
            count(world.turns_worst),
        ]
        for world in forecast.worlds
    ]
    columns = ["world", "scenario", "seed", "ticks", "turns expected", "turns at most"]
    yield table(columns, rows, left=2, ids=2)


def _call(part: CallForecast, currency: str) -> list[str]:
    return [
        part.purpose,
        part.role,
        part.model,
        count(part.calls),
        count(part.calls_worst),
        count(part.input_tokens),
        count(part.output_tokens),
        UNKNOWN
        if part.typical_cost is None
        else show(part.typical_cost, currency).removesuffix(f" {currency}"),
    ]


def _money(amount: int | None, currency: str) -> str:
    return "not known (a model has no price)" if amount is None else show(amount, currency)


def _time(seconds: float | None) -> str:
    return "not known before a first run" if seconds is None else duration(seconds)
