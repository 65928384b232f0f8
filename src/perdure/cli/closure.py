"""`perdure closure`: what code a Python program is made of, and whether it moved."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from perdure.base.errors import EXIT_DONE, EXIT_MOVED, UsageError
from perdure.cli.arguments import Json
from perdure.cli.command import PlainCommand, command_group

if TYPE_CHECKING:
    from perdure.closure.program import Program

# What `check` ends with beside 0: it answers a question, and each answer has its own status.
FROZEN = 1
UNKNOWN = 3

HELP = """\
Show which modules a Python program reaches, and whether they moved.

Computed from the source, for any program: nothing is imported or run. A module
that the program reaches is frozen while it runs; editing it would make the second
half of a record another experiment. The rest is downstream.

\b
Example:
  perdure closure list run.py --root src
  perdure closure check run.py serving analysis --root src
  perdure closure why run.py serving --root src
  perdure closure list run.py --root src --json > closure.json
  perdure closure verify closure.json

Every one of these takes --json.
"""
HELP_LIST = """\
List the modules that a program reaches, and what could not be followed.

With --json, the document also holds the code itself; keep it in a file for
`perdure closure verify`.

\b
Example:
  perdure closure list run.py --root src
  perdure closure list package.module:Class --root src --json > closure.json
"""
HELP_CHECK = """\
Say of modules, packages or files whether the program reaches them.

A misspelt name is an error, never safe. Nothing is called downstream while an
import that could not be followed may reach it.

\b
Exit codes:
  0  all of them are downstream: they can be edited while the program runs
  1  one of them is frozen: the program reaches it
  2  a name, folder or file is not there, or a source cannot be read
  3  of one of them it is unknown

\b
Example:
  perdure closure check run.py serving analysis --root src
  perdure closure check run.py src/serving/app.py --root src --json
"""
HELP_WHY = """\
Show by which imports a program reaches a module, entry first.

The exit code is that of `perdure closure check`.

\b
Example:
  perdure closure why run.py serving.app --root src
  perdure closure why run.py serving.app --root src --json
"""
HELP_VERIFY = """\
Compare the code as it is now with a closure that was saved.

Comments and layout move nothing. What moved is shown as a diff, and the exit code
is 78. Another version of a library is a warning.

\b
Example:
  perdure closure verify closure.json
  perdure closure verify closure.json --json
"""

Entry = Annotated[
    str, typer.Argument(metavar="ENTRY", help="What starts it: a file, module or module:Class.")
]
Names = Annotated[
    list[str], typer.Argument(metavar="NAME...", help="Modules, packages or files to ask about.")
]
Name = Annotated[str, typer.Argument(metavar="NAME", help="A module, a package or a file.")]
Saved = Annotated[Path, typer.Argument(metavar="SAVED", help="What `list --json` printed.")]
Roots = Annotated[
    list[str], typer.Option("--root", metavar="DIR", help="A folder of its modules; repeatable.")
]
Also = Annotated[
    list[str], typer.Option("--entry", metavar="ENTRY", help="One more entry; repeatable.")
]
Sites = Annotated[
    list[str],
    typer.Option("--site", metavar="DIR", help="Its site-packages, if not those of this Python."),
]
Dynamic = Annotated[
    list[str],
    typer.Option(
        "--dynamic",
        metavar="MODULE=NAMES",
        help="All that the unknown imports of a module import, with commas; may be nothing.",
    ),
]
Files = Annotated[
    list[str],
    typer.Option("--file", metavar="PATTERN", help="Data files that decide too; repeatable."),
]

closure_app = command_group(HELP)


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.add_typer(closure_app, name="closure", short_help=HELP.partition("\n")[0])


@closure_app.command("list", help=HELP_LIST, cls=PlainCommand)
def list_(
    entry: Entry,
    *,
    root: Roots = [],  # noqa: B006 - the parser makes a new one
    more: Also = [],  # noqa: B006
    site: Sites = [],  # noqa: B006
    dynamic: Dynamic = [],  # noqa: B006
    file: Files = [],  # noqa: B006
    json: Json = False,
) -> int:
    """List what a program reaches.

    Raises:
        UsageError: an entry, a folder or a file is not there.
        SourceError: a source file cannot be read.

    """
    from perdure.cli.closure_view import listing_parts  # noqa: PLC0415 - heavy
    from perdure.cli.output import show, write_json  # noqa: PLC0415 - heavy
    from perdure.closure.listing import listing_of  # noqa: PLC0415 - heavy
    from perdure.closure.program import closure_of  # noqa: PLC0415 - heavy

    walked = closure_of(
        _program((entry, *more), roots=root, sites=site, dynamic=dynamic, files=file)
    )
    found = listing_of(walked)
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
    root: Roots = [],  # noqa: B006 - the parser makes a new one
    more: Also = [],  # noqa: B006
    site: Sites = [],  # noqa: B006
    dynamic: Dynamic = [],  # noqa: B006
    file: Files = [],  # noqa: B006
    json: Json = False,
) -> int:
    """Say of names whether a program reaches them; the exit status says so too.

    Raises:
        UsageError: a name, an entry, a folder or a file is not there.
        SourceError: the entry cannot be read.

    """
    program = _program((entry, *more), roots=root, sites=site, dynamic=dynamic, files=file)
    return _answer(program, names, json=json, whole_way=False)


@closure_app.command("why", help=HELP_WHY, cls=PlainCommand)
def why(
    entry: Entry,
    name: Name,
    *,
    root: Roots = [],  # noqa: B006 - the parser makes a new one
    more: Also = [],  # noqa: B006
    site: Sites = [],  # noqa: B006
    dynamic: Dynamic = [],  # noqa: B006
    file: Files = [],  # noqa: B006
    json: Json = False,
) -> int:
    """Show how a program reaches a module.

    Raises:
        UsageError: the name, an entry, a folder or a file is not there.
        SourceError: the entry cannot be read.

    """
    program = _program((entry, *more), roots=root, sites=site, dynamic=dynamic, files=file)
    return _answer(program, [name], json=json, whole_way=True)


@closure_app.command("verify", help=HELP_VERIFY, cls=PlainCommand)
def verify(saved: Saved, *, json: Json = False) -> int:
    """Compare the code with a saved closure.

    Raises:
        UsageError: there is no such closure, or its program is no longer there.
        SourceError: its entry cannot be read.

    """
    from perdure.cli.closure_view import difference_parts  # noqa: PLC0415 - heavy
    from perdure.cli.output import show, write_json  # noqa: PLC0415 - heavy
    from perdure.closure.listing import read_listing  # noqa: PLC0415 - heavy
    from perdure.closure.listing import verify as compare_now  # noqa: PLC0415 - heavy

    found = compare_now(read_listing(saved))
    if json:
        write_json({"refusing": found.refusing, "warning": found.warning})
    else:
        show(*difference_parts(found))
    return EXIT_MOVED if found.refusing else EXIT_DONE


def _answer(program: Program, names: list[str], *, json: bool, whole_way: bool) -> int:
    from perdure.cli.closure_view import verdict_parts  # noqa: PLC0415 - heavy
    from perdure.cli.output import show, write_json  # noqa: PLC0415 - heavy
    from perdure.closure.check import Standing  # noqa: PLC0415 - heavy
    from perdure.closure.check import check as check_names  # noqa: PLC0415 - heavy
    from perdure.closure.program import closure_of  # noqa: PLC0415 - heavy

    verdicts = check_names(closure_of(program), names)
    if json:
        write_json({"verdicts": verdicts})
    else:
        show(*verdict_parts(verdicts, whole_way=whole_way))
    standings = {verdict.standing for verdict in verdicts}
    if Standing.FROZEN in standings:
        return FROZEN
    return UNKNOWN if Standing.UNKNOWN in standings else EXIT_DONE


def _program(
    entries: tuple[str, ...],
    *,
    roots: list[str],
    sites: list[str],
    dynamic: list[str],
    files: list[str],
) -> Program:
    from perdure.closure.program import Program  # noqa: PLC0415 - heavy

    declared: dict[str, tuple[str, ...]] = {}
    for declaration in dynamic:
        module, mark, names = declaration.partition("=")
        if not mark or not module:
            raise UsageError(
                f"{declaration!r} declares nothing.",
                remedy="Write `--dynamic module=name,name`, or `--dynamic module=` for none.",
            )
        found = tuple(name.strip() for name in names.split(",") if name.strip())
        declared[module.strip()] = declared.get(module.strip(), ()) + found
    return Program(
        entries=entries,
        roots=tuple(roots) or (() if _names_a_file(entries[0]) else (".",)),
        sites=tuple(sites),
        declared=declared,
        files=tuple(files),
    )


def _names_a_file(entry: str) -> bool:
    return entry.endswith(".py") or "/" in entry
