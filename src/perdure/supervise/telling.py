"""Telling how a run stands: in the supervisor's document, to a service manager, and by hooks."""

from __future__ import annotations

import asyncio

from perdure.supervise import pace, patience
from perdure.supervise.case import Case
from perdure.supervise.ends import told
from perdure.supervise.logs import log_path
from perdure.supervise.means import Means
from perdure.supervise.processes import myself
from perdure.supervise.settings import Event
from perdure.supervise.stored import STANDING_FORMAT, Standing
from perdure.supervise.verdict import State


class Telling:
    """Says how it stands, each time that it stands otherwise and now and then between."""

    def __init__(self, means: Means, case: Case) -> None:
        self._means = means
        self._case = case
        self._state, self._why = State.STARTING, ""
        self._since_s = means.clock.wall_s()
        self._written_s = -means.settings.poll_s
        self._calling: set[asyncio.Task[None]] = set()

    @property
    def state(self) -> State:
        """The state that was last told."""
        return self._state

    def write(self, state: State, why: str, *, sync: bool = True) -> None:
        """Tell of a state."""
        means = self._means
        if state is not self._state:
            self._since_s = means.clock.wall_s()
        self._state, self._why = state, why
        self._written_s = means.clock.now_s()
        means.book.write(self._standing(), sync=sync)
        means.manager.say(f"STATUS={state}. {self.where()}")

    def write_now_and_then(self) -> None:
        """Tell of the same state again, if it is time to."""
        if self._means.clock.now_s() - self._written_s >= self._means.settings.poll_s:
            self.write(self._state, self._why, sync=False)

    def where(self) -> str:
        """Say how far the run is."""
        progress, target = self._case.look.progress.value, self._means.subject.target
        at = "Nothing yet" if progress is None else f"Progress {progress}"
        return f"{at} of {'an unknown target' if target is None else target}."

    def of_log(self, fault: str) -> None:
        """Tell of a log that cannot be written, once for each attempt."""
        means, case = self._means, self._case
        if fault and fault != case.log_fault:
            means.history.note("log-unwritten", attempt=case.kept.attempt, fault=fault)
            means.tell(
                f"What attempt {case.kept.attempt} prints cannot be written down ({fault}). "
                "It goes on; only its last lines are kept."
            )
        case.log_fault = fault

    async def call(self, event: Event, why: str) -> None:
        """Call the hook of an event, if there is one, and wait for it."""
        means, case = self._means, self._case
        command = means.settings.hooks.get(event)
        if command is None:
            return
        progress, target = case.look.progress.value, means.subject.target
        facts = {
            "PERDURE_EVENT": str(event),
            "PERDURE_WHY": str(why),
            "PERDURE_FOLDER": str(means.settings.folder),
            "PERDURE_ATTEMPT": str(case.kept.attempt),
            "PERDURE_PROGRESS": "" if progress is None else str(progress),
            "PERDURE_TARGET": "" if target is None else str(target),
            "PERDURE_LOG": str(log_path(means.settings.folder, case.kept.attempt)),
        }
        ran = await means.hook(command, facts)
        means.history.note("hook", of=event, status=ran.status, fault=ran.fault)

    def call_meanwhile(self, event: Event, why: str) -> None:
        """Call a hook beside the run, which is watched all the while."""
        calling = asyncio.create_task(self.call(event, why))
        self._calling.add(calling)
        calling.add_done_callback(self._calling.discard)

    async def has_called(self) -> None:
        """Wait for the hooks that were called meanwhile."""
        await asyncio.gather(*self._calling)

    def _standing(self) -> Standing:
        means, case = self._means, self._case
        kept, now_s, target = case.kept, means.clock.now_s(), means.subject.target
        allowance = means.settings.allowance
        attempts = patience.attempts_of(allowance, kept.marks)
        return Standing(
            format=STANDING_FORMAT,
            state=self._state,
            why=means.mask(self._why)[:2000],
            command=means.mask(means.subject.text)[:1000],
            supervisor=myself(),
            kept=kept,
            run=case.running.run() if case.running is not None else None,
            target=target,
            progress=case.look.progress.value,
            artifact=case.artifact.units.value,
            attempts_left=max(attempts - kept.patience.attempts, 0),
            patience_left_s=max(allowance.seconds - kept.patience.idle_s, 0.0),
            rate_per_s=pace.rate_per_s(case.window, now_s),
            left_s=pace.left_s(case.window, now_s, target),
            last_end=told(kept.last_end)[:500] if kept.last_end is not None else "",
            log=str(log_path(means.settings.folder, kept.attempt)) if kept.attempt else "",
            drift=case.drift,
            health={name: health.said for name, health in case.health.items()},
            faults={name: means.mask(fault)[:300] for name, fault in case.faults.items()},
            free_bytes=case.free_bytes,
            needed_bytes=case.needed_bytes,
            since_s=self._since_s,
            written_s=means.clock.wall_s(),
            advanced_s=case.advanced_wall_s,
            next_s=case.next_wall_s,
            code=case.code,
        )
