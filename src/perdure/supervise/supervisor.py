"""The supervisor: begins attempts, watches them, and does what follows from their ends.

What follows is decided in `verdict`, `patience`, `liveness` and their neighbours; here, and in the
parts that are named here, it is done, and written down before anything else is.
"""

from __future__ import annotations

from perdure.base.chance import Stream
from perdure.base.text import sentence
from perdure.supervise import backoff, liveness
from perdure.supervise.asking import Asking
from perdure.supervise.beforehand import Beforehand
from perdure.supervise.beginning import Beginning
from perdure.supervise.case import Case
from perdure.supervise.hours import Hours
from perdure.supervise.judgement import Judgement
from perdure.supervise.logs import log_path
from perdure.supervise.looks import Looks
from perdure.supervise.means import Means
from perdure.supervise.processes import myself
from perdure.supervise.room import Room
from perdure.supervise.settings import Event
from perdure.supervise.stop_request import StopRequest
from perdure.supervise.telling import Telling
from perdure.supervise.verdict import State, Verdict, stopped
from perdure.supervise.watch import Watch

_HOOKS = {
    State.DONE: Event.DONE,
    State.PAUSED: Event.PAUSE,
    State.GAVE_UP: Event.GIVE_UP,
    State.FAILED: Event.GIVE_UP,
    State.BROKEN: Event.GIVE_UP,
    State.UNACCEPTABLE: Event.GIVE_UP,
}


class Supervisor:
    """Keeps one run alive until it is accepted, paused, stopped or given up."""

    def __init__(self, means: Means) -> None:
        case = Case(signs=liveness.begun(means.clock.now_s()))
        hours, room, telling = Hours(means, case), Room(means, case), Telling(means, case)
        stop = StopRequest(means.book)
        looks = Looks(means, case, hours, stop)
        asking = Asking(means, hours, stop)
        self._means = means
        self._case = case
        self._hours = hours
        self._stop = stop
        self._telling = telling
        self._beforehand = Beforehand(means, case, looks=looks, stop=stop, asking=asking)
        self._beginning = Beginning(
            means, case, hours=hours, stop=stop, asking=asking, room=room, telling=telling
        )
        self._watch = Watch(
            means, case, hours=hours, stop=stop, room=room, looks=looks, telling=telling
        )
        self._judgement = Judgement(means, case, looks=looks, telling=telling)
        self._draws = Stream(f"{myself().pid}:{means.clock.wall_s()}", 0, "back-off")

    def request_stop(self, number: int) -> None:
        """Take the operator's signal: the first is passed on, a second one kills."""
        self._stop.hear(number)

    async def supervise(self) -> Verdict:
        """Do all of it; give what came of it."""
        async with self._means.manager.told_of_life(self._means.clock):
            return await self._supervised()

    async def _supervised(self) -> Verdict:
        means, case = self._means, self._case
        case.kept, is_whole = means.book.kept()
        means.subject.counted = set(case.kept.counted)
        if not is_whole:
            means.history.note("state-lost")
            means.tell("What an earlier supervisor left cannot be read; patience starts anew.")
        means.history.note("supervisor-began", command=means.subject.text, pid=myself().pid)
        found = await self._all()
        await self._finish(found)
        return found

    async def _all(self) -> Verdict:
        means, kept = self._means, self._case.kept
        unjudged = kept.attempt > kept.judged
        living = await means.attempts.found(kept.attempt) if unjudged else None
        if living is None:
            means.book.forget_request()
        means.manager.say("READY=1", f"STATUS={means.subject.text}")
        if not unjudged and (ended := await self._beforehand.settle()) is not None:
            return ended
        while True:
            if living is not None:
                means.history.note("attached", attempt=living.number)
                means.tell(f"Attempt {living.number} lives; it is watched from here on.")
                await self._watch.stay_with(living)
            elif not unjudged:
                begun = await self._beginning.of_another()
                if isinstance(begun, Verdict):
                    return begun
                await self._watch.stay_with(begun)
            found = await self._judgement.of_the_last(never_seen=unjudged and living is None)
            unjudged, living = False, None
            if found is not None and found.state is not State.WAITING:
                return found
            if found is not None and (ended := await self._rest(found)) is not None:
                return ended

    async def _rest(self, found: Verdict) -> Verdict | None:
        """Wait before the next attempt; give an end if the operator does not want one."""
        means, case, clock = self._means, self._case, self._means.clock
        end = case.kept.last_end
        hint_s = end.said.retry_after_s if end is not None and end.said is not None else 0.0
        failures = 0 if case.has_advanced else max(case.kept.patience.attempts, 1)
        delay_s = backoff.wait_s(
            means.settings.backoff, failures, self._draws.uniform(), hint_s=hint_s
        )
        until_s = clock.now_s() + delay_s
        case.next_wall_s = clock.wall_s() + delay_s
        means.history.note("waiting", seconds=round(delay_s, 3), why=found.why)
        self._telling.write(State.WAITING, found.why)
        while clock.now_s() < until_s and not self._stop.is_there():
            left_s = until_s - clock.now_s()
            await self._hours.sleep(min(means.settings.look_s, left_s), spends=True)
            self._telling.write_now_and_then()
        case.next_wall_s = None
        return stopped() if self._stop.is_there() else None

    async def _finish(self, found: Verdict) -> None:
        means, case, telling = self._means, self._case, self._telling
        case.code = found.code
        telling.write(found.state, found.why)
        means.history.note("supervisor-ended", state=found.state, code=found.code, why=found.why)
        means.book.forget_request()
        means.manager.say("STOPPING=1", f"STATUS={found.state}: {found.why}")
        if found.state in _HOOKS:
            await telling.call(_HOOKS[found.state], found.why)
        await telling.has_called()
        means.tell(f"{sentence(f'{found.state}: {found.why}')} {telling.where()}")
        if found.state not in {State.DONE, State.STOPPED, State.PAUSED} and case.kept.attempt:
            log = log_path(means.settings.folder, case.kept.attempt)
            kept = f"not all is written: {case.log_fault}" if case.log_fault else str(log)
            means.tell(f"The last lines of attempt {case.kept.attempt} ({kept}):\n{case.tail}")
