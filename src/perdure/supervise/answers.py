"""What a predicate answers: a number, not yet, or that it is broken. Pure.

A tool that counts may print 0 and fail, so the exit status does not decide; and a number is one
number, so nothing is made of digits in a file's name.
"""

from __future__ import annotations

import re
from enum import StrEnum

from perdure.base.text import one_line
from perdure.records.record import Record
from perdure.supervise.ends import CANNOT_EXECUTE, NOT_FOUND

_MISSING = b"No such file or directory"
_NUMBER = re.compile(rb"[0-9]{1,18}")
_SHOWN_MAX = 120
_LAST_WORDS_MAX = 2000

EXISTS, ABSENT, DAMAGED = 0, 1, 74


class Ran(Record):
    """How a command of ours ended: its exit status (None if a signal or a deadline ended it).

    `fault` says why it could not be run to its end.
    """

    status: int | None = None
    out: bytes = b""
    err: bytes = b""
    fault: str = ""


class Answer(Record):
    """A number, or not yet (None), or broken: `fault` says why. `torn` is an unended last line.

    `silence` tells of a command that failed without a word of a missing file. That is *not yet*, as
    long as there may be nothing to count.
    """

    value: int | None = None
    fault: str = ""
    torn: bool = False
    silence: str = ""

    @property
    def is_broken(self) -> bool:
        """Whether the predicate does not work."""
        return bool(self.fault)


class Existence(StrEnum):
    """Whether there is a run."""

    ABSENT = "absent"
    USABLE = "usable"
    DAMAGED = "damaged"


def count_of(ran: Ran, *, has_counted: bool, distinct: bool = False) -> Answer:
    """Read a count from what a command printed.

    Args:
        ran: The command's end.
        has_counted: Whether this predicate has given a unit before: then nothing is no answer.
        distinct: The command prints the name of a unit on each line, and different ones count.

    """
    if ran.fault:
        return Answer(fault=ran.fault)
    if distinct and ran.out.strip() and ran.status not in {CANNOT_EXECUTE, NOT_FOUND}:
        return _distinct(ran.out)
    text = ran.out.strip()
    if _NUMBER.fullmatch(text):
        return Answer(value=int(text))
    if text:
        return Answer(fault=f"It printed {_shown(text)}, which is not one number.")
    return _nothing(ran, has_counted=has_counted, distinct=distinct)


def is_missing(ran: Ran) -> bool:
    """Say whether a command found no file to look at."""
    return _MISSING in ran.err


def last_words(ran: Ran) -> str:
    """Give the end of what a command said, on stderr if anything."""
    return (ran.err or ran.out).decode("utf-8", "replace").strip()[-_LAST_WORDS_MAX:]


def existence_of(ran: Ran) -> tuple[Existence | None, str]:
    """Read from a command's exit status whether there is a run: 0 yes, 1 no, 74 a damaged one.

    Gives None, and why, if it says nothing of the kind.
    """
    if ran.fault:
        return None, ran.fault
    found = {EXISTS: Existence.USABLE, ABSENT: Existence.ABSENT, DAMAGED: Existence.DAMAGED}
    if ran.status in found:
        return found[ran.status], ""
    return None, f"It ended with exit status {ran.status}: {_shown(ran.err) or 'no word'}."


def _distinct(out: bytes) -> Answer:
    lines = out.split(b"\n")
    torn = lines[-1] != b""
    # What is not ended may be half a name.
    names = {line.strip() for line in lines[:-1] if line.strip()}
    return Answer(value=len(names), torn=torn)


def _nothing(ran: Ran, *, has_counted: bool, distinct: bool) -> Answer:
    runs = ran.status not in {CANNOT_EXECUTE, NOT_FOUND}
    said = _shown(ran.err) or "nothing on stderr"
    fault = f"It printed no number (exit status {ran.status}, {said})."
    if runs and is_missing(ran):
        return Answer()
    if runs and not has_counted:
        return Answer(silence="" if distinct else fault)
    return Answer(fault=fault)


def _shown(text: bytes) -> str:
    return one_line(text.decode("utf-8", "replace"), _SHOWN_MAX)
