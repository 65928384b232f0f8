"""Whether a call is let through: a pure decision over what it may do and what is allowed."""

from __future__ import annotations

from perdure.records.drive import PlacePolicy, RunPolicy
from perdure.records.record import Record
from perdure.records.tools import Effect, Writes


class May(Record):
    """What one call may do. `deletes`: something that is there may be gone afterwards."""

    effect: Effect
    writes: Writes = Writes()
    deletes: bool = False


def why_refused(
    may: May, place: PlacePolicy, policy: RunPolicy, *, checkpointed: bool
) -> str | None:
    """Say why a call is not let through, as a sentence for the model; None where it is."""
    if may.effect is Effect.EGRESS:
        if place.confidential:
            return "It reaches outside, and this place is confidential: nothing leaves it."
        if not policy.egress:
            return "It reaches outside, which this run may not."
    if may.effect is Effect.WRITE or may.deletes or not may.writes.is_nothing:
        return _why_not_written(may, policy, checkpointed=checkpointed)
    return None


def _why_not_written(may: May, policy: RunPolicy, *, checkpointed: bool) -> str | None:
    if not policy.writes:
        return "It may write, and this run may only read."
    # What writes and does not say where is taken to write anywhere.
    writes = Writes(anywhere=True) if may.writes.is_nothing else may.writes
    outside = _outside(writes, policy.paths)
    if outside:
        allowed = ", ".join(policy.paths)
        return f"It may write {outside}, and this run may write only under: {allowed}."
    if not checkpointed and (may.deletes or writes.anywhere):
        return "It may delete what is there, and there is no checkpoint to go back to."
    return None


def is_under(path: str, roof: str) -> bool:
    """Say whether a path of the workspace is another one, or lies somewhere within it."""
    base = roof.strip("/").removeprefix("./")
    return base in ("", ".") or path == base or path.startswith(f"{base}/")


def _outside(writes: Writes, paths: tuple[str, ...]) -> str:
    if not paths:
        return ""
    if writes.anywhere:
        return "anything"
    beyond = [path for path in writes.paths if not any(is_under(path, roof) for roof in paths)]
    return ", ".join(beyond)
