"""Named places at which a test may kill the process, to prove that nothing is lost there.

A point is declared in `POINTS`; reaching an undeclared one is a bug. Outside tests a point costs
one comparison. The crash suite reads the table, arms each point, and fails if one is never reached.
"""

from __future__ import annotations

import os
import signal

from perdure.base.errors import InternalError

POINTS: dict[str, str] = {
    "run.created": "the registry is on disk, no world has a partition",
    "journal.set-aside": "a call journal that cannot be used is out of the way, no other is there",
    "journal.begun": "a new call journal is there, the run log does not say that one was lost",
    "journal.noted": "the run log says that a call journal was lost, the new one is empty",
    "partition.before-rename": "a partition is complete under its temporary name",
    "partition.born": "a partition has its name, its registry row does not say so yet",
    "tick.opened": "the plan is fixed, no call of the tick was made",
    "call.intended": "the intent of an attempt is durable, nothing was sent",
    "call.answered": "an attempt has come to something, the journal does not know it yet",
    "call.settled": "an attempt is settled durably, nobody has seen its outcome",
    "tick.before-append": "every call of the tick is answered, nothing of it is written",
    "tick.after-append": "the tick is durable, the witness does not know it yet",
    "tick.after-witness": "the tick is durable and witnessed",
    "rung.logged": "a rung is in the run log, no world has it in its record yet",
    "pause.after-append": "a world's record ends with the pause, the witness does not know it yet",
    "world.completed": "the last tick is witnessed, the partition has not left WAL",
    "run.closed": "every world is done, the registry says so",
    "drive.before-rename": "the ledger of a drive is complete under its temporary name",
    "drive.before-append": "lines of a drive are ready to be written, none of them is",
    "drive.after-append": "lines of a drive are durable, the drive does not know it yet",
    "drive.before-assemble": "a turn of a drive begins, its request is not written",
    "drive.called": "that a drive asks its model is durable, nothing was sent",
    "drive.returned": "the model answered a drive, its reply is not written",
    "drive.before-wave": "a reply is durable, nothing of what it asks for was done",
    "drive.checkpointed": "the workspace is in its history, the ledger does not say so yet",
    "drive.before-tool": "the intent of a call that acts is durable, nothing of it was done",
    "drive.tool-ran": "a call that acts has acted, the ledger does not know its result",
    "drive.before-spawn": "that work is handed down is durable, the drive for it is not begun",
    "drive.child-ended": "a drive that work was handed down to is over, its parent does not say so",
    "drive.before-freeze": "a drive has come to an end, nothing of that is written",
    "scores.sealed": "a file of new scores has its name, the run log does not know of it",
}

_armed = os.environ.get("PERDURE_CRASH_AT", "")


def crashpoint(name: str) -> None:
    """Pass a named point; die here if `PERDURE_CRASH_AT` is `name` or `name:hit` (1 = first)."""
    if name not in POINTS:
        raise InternalError(f"The crash point {name!r} is not declared.")
    if _armed:
        _hit(name)


def _hit(name: str) -> None:
    global _armed  # noqa: PLW0603 - the count-down of the one armed point
    point, _, count = _armed.partition(":")
    if point != name:
        return
    left = int(count or "1") - 1
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    _armed = f"{point}:{left}"
