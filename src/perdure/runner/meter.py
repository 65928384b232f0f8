"""How a run looks while it works: a moment's figures, for whoever watches, and `status.json`."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from perdure.base.canonical import encode
from perdure.base.clock import Clock
from perdure.inference.reservations import Amounts
from perdure.records.registry import WorldEntry, WorldOutcome, WorldState
from perdure.records.result import Progress

Observer = Callable[[Progress], None]

STATUS_NAME = "status.json"
OBSERVE_EVERY_S = 0.25
WRITE_EVERY_S = 1.0
_STATUS_BYTES_MAX = 65_536


def progress(
    worlds: Sequence[WorldEntry],
    outcomes: Sequence[WorldOutcome],
    *,
    spent: Amounts,
    calls: int,
    in_flight: int,
    retries: int,
    currency: str,
    elapsed_s: float,
    worked_s: float,
) -> Progress:
    """Compute a moment of a run from where its worlds stand. Pure.

    Rates are over all sittings, as turns and ticks are. The time left is what the ticks so far
    took, over the ticks still to come; absent before any tick has closed.
    """
    ticks = sum(world.horizon for world in worlds)
    closed = sum(outcome.tick + 1 for outcome in outcomes)
    turns = sum(outcome.turns + outcome.turns_failed for outcome in outcomes)
    return Progress(
        worlds=len(worlds),
        worlds_done=sum(outcome.state is WorldState.COMPLETED for outcome in outcomes),
        ticks=ticks,
        ticks_closed=closed,
        turns=turns,
        turns_per_s=turns / worked_s if worked_s > 0 else 0.0,
        calls=calls,
        in_flight=in_flight,
        retries=retries,
        cost=spent.money,
        unknown_costs=spent.unknown,
        currency=currency,
        elapsed_s=elapsed_s,
        worked_s=worked_s,
        left_s=worked_s * (ticks - closed) / closed if closed else None,
        pid=os.getpid(),
    )


def latest(folder: Path) -> Progress | None:
    """Read what a run last said of itself; None if it has not said anything readable."""
    try:
        with (folder / STATUS_NAME).open("rb") as file:
            return msgspec.json.decode(file.read(_STATUS_BYTES_MAX), type=Progress)
    except (OSError, msgspec.MsgspecError):
        return None  # a glance, renewed every second: the record itself holds what counts


class Meter:
    """Shows a run's progress to an observer, and keeps it in a folder, until cancelled."""

    def __init__(
        self,
        read: Callable[[float], Progress],
        *,
        folder: Path | None,
        clock: Clock,
        observer: Observer | None,
    ) -> None:
        self._read = read
        self._path = folder / STATUS_NAME if folder is not None else None
        self._clock = clock
        self._observer = observer
        self._started_s = clock.now_s()
        self._written_s = -WRITE_EVERY_S

    async def watch(self) -> None:
        """Show and keep, again and again."""
        while True:
            self.show()
            await self._clock.sleep(OBSERVE_EVERY_S)

    def show(self, *, last: bool = False) -> None:
        """Show this moment; keep it if a second has passed since the last time, or at the end."""
        elapsed_s = self._clock.now_s() - self._started_s
        is_due = last or elapsed_s - self._written_s >= WRITE_EVERY_S
        is_kept = is_due and self._path is not None
        if self._observer is None and not is_kept:
            return  # to read is to look at every world
        now = self._read(elapsed_s)
        if self._observer is not None:
            self._observer(now)
        if is_due:
            self._written_s = elapsed_s
            if self._path is not None:
                _write(self._path, now)


def _write(path: Path, now: Progress) -> None:
    beside = path.with_suffix(".new")
    try:
        beside.write_bytes(encode(now) + b"\n")
        beside.replace(path)
    except OSError:
        # A glance for people, renewed every second: a full disk shows in the record's own writes.
        beside.unlink(missing_ok=True)
