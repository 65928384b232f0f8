"""`perdure run`: a study from its file to its report."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from perdure.base.errors import StorageError, UsageError
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
    from perdure.analysis.document import Block
    from perdure.records.result import RunResult
    from perdure.records.study import Study
    from perdure.runner.notice import Said
    from perdure.study.overrides import Overrides

NEXT = (
    ("verify", "check the record"),
    ("ledger", "what it cost"),
    ("export", "Parquet, one row per turn"),
)
NEXT_PARTIAL = (
    ("status", "how far it is"),
    ("verify", "check the record"),
    ("ledger", "what it cost"),
)

HELP = """\
Run a study, record it, and end with its report.

Nothing is overwritten: a folder that holds an unfinished run of this study has it
continued, a finished one has its result shown again, and a run of something else
is refused. It is always safe to repeat. The model is the study's own unless
--model says otherwise; the baseline is a rule, free and offline. A model whose
price is not known is refused: see docs/budget.md.

If something moved that decides a run which has begun, all of it is named and nothing
is done (exit code 78). --force NAME goes on past one of them, as in `perdure resume`.

--only CELL drives the named cells and leaves the others as they are. A cell is a
world's id, a scenario's id (of one with a grid: all its cells), or scenario@seed,
as `perdure plan` lists them. The exit code is 0 once the named cells are complete.
Run it again without --only to go on with the rest: it ends as if it had never
been given.

With --workers N the worlds are driven in N processes of their own, so that one whose
code crashes, hangs or eats memory ends alone, named, and the others go on. A worker
that is killed loses nothing: its worlds go on from their record.

Ctrl-C finishes the open ticks and pauses (exit code 75); a second one stops at
once. Closed ticks are kept either way. Progress goes to standard error. SIGUSR1 has
every process of the run write where it is into DIR/logs, and changes nothing.

\b
Example:
  perdure run study.yaml --out runs/first
  perdure run study.yaml --out runs/first --only calm@1
  perdure run study.yaml --out runs/local --model local --n 30
  perdure run study.yaml --out runs/http --model http --key-env API_KEY \\
      --base-url https://example.org/v1 --model-name some-model-2026-01-01 \\
      --price 0.15,0.60 --budget 5
"""

Out = Annotated[
    Path, typer.Option("--out", metavar="DIR", help="Folder of the record; made if missing.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress on standard error.")]
Force = Annotated[
    list[str] | None,
    typer.Option("--force", metavar="NAME", help="Go on though this moved; can be repeated."),
]
Only = Annotated[
    list[str] | None,
    typer.Option("--only", metavar="CELL", help="Drive this cell alone; can be repeated."),
]
NetworkFs = Annotated[
    bool,
    typer.Option(
        "--network-fs",
        help="The folder may be on a network file system: no other machine works on it.",
    ),
]
Workers = Annotated[
    int | None,
    typer.Option(
        "--workers",
        metavar="N",
        min=0,
        max=1_000,
        show_default=False,
        help="Drive the worlds in N processes of their own; 0: in this one. By default 0, or one a "
        "processor if the study has code of its own and several worlds.",
    ),
]
StepLimit = Annotated[
    float | None,
    typer.Option(
        "--step-limit",
        metavar="SECONDS",
        min=1.0,
        max=31_536_000.0,
        show_default=False,
        help="End a world that gives no word for so long and waits for nothing (workers only); "
        "half an hour by default.",
    ),
]
WorkerMemory = Annotated[
    float | None,
    typer.Option(
        "--worker-memory",
        metavar="GB",
        min=0.25,
        max=1_000_000.0,
        show_default=False,
        help="Address space that a worker may have, in GB; not limited by default.",
    ),
]


@dataclass(frozen=True, kw_only=True)
class Labour:
    """Who drives the worlds, as the command line says it."""

    workers: int | None = None
    step_limit_s: float | None = None
    memory_gb: float | None = None

    def settings(self, study: Study) -> dict[str, Any]:
        """Give the fields of a `RunConfig` that say so."""
        from perdure.runner.config import workers_by_default  # noqa: PLC0415 - heavy

        asked = {
            "workers": workers_by_default(study) if self.workers is None else self.workers,
            "step_limit_s": self.step_limit_s,
            "worker_bytes": None if self.memory_gb is None else int(self.memory_gb * 10**9),
        }
        return {name: value for name, value in asked.items() if value is not None}


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("run", help=HELP, cls=PlainCommand)(run)


def run(
    study: StudyFile,
    *,
    out: Out,
    model: Model = "",
    n: Draw = None,
    base_url: BaseUrl = "",
    model_name: ModelName = "",
    key_env: KeyEnv = "",
    key_file: KeyFile = "",
    weights: Weights = "",
    force: Force = None,
    network_fs: NetworkFs = False,
    price: Price = "",
    price_as: PriceAs = "",
    budget: Budget = "",
    allow_dear_calls: DearCalls = False,
    only: Only = None,
    workers: Workers = None,
    step_limit: StepLimit = None,
    worker_memory: WorkerMemory = None,
    quiet: Quiet = False,
    json: Json = False,
) -> int:
    """Run a study; the exit status is the run's own.

    Raises:
        InvalidStudyError: the study file has problems; nothing is created.
        UsageError: a flag does not fit the study, something is forced that cannot be, or the folder
            is on a network file system.
        HeldError: another process works on the run, or the folder holds something else.
        MovedError: what decides the run moved since it began.
        StorageError: storage failed.

    """
    from perdure.study.overrides import Overrides  # noqa: PLC0415 - heavy

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
    return carry_out(
        study,
        out,
        overrides,
        force=force or (),
        only=only or (),
        network_fs=network_fs,
        allow_dear_calls=allow_dear_calls,
        labour=Labour(workers=workers, step_limit_s=step_limit, memory_gb=worker_memory),
        quiet=quiet,
        json=json,
    )


def carry_out(
    study: Path,
    out: Path,
    overrides: Overrides,
    *,
    force: Sequence[str],
    only: Sequence[str],
    network_fs: bool,
    labour: Labour,
    allow_dear_calls: bool = False,
    quiet: bool,
    json: bool,
) -> int:
    """Start or continue the run in a folder, and show its report; give the run's exit status.

    Raises:
        InvalidStudyError: the study file has problems; nothing is created.
        UsageError: a flag does not fit the study, something is forced that cannot be, or the folder
            is on a network file system.
        HeldError: another process works on the run, or the folder holds something else.
        MovedError: what decides the run moved since it began.
        StorageError: storage failed.

    """
    from perdure import runner  # noqa: PLC0415 - heavy
    from perdure.analysis.report import build_report  # noqa: PLC0415 - heavy
    from perdure.cli.cost_view import loss_text  # noqa: PLC0415 - heavy
    from perdure.cli.output import show, write_error, write_json  # noqa: PLC0415 - heavy
    from perdure.cli.progress import watching  # noqa: PLC0415 - heavy
    from perdure.cli.record import opened  # noqa: PLC0415 - heavy
    from perdure.cli.report_view import report_parts  # noqa: PLC0415 - heavy
    from perdure.runner.load import load_study  # noqa: PLC0415 - heavy

    asked = load_study(study, overrides=overrides)
    config = runner.RunConfig(
        study=asked.study,
        population=asked.population,
        held_out=asked.held_out,
        study_path=str(study),
        out=str(out),
        force=tuple(force),
        only=tuple(only),
        flags=overrides.flags(),
        network_fs=network_fs,
        allow_dear_calls=allow_dear_calls,
        tells_stacks=True,
        **labour.settings(asked.study),
    )

    def tell(said: Said) -> None:
        text = said if isinstance(said, str) else loss_text(said, asked.study.currency)
        write_error(f"perdure: {text}")

    # What a study's own code prints is no part of this command's output, and where it goes is not
    # where this command looks.
    folder = config.folder
    with (
        watching(quiet=quiet, title=asked.study.name) as observer,
        redirect_stdout(sys.stderr),
    ):
        result = runner.run(config, observer=observer, notice=tell)
    try:
        with opened(folder) as record:
            report = build_report(record)
    except UsageError as error:
        raise StorageError(
            "The run's folder is not there any more.",
            where=str(out),
            remedy="What was moved away may still be whole: see `perdure verify` there.",
        ) from error
    if json:
        write_json({"result": result, "report": report})
    else:
        show(*_cause(result), *report_parts(report, str(out)), *_next(result))
    return result.exit_status


def _cause(result: RunResult) -> Iterator[Block]:
    from perdure.cli.tables import paragraph  # noqa: PLC0415 - heavy

    if result.cause:
        yield paragraph("Why the run did not come to its end", style="bold")
        yield paragraph(f"{result.cause}\n", indent=2)


def _next(result: RunResult) -> Iterator[Block]:
    from perdure.cli.tables import heading, verbatim  # noqa: PLC0415 - heavy

    yield heading("Where to go next")
    for command, what in NEXT if result.state == "completed" else NEXT_PARTIAL:
        yield verbatim(f"  perdure {command} {result.folder}    {what}")
