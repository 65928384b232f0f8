"""What the end of a drive cites, followed: numbers of its own lines, to places in a ledger. Pure.

A drive numbers its own lines from 0, and does not know what others write between them.
"""

from __future__ import annotations

from perdure.records.drive import (
    Completion,
    DriveLine,
    HarnessAnswered,
    ModelReturned,
    RunFrozen,
)


class Evidence:
    """Follows the lines of a ledger, of all its drives."""

    def __init__(self) -> None:
        self._own: dict[str, list[tuple[int, bool]]] = {}

    def take(self, seq: int, line: DriveLine) -> str | None:
        """Take the next line; say what is wrong with what it cites, if anything is."""
        wrong = self._wrong(line) if isinstance(line, RunFrozen) else None
        own = self._own.setdefault(line.run, [])
        own.append((seq, isinstance(line, ModelReturned | HarnessAnswered)))
        return wrong

    def places(self, line: RunFrozen) -> tuple[int, ...]:
        """Give the places of what an end cites, of which the lines before were taken."""
        own = self._own.get(line.run, [])
        return tuple(own[number][0] for number in line.evidence if 0 <= number < len(own))

    def _wrong(self, line: RunFrozen) -> str | None:
        if bool(line.evidence) is not (line.completion is Completion.DONE):
            return f"it ends as {line.completion.value} and cites {len(line.evidence)} lines for it"
        own = self._own.get(line.run, [])
        for number in line.evidence:
            if not 0 <= number < len(own) or not own[number][1]:
                return f"it cites line {number} of its drive, which is no answer"
        return None
