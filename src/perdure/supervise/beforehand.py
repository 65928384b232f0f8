"""What is settled before the first attempt of a supervisor: whether all is done already.

A run that was accepted is not begun again, but asked whether it is still what was accepted.
"""

from __future__ import annotations

from perdure.base.errors import EXIT_DONE, EXIT_MOVED
from perdure.base.text import sentence
from perdure.supervise.acceptance import contradictions
from perdure.supervise.answers import last_words
from perdure.supervise.asking import Asking
from perdure.supervise.case import Case
from perdure.supervise.ends import End
from perdure.supervise.looks import Looks
from perdure.supervise.means import Means
from perdure.supervise.stop_request import StopRequest
from perdure.supervise.verdict import EXIT_BROKEN, State, Verdict, broken, damaged, stopped


class Beforehand:
    """Sees whether there is anything to do, and whether the predicates work."""

    def __init__(
        self, means: Means, case: Case, *, looks: Looks, stop: StopRequest, asking: Asking
    ) -> None:
        self._means = means
        self._case = case
        self._looks = looks
        self._stop = stop
        self._asking = asking

    async def settle(self) -> Verdict | None:
        """Give an end, if no attempt is needed or none would be of use."""
        if (ended := await self._from_receipt()) is not None:
            return ended
        await self._looks.standing()
        if self._case.look.damage:
            return damaged(self._case.look.damage)
        return broken(progress=self._case.look.progress, steps=self._case.look.steps)

    async def _from_receipt(self) -> Verdict | None:
        means, case = self._means, self._case
        receipt, is_none = means.book.receipt()
        if receipt is None and not is_none:
            return None
        against: tuple[str, ...] = ("the receipt cannot be read",)
        if receipt is not None:
            # It was counted when it was accepted: to find nothing is no answer any more.
            means.subject.counted.add("artifact")
            case.look = await means.subject.standing()
            if case.look.damage:
                return damaged(case.look.damage)
            await self._looks.artifact(End(status=EXIT_DONE))
            target, unsure = means.subject.target, case.artifact.uncertainty
            against = (
                contradictions(receipt, case.artifact, target)
                if target is not None
                else (() if unsure else ("the artifact is not there",))
            )
            if not against and self._stop.is_there():
                return stopped()
            if not against and unsure:
                return _unchecked(unsure)
        if not against:
            return await self._still_asked_for()
        means.history.note("receipt-contradicted", against=list(against))
        means.tell(sentence(f"There is a receipt that does not hold: {'; '.join(against)}"))
        means.book.set_receipt_aside()
        return None

    async def _still_asked_for(self) -> Verdict:
        """Ask whether an accepted run is that of the study and of the words as they are now."""
        means = self._means
        command = means.subject.asked_again()
        if command is not None:
            ran = await self._asking.ask("resume", command)
            if self._stop.is_there():
                return stopped()
            if ran.fault:
                return _unchecked(f"{command.text!r} gave no answer: {ran.fault}")
            if ran.status:
                why = means.mask(last_words(ran)) or f"exit status {ran.status}"
                means.history.note("not-what-was-accepted", status=ran.status, said=why)
                return Verdict(
                    state=State.FAILED,
                    code=ran.status or EXIT_MOVED,
                    why=f"a run was accepted here before, and {command.text!r} says of it: {why}",
                )
        means.history.note("already-done")
        return Verdict(state=State.DONE, why="already done: the receipt holds")


def _unchecked(why: str) -> Verdict:
    """Give the end for a run that was accepted, and nobody can say whether it still is."""
    return Verdict(
        state=State.BROKEN,
        code=EXIT_BROKEN,
        why="what was accepted could not be checked, and its receipt is kept as it is: "
        f"{why.rstrip('.')}",
    )
