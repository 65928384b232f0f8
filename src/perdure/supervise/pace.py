"""How fast a run advances, over what was seen lately, and how long it still takes. Pure."""

from __future__ import annotations

from perdure.records.record import Record

_SEEN_MAX = 16


class Seen(Record):
    """A look: when, on the awake clock, and how many units there were."""

    at_s: float
    units: int


def looked(window: tuple[Seen, ...], now: Seen) -> tuple[Seen, ...]:
    """Take a look into the window: the latest looks at which something was new."""
    if window and now.units <= window[-1].units:
        return window
    return (*window, now)[-_SEEN_MAX:]


def rate_per_s(window: tuple[Seen, ...], now_s: float) -> float | None:
    """Give units a second over the window up to now; None before a second unit has come."""
    if len(window) <= 1:
        return None
    gone_s = now_s - window[0].at_s
    return (window[-1].units - window[0].units) / gone_s if gone_s > 0 else None


def left_s(window: tuple[Seen, ...], now_s: float, target: int | None) -> float | None:
    """Estimate the seconds to the target, from what was seen lately; None if nobody knows."""
    rate = rate_per_s(window, now_s)
    if not rate or target is None:
        return None
    return max(target - window[-1].units, 0) / rate
