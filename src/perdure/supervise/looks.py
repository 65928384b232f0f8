"""Asking how far a run is, and taking the answers: what is more than ever before, what is broken.

An answer that is broken is asked for again, and after so many in a row the predicate is to blame.
"""

from __future__ import annotations

import msgspec

from perdure.supervise import liveness, pace, patience
from perdure.supervise.acceptance import Artifact
from perdure.supervise.answers import Answer
from perdure.supervise.attempts import Running
from perdure.supervise.case import Case
from perdure.supervise.ends import End
from perdure.supervise.health import Health, is_armed, is_useless, looked
from perdure.supervise.hours import Hours
from perdure.supervise.means import Means
from perdure.supervise.patience import Marks
from perdure.supervise.stop_request import StopRequest
from perdure.supervise.subject import Look

_COUNTING = ("progress", "steps")


class Looks:
    """Asks the predicates of a run, and the health checks."""

    def __init__(self, means: Means, case: Case, hours: Hours, stop: StopRequest) -> None:
        self._means = means
        self._case = case
        self._hours = hours
        self._stop = stop
        self._errors: dict[str, int] = {}
        self._is_rewound = False
        self._pulse: int | None = None
        self._beat = ""

    def begin(self) -> None:
        """Begin to look at another attempt: nothing has been seen of it yet."""
        now_s = self._means.clock.now_s()
        self._case.signs = msgspec.structs.replace(
            liveness.begun(now_s), slowest_s=self._case.kept.slowest_s
        )
        self._case.has_advanced = False
        self._case.health = {}
        self._pulse, self._beat = None, ""

    async def look_at(self, running: Running) -> None:
        """Look at a run that lives: how far it is, whether it gets on, whether it is of any use."""
        case = self._case
        look = await self._means.subject.look(running.run())
        now_s = self._means.clock.now_s()
        beat = self._heartbeat(look)
        has_beaten = bool(self._beat) and beat != self._beat
        if beat and not self._beat:
            # What it took to come so far is not what a step takes.
            case.signs = liveness.appeared(case.signs, now_s)
        self._beat = beat or self._beat
        advanced = self.take(look)
        if look.pulse is not None:
            goes_on = self._pulse is not None and look.pulse > self._pulse
            self._pulse = look.pulse if self._pulse is None else max(self._pulse, look.pulse)
            if goes_on and not advanced:
                case.keep(patience=msgspec.structs.replace(case.kept.patience, idle_s=0.0))
            advanced = advanced or goes_on
        case.signs = liveness.saw(
            case.signs, now_s, advanced=advanced, beat=has_beaten, busy=look.busy
        )
        await self._check(running, gone_s=now_s - case.signs.begun_s)

    async def standing(self) -> None:
        """Look at a run that has ended, until the predicates answer or are broken too often."""
        for name in _COUNTING:
            self._errors.pop(name, None)
        found = await self._means.subject.standing()
        while found.progress.is_broken or found.steps.is_broken:
            self._take_answers(found)
            if not all(self._may_ask_again(name) for name in _COUNTING):
                break
            await self._hours.moment()
            found = await self._means.subject.standing()
        self.take(found)

    async def artifact(self, end: End) -> None:
        """Look at what an attempt left, until the predicates answer or are broken too often."""
        self._errors.pop("artifact", None)
        found = await self._asked_for_artifact(end)
        # What cannot be read may be just being written, and who looked at it was killed.
        while found.uncertainty and self._may_ask_again("artifact"):
            await self._hours.moment()
            found = await self._asked_for_artifact(end)
        self._case.artifact = found
        self._raise(Marks(artifact=found.units.value or 0))

    def take(self, look: Look) -> bool:
        """Take what the predicates say; say whether it is more than ever before."""
        means, case = self._means, self._case
        if not look.is_glance or look.progress.value is not None:
            case.look = look
        self._take_answers(look)
        if look.progress.value is not None:
            now = pace.Seen(at_s=means.clock.now_s(), units=look.progress.value)
            case.window = pace.looked(case.window, now)
        before = case.kept.marks
        is_rewound = not look.is_glance and patience.rewound(
            before, look.progress.value, means.subject.target
        )
        if is_rewound and not self._is_rewound:
            means.history.note("rewound", progress=look.progress.value, mark=before.progress)
            means.tell(
                f"The progress log went back to {look.progress.value}; it was at {before.progress}."
            )
        self._is_rewound = is_rewound
        seen = Marks(progress=look.progress.value or 0, steps=look.steps.value or 0)
        return self._raise(seen)

    def is_blind(self) -> bool:
        """Say whether nobody can say how far the run is."""
        errors_max = self._means.settings.errors_max
        return any(self._errors.get(name, 0) >= errors_max for name in _COUNTING)

    def is_useless(self) -> bool:
        """Say whether a check that is to end a run has found it useless."""
        return any(
            is_useless(self._case.health.get(check.name, Health()))
            for check in self._means.settings.checks
            if not check.only_warns
        )

    async def _check(self, running: Running, *, gone_s: float) -> None:
        means, case = self._means, self._case
        for check in means.settings.checks:
            units = case.look.progress.value or 0
            if not is_armed(check.arming, gone_s=gone_s, units=units):
                continue
            before = case.health.get(check.name, Health())
            health = looked(before, await means.run(check.command))
            case.health[check.name] = health
            if health.bad and health.bad != before.bad:
                means.history.note("unhealthy", check=check.name, attempt=running.number)
                if is_useless(health):
                    means.tell(f"Health check {check.name!r} finds the run useless.")

    def _heartbeat(self, look: Look) -> str:
        file = self._means.settings.heartbeat
        if file is None:
            return look.beat
        try:
            found = file.stat()
        except OSError:
            return ""
        return f"{found.st_mtime_ns}:{found.st_size}:{found.st_ino}"

    async def _asked_for_artifact(self, end: End) -> Artifact:
        found = await self._means.subject.artifact(is_clean=end.is_clean)
        self._take_answer("artifact", Answer(fault=found.uncertainty))
        return found

    def _raise(self, seen: Marks) -> bool:
        subject, case = self._means.subject, self._case
        marks = patience.raised(case.kept.marks, seen, subject.target)
        has_advanced = marks != case.kept.marks
        case.keep(counted=tuple(sorted(subject.counted)))
        if has_advanced:
            case.keep(marks=marks, patience=patience.advanced(case.kept.patience))
            case.has_advanced = True
            case.advanced_wall_s = self._means.clock.wall_s()
        return has_advanced

    def _take_answers(self, look: Look) -> None:
        for name, answer in zip(_COUNTING, (look.progress, look.steps), strict=True):
            self._take_answer(name, answer)

    def _take_answer(self, name: str, answer: Answer) -> None:
        faults = self._case.faults
        if not answer.is_broken:
            self._errors.pop(name, None)
            faults.pop(name, None)
            return
        self._errors[name] = self._errors.get(name, 0) + 1
        if faults.get(name) != answer.fault:
            self._means.history.note("predicate-broken", predicate=name, fault=answer.fault)
        faults[name] = answer.fault

    def _may_ask_again(self, name: str) -> bool:
        errors_max = self._means.settings.errors_max
        return self._errors.get(name, 0) < errors_max and not self._stop.is_there()
