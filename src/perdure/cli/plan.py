"""`perdure plan`: what a study would take. It spends nothing, unless `--try` is given."""

from __future__ import annotations

import sys
from collections.abc import Collection
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from perdure.base.errors import EXIT_DONE, EXIT_INVALID_STUDY, EXIT_USAGE, InvalidStudyError
from perdure.cli.arguments import Json, StudyFile
from perdure.cli.command import PlainCommand
from perdure.cli.overrides import (
    BaseUrl,
    Budget,
    DearCalls,
    Draw,
    KeyEnv,
    KeyFile,
    Model,
    ModelName,
    Price,
    PriceAs,
    Weights,
)

if TYPE_CHECKING:
    from perdure.inference.prices import Priced
    from perdure.population.load import Loaded
    from perdure.records.study import Study
    from perdure.runner.trial import Trial
    from perdure.study.forecast import Forecast
    from perdure.study.overrides import Overrides

HELP = """\
Show what a study would take: its worlds, its calls, their price. Spends nothing.

The study file is checked in full: every problem is listed at once, with its line
and what to write, and the exit code is 65. It is 2 if a typical call is so dear that
`perdure run` wants --allow-dear-calls. Flags are those of `perdure run`.

--out DIR says beside each world whether it has a record there: a file that is named
by the world's id, DIR/worlds/WORLD.db. Nothing in it is read; `perdure status` says
how far a run is. Long lists are cut in the middle: --json has all of them.

--try makes the calls of one tick of one world, pays for them, and works out the
rest from what they took. It keeps to the study's budget, and keeps no record. If its
personas have tools outside their world, it is refused without --outside: what they do
there would really be done.

\b
Example:
  perdure plan study.yaml
  perdure plan study.yaml --out runs/first
  perdure plan study.yaml --model local --n 30
  perdure plan study.yaml --model local --n 30 --try
"""

Out = Annotated[
    Path | None, typer.Option("--out", metavar="DIR", help="Say which worlds have a record there.")
]
Try = Annotated[
    bool, typer.Option("--try", help="Make one tick of one world, and work out the rest from it.")
]
Outside = Annotated[
    bool,
    typer.Option(
        "--outside", help="With --try: let personas use their tools outside the world in earnest."
    ),
]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("plan", help=HELP, cls=PlainCommand)(plan)


def plan(
    study: StudyFile,
    *,
    model: Model = "",
    n: Draw = None,
    base_url: BaseUrl = "",
    model_name: ModelName = "",
    key_env: KeyEnv = "",
    key_file: KeyFile = "",
    weights: Weights = "",
    price: Price = "",
    price_as: PriceAs = "",
    budget: Budget = "",
    allow_dear_calls: DearCalls = False,
    out: Out = None,
    try_one: Try = False,
    outside: Outside = False,
    json: Json = False,
) -> int:
    """Show what a study would take; the exit status is that of a `perdure run` that is refused.

    Raises:
        InvalidStudyError: the study file has problems.
        UsageError: a flag does not fit the study.

    """
    from perdure.analysis.calendars import dates_of  # noqa: PLC0415 - heavy
    from perdure.analysis.models import answered_by  # noqa: PLC0415 - heavy
    from perdure.base.clock import SystemClock  # noqa: PLC0415 - heavy
    from perdure.cli.output import show, write_json  # noqa: PLC0415 - heavy
    from perdure.cli.plan_view import plan_parts  # noqa: PLC0415 - heavy
    from perdure.inference.prices import priced  # noqa: PLC0415 - heavy
    from perdure.population.gates import refusals  # noqa: PLC0415 - heavy
    from perdure.runner.foreseen import foresee  # noqa: PLC0415 - heavy
    from perdure.runner.live import go_together  # noqa: PLC0415 - heavy
    from perdure.runner.load import load_study  # noqa: PLC0415 - heavy
    from perdure.study.forecast import forecast  # noqa: PLC0415 - heavy
    from perdure.study.identity import expand  # noqa: PLC0415 - heavy
    from perdure.study.overrides import Overrides  # noqa: PLC0415 - heavy
    from perdure.study.pricing import price_of  # noqa: PLC0415 - heavy

    overrides = Overrides(
        n=n,
        model=model,
        base_url=base_url,
        model_name=model_name,
        key_env=key_env,
        key_file=key_file,
        weights=weights,
        price=price,
        price_as=price_as,
        budget=budget,
    )
    loaded = load_study(study, overrides=overrides)
    asked = priced(loaded.study, now_s=SystemClock().wall_s())
    problems = asked.problems(str(study)) + refusals(loaded.population.manifest, str(study))
    trial = None
    if try_one:
        if problems:
            raise InvalidStudyError(problems)
        trial = _try(
            study,
            loaded,
            asked,
            overrides,
            allow_dear_calls=allow_dear_calls,
            acts_outside=outside,
        )
    cells = expand(asked.study, loaded.population)
    found = forecast(
        asked.study,
        cells,
        personas=len(loaded.population.personas),
        pace=trial.pace if trial else None,
        costs=trial.costs() if trial else None,
    )
    held = foresee(asked.study.budget, found, together=go_together(asked.study, len(cells)))
    recorded = None if out is None else _recorded(out, found)
    if json:
        write_json(
            {
                "study": asked.study.name,
                "flags": overrides.flags(),
                "answered_by": answered_by(asked.study.models),
                "prices": {
                    role: {"price": price_of(spec), "source": spec.price_source}
                    for role, spec in asked.study.models.items()
                },
                "unpriced": asked.unpriced,
                "population": loaded.population.manifest,
                "cells": _cells(asked.study, found, recorded),
                "calendars": dates_of(asked.study.scenarios),
                "forecast": found,
                "budget": asked.study.budget,
                "outlook": held,
                "trial": trial,
                "refused": [str(problem) for problem in problems],
            }
        )
    else:
        refused = [f"{problem.wrong} {problem.remedy}" for problem in problems]
        show(
            *plan_parts(
                asked,
                found,
                held,
                manifest=loaded.population.manifest,
                recorded=recorded,
                trial=trial,
                refused=refused,
            )
        )
    if problems:
        return EXIT_INVALID_STUDY
    if any(part.is_dear for part in found.calls) and not allow_dear_calls:
        return EXIT_USAGE
    return trial.exit_status if trial else EXIT_DONE


def _recorded(folder: Path, found: Forecast) -> frozenset[str]:
    """Name the worlds that have a record in a folder: a file that is named by the world's id."""
    from perdure.trace.files import exists  # noqa: PLC0415 - heavy
    from perdure.trace.paths import partition_path  # noqa: PLC0415 - heavy

    ids = (world.world_id for world in found.worlds)
    return frozenset(one for one in ids if exists(partition_path(folder, one)))


def _cells(
    study: Study, found: Forecast, recorded: Collection[str] | None
) -> list[dict[str, object]]:
    from perdure.study.varying import varying  # noqa: PLC0415 - heavy

    ids = (scenario.id for scenario in study.scenarios)
    varies = dict(zip(ids, varying(study.scenarios), strict=True))
    return [
        {
            "world_id": world.world_id,
            "scenario": world.scenario,
            "varies": varies[world.scenario],
            "seed": world.replicate_seed,
            "ticks": world.ticks,
            "recorded": None if recorded is None else world.world_id in recorded,
        }
        for world in found.worlds
    ]


def _try(
    study: Path,
    loaded: Loaded,
    asked: Priced,
    overrides: Overrides,
    *,
    allow_dear_calls: bool,
    acts_outside: bool,
) -> Trial:
    from perdure.cli.progress import watching  # noqa: PLC0415 - heavy
    from perdure.runner.config import RunConfig  # noqa: PLC0415 - heavy
    from perdure.runner.trial import try_out  # noqa: PLC0415 - heavy

    config = RunConfig(
        study=asked.study,
        population=loaded.population,
        held_out=loaded.held_out,
        study_path=str(study),
        out="",
        flags=overrides.flags(),
        allow_dear_calls=allow_dear_calls,
    )
    # What a study's own code prints is no part of this command's output.
    with (
        watching(quiet=False, title=asked.study.name) as observer,
        redirect_stdout(sys.stderr),
    ):
        return try_out(config, observer=observer, acts_outside=acts_outside)
