"""`perdure anchors`: whether the anchors of a construct tell answers apart."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from perdure.base.errors import EXIT_DONE, InvalidStudyError, UsageError
from perdure.cli.arguments import Json
from perdure.cli.command import PlainCommand, command_group
from perdure.cli.overrides import BaseUrl, KeyEnv, KeyFile, Model, ModelName, Price

if TYPE_CHECKING:
    from perdure.records.study import ModelSpec
    from perdure.study.overrides import Overrides

# What `check` ends with if the anchors failed it.
FAILED = 1

HELP = """\
Check the anchors by which free answers are scored.

\b
Example:
  perdure anchors check anchors/intent-1.yaml --study study.yaml
"""
HELP_CHECK = """\
Check whether anchors tell graded answers apart under a model of vectors.

The answers of the file's own ladder are scored by its anchors. Each step has to score
above the one before, the sets have to agree on the order, and the scores must not all
be nearly the same. The result is written beside the file, as FILE's name with
`.check.json`: a study that scores by anchors wants one that passed, for exactly these
anchors and for its own model of vectors.

The model is the one that the study names as `embed`, or that of the flags.

\b
Exit codes:
   0  the anchors passed
   1  they failed; every reason is given
  65  the file, or the study, is invalid

\b
Example:
  perdure anchors check anchors/intent-1.yaml --study study.yaml
  perdure anchors check anchors/intent-1.yaml --model local --json
"""

File = Annotated[Path, typer.Argument(metavar="FILE", help="The file of anchors (YAML).")]
OfStudy = Annotated[
    Path | None, typer.Option("--study", metavar="STUDY", help="The study whose model embeds.")
]

anchors_app = command_group(HELP)


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.add_typer(anchors_app, name="anchors", short_help=HELP.partition("\n")[0])


@anchors_app.command("check", help=HELP_CHECK, cls=PlainCommand)
def check(
    file: File,
    *,
    study: OfStudy = None,
    model: Model = "",
    base_url: BaseUrl = "",
    model_name: ModelName = "",
    key_env: KeyEnv = "",
    key_file: KeyFile = "",
    price: Price = "",
    json: Json = False,
) -> int:
    """Check a file of anchors, and write the receipt; the exit status is the verdict.

    Raises:
        InvalidStudyError: the file or the study has problems.
        UsageError: no model of vectors is given, or a flag means nothing for it.
        EndpointUnreachableError: the model gave no vectors.
        KeyOrModelRefusedError: the endpoint refused the key, or does not know the model.
        StorageError: the receipt cannot be written.

    """
    import asyncio  # noqa: PLC0415 - heavy

    from perdure.cli.anchors_view import DOES_NOT_SHOW, anchors_parts  # noqa: PLC0415 - heavy
    from perdure.cli.output import show, write_json  # noqa: PLC0415 - heavy
    from perdure.runner.anchors import check_anchors  # noqa: PLC0415 - heavy
    from perdure.study.anchor_receipts import write_receipt  # noqa: PLC0415 - heavy
    from perdure.study.overrides import Overrides  # noqa: PLC0415 - heavy
    from perdure.study.read_anchors import load_anchors  # noqa: PLC0415 - heavy

    flags = Overrides(
        model=model,
        base_url=base_url,
        model_name=model_name,
        key_env=key_env,
        key_file=key_file,
        price=price,
    )
    anchors = load_anchors(file)
    spec, currency = _of_flags(flags) if study is None else _of_study(study, flags)
    checked = asyncio.run(check_anchors(anchors, spec, currency))
    receipt = write_receipt(file, checked.check)
    if json:
        write_json(
            {
                "passed": checked.check.passed,
                "check": checked.check,
                "receipt": str(receipt),
                "does_not_show": DOES_NOT_SHOW,
                "calls": checked.calls,
                "amount": checked.amount,
                "unknown": checked.unknown,
                "currency": currency,
            }
        )
    else:
        show(*anchors_parts(anchors, checked, currency, receipt))
    return EXIT_DONE if checked.check.passed else FAILED


def _of_study(study: Path, flags: Overrides) -> tuple[ModelSpec, str]:
    """Give the model of vectors that a study names, with its price, and the study's currency."""
    import msgspec  # noqa: PLC0415 - heavy

    from perdure.base.clock import SystemClock  # noqa: PLC0415 - heavy
    from perdure.inference.prices import priced  # noqa: PLC0415 - heavy
    from perdure.study.load import examine  # noqa: PLC0415 - heavy
    from perdure.study.read_models import EMBED  # noqa: PLC0415 - heavy

    if flags.flags():
        raise UsageError(
            "The model is that of the study, and flags for another one are given.",
            remedy="Leave them out, or leave --study out.",
        )
    examined = examine(study)
    asked, name = examined.parsed.study, examined.parsed.roles.get(EMBED, "")
    if asked is None or examined.found:
        raise InvalidStudyError(examined.found.listed())
    if not name:
        raise UsageError(
            "The study names no model of vectors.",
            where=str(study),
            remedy="Write `roles: {embed: MODEL}` in it, or leave --study out and give --model.",
        )
    of_vectors = msgspec.structs.replace(asked, models={EMBED: asked.models[name]})
    with_price = priced(of_vectors, now_s=SystemClock().wall_s())
    if problems := with_price.problems(str(study)):
        raise InvalidStudyError(problems)
    return with_price.study.models[EMBED], asked.currency


def _of_flags(flags: Overrides) -> tuple[ModelSpec, str]:
    """Give the model of vectors that the flags describe, priced in dollars."""
    from perdure.study.overrides import for_vectors  # noqa: PLC0415 - heavy
    from perdure.study.pricing import price_of  # noqa: PLC0415 - heavy

    spec = for_vectors(flags)
    if price_of(spec) is None:
        raise UsageError(
            "The model has no price.",
            remedy="Give --price IN,OUT, in dollars per million tokens; 0,0 if it is free.",
        )
    return spec, "USD"
