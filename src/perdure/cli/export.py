"""`perdure export`: the record as Parquet."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from perdure.base.errors import EXIT_DONE
from perdure.cli.arguments import Json, RunFolder
from perdure.cli.command import PlainCommand

if TYPE_CHECKING:
    from perdure.analysis.document import Block
    from perdure.trace.manifest import Manifest

HELP = """\
Export a run's record as Parquet, one row per turn, with a manifest of digests.

Tables: turns, events, personas. A turn has, among others, these columns: world,
scenario, seed, tick, wave, persona, question, answer, choice, unscorable, failure,
cost_nano, tokens_output. `wave` counts the survey waves from 0; `tick` is when the
turn was. docs/export.md lists every column. Reads in pandas, Polars and DuckDB.

A run that is not at its end, live or not, is exported as far as it has come; the
manifest then says `finished: false`, and where each world ends.

The real values that the study holds out are left out, so that no table has them
beside the answers by mistake. --with-held-out writes them to held_out.parquet.

\b
Example:
  perdure export runs/first
"""

WithHeldOut = Annotated[
    bool, typer.Option("--with-held-out", help="Write the real, held-out values too.")
]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("export", help=HELP, cls=PlainCommand)(export)


def export(folder: RunFolder, *, with_held_out: WithHeldOut = False, json: Json = False) -> int:
    """Export a run's record into `export/` in its folder.

    Raises:
        UsageError: the folder holds no run.
        DamagedRecordError: the record does not hold what was written; nothing is exported.
        StorageError: storage failed.

    """
    from perdure.cli.output import show, write_json  # noqa: PLC0415 - heavy
    from perdure.cli.record import require_run  # noqa: PLC0415 - heavy
    from perdure.trace.export import export as write_export  # noqa: PLC0415 - heavy
    from perdure.trace.manifest import EXPORT_NAME, MANIFEST_NAME  # noqa: PLC0415 - heavy

    require_run(folder)
    manifest = write_export(folder, with_held_out=with_held_out)
    target = folder / EXPORT_NAME
    if json:
        write_json({"folder": str(target), "manifest": manifest})
    else:
        show(*_parts(manifest, str(target), MANIFEST_NAME))
    return EXIT_DONE


def _parts(manifest: Manifest, target: str, manifest_name: str) -> Iterator[Block]:
    from perdure.cli.figures import count  # noqa: PLC0415 - heavy
    from perdure.cli.tables import digests, paragraph, table  # noqa: PLC0415 - heavy

    yield paragraph(f"Exported to {target}", style="bold")
    if not manifest.finished:
        yield paragraph("The run is not at its end: this is what it had recorded when it was read.")
    yield paragraph("")
    tables: dict[str, int] = {}
    for path, file in manifest.files.items():
        name = path.partition("/")[0]
        tables[name] = tables.get(name, 0) + file.rows
    yield table(["table", "rows"], [[name, count(rows)] for name, rows in tables.items()])
    yield paragraph("")
    rows = [[world.world_id, count(world.events), count(world.turns)] for world in manifest.worlds]
    yield table(["world", "events", "turns"], rows, ids=1)
    yield paragraph("")
    yield digests((world.world_id, world.digest) for world in manifest.worlds)
    yield paragraph(f"\nHashes of every file are in {target}/{manifest_name}.")
