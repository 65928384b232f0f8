"""Where a world that steps again departs from its record: event, field, both values. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from perdure.records.events import (
    AnswerGiven,
    Event,
    ExposureDropped,
    InterventionApplied,
    Payload,
    StimulusPublished,
    Turn,
    TurnNotTaken,
)
from perdure.records.presentation import WorldDelta
from perdure.records.request import WORLD_JOB
from perdure.runner.difference import first_difference
from perdure.runner.past import PastTick

# What each part of a delta became in the record, in the order of the record.
_EVENTS_OF = {
    "stimuli": (StimulusPublished,),
    "interventions": (InterventionApplied,),
    "dropped": (ExposureDropped,),
    "presentations": (Turn, TurnNotTaken),
}


def departure(past: PastTick, delta: WorldDelta, *, needs: int) -> tuple[int, str] | None:
    """Find where a delta first differs from a recorded tick: the event's seq, and what differs.

    `needs` is how many needs the world names now. None if nothing differs. Where an event would be
    missing or one too many, the last one of its kind is named, or the first of the tick.
    """
    if needs != len(past.answers):
        said = f"needs had {len(past.answers)} parts and has {needs}"
        own = [one for one in past.events if not _is_of_a_job(one.payload)]
        return _seq(own, (AnswerGiven,), needs), said
    if delta.tick != past.tick:
        return past.events[0].seq, f"tick was {past.tick} and is {delta.tick}"
    for name, kinds in _EVENTS_OF.items():
        old, new = getattr(past.delta, name), getattr(delta, name)
        for place, (was, found) in enumerate(zip(old, new, strict=False)):
            differs = first_difference(was, found)
            if differs is not None:
                return _seq(past.events, kinds, place), f"{name}[{place}].{differs.told}"
        if len(old) != len(new):
            said = f"{name} had {len(old)} parts and has {len(new)}"
            return _seq(past.events, kinds, min(len(old), len(new))), said
    return None


def _is_of_a_job(payload: Payload) -> bool:
    return isinstance(payload, AnswerGiven) and payload.job != WORLD_JOB


def _seq(events: Sequence[Event], kinds: tuple[type, ...], place: int) -> int:
    of_kind = [event.seq for event in events if isinstance(event.payload, kinds)]
    return of_kind[min(place, len(of_kind) - 1)] if of_kind else events[0].seq
