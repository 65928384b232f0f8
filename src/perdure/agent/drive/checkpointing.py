"""When the workspace is committed: a pure rule of three states and three kinds of waves."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from perdure.records.tools import Writes


class Workspace(StrEnum):
    """The workspace against the drive's last commit."""

    NOT_YET = "not_yet"
    CHECKPOINTED = "checkpointed"
    CHANGED = "changed"


def is_due(state: Workspace, wave: Sequence[Writes]) -> bool:
    """Say whether to commit before a wave, of which each call may write something.

    Right after a commit the workspace is that commit; what a wave may write makes it another.
    """
    may_write = any(not writes.is_nothing for writes in wave)
    return state is Workspace.CHANGED or (state is Workspace.NOT_YET and may_write)


def after(state: Workspace, wave: Sequence[Writes], *, committed: bool) -> Workspace:
    """Give the state after a wave, even one that was cut: it may have written by then."""
    if any(not writes.is_nothing for writes in wave):
        return Workspace.CHANGED
    return Workspace.CHECKPOINTED if committed else state
