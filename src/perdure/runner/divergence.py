"""Where a tick that was driven again came out otherwise than it is recorded. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from perdure.base.errors import PluginError
from perdure.records.events import (
    KIND_OF,
    Cost,
    Event,
    GuardrailViolation,
    Probed,
    Reflected,
    Turn,
    TurnNotTaken,
)
from perdure.records.record import Record
from perdure.records.request import SCORER_JOB, WORLD_JOB, CallKey, FailureCause
from perdure.runner.difference import Differing, differing, first_difference
from perdure.runner.past import PastTick
from perdure.runner.recorded_calls import ReadBlob

_Prompted = Turn | GuardrailViolation | Reflected | Probed
# A recorded event that came out otherwise, and how.
Found = tuple[Event, Differing]
# What a call gets that is not on record, so that its tick comes to an end and can be compared.
UNRECORDED = FailureCause.UNSUPPORTED

_NOBODYS = {WORLD_JOB: "the world", SCORER_JOB: "the scorer"}


class Divergence(Record):
    """The first event that came out otherwise.

    `event` is its id, `kind` what is recorded there; `field` is the path of the field that differs,
    `was` and `now` its two values, cut to be shown. `field` is empty where the event could not be
    made at all. `wrong` says it in words. `forced` names what the run was forced past after that
    event was made: it is the work of other code or other inputs.
    """

    event: str
    tick: int
    kind: str
    wrong: str
    field: str = ""
    was: str = ""
    now: str = ""
    forced: tuple[str, ...] = ()


def divergence_of(
    world_id: str,
    past: PastTick,
    found: Found | None,
    unrecorded: Sequence[CallKey],
    raised: PluginError | None,
) -> Divergence | None:
    """Say where a tick came out otherwise; None if it did not.

    That is the first event that differs, else the turn of the first call that is not on record,
    else what kept the tick from coming to its end. `unrecorded` calls got `UNRECORDED`.
    """
    called = ""
    if unrecorded:
        key = min(unrecorded, key=lambda one: (one.job, one.purpose, one.ordinal))
        whose = _NOBODYS.get(key.job, f"job {key.job}")
        called = (
            f"call {key.ordinal} for {key.purpose!r} of {whose} is not on record, or what it was "
            "answered is not"
        )
        if found is None:
            return _divergence(world_id, _outcome_of(past, key.job), called)
    if found is not None:
        event, differs = found
        if called and differs.now == repr(str(UNRECORDED)):
            differs = msgspec.structs.replace(differs, now="a call that is not on record")
        told = f"{differs.told}; {called}" if called else differs.told
        return _divergence(world_id, event, told, differs)
    if raised is not None:
        return _divergence(world_id, past.events[0], str(raised))
    return None


def _divergence(
    world_id: str, event: Event, wrong: str, differs: Differing | None = None
) -> Divergence:
    kind = KIND_OF[type(event.payload)]
    return Divergence(
        event=f"{world_id}:{event.seq}",
        tick=event.tick,
        kind=kind,
        wrong=f"{kind}: {wrong}",
        field=differs.field if differs is not None else "",
        was=differs.was if differs is not None else "",
        now=differs.now if differs is not None else "",
    )


def _outcome_of(past: PastTick, job: int) -> Event:
    """Find the recorded event of a job's turn; for the world's own calls, the tick's first."""
    for event in past.events:
        if isinstance(event.payload, Turn | TurnNotTaken) and event.payload.job == job:
            return event
    return past.events[0]


def diverged(
    recorded: Sequence[Event],
    now: Sequence[Event],
    blob: ReadBlob,
    blobs: Mapping[str, bytes],
) -> Found | None:
    """Find the first event that came out otherwise, and how; costs are not compared. Pure.

    `blob` reads the recorded texts of prompts by hash, `blobs` holds those of now.
    """
    old = [event for event in recorded if not isinstance(event.payload, Cost)]
    new = [event for event in now if not isinstance(event.payload, Cost)]
    for was, found in zip(old, new, strict=False):
        differs = _event_differs(was, found)
        if differs is not None:
            if _is_prompt(differs.field):
                differs = _texts_differ(was, found, differs, blob, blobs)
            return was, differs
    if len(old) != len(new):
        counts = differing("the number of the tick's events", len(old), len(new))
        return old[-1], counts
    return None


def _event_differs(was: Event, found: Event) -> Differing | None:
    kinds = KIND_OF[type(was.payload)], KIND_OF[type(found.payload)]
    for name, left, right in (
        ("kind", *kinds),
        ("persona", was.persona, found.persona),
        ("content", was.content, found.content),
    ):
        if left != right:
            return differing(name, left, right)
    return first_difference(was.payload, found.payload)


def _is_prompt(field: str) -> bool:
    return field.startswith("prompt[") and field.endswith(".sha256")


def _texts_differ(
    was: Event, found: Event, differs: Differing, blob: ReadBlob, blobs: Mapping[str, bytes]
) -> Differing:
    """Show the words of a prompt that differ instead of their hashes."""
    assert isinstance(was.payload, _Prompted), "only these have prompts"
    assert isinstance(found.payload, _Prompted), "both are of one kind"
    place = int(differs.field.removeprefix("prompt[").partition("]")[0])
    old = blob(was.payload.prompt[place].sha256).decode()
    new = blobs[found.payload.prompt[place].sha256].decode()
    return differing(f"prompt[{place}]", old, new)
