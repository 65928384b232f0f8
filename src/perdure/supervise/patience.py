"""What patience is spent on: attempts and time without progress beyond the high-water mark. Pure.

Nothing is spent by an attempt that advanced, by a pause, by a predicate that is broken, or by time
in which the machine slept. Both kinds have to be spent before a run is given up.
"""

from __future__ import annotations

from perdure.records.record import Record


class Marks(Record):
    """The most that was ever seen: units of the progress log, of the artifact, and fine steps."""

    progress: int = 0
    artifact: int = 0
    steps: int = 0


class Patience(Record):
    """What is spent: attempts in a row without progress, and seconds since the last of it.

    `forgiven` failures are free: the machine slept.
    """

    attempts: int = 0
    idle_s: float = 0.0
    forgiven: int = 0


class Allowance(Record):
    """How much patience there is. With `seconds` 0, attempts alone decide.

    `before_first` is the number of attempts while no unit has been seen at all.
    """

    attempts: int = 3
    seconds: float = 1800.0
    before_first: int = 3


def raised(marks: Marks, seen: Marks, target: int | None) -> Marks:
    """Give the high-water marks after a look. What is beyond the target is no progress."""

    def capped(value: int) -> int:
        return value if target is None else min(value, target)

    return Marks(
        progress=max(marks.progress, capped(seen.progress)),
        artifact=max(marks.artifact, capped(seen.artifact)),
        steps=max(marks.steps, seen.steps),
    )


def rewound(marks: Marks, seen: int | None, target: int | None) -> bool:
    """Say whether a progress log holds less than it once did."""
    if seen is None:
        return False
    return (seen if target is None else min(seen, target)) < marks.progress


def advanced(patience: Patience) -> Patience:
    """Give patience back: there was progress."""
    return Patience(forgiven=patience.forgiven)


def idled(patience: Patience, seconds: float) -> Patience:
    """Count time without progress."""
    return Patience(
        attempts=patience.attempts,
        idle_s=patience.idle_s + max(seconds, 0.0),
        forgiven=patience.forgiven,
    )


def woken(patience: Patience) -> Patience:
    """Make the next failure free: the machine slept, and connections did not survive that."""
    return Patience(attempts=patience.attempts, idle_s=patience.idle_s, forgiven=1)


def failed(patience: Patience) -> Patience:
    """Count an attempt that ended without progress."""
    if patience.forgiven:
        return Patience(
            attempts=patience.attempts, idle_s=patience.idle_s, forgiven=patience.forgiven - 1
        )
    return Patience(attempts=patience.attempts + 1, idle_s=patience.idle_s)


def is_spent(patience: Patience, allowance: Allowance, marks: Marks) -> bool:
    """Say whether a run is to be given up: no attempt is left, and no time either."""
    return patience.attempts >= attempts_of(allowance, marks) and (
        patience.idle_s >= allowance.seconds
    )


def attempts_of(allowance: Allowance, marks: Marks) -> int:
    """Say how many attempts in a row may fail, given what has been seen so far."""
    return allowance.attempts if marks != Marks() else allowance.before_first
