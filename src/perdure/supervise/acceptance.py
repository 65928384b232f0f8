"""Whether what a run left can be accepted: the artifact and the exit status together. Pure."""

from __future__ import annotations

from msgspec import field

from perdure.records.record import Record
from perdure.supervise.answers import Answer
from perdure.supervise.ends import End, manner


class Artifact(Record):
    """What was read of an artifact: its units, what is wrong with it, and what proves it later.

    `problems` say that it is torn or stale; `is_damaged` that no further attempt would mend them.
    `unread` says what of it could not be looked at: that keeps it from being accepted, and says
    nothing about it. `proof` names hashes and heads; a receipt keeps them. `fault` says which head
    gave no answer. `is_unlooked` says that nobody looked, since nothing could have come of it.
    """

    units: Answer = Answer()
    problems: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()
    proof: dict[str, str] = field(default_factory=dict)
    is_damaged: bool = False
    fault: str = ""
    is_unlooked: bool = False

    @property
    def uncertainty(self) -> str:
        """Why it is not known how it is; empty if it is known."""
        return self.units.fault or next(iter(self.unread), "")


class Receipt(Record):
    """That a run was accepted: on which artifact, after which attempt. Times are for people."""

    format: int
    target: int
    units: int
    attempt: int
    proof: dict[str, str]
    accepted_s: float


RECEIPT_FORMAT = 1


def objections(artifact: Artifact, end: End | None, target: int) -> tuple[str, ...]:
    """List what is against accepting; nothing, if it is accepted. `end` is the last attempt's."""
    found: list[str] = []
    if end is None or (end.status is None and end.signal is None):
        found.append("no exit status is known of the last attempt")
    elif end.status is None:
        found.append(f"the last attempt was {manner(end)} and has no exit status")
    elif not end.is_clean:
        found.append(f"the last attempt ended with {manner(end)}")
    if artifact.is_unlooked:
        return tuple(found or ["nobody has looked at the artifact"])
    units = artifact.units
    if units.is_broken:
        found.append(f"the artifact cannot be counted: {units.fault.rstrip('.')}")
    found.extend((*_shortcomings(units, target), *artifact.problems, *artifact.unread))
    return tuple(found)


def contradictions(receipt: Receipt, artifact: Artifact, target: int) -> tuple[str, ...]:
    """List how an artifact differs from that of its receipt; nothing, if nothing says so.

    What could not be looked at contradicts nothing.
    """
    found: list[str] = []
    if receipt.format != RECEIPT_FORMAT or receipt.target != target:
        found.append(f"the receipt is for a target of {receipt.target}, not of {target}")
    units = artifact.units
    found.extend((*_shortcomings(units, target), *artifact.problems))
    if not units.is_broken and units.value != receipt.units:
        found.append(f"the receipt says {receipt.units} units, there are {units.value or 0}")
    names = sorted(artifact.proof if artifact.uncertainty else {*receipt.proof, *artifact.proof})
    found.extend(
        f"{name} is not what the receipt says"
        for name in names
        if receipt.proof.get(name) != artifact.proof.get(name)
    )
    return tuple(found)


def _shortcomings(units: Answer, target: int) -> tuple[str, ...]:
    """List what the count of an artifact says against it. One that is broken says nothing."""
    found: list[str] = []
    if units.silence:
        found.append(f"the artifact has not been counted: {units.silence.rstrip('.')}")
    elif not units.is_broken and (units.value or 0) < target:
        found.append(f"the artifact holds {units.value or 0} of {target}")
    if units.torn:
        found.append("the artifact's last line is not whole")
    return tuple(found)


def drift(progress: Answer, artifact: Answer) -> str:
    """Say how progress log and artifact disagree; empty if they do not, or one says nothing."""
    if progress.value is None or artifact.value is None or progress.value == artifact.value:
        return ""
    return f"the progress log says {progress.value}, the artifact holds {artifact.value}"
