"""A forecast drawn for a terminal: calls, money, time, the budget beside them, worlds and ids."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING

from perdure.analysis.calendars import dates_of
from perdure.analysis.document import Block
from perdure.analysis.models import answered_by
from perdure.base.money import show
from perdure.base.text import one_line
from perdure.cli.calendar_view import calendar_parts
from perdure.cli.figures import UNKNOWN, count, duration, plural, spend
from perdure.cli.plan_budget_view import budget_parts, price_parts
from perdure.cli.population_view import population_parts
from perdure.cli.tables import heading, paragraph, table
from perdure.cli.worlds_table import world_rows
from perdure.inference.prices import Priced
from perdure.records.population import PopulationManifest
from perdure.runner.foreseen import Foreseen
from perdure.study.forecast import CallForecast, Forecast
from perdure.study.varying import varying

if TYPE_CHECKING:
    from perdure.records.study import Study
    from perdure.runner.trial import Trial

_VALUES_MAX = 8
_VALUE_MAX = 60


def plan_parts(
    priced: Priced,
    forecast: Forecast,
    foreseen: Foreseen,
    *,
    manifest: PopulationManifest,
    recorded: Collection[str] | None = None,
    trial: Trial | None = None,
    refused: Sequence[str] = (),
) -> Iterator[Block]:
    """Draw every part of a forecast in order.

    `recorded` has the ids of the worlds that have a record already, None where nobody asked.
    `refused` says why the study would not be run.
    """
    study = priced.study
    yield paragraph(f"Plan of {study.name}: {study.brief.title}", style="bold")
    yield paragraph(f"Model: {answered_by(study.models)}.")
    if forecast.own_parts:
        yield paragraph(
            "The study has a world or an agent of its own: how many calls it makes, and so what it "
            "costs and how long it takes, nobody can tell before it runs. (--try makes one tick of "
            "it and counts.) All below is what ours would take in its place."
        )
    yield paragraph(
        f"{plural(forecast.personas, 'persona')}, {plural(len(forecast.worlds), 'world')}, "
        f"{count(forecast.calls_total)} calls expected, {count(forecast.calls_worst)} at most, "
        f"{count(forecast.attempts_worst)} with every retry"
    )
    yield paragraph(_cost(forecast))
    yield paragraph(_time(forecast))
    yield paragraph(
        f"Useful concurrency: up to {count(forecast.widest_tick)} calls in flight, "
        "the widest tick over all worlds."
    )
    yield from calendar_parts(dates_of(study.scenarios))
    if trial is not None:
        yield from _trial_parts(trial)
    if refused:
        yield heading("`perdure run` refuses this study")
        for reason in refused:
            yield paragraph(reason)
    yield from _dear_parts(forecast)
    yield from population_parts(manifest)
    yield from budget_parts(study, forecast, foreseen)
    yield from price_parts(priced)
    yield from _call_parts(forecast)
    yield from _world_parts(priced.study, forecast, recorded)


def _trial_parts(trial: Trial) -> Iterator[Block]:
    yield heading("Tried")
    yield paragraph(
        f"Tick {trial.tick} of {trial.scenario} (seed {trial.replicate_seed}): "
        f"{plural(trial.calls, 'call')} in {trial.seconds:.1f} s for "
        f"{spend(trial.cost, trial.unknown_costs, trial.currency)}. What is expected is worked "
        "out from them, where they tell."
    )
    if trial.cause:
        yield paragraph(f"It did not come to its end: {trial.cause}")


def _dear_parts(forecast: Forecast) -> Iterator[Block]:
    dear = [part for part in forecast.calls if part.is_dear and part.typical_cost is not None]
    if not dear:
        return
    yield heading("Dear calls")
    for part in dear:
        yield paragraph(
            f"A typical {part.purpose} of {part.model} costs "
            f"{show(part.typical_cost, forecast.currency)}."
        )
    yield paragraph("`perdure run` makes such calls with --allow-dear-calls only.")


def _call_parts(forecast: Forecast) -> Iterator[Block]:
    currency = forecast.currency
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


def _world_parts(
    study: Study, forecast: Forecast, recorded: Collection[str] | None
) -> Iterator[Block]:
    yield heading("Worlds")
    yield paragraph(_varies(study))
    columns = ["world", "scenario", "seed", "ticks", "turns expected", "turns at most"]
    if recorded is not None:
        yield paragraph(
            f"{count(len(recorded))} of {plural(len(forecast.worlds), 'world')} have a record."
        )
        columns.insert(4, "record")
    yield paragraph("")
    rows = [
        [
            world.world_id,
            world.scenario,
            str(world.replicate_seed),
            str(world.ticks),
            *([] if recorded is None else ["yes" if world.world_id in recorded else "no"]),
            count(world.turns),
            count(world.turns_worst),
        ]
        for world in forecast.worlds
    ]
    yield from world_rows(columns, rows)


def _varies(study: Study) -> str:
    """Say in which keys the scenarios differ, and how the seeds do."""
    scenarios = varying(study.scenarios)
    parts = []
    for name in sorted({name for one in scenarios for name in one}):
        values = dict.fromkeys(_value(one.get(name, "none")) for one in scenarios)
        parts.append(f"{name} ({_listed(list(values))})")
    parts.append(f"seed ({_listed([str(seed) for seed in study.seeds])})")
    return f"What varies: {', '.join(parts)}."


def _value(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, dict):
        return " ".join(_value(one) for one in value.values())
    return f"[{', '.join(map(_value, value))}]" if isinstance(value, list | tuple) else str(value)


def _listed(values: Sequence[str]) -> str:
    shown = [one_line(value, _VALUE_MAX) for value in values[:_VALUES_MAX]]
    more = f", ... {values[-1]}" if len(values) > _VALUES_MAX else ""
    return f"{', '.join(shown)}{more}"


def _cost(forecast: Forecast) -> str:
    if forecast.cost is None or forecast.cost_worst is None:
        return "Cost: not known, since a model has no price."
    currency = forecast.currency
    return (
        f"Cost: {show(forecast.cost, currency)} expected, "
        f"{show(forecast.cost_worst, currency)} at worst."
    )


def _time(forecast: Forecast) -> str:
    if forecast.seconds is None:
        expected = "not known before a first run (--try measures it)"
    else:
        expected = f"{duration(forecast.seconds)} expected"
    worst = forecast.seconds_worst
    return f"Time: {expected}{f', {duration(worst)} at worst' if worst is not None else ''}."
