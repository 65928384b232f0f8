"""Reading the call journal of a run from outside, whoever writes it: nothing is ever written."""

from __future__ import annotations

from pathlib import Path

from perdure.records.journal import OpenTick
from perdure.trace.files import exists
from perdure.trace.journal_file import JOURNAL_NAME, require_noted
from perdure.trace.journal_note import read_note
from perdure.trace.journal_rows import read_calls, read_head, read_ticks
from perdure.trace.opening import open_reader
from perdure.trace.schema import CALLS


def read_journal(folder: Path, run: str = "") -> tuple[OpenTick, ...]:
    """Read the ticks that are open, with all their attempts, as of one moment.

    A run without a journal has none. A tick may be in its partition already: there it wins.

    Raises:
        DamagedRecordError: it is another run's, or does not hold what was written.
        StorageError: it cannot be read.

    """
    path = folder / JOURNAL_NAME
    if not exists(path):
        return ()
    # The note is read before the moment: a journal that is live goes on meanwhile.
    noted = read_note(path, run)
    database = open_reader(path, CALLS)
    try:
        database.execute("BEGIN")
        require_noted(path, read_head(database, run), noted)
        ticks = [tick for tick in read_ticks(database) if not tick.closed]
        return tuple(
            OpenTick(epoch=tick.epoch, opening=tick.opening, calls=read_calls(database, tick))
            for tick in ticks
        )
    finally:
        database.close()
