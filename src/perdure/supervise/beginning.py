"""Beginning an attempt: a start or a resume, if there is room and nothing speaks against it."""

from __future__ import annotations

from contextlib import suppress

from perdure.base.errors import EXIT_MOVED, EXIT_STOPPED
from perdure.base.text import sentence
from perdure.supervise.answers import Answer, Existence, last_words
from perdure.supervise.asking import Asking
from perdure.supervise.attempts import Running
from perdure.supervise.case import Case
from perdure.supervise.ends import OUTCOME_NAME, Reason
from perdure.supervise.hours import Hours
from perdure.supervise.logs import forget_old
from perdure.supervise.means import Means
from perdure.supervise.room import Room
from perdure.supervise.settings import Event
from perdure.supervise.stop_request import StopRequest
from perdure.supervise.telling import Telling
from perdure.supervise.verdict import EXIT_BROKEN, State, Verdict, broken, damaged, stopped


class Beginning:
    """Begins attempts."""

    def __init__(
        self,
        means: Means,
        case: Case,
        *,
        hours: Hours,
        stop: StopRequest,
        asking: Asking,
        room: Room,
        telling: Telling,
    ) -> None:
        self._means = means
        self._case = case
        self._hours = hours
        self._stop = stop
        self._asking = asking
        self._room = room
        self._telling = telling

    async def of_another(self) -> Running | Verdict:
        """Begin an attempt; or say why there is none."""
        if (ended := await self._wait_for_room()) is not None:
            return ended
        existence, fault = await self._exists()
        if self._stop.is_there():
            return stopped()
        if existence is None:
            return Verdict(
                state=State.BROKEN,
                code=EXIT_BROKEN,
                why=f"--exists does not work: {fault.rstrip('.')}",
            )
        if existence is Existence.DAMAGED:
            return damaged()
        if self._case.kept.attempt and (ended := await self._guarded()) is not None:
            return ended
        return await self._begun(resume=existence is Existence.USABLE)

    async def _begun(self, *, resume: bool) -> Running:
        means, case = self._means, self._case
        number = case.kept.attempt + 1
        command = means.subject.command(resume=resume)
        # Its number is kept before it begins, so that its end is looked for whatever happens.
        case.keep(attempt=number, stopping=Reason.NONE, climbed=0)
        self._telling.write(State.RUNNING, "")
        forget_old(means.settings.folder, means.settings.logs_max - 1)
        outcome = means.settings.folder / OUTCOME_NAME
        with suppress(OSError):
            outcome.unlink(missing_ok=True)
        verb = "resume" if resume else "start"
        means.history.note("attempt-began", attempt=number, verb=verb, command=command.text)
        means.tell(f"Attempt {number}: {verb}. {self._telling.where()}")
        facts = {
            "PERDURE_ATTEMPT": str(number),
            "PERDURE_OUTCOME": str(outcome.resolve()),
        }
        running = await means.attempts.begin(number, command, facts)
        self._telling.call_meanwhile(Event.START, "resumed" if resume else "started")
        return running

    async def _exists(self) -> tuple[Existence | None, str]:
        fault = ""
        for attempt in range(self._means.settings.errors_max):
            if attempt:
                await self._hours.moment()
            existence, fault = await self._means.subject.existence()
            if existence is not None or self._stop.is_there():
                return existence, fault
            self._means.history.note("predicate-broken", predicate="exists", fault=fault)
        return None, fault

    async def _guarded(self) -> Verdict | None:
        """Run the guard, which refuses an attempt when what decides the run moved."""
        means = self._means
        if means.settings.guard is None:
            return None
        ran = await self._asking.ask("guard", means.settings.guard)
        if self._stop.is_there():
            return stopped()
        if ran.fault:
            return broken(guard=Answer(fault=ran.fault))
        if ran.status == 0:
            return None
        text = means.mask(last_words(ran))
        means.history.note("guard-refused", status=ran.status, said=text)
        return Verdict(
            state=State.FAILED,
            code=ran.status or EXIT_MOVED,
            why=f"--guard refuses to go on: {text or f'exit status {ran.status}'}",
        )

    async def _wait_for_room(self) -> Verdict | None:
        """Wait until there is room on the disk."""
        means, room, telling = self._means, self._room, self._telling
        until_s = means.clock.now_s() + means.settings.disk_wait_s
        while not room.is_enough():
            if telling.state is not State.PAUSED:
                place, free = room.shortest
                means.history.note("paused", why="disk", place=str(place), free=free)
                telling.write(State.PAUSED, room.told)
                means.tell(sentence(f"Paused: {room.told}"))
                await telling.call(Event.PAUSE, room.told)
            if self._stop.is_there():
                return stopped()
            if means.clock.now_s() >= until_s:
                return Verdict(state=State.PAUSED, code=EXIT_STOPPED, why=room.told)
            await self._hours.sleep(means.settings.look_s)
        return None
