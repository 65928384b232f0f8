"""At start-up, before anything is driven: what a process that died left open is closed, once."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from perdure.agent.drive.charter import Ending, closing
from perdure.agent.drive.handoff import Brief, Facts
from perdure.records.drive import DriveLine, EndCause, HarnessAnswered, ModelReturned, RunFrozen


def closing_lines(lines: Iterable[DriveLine], now: Callable[[], int]) -> tuple[DriveLine, ...]:
    """Give the lines that close every open drive of a ledger, in the order in which they began.

    Calls without a result are closed as of unknown outcome; what was handed down, as who got it
    ended, or with the drive that handed it down. A ledger without open drives needs
    none; no drive is begun.
    """
    facts: dict[str, Facts] = {}
    turns: dict[str, int] = {}
    ends: dict[str, RunFrozen] = {}
    for line in lines:
        facts.setdefault(line.run, Facts()).take(line)
        if isinstance(line, ModelReturned):
            turns[line.run] = line.turn
        elif isinstance(line, HarnessAnswered):
            turns[line.run] = turns.get(line.run, 0) + 1
        elif isinstance(line, RunFrozen):
            ends[line.run] = line
    closed: list[DriveLine] = []
    for run, told in facts.items():
        if told.is_over:
            continue
        ending = Ending(cause=EndCause.CRASH, turns=turns.get(run, 0))
        for line in closing(told, ending, Brief(), run=run, moment=now, ends=ends):
            told.take(line)
            closed.append(line)
    return tuple(closed)
