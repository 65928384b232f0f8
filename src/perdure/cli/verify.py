"""`perdure verify`: check that a record is what was written."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import typer

from perdure.base.errors import EXIT_DONE, EXIT_STORAGE
from perdure.cli.arguments import Json, RunFolder
from perdure.cli.command import PlainCommand
from perdure.cli.drive_folder import holds_drive

if TYPE_CHECKING:
    from perdure.analysis.document import Block
    from perdure.trace.verify import RunReport

HELP = """\
Check a run's record and print each world's digest.

Recomputes the chain and digest of every world, the run log's chain, the blobs and
the witnesses. The first bad event of a damaged world is named, and the exit code
is 74. Nothing is repaired or changed. A run that is not at its end, live or not,
is checked as far as it has come, and that is said. Of a drive, its ledger is checked.

\b
Example:
  perdure verify runs/first
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("verify", help=HELP, cls=PlainCommand)(verify)


def verify(folder: RunFolder, *, json: Json = False) -> int:
    """Check a run's record; the exit status says whether it is sound.

    Raises:
        UsageError: the folder holds neither a run nor an export of one.

    """
    if holds_drive(folder):
        from perdure.cli.drive_standing import verify_drive  # noqa: PLC0415 - heavy

        return verify_drive(folder, json=json)
    from perdure.cli.output import show, write_json  # noqa: PLC0415 - heavy
    from perdure.cli.record import require_record  # noqa: PLC0415 - heavy
    from perdure.trace.lock import is_held  # noqa: PLC0415 - heavy
    from perdure.trace.verify import verify as check  # noqa: PLC0415 - heavy

    require_record(folder)
    held = is_held(folder)
    report = check(folder)
    if json:
        write_json(
            {
                "run_id": report.run_id,
                "sound": report.is_sound,
                "finished": report.is_finished,
                "live": held,
                "findings": report.every_finding,
                "worlds": report.worlds,
                "journal_fault": report.journal_fault,
                "journal_losses": report.losses,
            }
        )
    else:
        show(*_parts(report, str(folder), held=held))
    return EXIT_DONE if report.is_sound else EXIT_STORAGE


def _parts(report: RunReport, folder: str, *, held: bool) -> Iterator[Block]:
    from perdure.cli.cost_view import lost_journal  # noqa: PLC0415 - heavy
    from perdure.cli.figures import count, plural  # noqa: PLC0415 - heavy
    from perdure.cli.tables import digests, paragraph, table  # noqa: PLC0415 - heavy

    findings = report.every_finding
    verdict = "sound" if report.is_sound else f"damaged, {plural(len(findings), 'finding')}"
    yield paragraph(f"{folder}: {verdict}", style="bold")
    if report.worlds and not report.is_finished:
        closed = sum(world.tick + 1 for world in report.worlds)
        ticks = plural(sum(world.horizon for world in report.worlds), "tick")
        goes_on = "; a process works on it" if held else ""
        yield paragraph(f"Checked so far as the run has come: {count(closed)} of {ticks}{goes_on}.")
    yield paragraph("")
    for finding in findings:
        yield paragraph(f"{finding.where}: {finding.wrong}")
    for loss in report.losses:
        yield paragraph(lost_journal(loss))
    if report.journal_fault:
        yield paragraph(f"The call journal cannot be used: {report.journal_fault}")
    if findings or report.losses or report.journal_fault:
        yield paragraph("")
    rows = [
        [world.world_id, count(world.events), str(world.tick) if world.tick >= 0 else "none"]
        for world in report.worlds
    ]
    yield table(["world", "events", "last closed tick"], rows, ids=1)
    yield paragraph("")
    yield digests((world.world_id, world.digest or "not started") for world in report.worlds)
