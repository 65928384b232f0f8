"""`perdure report`: what a run found, on a terminal or as a document to keep or send."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from perdure.base.errors import EXIT_DONE, UsageError
from perdure.cli.arguments import Beside, Json, RunFolder
from perdure.cli.command import PlainCommand

if TYPE_CHECKING:
    from perdure.analysis.report import Report
    from perdure.trace.scores import Scores

HELP = """\
Show what a run found, from its record alone.

Predicted shares against the real, held-out ones, overall and by group; accuracy
and Brier score beside simple yardsticks; the change between waves and the
difference between scenarios; the spread between seeds, and how many of them differ;
what was not measured and why; the cost. Every figure has its count.

With --to, it becomes a file to keep or send: a page with plots (.html, one file
that opens offline), Markdown (.md) or data (.json), as the file's name ends.

\b
Example:
  perdure report runs/first
  perdure report runs/first --to first.html
  perdure report runs/first --by education --json
  perdure report runs/model --beside runs/baseline
"""


class Format(StrEnum):
    """What a report can be written as."""

    TEXT = "text"
    MARKDOWN = "markdown"
    HTML = "html"
    JSON = "json"


_BY_ENDING: Mapping[str, Format] = {
    ".html": Format.HTML,
    ".htm": Format.HTML,
    ".md": Format.MARKDOWN,
    ".markdown": Format.MARKDOWN,
    ".json": Format.JSON,
}

By = Annotated[
    str,
    typer.Option(
        "--by", metavar="ATTRIBUTE", help="Group by this attribute (default: the first scale)."
    ),
]
To = Annotated[
    Path | None,
    typer.Option(
        "--to",
        metavar="FILE",
        help="Write it to this file: .html, .md or .json. Only an earlier report is replaced.",
    ),
]
As = Annotated[
    Format | None,
    typer.Option("--format", help="Write it as this (default: as FILE ends, or text)."),
]


OfScores = Annotated[
    str,
    typer.Option(
        "--scores", metavar="ID", help="Report these scores, as `perdure score` gave them."
    ),
]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("report", help=HELP, cls=PlainCommand)(report)


def report(
    folder: RunFolder,
    *,
    by: By = "",
    beside: Beside = None,
    scores: OfScores = "",
    to: To = None,
    form: As = None,
    json: Json = False,
) -> int:
    """Show what a run found.

    Raises:
        UsageError: a folder holds no run, the attribute cannot be grouped by, the options
            contradict each other, or the file is there and is no report.
        DamagedRecordError: the record does not hold what was written.
        OutputError: the file cannot be written.

    """
    from perdure.analysis.report import build_report  # noqa: PLC0415 - heavy
    from perdure.analysis.rescored import RescoredSource  # noqa: PLC0415 - heavy
    from perdure.cli.output import show, write_out  # noqa: PLC0415 - heavy
    from perdure.cli.record import opened  # noqa: PLC0415 - heavy
    from perdure.cli.report_file import require_free, write_report  # noqa: PLC0415 - heavy
    from perdure.cli.report_view import report_parts  # noqa: PLC0415 - heavy

    chosen = _format(to, form, json=json)
    if to is not None:
        require_free(to)
    with ExitStack() as stack:
        record = stack.enter_context(opened(folder))
        other = stack.enter_context(opened(beside)) if beside is not None else None
        again = scores_of(folder, scores) if scores else None
        found = build_report(
            record if again is None else RescoredSource(record, folder, again),
            grouped_by=by,
            beside=other,
            rescoring=None if again is None else again.rescoring,
        )
    if to is not None:
        written = write_report(to, _text(found, chosen))
        if not json:
            write_out(f"{written}\n")
    elif chosen is Format.TEXT:
        show(*report_parts(found, str(folder)))
    else:
        write_out(_text(found, chosen))
    return EXIT_DONE


def scores_of(folder: Path, score_id: str) -> Scores:
    """Read the scores with an id.

    Raises:
        UsageError: there are none with this id.
        DamagedRecordError: they are not what was written.

    """
    from perdure.trace.scores import has_scores, read_scores  # noqa: PLC0415 - heavy

    if not has_scores(folder, score_id):
        raise UsageError(
            f"The run has no scores {score_id!r}.",
            remedy=f"`perdure score {folder} --list` lists those that it has.",
        )
    return read_scores(folder, score_id)


def _format(to: Path | None, form: Format | None, *, json: bool) -> Format:
    """Decide what is written.

    Raises:
        UsageError: the options contradict each other, or nothing says what a file shall hold.

    """
    if json and form not in {None, Format.JSON}:
        raise UsageError(
            f"`--json` and `--format {form}` contradict each other.", remedy="Drop one."
        )
    ending = None if to is None else _BY_ENDING.get(to.suffix.lower())
    if json and ending not in {None, Format.JSON}:
        raise UsageError(f"`--json` and `--to {to}` contradict each other.", remedy="Drop one.")
    chosen = Format.JSON if json else form or ending
    if to is None:
        return chosen or Format.TEXT
    if chosen is None:
        raise UsageError(
            f"Nothing says what `{to}` shall hold.",
            remedy="End its name in .html, .md or .json, or give `--format`.",
        )
    if chosen is Format.TEXT:
        raise UsageError(
            "Text is for a terminal; a file holds html, markdown or json.",
            remedy=f"Give another `--format`, or write `perdure report ... > {to}`.",
        )
    return chosen


def _text(found: Report, chosen: Format) -> str:
    """Write a report as a whole document. The same report gives the same text."""
    from perdure.analysis.html_page import page  # noqa: PLC0415 - heavy
    from perdure.analysis.markdown import markdown  # noqa: PLC0415 - heavy
    from perdure.cli.output import json_text  # noqa: PLC0415 - heavy
    from perdure.cli.report_json import with_addresses  # noqa: PLC0415 - heavy
    from perdure.cli.report_view import report_parts  # noqa: PLC0415 - heavy

    if chosen is Format.JSON:
        return json_text(with_addresses(found))
    blocks = list(report_parts(found))
    return page(blocks) if chosen is Format.HTML else markdown(blocks)
