"""Live progress while a run works, on stderr: redrawn on a terminal, plain lines elsewhere."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO

from perdure.base.text import one_line
from perdure.cli.figures import count, duration, plural, spend
from perdure.cli.output import console_for, write_error
from perdure.records.result import Progress

Observer = Callable[[Progress], None]

LINE_EVERY_S = 5.0
LINE_EVERY_SHARE = 0.1
BAR_WIDTH_MAX = 60


@contextmanager
def watching(*, quiet: bool, title: str, stream: IO[str] | None = None) -> Iterator[Observer]:
    """Give an observer that shows progress in the way that suits the stream (stderr)."""
    where = sys.stderr if stream is None else stream
    if quiet:
        yield lambda _progress: None
    elif where.isatty() and os.environ.get("TERM", "") not in ("", "dumb"):
        with _live(where, title) as observer:
            yield observer
    else:
        yield LineProgress(write_error)


class LineProgress:
    """Writes a line when enough time has passed or enough ticks have closed."""

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write
        self._last: Progress | None = None

    def __call__(self, progress: Progress) -> None:
        """Take a moment of the run, and write it if it is due."""
        if line_due(self._last, progress):
            self._last = progress
            self._write(f"perdure: {progress_text(progress)}")


def line_due(last: Progress | None, now: Progress) -> bool:
    """Decide whether a plain line is due: the first, the end, 5 s, or a tenth of the ticks.

    A tenth counts only with a second gone by, so that a fast run does not fill a log.
    """
    if last is None:
        return True
    if now.ticks_closed == now.ticks and now.worlds_done == now.worlds:
        return last.worlds_done != now.worlds
    gone = now.elapsed_s - last.elapsed_s
    return gone >= LINE_EVERY_S or (gone >= 1 and done(now) - done(last) >= LINE_EVERY_SHARE)


def done(progress: Progress) -> float:
    """Say what share of all ticks is closed."""
    return progress.ticks_closed / progress.ticks if progress.ticks else 0.0


def progress_text(progress: Progress) -> str:
    """Write a moment of a run on one line."""
    return f"{where_text(progress)}; {pace_text(progress)}"


def where_text(progress: Progress) -> str:
    """Write how far a run is."""
    return (
        f"{100 * done(progress):.0f} %, "
        f"tick {progress.ticks_closed}/{progress.ticks}, "
        f"world {progress.worlds_done}/{progress.worlds}"
    )


def pace_text(progress: Progress) -> str:
    """Write how fast a run goes, what it spent and how long it still takes."""
    parts = [
        f"{plural(progress.turns, 'turn')} ({progress.turns_per_s:,.1f}/s)",
        plural(progress.calls, "call"),
        f"{count(progress.in_flight)} in flight",
    ]
    if progress.retries:
        parts.append("1 retry" if progress.retries == 1 else f"{count(progress.retries)} retries")
    parts.append(spend(progress.cost, progress.unknown_costs, progress.currency))
    if progress.left_s is None:
        parts.append(f"{duration(progress.elapsed_s)} gone")
    else:
        parts.append(f"{duration(progress.elapsed_s)} gone, {duration(progress.left_s)} left")
    return ", ".join(parts)


def bar(share: float, width: int) -> str:
    """Draw a bar of `width` characters that is filled to `share`."""
    filled = min(width, int(share * width))
    return "━" * filled + "╌" * (width - filled)


@contextmanager
def _live(stream: IO[str], title: str) -> Iterator[Observer]:
    from rich.console import Group  # noqa: PLC0415 - rich is heavy
    from rich.live import Live  # noqa: PLC0415 - rich is heavy
    from rich.text import Text  # noqa: PLC0415 - rich is heavy

    console = console_for(stream)
    last: list[Progress] = []
    with Live(console=console, auto_refresh=False, transient=True, redirect_stdout=False) as live:

        def observe(progress: Progress) -> None:
            last[:] = [progress]
            width = min(BAR_WIDTH_MAX, max(10, console.width - 2))
            drawn = Group(
                Text(f"{one_line(title)}: {where_text(progress)}", style="bold"),
                Text(bar(done(progress), width), style="green"),
                Text(pace_text(progress)),
            )
            live.update(drawn, refresh=True)

        yield observe
    for progress in last:
        # The drawing is gone: leave one line of how far it came.
        write_error(f"perdure: {progress_text(progress)}")
