"""How a supervisor stands, as `perdure status` shows it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from perdure.base.text import one_line, sentence
from perdure.cli.figures import count, duration, plural
from perdure.cli.tables import paragraph
from perdure.records.record import Record
from perdure.supervise.book import folder_of, is_supervised, standing_in
from perdure.supervise.running import left_alone
from perdure.supervise.stored import Process, Standing
from perdure.supervise.verdict import ENDED, State

if TYPE_CHECKING:
    from perdure.analysis.document import Block

_WORDS_MAX = 400


class Seen(Record):
    """A supervisor's folder: whether one is at work there, how it stands or stood, and its run.

    `run` is the process of the run if it lives, with a supervisor or without one.
    """

    folder: str
    at_work: bool
    standing: Standing
    run: Process | None = None


def seen_in(folder: Path) -> Seen | None:
    """Read how the supervisor of a run stands; None if there never was one.

    Raises:
        StorageError: its lock cannot be used.

    """
    place = folder_of(folder)
    standing = standing_in(place) if place is not None else None
    if place is None or standing is None:
        return None
    living = left_alone(place)
    return Seen(
        folder=str(place),
        at_work=is_supervised(place),
        standing=standing,
        run=living.run() if living is not None else None,
    )


def supervisor_parts(seen: Seen, folder: str) -> Iterator[Block]:
    """Write how a supervisor stands."""
    found = seen.standing
    yield paragraph(f"{folder}: {state_text(seen)}", style="bold")
    if found.why:
        yield paragraph(sentence(one_line(found.why, _WORDS_MAX)))
    yield paragraph(_where(found))
    if found.advanced_s is not None:
        yield paragraph(f"Last progress at {_when(found.advanced_s)}.")
    yield paragraph(
        f"Patience left: {plural(found.attempts_left, 'attempt')} without progress, "
        f"{duration(found.patience_left_s)}."
    )
    if found.last_end:
        yield paragraph(
            sentence(f"The last attempt ended so: {one_line(found.last_end, _WORDS_MAX)}")
        )
    if found.next_s is not None and seen.at_work:
        yield paragraph(f"The next attempt begins at {_when(found.next_s)}.")
    for what in (found.drift, *found.faults.values()):
        if what:
            yield paragraph(f"Look: {one_line(what, _WORDS_MAX)}")
    for name, said in found.health.items():
        yield paragraph(sentence(f"Health check {one_line(name, 40)}: {one_line(said)}"))
    if found.free_bytes is not None and found.needed_bytes > found.free_bytes:
        yield paragraph(
            f"Look: the rest needs about {count(found.needed_bytes)} bytes, and "
            f"{count(found.free_bytes)} are free."
        )
    if found.log:
        yield paragraph(f"Its output is in {one_line(found.log, _WORDS_MAX)}.")
    yield paragraph("")


def state_text(seen: Seen) -> str:
    """Say how a supervisor stands: one that is not at work is never shown as running."""
    found = seen.standing
    attempt = f"attempt {found.kept.attempt}" if found.kept.attempt else "no attempt yet"
    if seen.at_work or found.state in ENDED:
        return f"supervisor {found.state}, {attempt}, since {_when(found.since_s)}"
    gone = f"its supervisor is gone (it was {found.state}), {attempt}"
    if seen.run is not None:
        return f"{gone}; the run lives on (process {seen.run.pid}): supervise it again, or stop it"
    return f"{gone}; supervise it again"


def _where(found: Standing) -> str:
    target = "an unknown target" if found.target is None else count(found.target)
    at = "Nothing yet" if found.progress is None else f"Progress {count(found.progress)}"
    parts = [f"{at} of {target}"]
    if found.rate_per_s is not None and found.state is State.RUNNING:
        parts.append(f"{found.rate_per_s * 3600:,.1f} an hour lately")
    if found.left_s is not None and found.state is State.RUNNING:
        parts.append(f"about {duration(found.left_s)} left")
    return f"{', '.join(parts)}."


def _when(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S} UTC"
