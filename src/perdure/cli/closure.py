"""`perdure closure`: what code a Python program is made of, and whether it moved."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from perdure.base.errors import EXIT_DONE, EXIT_MOVED, UsageError
from perdure.cli.arguments import Json, MovedStudy
from perdure.cli.command import PlainCommand, command_group

if TYPE_CHECKING:
    from perdure.closure.compare import Differences
    from perdure.closure.program import Program

# What `check` ends with beside 0: it answers a question, and each answer has its own status.
# `verify` ends with the second too, where only what is unknown moved.
FROZEN = 1
UNKNOWN = 3

HELP = """\
Show which modules a Python program reaches, and whether they moved.

Computed from the source, for any program: nothing is imported or run. A module
that the program reaches is frozen while it runs; editing it would make the second
half of a record another experiment. The rest is safe to edit.

\b
ENTRY is what starts the program:
  run.py               a file, as `python run.py`
  package.module       a module, as `python -m`; an installed one too
  module:Class         what something loads by that name
  app/                 a folder with a __main__.py, or a package
  study.yaml           a study: perdure itself, the study's own code, its data
  runs/first           a run of a study, with what its processes really loaded

\b
Example:
  perdure closure list run.py --src src
  perdure closure check run.py serving analysis --src src
  perdure closure why run.py serving --src src
  perdure closure list run.py --src src --json > closure.json
  perdure closure verify closure.json
  perdure closure verify runs/first

Every one of these takes --json.
"""
HELP_LIST = """\
List the modules that a program reaches, and what could not be followed.

With --json, the document also holds the code itself; keep it in a file for
`perdure closure verify`.

\b
Example:
  perdure closure list run.py --src src
  perdure closure list package.module:Class --src src --json > closure.json
  perdure closure list study.yaml
"""
HELP_CHECK = """\
Say of modules, packages or files whether the program reaches them.

Each is frozen, safe or unknown. A name that leads to nothing is unknown, and so is
everything that an import which could not be followed may reach: treat it as frozen.
--registry says what such an import reaches.

\b
Exit codes:
  0  all of them are safe: they can be edited while the program runs
  1  one of them is frozen: the program reaches it
  2  an entry, a folder or a pattern is wrong, or the entry cannot be read
  3  none is frozen, and of one of them it is unknown

\b
Example:
  perdure closure check run.py serving analysis --src src
  perdure closure check run.py src/serving/app.py --src src --json
  perdure closure check run.py serving --src src --registry loader=plugins.*
  perdure closure check study.yaml perdure.analysis my_world prompts/ask.txt
"""
HELP_WHY = """\
Show by which imports a program reaches a module, entry first.

The exit code is that of `perdure closure check`.

\b
Example:
  perdure closure why run.py serving.app --src src
  perdure closure why run.py serving.app --src src --json
"""
HELP_VERIFY = """\
Compare the code as it is now with that of a run, or with a closure that was saved.

Everything that moved is named. Of a run: the engine, the study's own code and data
files, Python, and what its processes really loaded; the study's text is compared by
`perdure resume`. Comments and layout move nothing. What moved is shown as a diff,
and the exit code is 78. Another version of a library is a warning. Of a saved
closure, what `perdure closure check` calls unknown is compared as well: if nothing
else moved, the exit code is 3.

\b
Example:
  perdure closure verify runs/first
  perdure closure verify closure.json
  perdure closure verify closure.json --json
"""

Entry = Annotated[
    str, typer.Argument(metavar="ENTRY", help="A file, module, folder, study or run.")
]
Names = Annotated[
    list[str], typer.Argument(metavar="NAME...", help="Modules, packages or files to ask about.")
]
Name = Annotated[str, typer.Argument(metavar="NAME", help="A module, a package or a file.")]
Saved = Annotated[
    Path, typer.Argument(metavar="DIR|SAVED", help="A run, or what `list --json` printed.")
]
Src = Annotated[
    list[str], typer.Option("--src", metavar="DIR", help="A folder of its modules; repeatable.")
]
Also = Annotated[
    list[str], typer.Option("--also", metavar="ENTRY", help="One more entry; repeatable.")
]
Site = Annotated[
    list[str],
    typer.Option("--site", metavar="DIR", help="Its site-packages, if not those of this Python."),
]
Registry = Annotated[
    list[str],
    typer.Option(
        "--registry",
        metavar="MODULE[=NAMES]",
        help="All that a module imports unseen: what its strings name, or NAMES with commas.",
    ),
]
Data = Annotated[
    list[str],
    typer.Option("--data", metavar="PATTERN", help="Data files that decide too; repeatable."),
]
LoadedFile = Annotated[
    Path | None,
    typer.Option("--loaded", metavar="FILE", help="What `python -v` wrote of it, or names."),
]

closure_app = command_group(HELP)


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.add_typer(closure_app, name="closure", short_help=HELP.partition("\n")[0])


@closure_app.command("list", help=HELP_LIST, cls=PlainCommand)
def list_(
    entry: Entry,
    *,
    src: Src = [],  # noqa: B006 - the parser makes a new one
    also: Also = [],  # noqa: B006
    site: Site = [],  # noqa: B006
    registry: Registry = [],  # noqa: B006
    data: Data = [],  # noqa: B006
    loaded: LoadedFile = None,
    study: MovedStudy = None,
    json: Json = False,
) -> int:
    """List what a program reaches.

    Raises:
        UsageError: an entry, a folder or a file is not there.
        SourceError: a source file cannot be read.
        InvalidStudyError: the study has problems.

    """
    from perdure.cli.closure_entry import Options, asked  # noqa: PLC0415 - heavy
    from perdure.cli.closure_view import listing_parts  # noqa: PLC0415 - heavy
    from perdure.cli.output import show, write_json  # noqa: PLC0415 - heavy
    from perdure.closure.listing import listing_of  # noqa: PLC0415 - heavy
    from perdure.closure.program import closure_of  # noqa: PLC0415 - heavy

    options = Options(
        also=also, src=src, site=site, registry=registry, data=data, loaded=loaded, study=study
    )
    found = listing_of(closure_of(asked(entry, options)))
    if json:
        write_json(found)
    else:
        show(*listing_parts(found))
    return EXIT_DONE


@closure_app.command("check", help=HELP_CHECK, cls=PlainCommand)
def check(
    entry: Entry,
    names: Names,
    *,
    src: Src = [],  # noqa: B006 - the parser makes a new one
    also: Also = [],  # noqa: B006
    site: Site = [],  # noqa: B006
    registry: Registry = [],  # noqa: B006
    data: Data = [],  # noqa: B006
    loaded: LoadedFile = None,
    study: MovedStudy = None,
    json: Json = False,
) -> int:
    """Say of names whether a program reaches them; the exit status says so too.

    Raises:
        UsageError: an entry, a folder or a file is not there, or nothing can be concluded.
        SourceError: the entry cannot be read.
        InvalidStudyError: the study has problems.

    """
    from perdure.cli.closure_entry import Options, asked  # noqa: PLC0415 - heavy

    options = Options(
        also=also, src=src, site=site, registry=registry, data=data, loaded=loaded, study=study
    )
    return _answer(asked(entry, options), names, json=json, whole_way=False)


@closure_app.command("why", help=HELP_WHY, cls=PlainCommand)
def why(
    entry: Entry,
    name: Name,
    *,
    src: Src = [],  # noqa: B006 - the parser makes a new one
    also: Also = [],  # noqa: B006
    site: Site = [],  # noqa: B006
    registry: Registry = [],  # noqa: B006
    data: Data = [],  # noqa: B006
    loaded: LoadedFile = None,
    study: MovedStudy = None,
    json: Json = False,
) -> int:
    """Show how a program reaches a module.

    Raises:
        UsageError: an entry, a folder or a file is not there, or nothing can be concluded.
        SourceError: the entry cannot be read.
        InvalidStudyError: the study has problems.

    """
    from perdure.cli.closure_entry import Options, asked  # noqa: PLC0415 - heavy

    options = Options(
        also=also, src=src, site=site, registry=registry, data=data, loaded=loaded, study=study
    )
    return _answer(asked(entry, options), [name], json=json, whole_way=True)


@closure_app.command("verify", help=HELP_VERIFY, cls=PlainCommand)
def verify(saved: Saved, *, study: MovedStudy = None, json: Json = False) -> int:
    """Compare the code with that of a run, or with a saved closure.

    Raises:
        UsageError: there is no such run or closure, or its program is no longer there.
        SourceError: a source of it cannot be read.
        DamagedRecordError: the run's registry does not hold what was written.

    """
    from perdure.cli.closure_view import difference_parts  # noqa: PLC0415 - heavy
    from perdure.cli.output import show, write_json  # noqa: PLC0415 - heavy

    found = _moved_of_run(saved, study) if saved.is_dir() else _moved_of_saved(saved, study)
    if json:
        write_json({"refusing": found.refusing, "warning": found.warning, "unknown": found.unknown})
    else:
        show(*difference_parts(found))
    if found.refusing:
        return EXIT_MOVED
    return UNKNOWN if found.unknown else EXIT_DONE


def _moved_of_run(folder: Path, study: Path | None) -> Differences:
    from perdure.cli.closure_entry import study_of_run  # noqa: PLC0415 - heavy
    from perdure.cli.record import opened, require_run  # noqa: PLC0415 - heavy
    from perdure.runner.code_moved import code_moved  # noqa: PLC0415 - heavy

    require_run(folder)
    with opened(folder) as record:
        entry, log = record.entry, record.log
    return code_moved(entry, log, folder, study_of_run(folder, study))


def _moved_of_saved(saved: Path, study: Path | None) -> Differences:
    from perdure.closure.listing import read_listing  # noqa: PLC0415 - heavy
    from perdure.closure.listing import verify as compare_now  # noqa: PLC0415 - heavy

    if study is not None:
        raise UsageError("--study is for the folder of a run.", where=str(saved))
    return compare_now(read_listing(saved))


def _answer(program: Program, names: list[str], *, json: bool, whole_way: bool) -> int:
    from perdure.cli.closure_entry import named  # noqa: PLC0415 - heavy
    from perdure.cli.closure_view import verdict_parts  # noqa: PLC0415 - heavy
    from perdure.cli.output import show, write_json  # noqa: PLC0415 - heavy
    from perdure.closure.check import Standing  # noqa: PLC0415 - heavy
    from perdure.closure.check import check as check_names  # noqa: PLC0415 - heavy
    from perdure.closure.program import closure_of  # noqa: PLC0415 - heavy

    verdicts = check_names(closure_of(program), named(names, program))
    if json:
        write_json({"verdicts": verdicts})
    else:
        show(*verdict_parts(verdicts, whole_way=whole_way))
    standings = {verdict.standing for verdict in verdicts}
    if Standing.FROZEN in standings:
        return FROZEN
    return UNKNOWN if Standing.UNKNOWN in standings else EXIT_DONE
