"""How a drive stands, and whether its ledger is what was written: `status` and `verify`."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Iterator
from pathlib import Path

from perdure.agent.drive.tools.history import History, HistoryError
from perdure.analysis.document import Block, Verbatim
from perdure.base.errors import EXIT_DONE, EXIT_STORAGE, DamagedRecordError
from perdure.base.text import printable
from perdure.cli.figures import count, percent, plural
from perdure.cli.output import as_tree, show, write_json
from perdure.cli.tables import paragraph
from perdure.records.alone import Asked
from perdure.records.drive import CheckpointCommitted, Completion, RunFrozen, RunStarted
from perdure.records.record import Record
from perdure.runner.alone_folder import HISTORY_NAME, room_of
from perdure.runner.looking_on import Moment, moment_of
from perdure.trace.drive_reader import DriveReader
from perdure.trace.lock import is_held


class Ending(Record):
    """How a drive of a folder ended."""

    run: str
    completion: str
    cause: str
    turns: int


class DriveStanding(Record):
    """How a folder's drive stands. `used` and `window` are tokens, of the last request."""

    state: str
    task: str
    answered_by: str
    room: str
    drives: int
    lines: int
    open: str
    moment: Moment | None
    ending: Ending | None

    @property
    def can_go_on(self) -> bool:
        """Whether nobody works on it and it is not done."""
        return self.state not in ("running", Completion.DONE.value)


def drive_standing(folder: Path) -> DriveStanding:
    """Find out how a drive stands.

    Raises:
        DamagedRecordError: the ledger does not hold what was written.

    """
    # The lock is asked first: a drive that ends meanwhile is told as ended, never as interrupted.
    held = is_held(folder)
    ending: Ending | None = None
    open_runs: dict[str, None] = {}
    drives = lines = 0
    with DriveReader.open(folder) as reader:
        asked = reader.asked(Asked)
        for stored in reader.lines():
            line, lines = stored.line, lines + 1
            is_child = "." in line.run
            open_runs.setdefault(line.run)
            if isinstance(line, RunStarted) and not is_child:
                drives += 1
            if isinstance(line, RunFrozen):
                open_runs.pop(line.run)
                if not is_child:
                    ending = Ending(
                        run=line.run,
                        completion=line.completion.value,
                        cause=line.cause.value,
                        turns=line.turns,
                    )
    left = next(iter(open_runs), "")
    if held:
        state = "running"
    elif left or ending is None:
        state = "interrupted"
    else:
        state = ending.completion
    return DriveStanding(
        state=state,
        task=asked.task,
        answered_by=asked.program if asked.model is None else asked.model.pin.model,
        room=str(room_of(folder, asked)),
        drives=drives,
        lines=lines,
        open=left,
        moment=moment_of(folder),
        ending=ending,
    )


def show_standing(folder: Path, *, json: bool) -> int:
    """Show how a drive stands; give the exit status.

    Raises:
        DamagedRecordError: the ledger does not hold what was written.

    """
    found = drive_standing(folder)
    if json:
        write_json({"folder": str(folder), **as_tree(found)})
    else:
        show(*_parts(found, str(folder)))
    return EXIT_DONE


def verify_drive(folder: Path, *, json: bool) -> int:
    """Check a drive's ledger against its chain, and its history; give the exit status.

    Raises:
        UsageError: there is a history, and no git to check it with.

    """
    wrong, where, last, chain = "", "", -1, ""
    cited: list[str] = []
    held = is_held(folder)
    try:
        with DriveReader.open(folder) as reader:
            head = reader.verify()
            last, chain = head.seq, head.chain
            cited = [
                stored.line.oid
                for stored in reader.lines()
                if isinstance(stored.line, CheckpointCommitted)
            ]
        # Git works in the folder of the history: the room may be gone.
        repository = folder.absolute() / HISTORY_NAME
        if cited and repository.exists():
            asyncio.run(History(repository, repository).check(cited))
            cited = []
    except (DamagedRecordError, HistoryError) as error:
        wrong, where = error.wrong, error.where
    if json:
        document = {"sound": not wrong, "live": held, "lines": last + 1, "chain": chain}
        write_json({**document, "unchecked": len(cited), "wrong": wrong, "where": where})
    else:
        verdict = f"damaged: {wrong}" if wrong else f"sound, {plural(last + 1, 'line')}"
        blocks = [paragraph(f"{folder}: {verdict}", style="bold")]
        if wrong:
            blocks.append(paragraph(where))
        else:
            blocks.append(paragraph(f"Chain: {chain}"))
            if cited:
                commits = plural(len(cited), "commit")
                blocks.append(
                    paragraph(f"Its history is not here: {commits} could not be looked for in it.")
                )
        if held:
            blocks.append(paragraph("A process works on it; it was checked as far as it has come."))
        show(*blocks)
    return EXIT_STORAGE if wrong else EXIT_DONE


def _parts(found: DriveStanding, folder: str) -> Iterator[Block]:
    yield paragraph(f"{folder}: {found.state}", style="bold")
    yield paragraph(f"Task: {found.task}")
    yield paragraph(f"Answered by: {found.answered_by}. It works in {found.room}.")
    moment, ending = found.moment, found.ending
    if moment is not None and found.state == "running":
        yield paragraph(f"Now: drive {moment.run}, turn {moment.turn}, {moment.doing}.")
    elif moment is not None and found.open:
        yield paragraph(
            f"Drive {moment.run} was left open in turn {moment.turn}, {moment.doing}, by a process"
            " that is gone."
        )
    if moment is not None:
        yield paragraph(_window(moment))
    if ending is not None:
        yield paragraph(
            f"Last ending: {ending.completion} ({ending.cause}) after"
            f" {plural(ending.turns, 'turn')}."
        )
    yield paragraph(f"{plural(found.drives, 'drive')}, {plural(found.lines, 'line')}.")
    if found.can_go_on:
        yield paragraph("\nIt goes on with:")
        yield Verbatim(text=f"  perdure drive resume {printable(shlex.quote(folder))}")


def _window(moment: Moment) -> str:
    if moment.used is None:
        return "How full its window is, nobody has said yet."
    if not moment.window:
        return f"Its last request took {count(moment.used)} tokens; of what window is not known."
    share = percent(moment.used / moment.window)
    return (
        f"Its last request took {count(moment.used)} of the {count(moment.window)} tokens of its"
        f" window ({share})."
    )
