"""What is asked of a drive on the command line, read; whatever is wrong with it is said at once."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from perdure.agent.drive.tools.command import NoSandboxError
from perdure.agent.drive.tools.history import require_git
from perdure.agent.drive.tools.warden import missing
from perdure.cli.drive_bounds import Ceilings, bounds_of
from perdure.cli.drive_folder import require_place
from perdure.cli.drive_wrong import Wrong, look_at_stored, require_key
from perdure.records.alone import Asked, Bounds, Furnishing
from perdure.records.drive import RunPolicy
from perdure.records.study import ModelSpec
from perdure.runner.alone_folder import FORMAT, ROOM_NAME
from perdure.runner.furnishing import require_command, require_server
from perdure.study import files
from perdure.study.findings import quoted, suggestion
from perdure.study.number_flags import whole_given
from perdure.study.overrides import Overrides, for_speech
from perdure.study.pricing import price_of

REPLY_TOKENS = 4096

_SPEAKS = ("acp", "lines")
_NUMBER_MAX = 1_000_000_000
# Far more than a drive is ever told of.
_RULES_BYTES_MAX = 1 << 20


@dataclass(frozen=True, slots=True)
class Wishes:
    """The words of the command line, as they were given."""

    task: str
    goal: str
    out: Path
    room: Path | None
    rules: tuple[Path, ...]
    servers: tuple[str, ...]
    trusted: tuple[str, ...]
    commands: bool
    unsandboxed: bool
    hands_down: bool
    read_only: bool
    no_egress: bool
    ceilings: Ceilings
    retries: str
    reply_tokens: str
    window: str
    program: str
    speaks: str
    flags: Overrides


def asked_of(wishes: Wishes) -> Asked:
    """Make what is asked of a drive.

    Raises:
        UsageError: everything that cannot be, at once.
        NoSandboxError: nothing can be confined here, and nothing else is wrong.
        KeyOrModelRefusedError: there is no key where it is said to be, and nothing else is wrong.

    """
    wrong = Wrong()
    if not wishes.task.strip():
        wrong.add("The task is empty.", remedy="Say what is to be done.")
    model = _mind(wishes, wrong)
    room = _room(wishes, wrong)
    rules = _rules(wishes, wrong)
    servers = _servers(wishes, wrong)
    _look_at_tools(wishes, servers, wrong)
    # What is not known to have a price, because it is wrong itself, is not told of that too.
    priced = not wishes.program and (model is None or price_of(model) is not None)
    bounds = bounds_of(wishes.ceilings, Bounds(), wrong, priced=priced)
    tokens_max, window, retries = _numbers(wishes, wrong)
    look_at_stored(_texts(wishes, rules), wrong, _names(wishes))
    wrong.told()
    return Asked(
        format=FORMAT,
        task=wishes.task,
        goal=wishes.goal,
        model=model,
        program=wishes.program,
        speaks=wishes.speaks if wishes.program else "",
        room=room,
        rules=rules,
        policy=RunPolicy(writes=not wishes.read_only, egress=not wishes.no_egress),
        tools=Furnishing(
            servers=servers,
            trusted=wishes.trusted,
            commands=wishes.commands,
            unsandboxed=wishes.unsandboxed,
            hands_down=wishes.hands_down,
        ),
        bounds=bounds,
        tokens_max=tokens_max,
        window=window,
        retries=retries,
    )


def _mind(wishes: Wishes, wrong: Wrong) -> ModelSpec | None:
    """Read who answers: a model, or a program that brings its own."""
    if not wishes.program:
        if wishes.speaks != _SPEAKS[0]:
            wrong.add("--speaks is given without --program, and means nothing.")
        model = wrong.tried(lambda: for_speech(wishes.flags))
        if model is not None:
            wrong.tried(lambda: require_key(model.endpoint))
        return model
    unknown = {
        "--tokens": wishes.ceilings.tokens,
        "--retries": wishes.retries,
        "--window": wishes.window,
    }
    given = [name for name, value in unknown.items() if value]
    if beside := [*wishes.flags.flags(), *given]:
        wrong.add(
            f"--program is given, and {', '.join(beside)} too.",
            remedy="A program brings its own model, and nobody here knows its calls: leave those"
            " out, or leave --program out.",
        )
    if wishes.speaks not in _SPEAKS:
        wrong.add(f"--speaks {quoted(wishes.speaks)} is not known.", remedy="Write acp or lines.")
    wrong.tried(lambda: require_command("The command of --program", wishes.program))
    return None


def _room(wishes: Wishes, wrong: Wrong) -> str:
    """Read which folder is worked in. What is written of the work must not lie in it."""
    wrong.tried(lambda: require_place(wishes.out))
    if wishes.room is None:
        return ROOM_NAME
    if not wishes.room.is_dir():
        wrong.add("There is no such folder to work in.", where=str(wishes.room))
    elif wishes.out.resolve().is_relative_to(wishes.room.resolve()):
        wrong.add(
            "The drive's folder lies in the folder that is worked in, where the agent could"
            " change what is recorded of it.",
            where=str(wishes.out),
            remedy="Give an --out that is elsewhere.",
        )
    return str(wishes.room.absolute())


def _rules(wishes: Wishes, wrong: Wrong) -> dict[str, str]:
    read = {}
    for path in wishes.rules:
        try:
            with files.open_named(path, _RULES_BYTES_MAX) as file:
                read[str(path)] = file.read(_RULES_BYTES_MAX).decode("utf-8")
        except UnicodeDecodeError:
            wrong.add("The rules are not text in UTF-8.", where=str(path))
        except files.RefusedFileError as error:
            wrong.add(f"The file of rules {error}.", where=str(path))
        except OSError as error:
            wrong.add(f"The rules cannot be read: {error.strerror}.", where=str(path))
    return read


def _servers(wishes: Wishes, wrong: Wrong) -> dict[str, str]:
    named: dict[str, str] = {}
    for given in wishes.servers:
        name, is_there, line = given.partition("=")
        if not is_there or not name.isidentifier():
            wrong.add(
                f"--server {quoted(given)} does not name a server.",
                remedy="Write NAME=COMMAND or NAME=ADDRESS, the name in letters and digits.",
            )
        elif name in named:
            wrong.add(f"Two servers have the name {quoted(name)}.")
        else:
            named[name] = line
            wrong.tried(lambda name=name, line=line: require_server(name, line))  # type: ignore[misc]
    for name in wishes.trusted:
        if name not in named:
            wrong.add(
                f"--trust {quoted(name)} names no server.",
                remedy=suggestion(name, named) if named else "Give it with --server NAME=COMMAND.",
            )
    return named


def _look_at_tools(wishes: Wishes, servers: dict[str, str], wrong: Wrong) -> None:
    """Look for tools that contradict each other, or that cannot be here."""
    if wishes.program and (wishes.commands or servers or wishes.hands_down):
        wrong.add(
            "--program is given, and tools too.",
            remedy="A program brings its own: leave --commands, --server and --hand-down out.",
        )
    if wishes.commands and wishes.read_only:
        wrong.add("--commands is given, and --read-only too.", remedy="A command may write.")
    if wishes.unsandboxed and not (wishes.commands or wishes.program):
        wrong.add("--unsandboxed is given without --commands, and means nothing.")
    if (wishes.commands or wishes.program) and not wishes.unsandboxed:
        wrong.tried(_require_sandbox)
    if not wishes.read_only:
        wrong.tried(require_git)


def _numbers(wishes: Wishes, wrong: Wrong) -> tuple[int, int, int | None]:
    """Read what is neither bound nor price: tokens of a reply, of the window, and how many tries.

    What cannot be read is noted as wrong, so that nothing is done with what stands in for it.
    """

    def number(flag: str, given: str, *, least: int) -> int | None:
        if not given:
            return None
        return wrong.tried(lambda: whole_given(flag, given, least=least, most=_NUMBER_MAX))

    return (
        number("--reply-tokens", wishes.reply_tokens, least=1) or REPLY_TOKENS,
        number("--window", wishes.window, least=0) or 0,
        number("--retries", wishes.retries, least=0),
    )


def _texts(wishes: Wishes, rules: dict[str, str]) -> dict[str, str]:
    """Name all texts of a command line that are stored as they are."""
    servers = enumerate(wishes.servers, 1)
    return {
        "The task": wishes.task,
        "The goal": wishes.goal,
        **{f"--server, number {number},": line for number, line in servers},
        "The line of the program (--program)": wishes.program,
        **{f"The file of rules {path}": text for path, text in rules.items()},
        "What --base-url gives": wishes.flags.base_url,
        "What --key-env gives": wishes.flags.key_env,
    }


def _names(wishes: Wishes) -> dict[str, str]:
    """Name what is stored of a command line and is a name: of a folder, a file, a model."""
    flags = {"--key-file": wishes.flags.key_file, "--weights": wishes.flags.weights}
    flags |= {"--model-name": wishes.flags.model_name, "--price-as": wishes.flags.price_as}
    return {
        "The folder to work in (--room)": str(wishes.room or ""),
        "The name of a file of rules (--rules)": "\n".join(map(str, wishes.rules)),
        **{f"What {flag} gives": value for flag, value in flags.items()},
    }


def _require_sandbox() -> None:
    if why := missing():
        raise NoSandboxError.because(why)
