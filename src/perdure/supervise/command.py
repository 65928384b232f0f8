"""A command as it is run: words, without a shell unless one is asked for. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Callable

from perdure.base.errors import UsageError
from perdure.base.text import one_line
from perdure.records.record import Record


class Command(Record):
    """The words of a command, and how it was written."""

    words: tuple[str, ...]
    text: str


def parse(text: str, option: str, *, shell: tuple[str, ...] = ()) -> Command:
    """Read a command line.

    Args:
        text: The command, as it was given.
        option: The option that gave it, for an error.
        shell: The words of a shell that is to run it; without, no shell does.

    Raises:
        UsageError: there is no command in it, or a quote is not closed.

    """
    if shell and text.strip():
        return Command(words=(*shell, text), text=text)
    try:
        words = tuple(shlex.split(text))
    except ValueError as error:
        raise UsageError(
            f"{option} {one_line(text)!r} cannot be read ({error}).", remedy="Close the quote."
        ) from error
    if not words:
        raise UsageError(f"{option} names no command.", remedy=f"Write {option} 'COMMAND ...'.")
    return Command(words=words, text=text)


def shell_words(find: Callable[[str], str | None]) -> tuple[str, ...]:
    """Give the words of the shell to use: one in which a pipe does not hide a failure, if any."""
    bash = find("bash")
    return (bash, "-o", "pipefail", "-c") if bash else ("/bin/sh", "-c")


def is_path(text: str) -> bool:
    """Say whether `--exists` names a path: one word. A command has several."""
    try:
        return len(shlex.split(text)) == 1
    except ValueError:
        return False
