"""The supervisor: begins attempts, watches them, and does what follows from their ends.

What follows is decided in `verdict`, `patience`, `liveness` and their neighbours; here it is done,
and written down before anything else is.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

import msgspec

from perdure.base.chance import Stream
from perdure.base.clock import Clock
from perdure.base.errors import EXIT_MOVED, EXIT_STOPPED, EXIT_STORAGE
from perdure.supervise import backoff, liveness, pace, patience, space
from perdure.supervise.acceptance import (
    RECEIPT_FORMAT,
    Artifact,
    Receipt,
    contradictions,
    drift,
    objections,
)
from perdure.supervise.answers import Answer, Existence, Ran
from perdure.supervise.book import Book
from perdure.supervise.command import Command
from perdure.supervise.ends import End, Kind, Reason, Said, kind_of, told
from perdure.supervise.escalation import Climb, Step, due, ladder
from perdure.supervise.health import Health, is_armed, is_useless, looked
from perdure.supervise.history import History
from perdure.supervise.logs import forget_old, log_path
from perdure.supervise.notify import ServiceManager
from perdure.supervise.patience import Marks
from perdure.supervise.processes import myself, oom_kills
from perdure.supervise.running import Attempts, Running
from perdure.supervise.settings import Event, Settings
from perdure.supervise.slot import read
from perdure.supervise.stored import STANDING_FORMAT, Kept, Standing
from perdure.supervise.subject import Look, Subject
from perdure.supervise.verdict import EXIT_BROKEN, State, Verdict, verdict

OUTCOME_NAME = "outcome.json"

# Less than this is no sleep of the machine, but two clocks read one after the other.
_SLEPT_S = 1.0
# So long between two looks of ours, and we were stopped or starved ourselves.
_AWAY_S = 20.0
_RETRY_S = 1.0

Runs = Callable[[Command], Awaitable[Ran]]


class Supervisor:
    """Keeps one run alive until it is accepted, paused, stopped or given up."""

    def __init__(
        self,
        subject: Subject,
        settings: Settings,
        attempts: Attempts,
        *,
        clock: Clock,
        run: Runs,
        hook: Callable[[Command, dict[str, str]], Awaitable[Ran]],
        book: Book,
        history: History,
        manager: ServiceManager,
        tell: Callable[[str], None],
        suspended_s: Callable[[], float],
        free_bytes: Callable[[Path], int | None],
        mask: Callable[[str], str] = lambda text: text,
    ) -> None:
        self._subject = subject
        self._settings = settings
        self._attempts = attempts
        self._clock = clock
        self._run = run
        self._hook = hook
        self._book = book
        self._history = history
        self._manager = manager
        self._tell = tell
        self._suspended_s = suspended_s
        self._free_bytes = free_bytes
        self._mask = mask
        self._kept = Kept()
        self._state, self._why = State.STARTING, ""
        self._since_s = clock.wall_s()
        self._stop: Step | None = None
        self._is_second = False
        self._ticked_s = clock.now_s()
        self._slept_s = suspended_s()
        self._is_idle = False
        self._signs = liveness.begun(clock.now_s())
        self._pulse: int | None = None
        self._beat = ""
        self._attempt_advanced = False
        self._look = Look()
        self._artifact = Artifact()
        self._errors: dict[str, int] = {}
        self._faults: dict[str, str] = {}
        self._health: dict[str, Health] = {}
        self._window: tuple[pace.Seen, ...] = ()
        self._advanced_wall_s: float | None = None
        self._next_wall_s: float | None = None
        self._free: int | None = None
        self._is_short = False
        self._needed = 0
        self._drift = ""
        self._is_rewound = False
        self._running: Running | None = None
        self._calling: set[asyncio.Task[None]] = set()
        self._tail = ""
        self._oom = False
        self._code: int | None = None
        self._written_s = -settings.poll_s
        self._draws = Stream(f"{myself().pid}:{clock.wall_s()}", 0, "back-off")

    def request_stop(self, number: int) -> None:
        """Take the operator's signal: the first is passed on, a second one kills."""
        if self._stop is not None:
            self._is_second = True
        else:
            self._stop = Step.INT if number == signal.SIGINT else Step.TERM

    async def supervise(self) -> Verdict:
        """Do all of it; give what came of it."""
        self._kept, is_whole = self._book.kept()
        self._subject.counted = set(self._kept.counted)
        if not is_whole:
            self._history.note("state-lost")
            self._tell("What an earlier supervisor left cannot be read; patience starts anew.")
        self._history.note("supervisor-began", command=self._subject.text, pid=myself().pid)
        found = await self._all()
        await self._finish(found)
        return found

    async def _all(self) -> Verdict:
        unjudged = self._kept.attempt > self._kept.judged
        living = await self._attempts.found(self._kept.attempt) if unjudged else None
        if living is None:
            self._book.forget_request()
        self._manager.say("READY=1", f"STATUS={self._subject.text}")
        if not unjudged and (ended := await self._before_anything()) is not None:
            return ended
        while True:
            if living is not None:
                self._history.note("attached", attempt=living.number)
                self._tell(f"Attempt {living.number} lives; it is watched from here on.")
                await self._watch(living)
            elif not unjudged and (ended := await self._begin()) is not None:
                return ended
            found = await self._judge(never_seen=unjudged and living is None)
            unjudged, living = False, None
            if found is not None and found.state is not State.WAITING:
                return found
            if found is not None and (ended := await self._rest(found)) is not None:
                return ended

    # -- before an attempt ------------------------------------------------------------------------

    async def _before_anything(self) -> Verdict | None:
        """See whether all is done already, and whether the predicates work."""
        if (ended := await self._from_receipt()) is not None:
            return ended
        look = await self._settled(self._subject.standing, "progress", "steps")
        self._take_look(look)
        return self._broken(progress=look.progress, steps=look.steps)

    async def _from_receipt(self) -> Verdict | None:
        receipt, is_none = self._book.receipt()
        if receipt is None and not is_none:
            return None
        against: tuple[str, ...] = ("the receipt cannot be read",)
        if receipt is not None:
            self._look = await self._subject.standing()
            self._artifact = await self._subject.artifact(is_clean=True)
            target = self._subject.target
            against = (
                ("the artifact is not there",)
                if target is None
                else contradictions(receipt, self._artifact, target)
            )
        if not against:
            return await self._still_asked_for()
        self._history.note("receipt-contradicted", against=list(against))
        self._tell(f"There is a receipt that does not hold: {'; '.join(against)}.")
        self._book.set_receipt_aside()
        return None

    async def _still_asked_for(self) -> Verdict:
        """Ask whether an accepted run is that of the study and of the words as they are now."""
        command = self._subject.asked_again()
        if command is not None:
            ran = await self._run(command)
            if ran.fault or ran.status:
                text = self._mask((ran.err or ran.out).decode("utf-8", "replace").strip()[-2000:])
                why = ran.fault or text or f"exit status {ran.status}"
                self._history.note("not-what-was-accepted", status=ran.status, said=why)
                return Verdict(
                    state=State.FAILED,
                    code=ran.status or EXIT_MOVED,
                    why=f"a run was accepted here before, and {command.text!r} says of it: {why}",
                )
        self._history.note("already-done")
        return Verdict(state=State.DONE, why="already done: the receipt holds")

    async def _begin(self) -> Verdict | None:
        """Begin an attempt and watch it to its end; or say why there is none."""
        if (ended := await self._room()) is not None:
            return ended
        existence, fault = await self._exists()
        if self._is_stopped():
            return self._stopped()
        if existence is None:
            return Verdict(
                state=State.BROKEN,
                code=EXIT_BROKEN,
                why=f"--exists does not work: {fault.rstrip('.')}",
            )
        if existence is Existence.DAMAGED:
            return Verdict(
                state=State.FAILED,
                code=EXIT_STORAGE,
                why="the run that is there is damaged: neither a start nor a resume applies. "
                "Look at it, move it away, and run the same command again",
            )
        resume = existence is Existence.USABLE
        if self._kept.attempt and (ended := await self._guarded()) is not None:
            return ended
        number = self._kept.attempt + 1
        command = self._subject.command(resume=resume)
        # Its number is kept before it begins, so that its end is looked for whatever happens.
        self._kept = msgspec.structs.replace(
            self._kept, attempt=number, stopping=Reason.NONE, climbed=0
        )
        self._write(State.RUNNING, "")
        forget_old(self._settings.folder, self._settings.logs_max - 1)
        outcome = self._settings.folder / OUTCOME_NAME
        with suppress(OSError):
            outcome.unlink(missing_ok=True)
        verb = "resume" if resume else "start"
        self._history.note("attempt-began", attempt=number, verb=verb, command=command.text)
        self._tell(f"Attempt {number}: {verb}. {self._where()}")
        facts = {
            "PERDURE_ATTEMPT": str(number),
            "PERDURE_OUTCOME": str(outcome.resolve()),
        }
        running = await self._attempts.begin(number, command, facts)
        self._call_meanwhile(Event.START, "resumed" if resume else "started")
        await self._watch(running)
        return None

    async def _exists(self) -> tuple[Existence | None, str]:
        fault = ""
        for attempt in range(self._settings.errors_max):
            if attempt:
                await self._sleep(min(_RETRY_S, self._settings.poll_s))
            existence, fault = await self._subject.existence()
            if existence is not None or self._is_stopped():
                return existence, fault
            self._history.note("predicate-broken", predicate="exists", fault=fault)
        return None, fault

    async def _guarded(self) -> Verdict | None:
        """Run the guard, which refuses an attempt when what decides the run moved."""
        if self._settings.guard is None:
            return None
        ran = await self._run(self._settings.guard)
        if not ran.fault and ran.status == 0:
            return None
        text = self._mask((ran.err or ran.out).decode("utf-8", "replace").strip()[-2000:])
        self._history.note("guard-refused", status=ran.status, fault=ran.fault, said=text)
        return Verdict(
            state=State.FAILED,
            code=ran.status or EXIT_MOVED,
            why=f"--guard refuses to go on: {ran.fault or text or f'exit status {ran.status}'}",
        )

    async def _room(self) -> Verdict | None:
        """Wait until there is room on the disk."""
        until_s = self._clock.now_s() + self._settings.disk_wait_s
        while not self._has_room():
            if self._state is not State.PAUSED:
                self._history.note("paused", why="disk", free=self._free)
                self._write(State.PAUSED, self._little())
                self._tell(f"Paused: {self._little()}.")
                await self._call_hook(Event.PAUSE, self._little())
            if self._is_stopped():
                return self._stopped()
            if self._clock.now_s() >= until_s:
                return Verdict(state=State.PAUSED, code=EXIT_STOPPED, why=self._little())
            await self._sleep(self._settings.look_s)
        return None

    def _little(self) -> str:
        return f"{self._free} bytes are free, {self._settings.disk_floor} are wanted"

    # -- while it runs ----------------------------------------------------------------------------

    async def _watch(self, running: Running) -> None:
        """Stay with an attempt until nothing of it is left."""
        now_s = self._clock.now_s()
        self._signs = msgspec.structs.replace(liveness.begun(now_s), slowest_s=self._kept.slowest_s)
        self._running, self._pulse, self._beat = running, None, ""
        self._attempt_advanced = False
        self._health = {}
        why, climb = self._kept.stopping, Climb(taken=self._kept.climbed, at_s=now_s)
        looking: asyncio.Task[None] | None = None
        looked_s = now_s
        oom = oom_kills()
        self._write(State.STOPPING if why else State.RUNNING, "")
        try:
            while not running.has_ended():
                now_s = self._clock.now_s()
                if looking is None and now_s - looked_s >= self._settings.poll_s:
                    looking, looked_s = asyncio.create_task(self._look_at(running)), now_s
                if looking is not None and looking.done():
                    looking.result()
                    looking = None
                why, climb = self._press(running, why, climb)
                await self._sleep(self._settings.look_s, spends=not self._is_blind())
                self._kept = msgspec.structs.replace(
                    self._kept,
                    worked_s=self._kept.worked_s + max(self._clock.now_s() - now_s, 0.0),
                    slowest_s=self._signs.slowest_s,
                )
                self._write_now_and_then()
        finally:
            if looking is not None:
                looking.cancel()
                with suppress(asyncio.CancelledError):
                    await looking
            self._running = None
        self._oom = oom is not None and oom_kills() != oom

    def _press(self, running: Running, why: Reason, climb: Climb) -> tuple[Reason, Climb]:
        """End the attempt if it has to end, a step at a time."""
        now_s = self._clock.now_s()
        wanted = self._wanted(now_s)
        if wanted is not Reason.NONE and why is Reason.NONE:
            why = wanted
            self._began_to_end(why)
        elif wanted is Reason.OPERATOR and why is not Reason.OPERATOR:
            # It is being ended already; but now it must not be resumed.
            why = Reason.OPERATOR
            self._history.note("stop-requested")
        if why is Reason.NONE:
            return why, climb
        rungs = ladder(why, self._settings.graces, first=self._stop or Step.INT)
        if self._is_second:
            kill = next(at for at, rung in enumerate(rungs) if rung.step is Step.KILL)
            if climb.taken <= kill:
                climb = Climb(taken=kill, at_s=now_s - rungs[kill - 1].wait_s)
        if (step := due(rungs, climb, now_s)) is not None:
            climb = Climb(taken=climb.taken + 1, at_s=now_s)
            self._kept = msgspec.structs.replace(self._kept, stopping=why, climbed=climb.taken)
            self._history.note("signal", step=step, why=why, attempt=running.number)
            self._write(State.STOPPING, f"{step} ({why})")
            running.take_step(step)
        return why, climb

    def _began_to_end(self, why: Reason) -> None:
        self._history.note("ending", why=why, progress=self._look.progress.value)
        self._manager.say("STOPPING=1" if why is Reason.OPERATOR else f"STATUS=ending: {why}")
        self._tell(f"The attempt is being ended ({why}). {self._where()}")
        if why in {Reason.STALL, Reason.HEARTBEAT, Reason.HEALTH}:
            self._call_meanwhile(Event.STALL, why)

    def _wanted(self, now_s: float) -> Reason:
        """Say why the attempt has to end now, if it has to."""
        if self._is_stopped():
            return Reason.OPERATOR
        useless = [
            check.name
            for check in self._settings.checks
            if not check.only_warns and is_useless(self._health.get(check.name, Health()))
        ]
        if useless:
            return Reason.HEALTH
        if not self._has_room():
            return Reason.DISK
        over = liveness.overdue(
            self._signs, self._settings.deadlines, now_s, worked_s=self._kept.worked_s
        )
        if over is Reason.STALL and self._is_blind():
            # Nobody can say whether it gets on: that is not the run's fault.
            return Reason.PREDICATE
        return over

    def _is_blind(self) -> bool:
        return any(
            self._errors.get(name, 0) >= self._settings.errors_max for name in ("progress", "steps")
        )

    async def _look_at(self, running: Running) -> None:
        """Look at the run: how far it is, whether it lives, whether it is of any use."""
        look = await self._subject.look()
        now_s = self._clock.now_s()
        beat = self._heartbeat(look)
        has_beaten = bool(self._beat) and beat != self._beat
        self._beat = beat or self._beat
        advanced = self._take_look(look)
        if look.pulse is not None:
            goes_on = self._pulse is not None and look.pulse > self._pulse
            self._pulse = look.pulse if self._pulse is None else max(self._pulse, look.pulse)
            if goes_on and not advanced:
                self._kept = msgspec.structs.replace(
                    self._kept,
                    patience=msgspec.structs.replace(self._kept.patience, idle_s=0.0),
                )
            advanced = advanced or goes_on
        self._signs = liveness.saw(
            self._signs, now_s, advanced=advanced, beat=has_beaten, busy=look.busy
        )
        for check in self._settings.checks:
            gone_s = now_s - self._signs.begun_s
            if not is_armed(check.arming, gone_s=gone_s, units=look.progress.value or 0):
                continue
            before = self._health.get(check.name, Health())
            health = looked(before, await self._run(check.command))
            self._health[check.name] = health
            if health.bad and health.bad != before.bad:
                self._history.note("unhealthy", check=check.name, attempt=running.number)
                if is_useless(health):
                    self._tell(f"Health check {check.name!r} finds the run useless.")

    def _heartbeat(self, look: Look) -> str:
        if self._settings.heartbeat is None:
            return look.beat
        try:
            found = self._settings.heartbeat.stat()
        except OSError:
            return ""
        return f"{found.st_mtime_ns}:{found.st_size}:{found.st_ino}"

    def _take_look(self, look: Look) -> bool:
        """Take what the predicates say; say whether it is more than ever before."""
        self._look = look
        for name, answer in (("progress", look.progress), ("steps", look.steps)):
            self._take_answer(name, answer)
        if look.progress.value is not None:
            now = pace.Seen(at_s=self._clock.now_s(), units=look.progress.value)
            self._window = pace.looked(self._window, now)
        before, target = self._kept.marks, self._subject.target
        is_rewound = patience.rewound(before, look.progress.value, target)
        if is_rewound and not self._is_rewound:
            self._history.note("rewound", progress=look.progress.value, mark=before.progress)
            self._tell(
                f"The progress log went back to {look.progress.value}; it was at {before.progress}."
            )
        self._is_rewound = is_rewound
        seen = Marks(progress=look.progress.value or 0, steps=look.steps.value or 0)
        return self._raise(seen)

    def _raise(self, seen: Marks) -> bool:
        before = self._kept.marks
        marks = patience.raised(before, seen, self._subject.target)
        counted = tuple(sorted(self._subject.counted))
        if marks == before:
            self._kept = msgspec.structs.replace(self._kept, counted=counted)
            return False
        self._kept = msgspec.structs.replace(
            self._kept,
            marks=marks,
            counted=counted,
            patience=patience.advanced(self._kept.patience),
        )
        self._attempt_advanced = True
        self._advanced_wall_s = self._clock.wall_s()
        return True

    def _take_answer(self, name: str, answer: Answer) -> None:
        if not answer.is_broken:
            self._errors.pop(name, None)
            self._faults.pop(name, None)
            return
        self._errors[name] = self._errors.get(name, 0) + 1
        if self._faults.get(name) != answer.fault:
            self._history.note("predicate-broken", predicate=name, fault=answer.fault)
        self._faults[name] = answer.fault

    # -- after it ---------------------------------------------------------------------------------

    async def _judge(self, *, never_seen: bool) -> Verdict | None:
        """Decide about the last attempt; None if an earlier supervisor died before it began."""
        number = self._kept.attempt
        seen, self._tail = await self._attempts.end_of(number)
        if seen is None and never_seen:
            self._kept = msgspec.structs.replace(self._kept, judged=number)
            return None
        # One of ours that never said a word has ended all the same.
        end = self._told_end(seen or End())
        kind = kind_of(end, self._settings.table)
        self._history.note("attempt-ended", attempt=number, kind=kind, told=told(end), end=end)
        look = await self._settled(self._subject.standing, "progress", "steps")
        self._take_look(look)
        artifact = await self._settled_artifact(end)
        self._raise(Marks(artifact=artifact.units.value or 0))
        self._take_drift(look.progress, artifact.units, end)
        broken = self._broken(progress=look.progress, steps=look.steps, artifact=artifact.units)
        against = self._against(artifact, end)
        is_its_own = kind in {Kind.DONE, Kind.TRANSIENT} and end.why is not Reason.PREDICATE
        if is_its_own and not self._attempt_advanced and not broken:
            self._kept = msgspec.structs.replace(
                self._kept, patience=patience.failed(self._kept.patience)
            )
        target = self._subject.target
        found = verdict(
            end,
            kind,
            against,
            is_spent=patience.is_spent(
                self._kept.patience, self._settings.allowance, self._kept.marks
            ),
            holds_progress=target is not None and (look.progress.value or 0) >= target,
            is_damaged=artifact.is_damaged,
        )
        if broken and found.state in {State.WAITING, State.GAVE_UP, State.UNACCEPTABLE}:
            found = broken
        is_over = end.is_clean and target is not None and (look.progress.value or 0) >= target
        if is_over and found.state is not State.DONE:
            found = self._never_answered(artifact) or found
        if found.state is State.DONE:
            self._tell_of_silence(look.progress)
            found = self._accept(artifact, number)
        self._kept = msgspec.structs.replace(
            self._kept, judged=number, last_end=end, stopping=Reason.NONE, climbed=0
        )
        self._write(found.state, found.why)
        if found.state is State.WAITING:
            self._tell(f"Attempt {number}: {told(end)}. {self._where()} {found.why}.")
        return found

    def _never_answered(self, artifact: Artifact) -> Verdict | None:
        """Say which predicate of a run that is over is to blame, and not what the run left."""
        if artifact.units.silence:
            return self._broken(artifact=Answer(fault=artifact.units.silence))
        return self._broken(head=Answer(fault=artifact.fault)) if artifact.fault else None

    def _tell_of_silence(self, progress: Answer) -> None:
        if progress.value is not None:
            return
        why = progress.fault or progress.silence or "It never had anything to count."
        self._history.note("progress-never-counted", why=why)
        self._tell(f"The run is accepted on its artifact, but --progress does not count: {why}")

    def _told_end(self, seen: End) -> End:
        killed = seen.signal == signal.SIGKILL or seen.status == 128 + signal.SIGKILL
        return End(
            status=seen.status,
            signal=seen.signal,
            why=self._kept.stopping,
            oom=self._oom and killed and self._kept.stopping is Reason.NONE,
            said=read(self._settings.folder / OUTCOME_NAME, Said),
        )

    def _against(self, artifact: Artifact, end: End) -> tuple[str, ...]:
        if self._subject.target is None:
            return ("nobody knows how far it has to go", *artifact.problems)
        return objections(artifact, end, self._subject.target)

    def _take_drift(self, progress: Answer, units: Answer, end: End) -> None:
        found = drift(progress, units) if end.is_clean else ""
        if found and found != self._drift:
            self._history.note("drift", told=found)
            self._tell(f"Progress and artifact disagree: {found}.")
            if units.value == 0:
                self._tell("Does --artifact look for the right words in the right file?")
        self._drift = found

    def _accept(self, artifact: Artifact, number: int) -> Verdict:
        target = self._subject.target
        assert target is not None
        receipt = Receipt(
            format=RECEIPT_FORMAT,
            target=target,
            units=artifact.units.value or 0,
            attempt=number,
            proof=artifact.proof,
            accepted_s=self._clock.wall_s(),
        )
        try:
            self._book.accept(receipt)
        except OSError as error:
            why = f"the receipt cannot be written ({error.strerror or error})"
            return Verdict(state=State.PAUSED, code=EXIT_STOPPED, why=why)
        self._history.note("accepted", attempt=number, units=receipt.units)
        return Verdict(state=State.DONE, why=f"accepted after attempt {number}")

    async def _settled_artifact(self, end: End) -> Artifact:
        found = await self._subject.artifact(is_clean=end.is_clean)
        self._take_answer("artifact", found.units)
        if found.fault:
            # A head that cannot be read may be one that is just being written.
            await self._sleep(min(_RETRY_S, self._settings.poll_s))
            found = await self._subject.artifact(is_clean=end.is_clean)
            self._take_answer("artifact", found.units)
        while found.units.is_broken and self._may_ask_again("artifact"):
            await self._sleep(min(_RETRY_S, self._settings.poll_s))
            found = await self._subject.artifact(is_clean=end.is_clean)
            self._take_answer("artifact", found.units)
        self._artifact = found
        return found

    async def _settled(self, ask: Callable[[], Awaitable[Look]], *names: str) -> Look:
        """Ask until the predicates answer, or have been broken too often in a row."""
        for name in names:
            self._errors.pop(name, None)
        found = await ask()
        while found.progress.is_broken or found.steps.is_broken:
            for name, answer in (("progress", found.progress), ("steps", found.steps)):
                self._take_answer(name, answer)
            if not all(self._may_ask_again(name) for name in names):
                break
            await self._sleep(min(_RETRY_S, self._settings.poll_s))
            found = await ask()
        return found

    def _may_ask_again(self, name: str) -> bool:
        return self._errors.get(name, 0) < self._settings.errors_max and not self._is_stopped()

    def _broken(self, **answers: Answer) -> Verdict | None:
        for name, answer in answers.items():
            if answer.is_broken:
                return Verdict(
                    state=State.BROKEN,
                    code=EXIT_BROKEN,
                    why=f"the predicate {name!r} does not work: {answer.fault.rstrip('.')}",
                )
        return None

    async def _rest(self, found: Verdict) -> Verdict | None:
        """Wait before the next attempt; give an end if the operator does not want one."""
        end = self._kept.last_end
        hint_s = end.said.retry_after_s if end is not None and end.said is not None else 0.0
        failures = 0 if self._attempt_advanced else max(self._kept.patience.attempts, 1)
        delay_s = backoff.wait_s(
            self._settings.backoff, failures, self._draws.uniform(), hint_s=hint_s
        )
        until_s = self._clock.now_s() + delay_s
        self._next_wall_s = self._clock.wall_s() + delay_s
        self._history.note("waiting", seconds=round(delay_s, 3), why=found.why)
        self._write(State.WAITING, found.why)
        while self._clock.now_s() < until_s and not self._is_stopped():
            left_s = until_s - self._clock.now_s()
            await self._sleep(min(self._settings.look_s, left_s), spends=True)
            self._write_now_and_then()
        self._next_wall_s = None
        return self._stopped() if self._is_stopped() else None

    async def _finish(self, found: Verdict) -> None:
        self._code = found.code
        self._write(found.state, found.why)
        self._history.note("supervisor-ended", state=found.state, code=found.code, why=found.why)
        self._book.forget_request()
        self._manager.say("STOPPING=1", f"STATUS={found.state}: {found.why}")
        hooks = {
            State.DONE: Event.DONE,
            State.PAUSED: Event.PAUSE,
            State.GAVE_UP: Event.GIVE_UP,
            State.FAILED: Event.GIVE_UP,
            State.BROKEN: Event.GIVE_UP,
            State.UNACCEPTABLE: Event.GIVE_UP,
        }
        if found.state in hooks:
            await self._call_hook(hooks[found.state], found.why)
        await asyncio.gather(*self._calling)
        self._tell(f"{found.state.capitalize()}: {found.why}. {self._where()}")
        if found.state not in {State.DONE, State.STOPPED, State.PAUSED} and self._kept.attempt:
            log = log_path(self._settings.folder, self._kept.attempt)
            self._tell(f"The last lines of attempt {self._kept.attempt} ({log}):\n{self._tail}")

    # -- what all of it needs ---------------------------------------------------------------------

    def _is_stopped(self) -> bool:
        if self._stop is None and self._book.is_asked_to_stop():
            self._stop = Step.INT
        return self._stop is not None

    def _stopped(self) -> Verdict:
        return Verdict(state=State.STOPPED, code=EXIT_STOPPED, why="stopped on request")

    async def _sleep(self, seconds: float, *, spends: bool = False) -> None:
        """Let time pass, and see how much of what kind; `spends` says whether of patience."""
        await self._clock.sleep(seconds)
        now_s, slept_s = self._clock.now_s(), self._suspended_s()
        gone_s, asleep_s = now_s - self._ticked_s, slept_s - self._slept_s
        self._ticked_s, self._slept_s = now_s, slept_s
        self._manager.beat(now_s)
        held = self._kept.patience
        if asleep_s >= _SLEPT_S:
            self._history.note("machine-slept", seconds=round(asleep_s, 1))
            self._signs = liveness.again(self._signs, now_s)
            held = patience.woken(held)
        elif gone_s >= seconds + _AWAY_S:
            # We were stopped, or starved: what the run did meanwhile, nobody saw.
            self._history.note("supervisor-was-away", seconds=round(gone_s, 1))
            self._signs = liveness.again(self._signs, now_s)
        elif spends:
            held = patience.idled(held, gone_s)
        self._kept = msgspec.structs.replace(self._kept, patience=held)

    def _has_room(self) -> bool:
        self._free = self._free_bytes(self._settings.watched)
        if self._free is None:
            return True
        is_short = not space.has_room(
            self._free, self._settings.disk_floor, was_short=self._is_short
        )
        if is_short != self._is_short:
            self._history.note("disk-short" if is_short else "disk-has-room", free=self._free)
        self._is_short = is_short
        now = space.Growth(free=self._free, units=self._look.progress.value or 0)
        if self._kept.grown_from is None:
            self._kept = msgspec.structs.replace(self._kept, grown_from=now)
        needed = space.needed(self._kept.grown_from, now, self._subject.target)
        if needed > self._free and self._needed <= self._free:
            self._history.note("disk-will-not-do", needed=needed, free=self._free)
            self._tell(f"At this pace the rest needs {needed} bytes; {self._free} are free.")
        self._needed = needed
        return not is_short

    def _where(self) -> str:
        progress, target = self._look.progress.value, self._subject.target
        at = "Nothing yet" if progress is None else f"Progress {progress}"
        return f"{at} of {'an unknown target' if target is None else target}."

    def _call_meanwhile(self, event: Event, why: str) -> None:
        """Call a hook beside the run, which is watched all the while."""
        calling = asyncio.create_task(self._call_hook(event, why))
        self._calling.add(calling)
        calling.add_done_callback(self._calling.discard)

    async def _call_hook(self, event: Event, why: str) -> None:
        command = self._settings.hooks.get(event)
        if command is None:
            return
        progress, target = self._look.progress.value, self._subject.target
        facts = {
            "PERDURE_EVENT": str(event),
            "PERDURE_WHY": str(why),
            "PERDURE_FOLDER": str(self._settings.folder),
            "PERDURE_ATTEMPT": str(self._kept.attempt),
            "PERDURE_PROGRESS": "" if progress is None else str(progress),
            "PERDURE_TARGET": "" if target is None else str(target),
            "PERDURE_LOG": str(log_path(self._settings.folder, self._kept.attempt)),
        }
        ran = await self._hook(command, facts)
        self._history.note("hook", of=event, status=ran.status, fault=ran.fault)

    def _write_now_and_then(self) -> None:
        if self._clock.now_s() - self._written_s >= self._settings.poll_s:
            self._write(self._state, self._why, sync=False)

    def _write(self, state: State, why: str, *, sync: bool = True) -> None:
        if state is not self._state:
            self._since_s = self._clock.wall_s()
        self._state, self._why = state, why
        self._written_s = self._clock.now_s()
        self._book.write(self._standing(), sync=sync)
        self._manager.say(f"STATUS={state}. {self._where()}")

    def _standing(self) -> Standing:
        kept, now_s = self._kept, self._clock.now_s()
        allowance = self._settings.allowance
        attempts = patience.attempts_of(allowance, kept.marks)
        return Standing(
            format=STANDING_FORMAT,
            state=self._state,
            why=self._mask(self._why)[:2000],
            command=self._mask(self._subject.text)[:1000],
            supervisor=myself(),
            kept=kept,
            run=self._running.run() if self._running is not None else None,
            target=self._subject.target,
            progress=self._look.progress.value,
            artifact=self._artifact.units.value,
            attempts_left=max(attempts - kept.patience.attempts, 0),
            patience_left_s=max(allowance.seconds - kept.patience.idle_s, 0.0),
            rate_per_s=pace.rate_per_s(self._window, now_s),
            left_s=pace.left_s(self._window, now_s, self._subject.target),
            last_end=told(kept.last_end)[:500] if kept.last_end is not None else "",
            log=str(log_path(self._settings.folder, kept.attempt)) if kept.attempt else "",
            drift=self._drift,
            health={name: health.said for name, health in self._health.items()},
            faults={name: self._mask(fault)[:300] for name, fault in self._faults.items()},
            free_bytes=self._free,
            needed_bytes=self._needed,
            since_s=self._since_s,
            written_s=self._clock.wall_s(),
            advanced_s=self._advanced_wall_s,
            next_s=self._next_wall_s,
            code=self._code,
        )
