"""Checks for a run that lives, advances, and is useless: when one counts, what it says. Pure."""

from __future__ import annotations

from perdure.records.record import Record
from perdure.supervise.answers import Ran

# One odd look is no verdict.
IN_A_ROW = 2

HEALTHY, UNHEALTHY = 0, 1


class Arming(Record):
    """From when on a check counts: seconds since the attempt began, and units of progress."""

    after_s: float = 0.0
    from_units: int = 0


class Health(Record):
    """How a check stands: how often in a row it found the run useless, and what it last said."""

    bad: int = 0
    said: str = "not looked at yet"


def is_armed(arming: Arming, *, gone_s: float, units: int) -> bool:
    """Say whether a check counts now."""
    return gone_s >= arming.after_s and units >= arming.from_units


def looked(health: Health, ran: Ran) -> Health:
    """Take a look: 0 is healthy, 1 is useless, and anything else is no reading."""
    if ran.fault or ran.status not in {HEALTHY, UNHEALTHY}:
        why = ran.fault or f"exit status {ran.status}"
        return Health(bad=health.bad, said=f"no reading: {why}")
    if ran.status == HEALTHY:
        return Health(said="healthy")
    return Health(bad=health.bad + 1, said="useless")


def is_useless(health: Health) -> bool:
    """Say whether a check has found the run useless often enough."""
    return health.bad >= IN_A_ROW
