"""`perdure plan`: what a study would take. Spends nothing, writes nothing."""

from __future__ import annotations

import typer

from perdure.base.errors import EXIT_DONE
from perdure.cli.arguments import Json, StudyFile
from perdure.cli.command import PlainCommand
from perdure.cli.overrides import BaseUrl, Draw, KeyEnv, KeyFile, Model, ModelName, Weights

HELP = """\
Show what a study would take: its worlds, its calls, their price. Spends nothing.

The study file is checked in full: every problem is listed at once, with its line
and what to write, and the exit code is 65. Flags are those of `perdure run`.

\b
Example:
  perdure plan study.yaml
  perdure plan study.yaml --model local --n 30
"""


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
    json: Json = False,
) -> int:
    """Show what a study would take.

    Raises:
        InvalidStudyError: the study file has problems.
        UsageError: a flag does not fit the study.

    """
    from perdure.analysis.models import answered_by  # noqa: PLC0415 - heavy
    from perdure.cli.output import show, write_json  # noqa: PLC0415 - heavy
    from perdure.cli.plan_view import plan_parts  # noqa: PLC0415 - heavy
    from perdure.population import load_study  # noqa: PLC0415 - heavy
    from perdure.study import Overrides  # noqa: PLC0415 - heavy
    from perdure.study.forecast import forecast  # noqa: PLC0415 - heavy
    from perdure.study.identity import expand  # noqa: PLC0415 - heavy

    overrides = Overrides(
        n=n,
        model=model,
        base_url=base_url,
        model_name=model_name,
        key_env=key_env,
        key_file=key_file,
        weights=weights,
    )
    loaded = load_study(study, overrides=overrides)
    cells = expand(loaded.study, loaded.population)
    found = forecast(loaded.study, cells, personas=len(loaded.population.personas))
    if json:
        write_json(
            {
                "study": loaded.study.name,
                "flags": overrides.flags(),
                "answered_by": answered_by(loaded.study.models),
                "forecast": found,
            }
        )
    else:
        show(*plan_parts(loaded.study, found))
    return EXIT_DONE
