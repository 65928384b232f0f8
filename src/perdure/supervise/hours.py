"""The time that passes while a run is supervised, and what of it counts.

Time in which the machine slept, or in which the supervisor itself was stopped, is nobody's fault.
"""

from __future__ import annotations

from perdure.supervise import liveness, patience
from perdure.supervise.case import Case
from perdure.supervise.means import Means

# Less than this is no sleep of the machine, but two clocks read one after the other.
_SLEPT_S = 1.0
# So long between two looks of ours, and we were stopped or starved ourselves.
_AWAY_S = 20.0
_MOMENT_S = 1.0


class Hours:
    """Lets time pass, and puts it down to patience, to a sleep, or to our own absence."""

    def __init__(self, means: Means, case: Case) -> None:
        self._means = means
        self._case = case
        self._ticked_s = means.clock.now_s()
        self._slept_s = means.suspended_s()

    async def sleep(self, seconds: float, *, spends: bool = False) -> None:
        """Let time pass, and see how much of what kind; `spends` says whether of patience."""
        means, case = self._means, self._case
        await means.clock.sleep(seconds)
        now_s, slept_s = means.clock.now_s(), means.suspended_s()
        gone_s, asleep_s = now_s - self._ticked_s, slept_s - self._slept_s
        self._ticked_s, self._slept_s = now_s, slept_s
        if asleep_s >= _SLEPT_S:
            means.history.note("machine-slept", seconds=round(asleep_s, 1))
            case.signs = liveness.again(case.signs, now_s)
            case.keep(patience=patience.woken(case.kept.patience))
        elif gone_s >= seconds + _AWAY_S:
            # We were stopped, or starved: what the run did meanwhile, nobody saw.
            means.history.note("supervisor-was-away", seconds=round(gone_s, 1))
            case.signs = liveness.again(case.signs, now_s)
        elif spends:
            case.keep(patience=patience.idled(case.kept.patience, gone_s))

    async def moment(self) -> None:
        """Wait a moment, before something is asked again."""
        await self.sleep(min(_MOMENT_S, self._means.settings.poll_s))
