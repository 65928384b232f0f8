"""How long to wait before the next attempt: longer each time, and never all at the same instant."""

from __future__ import annotations

from perdure.records.record import Record

_DOUBLINGS_MAX = 32


class Backoff(Record):
    """The first wait and the longest one, in seconds."""

    first_s: float = 10.0
    cap_s: float = 300.0


def wait_s(backoff: Backoff, failures: int, draw: float, *, hint_s: float = 0.0) -> float:
    """Give the seconds to wait after so many failures in a row without progress. Pure.

    None after an attempt that advanced, unless the run asked for some. The wait is drawn (`draw` in
    [0, 1)) between half the doubled time and all of it, so that many supervisors do not come back
    together and none comes back at once. `hint_s` is what the run asked for; it is kept up to the
    tenfold of the cap.
    """
    hint_s = min(max(hint_s, 0.0), 10 * backoff.cap_s)
    if failures <= 0:
        return hint_s
    whole = min(backoff.cap_s, backoff.first_s * 2.0 ** min(failures - 1, _DOUBLINGS_MAX))
    return max(hint_s, whole * (0.5 + draw / 2))
