"""Holds the lines of one drive until something outside depends on them, and numbers them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from perdure.agent.drive.handoff import Facts
from perdure.agent.drive.ports import Ledger
from perdure.agent.drive.scanning import without_secrets
from perdure.records.drive import DriveLine


class Scribe:
    """Writes the lines of one drive. What it holds is handed over together, by `flush`.

    Lines that could not be appended are still held: a later flush takes them along.
    """

    def __init__(
        self, run: str, ledger: Ledger, now: Callable[[], int], secrets: Callable[[str], str]
    ) -> None:
        self.run = run
        self._ledger = ledger
        self._now = now
        self._secrets = secrets
        self._held: list[DriveLine] = []
        self._blobs: dict[str, bytes] = {}
        self.count = 0
        self._last = 0
        self._clock_failed = False
        self.facts = Facts()

    def now(self) -> int:
        """Ask the clock, and remember what it said."""
        self._clock_failed = True
        self._last = self._now()
        self._clock_failed = False
        return self._last

    def now_or_last(self) -> int:
        """Ask the clock; one that failed is not asked again, and its last word stands in."""
        return self._last if self._clock_failed else self.now()

    def hold(self, line: DriveLine, blobs: dict[str, bytes] | None = None) -> int:
        """Take a line without its secrets, with the bytes that it cites; give its number."""
        line = without_secrets(line, self._secrets)
        self._held.append(line)
        self._blobs.update(blobs or {})
        self.facts.take(line)
        self.count += 1
        return self.count - 1

    async def flush(self) -> None:
        """Hand over what is held; it is durable when this returns.

        A cancellation is put off until then, so that no line is handed over twice.

        Raises:
            StorageError: it could not be written.

        """
        if not self._held:
            return
        handed = asyncio.ensure_future(self._ledger.append(tuple(self._held), dict(self._blobs)))
        cut: asyncio.CancelledError | None = None
        while not handed.done():
            try:
                await asyncio.wait({handed})
            except asyncio.CancelledError as error:
                cut = error
        handed.result()
        self._held, self._blobs = [], {}
        if cut is not None:
            raise cut
