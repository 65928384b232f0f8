"""`perdure drive`: one agent with tools, alone in a folder; its going on, branches and lines."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from perdure.base.errors import EXIT_DONE, EXIT_USAGE
from perdure.cli.arguments import Json
from perdure.cli.command import PlainCommand
from perdure.cli.drive_folder import require_drive, require_place
from perdure.cli.output import write_error
from perdure.cli.overrides import (
    BaseUrl,
    KeyEnv,
    KeyFile,
    Model,
    ModelName,
    Price,
    PriceAs,
    Weights,
)

HELP = """\
Drive one agent with tools on a task, in a folder of its own.

`perdure drive TASK --out DIR` begins one. Everything that it does is in a ledger in
DIR, line by line, before it has an effect. It works in DIR/room, or in the folder
that --room names, whose every state before a change is kept in DIR/history.git.

\b
Example:
  perdure drive "Sort the notes by topic." --out drives/notes \\
      --room ~/notes --model http --base-url https://example.org/v1 \\
      --model-name some-model-1 --key-env API_KEY --price 0.15,0.60
  perdure drive resume drives/notes
  perdure drive show drives/notes
  perdure drive fork drives/notes --at 12 --out drives/other "By date."
"""

START_HELP = """\
Begin a drive. The folder must not hold one yet, and `start` need not be written.

Ctrl-C asks for words to the agent; an empty line stops it at its next safe point.
A second Ctrl-C cuts whatever is in flight. `perdure stop DIR` stops it from elsewhere.
The exit code is 0 when the agent said that it is done, 1 when it came to nothing (an
empty or cut reply, or going round in circles), 69 when the endpoint failed for good, 75
when it was stopped, 76 at a ceiling.

\b
Example:
  perdure drive "Write a summary of report.txt into summary.txt." \\
      --out drives/sum --room papers --model local --turns 20
"""

RESUME_HELP = """\
Go on from the handoff of the last drive in a folder.

It is a new drive. What a process that died left open is closed first. A call that it had made,
and whose result nobody saw, is not made again: the agent is told to look. One that is done is left
as it is.

What is given here holds from now on, and is in the ledger; all else stays as it was for the
drive before. A ceiling of `none` lifts it.

\b
Example:
  perdure drive resume drives/notes --turns 40 \\
      --base-url http://127.0.0.1:9000/v1
"""

FORK_HELP = """\
Branch off a drive after one of its lines, in a folder of its own.

The branch begins with what the model had seen by then, and with the room as it stood. A line
within a wave of calls is moved back to before it, which is said and recorded.

\b
Example:
  perdure drive fork drives/notes --at 12 --out drives/other "By date."
"""

SHOW_HELP = """\
List the lines of a drive's ledger, or show one in full.

Each is checked against its chain. The seconds are those since the first line. A line is listed in
its place, which is its order; its time is when what it tells of was begun, so that the one below
can be a little earlier.

\b
Example:
  perdure drive show drives/notes
  perdure drive show drives/notes 12
"""

_START = "start"

Out = Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder of the drive.")]
Folder = Annotated[Path, typer.Argument(metavar="DIR", help="The drive's folder.")]
Turns = Annotated[str, typer.Option("--turns", metavar="N", help="Turns at most.")]
Tokens = Annotated[
    str, typer.Option("--tokens", metavar="N", help="Tokens at most, in and out together.")
]
Budget = Annotated[str, typer.Option("--budget", metavar="AMOUNT", help="US dollars at most.")]
Seconds = Annotated[str, typer.Option("--seconds", metavar="N", help="Seconds at most.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show nothing while it works.")]


def _is_task(word: str, *more: str) -> bool:
    """Say whether a word that names a command can only be meant as a task."""
    if word == _START or "--at" in more or not more or not more[0].startswith("-"):
        return False
    return any(one.partition("=")[0] == "--out" for one in more)


class _OrStart(TyperGroup):
    """A group of commands in which a first word that is none of them is a task to begin with.

    A word that is one, with options alone after it and a folder to begin in, is a task too.
    """

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command of the arguments."""
        if args and (args[0] not in self.commands or _is_task(*args)):
            args = [_START, *args]
        return super().resolve_command(ctx, args)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Let options of a task come before the task."""
        if args and args[0].startswith("-") and args[0] not in ("-h", "--help"):
            args = [_START, *args]
        return list(super().parse_args(ctx, args))


group = typer.Typer(
    help=HELP,
    cls=_OrStart,
    no_args_is_help=False,
    rich_markup_mode=None,
    invoke_without_command=True,
)


@group.callback()
def options(context: typer.Context) -> None:
    """Show the help page where nothing is asked."""
    if context.invoked_subcommand is None:
        write_error(context.get_help())
        raise typer.Exit(EXIT_USAGE)


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.add_typer(group, name="drive")


@group.command(_START, help=START_HELP, cls=PlainCommand)
def start(
    task: Annotated[str, typer.Argument(metavar="TASK", help="What is to be done.")],
    *,
    out: Out,
    goal: Annotated[str, typer.Option("--goal", help="What would show that it is done.")] = "",
    room: Annotated[
        Path | None,
        typer.Option("--room", metavar="DIR", help="The folder to work in; DIR/room by default."),
    ] = None,
    rules: Annotated[
        list[Path] | None,
        typer.Option("--rules", metavar="FILE", help="Told to the agent first; can be repeated."),
    ] = None,
    server: Annotated[
        list[str] | None,
        typer.Option(
            "--server",
            metavar="NAME=LINE",
            help="An MCP server: a command, or an address; can be repeated.",
        ),
    ] = None,
    trust: Annotated[
        list[str] | None,
        typer.Option(
            "--trust", metavar="NAME", help="Believe this server which of its tools only read."
        ),
    ] = None,
    commands: Annotated[
        bool, typer.Option("--commands", help="Let it run commands of a shell, in a sandbox.")
    ] = False,
    unsandboxed: Annotated[
        bool, typer.Option("--unsandboxed", help="Run them without one: they can do anything.")
    ] = False,
    hand_down: Annotated[
        bool, typer.Option("--hand-down", help="Let it hand work to agents of its own.")
    ] = False,
    read_only: Annotated[bool, typer.Option("--read-only", help="Let it change nothing.")] = False,
    no_egress: Annotated[
        bool, typer.Option("--no-egress", help="Let its tools reach nothing outside.")
    ] = False,
    turns: Turns = "",
    tokens: Tokens = "",
    budget: Budget = "",
    seconds: Seconds = "",
    retries: Annotated[
        str,
        typer.Option(
            "--retries",
            metavar="N",
            help="Ask again so often after a failed call; else until stopped.",
        ),
    ] = "",
    reply_tokens: Annotated[
        str,
        typer.Option(
            "--reply-tokens", metavar="N", help="Tokens of one reply at most; 4096 by default."
        ),
    ] = "",
    window: Annotated[
        str, typer.Option("--window", metavar="N", help="Tokens that the model's window holds.")
    ] = "",
    program: Annotated[
        str,
        typer.Option(
            "--program",
            metavar="COMMAND",
            help="An agent program that drives its own turns, in a model's place.",
        ),
    ] = "",
    speaks: Annotated[
        str,
        typer.Option(
            "--speaks",
            metavar="HOW",
            help="How it is spoken to: acp (the Agent Client Protocol) or lines (of JSON).",
        ),
    ] = "acp",
    model: Model = "",
    base_url: BaseUrl = "",
    model_name: ModelName = "",
    key_env: KeyEnv = "",
    key_file: KeyFile = "",
    weights: Weights = "",
    price: Price = "",
    price_as: PriceAs = "",
    quiet: Quiet = False,
    json: Json = False,
) -> int:
    """Begin a drive.

    Raises:
        UsageError: what is asked cannot be.
        PerdureError: as `alone.begin` raises.

    """
    from perdure.cli.drive_asked import Wishes, asked_of  # noqa: PLC0415 - heavy
    from perdure.cli.drive_attend import attended  # noqa: PLC0415 - heavy
    from perdure.cli.drive_bounds import Ceilings  # noqa: PLC0415 - heavy
    from perdure.runner.alone import begin  # noqa: PLC0415 - heavy
    from perdure.study.overrides import Overrides  # noqa: PLC0415 - heavy

    wishes = Wishes(
        task=task,
        goal=goal,
        out=out,
        room=room,
        rules=tuple(rules or ()),
        servers=tuple(server or ()),
        trusted=tuple(trust or ()),
        commands=commands,
        unsandboxed=unsandboxed,
        hands_down=hand_down,
        read_only=read_only,
        no_egress=no_egress,
        ceilings=Ceilings(turns=turns, tokens=tokens, budget=budget, seconds=seconds),
        retries=retries,
        reply_tokens=reply_tokens,
        window=window,
        program=program,
        speaks=speaks,
        flags=Overrides(
            model=model,
            base_url=base_url,
            model_name=model_name,
            key_env=key_env,
            key_file=key_file,
            weights=weights,
            price=price,
            price_as=price_as,
        ),
    )
    asked = asked_of(wishes)
    return attended(out, lambda company: begin(out, asked, company), quiet=quiet, json=json)


@group.command("resume", help=RESUME_HELP, cls=PlainCommand)
def resume(
    folder: Folder,
    *,
    turns: Turns = "",
    tokens: Tokens = "",
    budget: Budget = "",
    seconds: Seconds = "",
    base_url: BaseUrl = "",
    key_env: KeyEnv = "",
    quiet: Quiet = False,
    json: Json = False,
) -> int:
    """Go on from the handoff of the last drive.

    Raises:
        UsageError: the folder holds no drive, or what is given anew cannot be.
        PerdureError: as `alone.resume` raises.

    """
    from perdure.cli.drive_anew import anew_of  # noqa: PLC0415 - heavy
    from perdure.cli.drive_attend import attended  # noqa: PLC0415 - heavy
    from perdure.cli.drive_bounds import Ceilings  # noqa: PLC0415 - heavy
    from perdure.runner.alone import resume as go_on  # noqa: PLC0415 - heavy

    require_drive(folder)
    ceilings = Ceilings(turns=turns, tokens=tokens, budget=budget, seconds=seconds)
    anew = anew_of(folder, ceilings, base_url=base_url, key_env=key_env)
    return attended(
        folder, lambda company: go_on(folder, company, anew=anew), quiet=quiet, json=json
    )


@group.command("fork", help=FORK_HELP, cls=PlainCommand)
def fork(
    folder: Folder,
    task: Annotated[str, typer.Argument(metavar="TASK", help="What to do instead.")] = "",
    *,
    at: Annotated[int, typer.Option("--at", metavar="N", help="After this line of the ledger.")],
    out: Out,
    quiet: Quiet = False,
    json: Json = False,
) -> int:
    """Branch off a drive after one of its lines.

    Raises:
        UsageError: there is no such line.
        PerdureError: as `alone.begin` raises.

    """
    from perdure.cli.drive_attend import attended  # noqa: PLC0415 - heavy
    from perdure.cli.drive_wrong import Wrong, look_at_stored  # noqa: PLC0415 - heavy
    from perdure.runner.alone import begin  # noqa: PLC0415 - heavy
    from perdure.runner.branching import branch  # noqa: PLC0415 - heavy

    require_drive(folder)
    require_place(out)
    wrong = Wrong()
    look_at_stored({"The task": task}, wrong)
    wrong.told()
    asked = branch(folder, at, out, task=task)
    taken = asked.branch
    if taken is not None and taken.at != at and not json:
        write_error(f"perdure: line {at} is within a wave; the branch begins after {taken.at}.")
    return attended(out, lambda company: begin(out, asked, company), quiet=quiet, json=json)


@group.command("show", help=SHOW_HELP, cls=PlainCommand)
def show(
    folder: Folder,
    line: Annotated[int | None, typer.Argument(metavar="N", help="One line, in full.")] = None,
    *,
    json: Json = False,
) -> int:
    """List the lines of a drive's ledger, or show one in full.

    Raises:
        UsageError: the folder holds no drive, or there is no such line.
        DamagedRecordError: the ledger does not hold what was written.

    """
    from perdure.cli.drive_view import show_ledger  # noqa: PLC0415 - heavy

    require_drive(folder)
    show_ledger(folder, line, json=json)
    return EXIT_DONE
