"""`perdure score`: scores the answers of a closed run again, beside its record."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from perdure.base.errors import EXIT_DONE, InvalidStudyError, Problem
from perdure.cli.arguments import Json, RunFolder
from perdure.cli.command import PlainCommand
from perdure.cli.overrides import BaseUrl, KeyEnv, KeyFile, Model, ModelName, Price

if TYPE_CHECKING:
    from perdure.records.anchors import Anchors
    from perdure.records.scenario import ModelPin
    from perdure.records.study import ModelSpec

HELP = """\
Score the answers to a question of a run again, by their likeness to anchors.

No event of the record changes: the new scores are a file in the run's folder under
scores/, named by an id that follows from what is scored and how; the run log notes it. Vectors that
the record has are used as they are; others are asked for within the run's budget,
and what that cost is in the run log. `perdure report DIR --scores ID` reports them.

The anchors are those of the run, or a FILE that passed `perdure anchors check` under
the model; the model is the run's own, or that of the flags. A scale, a choice of one
and an open question can be scored so.

\b
Example:
  perdure score runs/first --question intent --anchors anchors/intent-2.yaml
  perdure score runs/first --temperature 0.5
  perdure score runs/first --list
"""

Question = Annotated[
    str,
    typer.Option("--question", metavar="ID", help="The question (default: the one by likeness)."),
]
AnchorsFile = Annotated[
    Path | None, typer.Option("--anchors", metavar="FILE", help="Other anchors than the run's.")
]
Epsilon = Annotated[
    float | None,
    typer.Option("--epsilon", min=0.0, max=1_000.0, help="What the least alike point gets."),
]
Temperature = Annotated[
    float | None,
    typer.Option("--temperature", min=0.01, max=1_000.0, help="Below 1 sharpens, above flattens."),
]
List = Annotated[bool, typer.Option("--list", help="List the scores that there are.")]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("score", help=HELP, cls=PlainCommand)(score)


def score(
    folder: RunFolder,
    *,
    question: Question = "",
    anchors: AnchorsFile = None,
    epsilon: Epsilon = None,
    temperature: Temperature = None,
    model: Model = "",
    base_url: BaseUrl = "",
    model_name: ModelName = "",
    key_env: KeyEnv = "",
    key_file: KeyFile = "",
    price: Price = "",
    listing: List = False,
    json: Json = False,
) -> int:
    """Score answers again, or list the scores that there are.

    Raises:
        UsageError: what is asked for does not fit the run.
        InvalidStudyError: the file of anchors has problems, or they did not pass their check.
        HeldError: a process works on the run.
        EndpointUnreachableError: a call got no vectors; what was answered is kept.
        BudgetReachedError: the run's budget has no room for a call.
        DamagedRecordError: the record, or a file of scores, is not what was written.
        StorageError: storage failed.

    """
    from perdure.cli.output import show, write_json  # noqa: PLC0415 - heavy
    from perdure.cli.record import require_record, require_run  # noqa: PLC0415 - heavy
    from perdure.cli.score_view import list_parts, scored_parts  # noqa: PLC0415 - heavy
    from perdure.runner.rescoring import Wanted, rescore  # noqa: PLC0415 - heavy
    from perdure.study.overrides import Overrides, for_vectors  # noqa: PLC0415 - heavy
    from perdure.trace.scores import all_scores  # noqa: PLC0415 - heavy

    if listing:
        require_record(folder)
        found = all_scores(folder)
        if json:
            write_json(found)
        else:
            show(*list_parts(found, str(folder)))
        return EXIT_DONE
    require_run(folder)
    flags = Overrides(
        model=model,
        base_url=base_url,
        model_name=model_name,
        key_env=key_env,
        key_file=key_file,
        price=price,
    )
    spec = for_vectors(flags) if flags.flags() else None
    wanted = Wanted(
        question=question,
        anchors=None if anchors is None else _checked(anchors, spec, folder),
        epsilon=epsilon,
        temperature=temperature,
        spec=spec,
    )
    done = rescore(folder, wanted)
    if json:
        write_json(done)
    else:
        show(*scored_parts(done, str(folder)))
    return EXIT_DONE


def _checked(file: Path, spec: ModelSpec | None, folder: Path) -> Anchors:
    """Read anchors that passed their check under the model that is to score by them.

    Raises:
        InvalidStudyError: the file has problems, or they did not.

    """
    from perdure.elicitation.anchor_check import anchor_problems  # noqa: PLC0415 - heavy
    from perdure.study.anchor_receipts import read_receipt  # noqa: PLC0415 - heavy
    from perdure.study.read_anchors import load_anchors  # noqa: PLC0415 - heavy

    anchors = load_anchors(file)
    pin = spec.pin if spec is not None else _pin_of(folder)
    if pin is None:
        return anchors
    receipt = read_receipt(file.parent, file.name)
    command = f"perdure anchors check {file} --model {pin.provider}"
    problems = anchor_problems(anchors.construct, anchors, receipt, pin, command)
    if problems:
        raise InvalidStudyError(
            [Problem(file=str(file), line=0, wrong=wrong, remedy=how) for wrong, how in problems],
            within="the anchors",
        )
    return anchors


def _pin_of(folder: Path) -> ModelPin | None:
    """Give the run's own model of vectors, if it has one."""
    import msgspec  # noqa: PLC0415 - heavy

    from perdure.cli.record import opened  # noqa: PLC0415 - heavy
    from perdure.records.study import Study  # noqa: PLC0415 - heavy
    from perdure.study.read_models import EMBED  # noqa: PLC0415 - heavy
    from perdure.trace.forced import study_in_force  # noqa: PLC0415 - heavy

    with opened(folder) as record:
        study = msgspec.json.decode(study_in_force(record.entry, record.log), type=Study)
    return study.models[EMBED].pin if EMBED in study.models else None
