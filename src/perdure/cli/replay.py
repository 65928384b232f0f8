"""`perdure replay`: drive a record again and compare every event, with no model call."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import typer

from perdure.base.errors import EXIT_DONE, EXIT_MOVED
from perdure.cli.arguments import Json, MovedStudy, RunFolder
from perdure.cli.command import PlainCommand

if TYPE_CHECKING:
    from perdure.analysis.document import Block
    from perdure.runner.replay import Replayed

HELP = """\
Drive a finished or paused run again, with no model call, and compare every event.

Worlds step again under the recorded plans, agents act again on the recorded
replies. The first event that comes out otherwise is named, with its field, old and
new value (exit code 78): the code moved since, or it is not deterministic. What
moved is named too. Nothing is written. The study's own world and agent are loaded
from where the study is, as `resume` finds it. Of a run that was forced past other
inputs, each tick is driven under the inputs it had.

\b
Example:
  perdure replay runs/first
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("replay", help=HELP, cls=PlainCommand)(replay)


def replay(folder: RunFolder, *, study: MovedStudy = None, json: Json = False) -> int:
    """Drive a record again; the exit status says whether it came out the same.

    Raises:
        UsageError: the folder holds no run.
        DamagedRecordError: the record does not hold what was written.
        PluginError: the study's own world or agent cannot be loaded.

    """
    from perdure.cli.output import show, write_json  # noqa: PLC0415 - heavy
    from perdure.cli.record import require_run  # noqa: PLC0415 - heavy
    from perdure.runner.replay import replay as drive_again  # noqa: PLC0415 - heavy

    require_run(folder)
    replayed = drive_again(folder, study_file=study)
    if json:
        write_json(replayed)
    else:
        show(*_parts(replayed, str(folder)))
    return EXIT_MOVED if replayed.diverged else EXIT_DONE


def _parts(replayed: Replayed, folder: str) -> Iterator[Block]:
    from perdure.cli.figures import count  # noqa: PLC0415 - heavy
    from perdure.cli.tables import paragraph, table, verbatim  # noqa: PLC0415 - heavy

    verdict = "does not come out the same" if replayed.diverged else "comes out the same"
    yield verbatim(f"{folder}: {verdict}\n")
    for world in replayed.worlds:
        if world.divergence is not None:
            yield paragraph(f"{world.divergence.event}: {world.divergence.wrong}")
            if world.divergence.forced:
                past = ", ".join(world.divergence.forced)
                yield paragraph(f"It was made before the run was forced past {past}.", indent=2)
    if replayed.causes:
        yield paragraph(" ".join(replayed.causes) + "\n")
    rows = [[world.world_id, count(world.ticks), count(world.events)] for world in replayed.worlds]
    yield table(["world", "ticks the same", "events the same"], rows, ids=1)
