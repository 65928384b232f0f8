"""Rungs are composed at the head of their tick, and read back as they were composed."""

from __future__ import annotations

import pytest
from tests.support.town import run_in_memory, town

from perdure.records.budget import Rung
from perdure.records.events import KIND_OF, Degraded, Event, Head, Restored
from perdure.records.presentation import Plan, WorldDelta
from perdure.runner.compose import TickResult, compose, pause
from perdure.runner.ladder import NOTHING_DUE, Due
from perdure.runner.past import past_ticks
from perdure.trace.rules import Tally
from perdure.trace.sealing import first_head, seal

WARN, FREEZE, SUBSAMPLE, PAUSE = Rung
THIN = Plan(activation=0.4, optional_work=False)


def tick(number: int, due: Due, horizon: int = 9) -> TickResult:
    """Make what an empty tick produced."""
    return TickResult(
        tick=number,
        plan=THIN,
        delta=WorldDelta(tick=number),
        answers=(),
        jobs=(),
        outcomes=(),
        scores=(),
        calls={},
        unanswered=0,
        last=number == horizon - 1,
        due=due,
    )


def recorded(*dues: Due | None) -> tuple[list[Event], Head]:
    """Compose and seal ticks with what is due at each; None stands for a pause."""
    head, number = first_head(b"{}"), 0
    events: list[Event] = []
    for one in dues:
        batch = pause(head) if one is None else compose(tick(number, one), head, {})
        head = seal(head, batch).head
        events += batch.events
        number += one is not None
    return events, head


DUES = (
    Due(degraded=(WARN, FREEZE)),
    NOTHING_DUE,
    None,
    Due(restored=(PAUSE, FREEZE), degraded=(SUBSAMPLE,)),
    None,
)


def test_rungs_stand_at_the_head_of_their_tick() -> None:
    """After the start, what is lifted before what is taken; and it keeps the rules of a record."""
    events, head = recorded(*DUES)
    tally = Tally(9)
    assert [tally.follow(event) for event in events] == [None] * len(events)
    assert [(event.tick, KIND_OF[type(event.payload)]) for event in events] == [
        (0, "started"),
        (0, "degraded"),
        (0, "degraded"),
        (0, "tick_closed"),
        (1, "tick_closed"),
        (2, "degraded"),
        (2, "restored"),
        (2, "restored"),
        (2, "degraded"),
        (2, "tick_closed"),
        (3, "degraded"),
    ]
    assert (head.tick, head.content) == (2, 0)


def test_a_pause_is_in_no_tick() -> None:
    """What is read back of a tick is what it recorded; the pause before it is not of it."""
    events, _ = recorded(*DUES)
    pasts = list(past_ticks(events, lambda _: b""))
    assert [past.due for past in pasts] == [due for due in DUES if due is not None]
    assert [past.plan for past in pasts] == [THIN] * 3
    assert [event.payload for event in pasts[2].events[:2]] == [
        Restored(rung=PAUSE),
        Restored(rung=FREEZE),
    ]
    assert sum(len(past.events) for past in pasts) == len(events) - 2


@pytest.mark.parametrize("place", [0, 2])
def test_a_pause_follows_any_head(place: int) -> None:
    """Before the first tick and after any other, it has the tick that does not open."""
    _, head = recorded(*[NOTHING_DUE] * place)
    (event,) = pause(head).events
    assert event == Event(seq=head.seq + 1, tick=place, payload=Degraded(rung=PAUSE))


def test_rungs_are_no_content() -> None:
    """P4: two worlds that lived the same have one digest, whatever it cost the run."""
    _, plain = recorded(NOTHING_DUE, NOTHING_DUE)
    _, degraded = recorded(Due(degraded=(WARN,)), None, Due(restored=(PAUSE,)))
    assert plain.digest == degraded.digest
    assert plain.chain != degraded.chain


def test_a_world_that_was_paused_goes_on_as_if_it_had_not_been() -> None:
    """P4: a pause in the record moves neither the world nor what its ticks are made of."""
    whole = run_in_memory(town(scenarios=({},), seeds=(1,)))
    world_id = whole.result.worlds[0].world_id
    before = list(past_ticks(whole.events(), lambda name: whole.partitions.blob(world_id, name)))
    events = whole.events()
    at = next(event.seq for event in events if event.tick == 1)
    paused = [*events[:at], Event(seq=at, tick=1, payload=Degraded(rung=PAUSE)), *events[at:]]
    after = list(past_ticks(paused, lambda name: whole.partitions.blob(world_id, name)))
    assert after == before
