"""Staying with one attempt until nothing of it is left, and ending it if it has to end."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from perdure.supervise import liveness
from perdure.supervise.attempts import Running
from perdure.supervise.case import Case
from perdure.supervise.ends import Reason
from perdure.supervise.escalation import Climb, Step, due, ladder
from perdure.supervise.hours import Hours
from perdure.supervise.looks import Looks
from perdure.supervise.means import Means
from perdure.supervise.processes import oom_kills
from perdure.supervise.room import Room
from perdure.supervise.settings import Event
from perdure.supervise.stop_request import StopRequest
from perdure.supervise.telling import Telling
from perdure.supervise.verdict import State


class Watch:
    """Watches attempts, one after the other."""

    def __init__(
        self,
        means: Means,
        case: Case,
        *,
        hours: Hours,
        stop: StopRequest,
        room: Room,
        looks: Looks,
        telling: Telling,
    ) -> None:
        self._means = means
        self._case = case
        self._hours = hours
        self._stop = stop
        self._room = room
        self._looks = looks
        self._telling = telling

    async def stay_with(self, running: Running) -> None:
        """Stay with an attempt until nothing of it is left."""
        case, clock, settings = self._case, self._means.clock, self._means.settings
        self._looks.begin()
        case.running, case.log_fault = running, ""
        looked_s = clock.now_s()
        why, climb = case.kept.stopping, Climb(taken=case.kept.climbed, at_s=looked_s)
        looking: asyncio.Task[None] | None = None
        oom = oom_kills()
        self._telling.write(State.STOPPING if why else State.RUNNING, "")
        try:
            while not running.has_ended():
                now_s = clock.now_s()
                if looking is None and now_s - looked_s >= settings.poll_s:
                    looking, looked_s = asyncio.create_task(self._looks.look_at(running)), now_s
                if looking is not None and looking.done():
                    looking.result()
                    looking = None
                    self._telling.of_log(running.log_fault())
                why, climb = self._press(running, why, climb)
                await self._hours.sleep(settings.look_s, spends=not self._looks.is_blind())
                case.keep(
                    worked_s=case.kept.worked_s + max(clock.now_s() - now_s, 0.0),
                    slowest_s=case.signs.slowest_s,
                )
                self._telling.write_now_and_then()
        finally:
            if looking is not None:
                looking.cancel()
                with suppress(asyncio.CancelledError):
                    await looking
            case.running = None
        case.wanted_memory = oom is not None and oom_kills() != oom

    def _press(self, running: Running, why: Reason, climb: Climb) -> tuple[Reason, Climb]:
        """End the attempt if it has to end, a step at a time."""
        now_s = self._means.clock.now_s()
        wanted = self._wanted(now_s)
        if wanted is not Reason.NONE and why is Reason.NONE:
            why = wanted
            self._begin_to_end(why)
        elif wanted is Reason.OPERATOR and why is not Reason.OPERATOR:
            # It is being ended already; but now it must not be resumed.
            why = Reason.OPERATOR
            self._means.history.note("stop-requested")
        if why is Reason.NONE:
            return why, climb
        rungs = ladder(why, self._means.settings.graces, first=self._stop.first)
        if self._stop.is_second:
            kill = next(at for at, rung in enumerate(rungs) if rung.step is Step.KILL)
            if climb.taken <= kill:
                climb = Climb(taken=kill, at_s=now_s - rungs[kill - 1].wait_s)
        if (step := due(rungs, climb, now_s)) is not None:
            climb = Climb(taken=climb.taken + 1, at_s=now_s)
            self._case.keep(stopping=why, climbed=climb.taken)
            self._means.history.note("signal", step=step, why=why, attempt=running.number)
            self._telling.write(State.STOPPING, f"{step} ({why})")
            running.take_step(step)
        return why, climb

    def _begin_to_end(self, why: Reason) -> None:
        means = self._means
        means.history.note("ending", why=why, progress=self._case.look.progress.value)
        means.manager.say("STOPPING=1" if why is Reason.OPERATOR else f"STATUS=ending: {why}")
        means.tell(f"The attempt is being ended ({why}). {self._telling.where()}")
        if why in {Reason.STALL, Reason.HEARTBEAT, Reason.HEALTH}:
            self._telling.call_meanwhile(Event.STALL, why)

    def _wanted(self, now_s: float) -> Reason:
        """Say why the attempt has to end now, if it has to."""
        if self._stop.is_there():
            return Reason.OPERATOR
        if self._looks.is_useless():
            return Reason.HEALTH
        if not self._room.is_enough():
            return Reason.DISK
        case, deadlines = self._case, self._means.settings.deadlines
        over = liveness.overdue(case.signs, deadlines, now_s, worked_s=case.kept.worked_s)
        if over is Reason.STALL and self._looks.is_blind():
            # Nobody can say whether it gets on: that is not the run's fault.
            return Reason.PREDICATE
        return over
