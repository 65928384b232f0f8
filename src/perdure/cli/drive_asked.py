"""What is asked of a drive on the command line, read; whatever is wrong with it is said at once."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from perdure.agent.drive.tools.command import NoSandboxError
from perdure.agent.drive.tools.environment import secrets_in
from perdure.agent.drive.tools.history import require_git
from perdure.agent.drive.tools.warden import missing
from perdure.base.errors import PerdureError, UsageError
from perdure.records.alone import Asked, Bounds, Furnishing
from perdure.records.drive import RunPolicy
from perdure.records.study import ModelSpec
from perdure.runner.alone import FORMAT, ROOM_NAME
from perdure.runner.furnishing import require_command, require_server
from perdure.study.findings import quoted, suggestion
from perdure.study.money_flags import amount_given
from perdure.study.overrides import Overrides, for_speech
from perdure.study.pricing import price_of

T = TypeVar("T")

_SPEAKS = ("acp", "lines")


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
    turns: int | None
    tokens: int | None
    budget: str
    seconds: float | None
    retries: int | None
    reply_tokens: int
    window: int
    program: str
    speaks: str
    flags: Overrides


class _Wrong:
    """Gathers what is wrong, in the order in which it is found."""

    def __init__(self) -> None:
        self._errors: list[PerdureError] = []

    def add(self, wrong: str, *, remedy: str = "", where: str = "") -> None:
        """Note a problem."""
        self._errors.append(UsageError(wrong, remedy=remedy, where=where))

    def tried(self, read: Callable[[], T]) -> T | None:
        """Do something, and note what is wrong with it; None if it could not be done."""
        try:
            return read()
        except (UsageError, NoSandboxError) as error:
            self._errors.append(error)
            return None

    def told(self) -> None:
        """Raise what was noted, if anything was.

        Raises:
            UsageError: all of it.

        """
        if len(self._errors) == 1:
            raise self._errors[0]
        if self._errors:
            listed = "".join(f"\n- {error}" for error in self._errors)
            raise UsageError(f"{len(self._errors)} things are wrong:{listed}")


def asked_of(wishes: Wishes) -> Asked:
    """Make what is asked of a drive.

    Raises:
        UsageError: everything that cannot be, at once.
        NoSandboxError: nothing can be confined here, and nothing else is wrong.

    """
    wrong = _Wrong()
    if not wishes.task.strip():
        wrong.add("The task is empty.", remedy="Say what is to be done.")
    model = _mind(wishes, wrong)
    room = _room(wishes, wrong)
    rules = _rules(wishes, wrong)
    servers = _servers(wishes, wrong)
    _look_at_tools(wishes, servers, wrong)
    _look_for_keys({"The task": wishes.task, "The goal": wishes.goal, **rules, **servers}, wrong)
    money = wrong.tried(lambda: _money(wishes, model)) if wishes.budget else None
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
        bounds=Bounds(
            turns=wishes.turns, tokens=wishes.tokens, money=money, seconds=wishes.seconds
        ),
        tokens_max=wishes.reply_tokens,
        window=wishes.window,
        retries=wishes.retries,
    )


def _mind(wishes: Wishes, wrong: _Wrong) -> ModelSpec | None:
    """Read who answers: a model, or a program that brings its own."""
    if not wishes.program:
        return wrong.tried(lambda: for_speech(wishes.flags))
    unknown = {
        "--tokens": wishes.tokens,
        "--retries": wishes.retries,
        "--window": wishes.window or None,
    }
    given = [name for name, value in unknown.items() if value is not None]
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


def _room(wishes: Wishes, wrong: _Wrong) -> str:
    """Read which folder is worked in. What is written of the work must not lie in it."""
    if wishes.out.exists() and not wishes.out.is_dir():
        wrong.add("The drive's folder is no folder.", where=str(wishes.out))
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


def _rules(wishes: Wishes, wrong: _Wrong) -> dict[str, str]:
    read = {}
    for path in wishes.rules:
        try:
            read[str(path)] = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            wrong.add("The rules are not text in UTF-8.", where=str(path))
        except OSError as error:
            wrong.add(f"The rules cannot be read: {error.strerror}.", where=str(path))
    return read


def _servers(wishes: Wishes, wrong: _Wrong) -> dict[str, str]:
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


def _look_at_tools(wishes: Wishes, servers: dict[str, str], wrong: _Wrong) -> None:
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


def _look_for_keys(texts: dict[str, str], wrong: _Wrong) -> None:
    """Refuse the value of a secret variable in what is asked, all of which is stored."""
    keys = secrets_in(os.environ)
    for name, text in texts.items():
        if any(key in text for key in keys):
            wrong.add(
                f"{name} holds a key of this environment, and would be stored with it.",
                remedy="Leave it out: what needs one is told the name of a variable.",
            )


def _require_sandbox() -> None:
    if why := missing():
        raise NoSandboxError.because(why)


def _money(wishes: Wishes, model: ModelSpec | None) -> int:
    """Read a budget, which holds nothing where nobody knows what a call costs."""
    amount = amount_given("--budget", wishes.budget)
    is_unpriced = bool(wishes.program) or (model is not None and price_of(model) is None)
    if is_unpriced:
        raise UsageError(
            "A budget holds nothing where nobody knows what a call costs.",
            remedy="Give --price or --price-as, or bound it by --turns or --seconds.",
        )
    return amount
