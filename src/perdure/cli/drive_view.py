"""A drive on a terminal: what it says while it says it, what it did, how it ended."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from perdure.base.errors import (
    EXIT_DONE,
    EXIT_KEY_OR_MODEL,
    EXIT_PAUSED,
    EXIT_SOME_FAILED,
    EXIT_STOPPED,
    EXIT_UNREACHABLE,
    OutputError,
    UsageError,
)
from perdure.base.money import show
from perdure.base.text import one_line, printable
from perdure.cli.drive_words import summed_up, told
from perdure.cli.figures import count, plural
from perdure.cli.output import PIPE_WIDTH, as_tree, write_error, write_json, write_out
from perdure.records.drive import (
    DRIVE_KIND_OF,
    DriveLine,
    EndCause,
    HarnessAnswered,
    HarnessReported,
    ModelCalled,
    ModelReturned,
    ProviderFailed,
    RunFrozen,
)
from perdure.records.increment import Increment, Said
from perdure.records.request import FailureCause
from perdure.runner.alone import CURRENCY, DrivenAlone
from perdure.runner.drive_meter import Spent
from perdure.trace.drive_evidence import Evidence
from perdure.trace.drive_lines import StoredLine
from perdure.trace.drive_reader import DriveReader

_WIDTH_MIN = 20
_WHY_MAX = 300

_EXIT: dict[EndCause, int] = {
    EndCause.CONCLUDED: EXIT_DONE,
    EndCause.OUTPUT_CEILING: EXIT_SOME_FAILED,
    EndCause.EMPTY_REPLY: EXIT_SOME_FAILED,
    EndCause.REFUSED: EXIT_SOME_FAILED,
    EndCause.STUCK: EXIT_SOME_FAILED,
    EndCause.TURNS: EXIT_PAUSED,
    EndCause.TOKENS: EXIT_PAUSED,
    EndCause.MONEY: EXIT_PAUSED,
    EndCause.TIME: EXIT_PAUSED,
    EndCause.CANCEL: EXIT_STOPPED,
    EndCause.HALT: EXIT_STOPPED,
    EndCause.PROVIDER: EXIT_UNREACHABLE,
    EndCause.CRASH: EXIT_STOPPED,
    EndCause.FAULT: EXIT_SOME_FAILED,
}
_REFUSED = {
    FailureCause.KEY_REFUSED: EXIT_KEY_OR_MODEL,
    FailureCause.MODEL_UNKNOWN: EXIT_KEY_OR_MODEL,
    FailureCause.WRONG_MODEL: EXIT_KEY_OR_MODEL,
    FailureCause.OUT_OF_MONEY: EXIT_PAUSED,
}
assert set(_EXIT) == set(EndCause)


class Unseen:
    """Looks on where nothing is shown, for why a drive failed: that is told in the end."""

    def __init__(self) -> None:
        self.why = ""
        self._said = ""

    def line(self, line: DriveLine) -> None:
        """Remember why a call failed for good, a program was lost, or the task was refused."""
        if "." in line.run:
            return
        match line:
            case ProviderFailed():
                self.why = line.text
            case HarnessReported(what="lost" | "broke_off"):
                self.why = f"The program: {line.text}"
            case ModelReturned() | HarnessAnswered():
                self._said = line.text
            case RunFrozen(cause=EndCause.REFUSED):
                self.why = one_line(self._said, _WHY_MAX)


class View:
    """Writes what an agent says and does to standard output, as it happens.

    While it is held, what happens is kept, and written when it is released. Where nothing can be
    written, that is kept as what `failed`, and the drive goes on.
    """

    def __init__(self) -> None:
        self._in_text = False
        self._is_told = False
        self._held: list[str] | None = None
        self.failed: OutputError | None = None

    def piece(self, increment: Increment) -> None:
        """Write a piece of what is being said."""
        if isinstance(increment, Said):
            self._say(increment.text)
            self._is_told = True

    def line(self, line: DriveLine) -> None:
        """Write what a line says, if it is for people. What a child does is set in."""
        if isinstance(line, ModelCalled):
            self._end_text()
            self._is_told = False
        if isinstance(line, ModelReturned):
            if line.text and not self._is_told:
                self._say(line.text)
            self._end_text()
        indent = "  " * line.run.count(".")
        if isinstance(line, ProviderFailed):
            # All of it: it says what to do.
            self._write(printable(f"{indent}!! {line.text}\n"))
            return
        for text in told(line):
            self._write(one_line_of(indent + text) + "\n")

    def hold(self) -> None:
        """Write nothing for now: somebody is asked for words."""
        self._held = []

    def release(self) -> None:
        """Write what was kept, and go on."""
        kept, self._held = self._held or [], None
        self._write("".join(kept))

    def _say(self, text: str) -> None:
        self._write(printable(text))
        self._in_text = not text.endswith("\n")

    def _end_text(self) -> None:
        if self._in_text:
            self._write("\n")
            self._in_text = False

    def _write(self, text: str) -> None:
        if self._held is not None:
            self._held.append(text)
        elif text:
            try:
                write_out(text)
            except OutputError as error:
                self.failed = self.failed or error


def one_line_of(text: str) -> str:
    """Cut a line to the width of the terminal, or of a page where there is none."""
    width = max(shutil.get_terminal_size((PIPE_WIDTH, 24)).columns, _WIDTH_MIN)
    return text if len(text) <= width else text[: width - 1] + "…"


def exit_of(cause: EndCause, failed: FailureCause | None) -> int:
    """Give the exit status of a drive that ended so."""
    if cause is EndCause.PROVIDER and failed in _REFUSED:
        return _REFUSED[failed]
    return _EXIT[cause]


def tell_end(ended: DrivenAlone, folder: Path, *, json: bool, why: str = "") -> int:
    """Tell how a drive ended; give its exit status. `why` it failed is told if nobody saw it."""
    frozen, spent = ended.frozen, ended.spent
    status = exit_of(frozen.cause, frozen.failed)
    if json:
        write_json(
            {
                "folder": str(folder),
                "run": frozen.run,
                "completion": frozen.completion.value,
                "cause": frozen.cause.value,
                "failed": frozen.failed.value if frozen.failed else None,
                "why": why,
                "turns": frozen.turns,
                "text": frozen.text,
                "calls": None if spent is None else spent.calls,
                "tokens": None if spent is None else spent.tokens,
                "cost": None if spent is None or spent.unpriced else spent.money,
                "estimated": None if spent is None else spent.estimated,
                "currency": CURRENCY,
                "exit": status,
            }
        )
        return status
    if why:
        write_error(f"perdure: {why}")
    failed = f", {frozen.failed.value}" if frozen.failed else ""
    write_out(
        f"\n{frozen.completion.value} ({frozen.cause.value}{failed}) after "
        f"{plural(frozen.turns, 'turn')}: {_told_spent(spent)}\n"
    )
    told_next = list(_next(folder, status))
    width = max(len(command) for command, _ in told_next)
    for command, what in told_next:
        write_out(f"  {command:<{width}}  {what}\n")
    return status


def _told_spent(spent: Spent | None) -> str:
    """Say what the calls took: at most, where some are counted at the most that they may have."""
    if spent is None:
        return "what the program spent is not known"
    most = "at most " if spent.estimated else ""
    cost = "cost unknown" if spent.unpriced else f"{most}{show(spent.money, CURRENCY)}"
    return f"{plural(spent.calls, 'call')}, {most}{count(spent.tokens)} tokens, {cost}"


def _next(folder: Path, status: int) -> Iterator[tuple[str, str]]:
    place = printable(shlex.quote(str(folder)))
    if status != EXIT_DONE:
        yield f"perdure drive resume {place}", "go on from its handoff"
    yield f"perdure drive show {place}", "what it did, line by line"


def tell_there_already(folder: Path, *, json: bool) -> int:
    """Tell that there is nothing to go on with."""
    if json:
        write_json({"folder": str(folder), "completion": "done", "exit": EXIT_DONE})
    else:
        write_out("It is done already, and nothing is left to go on with.\n")
    return EXIT_DONE


def show_ledger(folder: Path, number: int | None, *, json: bool) -> None:
    """Write the lines of a ledger, one of them in full if that is asked for.

    Raises:
        UsageError: there is no such line.
        DamagedRecordError: the ledger does not hold what was written.

    """
    with DriveReader.open(folder) as reader:
        if number is not None:
            _show_line(reader, number, folder)
        elif json:
            evidence = Evidence()
            write_json([_tree(stored, evidence) for stored in reader.lines()])
        else:
            _list_lines(reader)


def _show_line(reader: DriveReader, number: int, folder: Path) -> None:
    last, evidence = -1, Evidence()
    for stored in reader.lines():
        last, tree = stored.seq, _tree(stored, evidence)
        if last == number:
            write_json(tree)
            return
    raise UsageError(
        f"The ledger has no line {number}.",
        where=str(folder),
        remedy=f"Give a number from 0 to {last}: `perdure drive show` lists them.",
    )


def _list_lines(reader: DriveReader) -> None:
    """List each line with its number and its seconds since the first; each drive has a heading."""
    run, begun, evidence = "", None, Evidence()
    for stored in reader.lines():
        line = stored.line
        evidence.take(stored.seq, line)
        begun = line.t if begun is None else begun
        if line.run != run:
            run = line.run
            write_out(f"\n{'':>6}drive {printable(run)}\n")
        kind = DRIVE_KIND_OF[type(line)]
        seconds = (line.t - begun) / 1000
        text = summed_up(line)
        if isinstance(line, RunFrozen) and line.evidence:
            text = f"{text}: line {', '.join(map(str, evidence.places(line)))}"
        write_out(one_line_of(f"{stored.seq:>5} {seconds:>8.1f}  {kind:<21} {text}"))
        write_out("\n")


def _tree(stored: StoredLine, evidence: Evidence) -> dict[str, Any]:
    """Give a line as data; beside what an end cites of its own lines, where those are."""
    line = stored.line
    evidence.take(stored.seq, line)
    tree = {"seq": stored.seq, "kind": DRIVE_KIND_OF[type(line)], **as_tree(line)}
    if isinstance(line, RunFrozen) and line.evidence:
        tree["evidence_seq"] = list(evidence.places(line))
    return tree
