"""Judging an attempt that has ended, by how it ended and by what it left; and accepting that."""

from __future__ import annotations

import signal

import msgspec

from perdure.base.errors import EXIT_STOPPED
from perdure.base.text import sentence
from perdure.supervise import patience
from perdure.supervise.acceptance import RECEIPT_FORMAT, Receipt, drift, objections
from perdure.supervise.answers import Answer, Existence
from perdure.supervise.case import Case
from perdure.supervise.ends import OUTCOME_NAME, End, Kind, Reason, Said, kind_of, told
from perdure.supervise.looks import Looks
from perdure.supervise.means import Means
from perdure.supervise.slot import read
from perdure.supervise.telling import Telling
from perdure.supervise.verdict import State, Verdict, broken, damaged, verdict


class Judgement:
    """Judges attempts, one after the other."""

    def __init__(self, means: Means, case: Case, *, looks: Looks, telling: Telling) -> None:
        self._means = means
        self._case = case
        self._looks = looks
        self._telling = telling

    async def of_the_last(self, *, never_seen: bool) -> Verdict | None:
        """Decide about the last attempt; None if an earlier supervisor died before it began."""
        means, case = self._means, self._case
        number = case.kept.attempt
        seen, case.tail, log_fault = await means.attempts.end_of(number)
        if seen is None and never_seen:
            case.keep(judged=number)
            return None
        self._telling.of_log(log_fault)
        # One of ours that never said a word has ended all the same.
        end = self._told_end(seen or End())
        kind = kind_of(end, means.settings.table)
        means.history.note("attempt-ended", attempt=number, kind=kind, told=told(end), end=end)
        await self._looks.standing()
        await self._looks.artifact(end)
        self._take_drift(end)
        found = self._decided(end, kind)
        if found.state is State.FAILED:
            found = await self._with_what_is_there(found)
        if found.state is State.DONE:
            self._tell_of_silence()
            found = self._accept(number)
        case.keep(judged=number, last_end=end, stopping=Reason.NONE, climbed=0)
        self._telling.write(found.state, found.why)
        if found.state is State.WAITING:
            text = f"Attempt {number}: {told(end)}. {self._telling.where()} {sentence(found.why)}"
            means.tell(text)
        return found

    def _told_end(self, seen: End) -> End:
        case = self._case
        killed = seen.signal == signal.SIGKILL or seen.status == 128 + signal.SIGKILL
        return End(
            status=seen.status,
            signal=seen.signal,
            why=case.kept.stopping,
            oom=case.wanted_memory and killed and case.kept.stopping is Reason.NONE,
            said=read(self._means.settings.folder / OUTCOME_NAME, Said),
        )

    def _take_drift(self, end: End) -> None:
        means, case = self._means, self._case
        units = case.artifact.units
        found = drift(case.look.progress, units) if end.is_clean else ""
        if found and found != case.drift:
            means.history.note("drift", told=found)
            means.tell(f"Progress and artifact disagree: {found}.")
            if units.value == 0:
                means.tell("Does --artifact look for the right words in the right file?")
        case.drift = found

    def _decided(self, end: End, kind: Kind) -> Verdict:
        case, settings, target = self._case, self._means.settings, self._means.subject.target
        look, artifact = case.look, case.artifact
        blamed = broken(progress=look.progress, steps=look.steps, artifact=artifact.units)
        is_its_own = kind in {Kind.DONE, Kind.TRANSIENT} and end.why is not Reason.PREDICATE
        if is_its_own and not case.has_advanced and not blamed:
            case.keep(patience=patience.failed(case.kept.patience))
        holds_progress = target is not None and (look.progress.value or 0) >= target
        found = verdict(
            end,
            kind,
            self._against(end),
            is_spent=patience.is_spent(case.kept.patience, settings.allowance, case.kept.marks),
            holds_progress=holds_progress,
            is_damaged=artifact.is_damaged,
        )
        if look.damage:
            blamed = damaged(look.damage)
        if blamed and found.state in {State.WAITING, State.GAVE_UP, State.UNACCEPTABLE}:
            found = blamed
        if end.is_clean and holds_progress and found.state is not State.DONE:
            found = self._never_answered() or found
        return found

    async def _with_what_is_there(self, found: Verdict) -> Verdict:
        """Say of a run that nothing was begun of it, so that nobody looks for one."""
        existence, _ = await self._means.subject.existence()
        if existence is not Existence.ABSENT:
            return found
        why = f"{found.why}. There is no run: nothing but the supervisor's own files was made"
        return msgspec.structs.replace(found, why=why)

    def _against(self, end: End) -> tuple[str, ...]:
        artifact, target = self._case.artifact, self._means.subject.target
        if target is None:
            return ("nobody knows how far it has to go", *artifact.problems)
        return objections(artifact, end, target)

    def _never_answered(self) -> Verdict | None:
        """Say which predicate of a run that is over is to blame, and not what the run left."""
        artifact = self._case.artifact
        if artifact.units.silence:
            return broken(artifact=Answer(fault=artifact.units.silence))
        return broken(head=Answer(fault=artifact.fault)) if artifact.fault else None

    def _tell_of_silence(self) -> None:
        progress = self._case.look.progress
        if progress.value is not None:
            return
        why = progress.fault or progress.silence or "It never had anything to count."
        self._means.history.note("progress-never-counted", why=why)
        self._means.tell(
            f"The run is accepted on its artifact, but --progress does not count: {why}"
        )

    def _accept(self, number: int) -> Verdict:
        means, artifact = self._means, self._case.artifact
        target = means.subject.target
        assert target is not None
        receipt = Receipt(
            format=RECEIPT_FORMAT,
            target=target,
            units=artifact.units.value or 0,
            attempt=number,
            proof=artifact.proof,
            accepted_s=means.clock.wall_s(),
        )
        try:
            means.book.accept(receipt)
        except OSError as error:
            why = f"the receipt cannot be written ({error.strerror or error})"
            return Verdict(state=State.PAUSED, code=EXIT_STOPPED, why=why)
        means.history.note("accepted", attempt=number, units=receipt.units)
        return Verdict(state=State.DONE, why=f"accepted after attempt {number}")
