"""The rules that make events a record: begun once, one outcome per job, whole ticks, ended once."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest
from tests.support.runs import full_batch, number

from perdure.records.events import (
    Batch,
    Completed,
    Cost,
    Event,
    Head,
    Payload,
    ScoreGiven,
    Started,
    TickClosed,
    Turn,
    TurnNotTaken,
)
from perdure.trace.rules import Tally, cited

EMPTY = Head(seq=-1, chain="", content=0, digest="")


def first_wrong(events: tuple[Event, ...], horizon: int = 3) -> str | None:
    """Follow events until one is wrong."""
    tally = Tally(horizon)
    for event in events:
        wrong = tally.follow(event)
        if wrong is not None:
            return wrong
    return None


def edited(
    change: Callable[[list[tuple[Payload, str]]], None], horizon: int = 3
) -> tuple[Event, ...]:
    """Take a sound first tick, change its payloads, and number it again."""
    batch = full_batch(EMPTY, horizon)
    payloads = [(event.payload, event.persona) for event in batch.events]
    change(payloads)
    return number(EMPTY, 0, payloads)


def place_of(payloads: list[tuple[Payload, str]], cls: type) -> int:
    """Find the first payload of a type."""
    return next(place for place, (one, _) in enumerate(payloads) if isinstance(one, cls))


def replaced(cls: type, **fields: object) -> Callable[[list[tuple[Payload, str]]], None]:
    """Change some fields of the first payload of a type."""

    def change(payloads: list[tuple[Payload, str]]) -> None:
        place = place_of(payloads, cls)
        payload, persona = payloads[place]
        payloads[place] = (msgspec.structs.replace(payload, **fields), persona)

    return change


def without(cls: type) -> Callable[[list[tuple[Payload, str]]], None]:
    """Leave the first payload of a type out."""

    def change(payloads: list[tuple[Payload, str]]) -> None:
        del payloads[place_of(payloads, cls)]

    return change


def with_another(payload: Payload, at: int) -> Callable[[list[tuple[Payload, str]]], None]:
    """Put another payload in."""
    return lambda payloads: payloads.insert(at, (payload, ""))


@pytest.mark.parametrize("horizon", [1, 3])
def test_a_sound_world_breaks_no_rule(horizon: int) -> None:
    """Ticks as the runner writes them pass, the last one too."""
    events: tuple[Event, ...] = ()
    head = EMPTY
    for _ in range(horizon):
        batch = full_batch(head, horizon)
        events += batch.events
        last = batch.events[-1]
        content = sum(event.content is not None for event in batch.events)
        head = Head(
            seq=last.seq, chain="", content=head.content + content, digest="", tick=last.tick
        )
    assert first_wrong(events, horizon) is None


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (without(Started), "starts with its first event"),
        (with_another(Started(), 3), "starts with its first event"),
        (without(TurnNotTaken), "0 outcomes of the job 2"),
        (replaced(TurnNotTaken, job=1), "2 outcomes of the job 1"),
        (replaced(TurnNotTaken, job=3), "0 outcomes of the job 2"),
        (replaced(TickClosed, jobs=2), "3 jobs, and not of 2"),
        (replaced(ScoreGiven, turn=0), "not of this tick"),
        (replaced(Cost, job=9), "costs of a job"),
        (replaced(Cost, job=-2), "costs of a job"),
        (replaced(Cost, amount=-1), "negative"),
        (with_another(Completed(), 5), "follows the world's completion"),
        (lambda payloads: payloads.insert(-1, (Completed(), "")), "completed in its last tick"),
    ],
)
def test_a_broken_rule_is_named(
    change: Callable[[list[tuple[Payload, str]]], None], said: str
) -> None:
    """P9: events that are intact and yet no record are told apart from a record."""
    wrong = first_wrong(edited(change))
    assert wrong is not None
    assert said in wrong


def test_a_turn_of_another_persona_is_named() -> None:
    """What was shown to one persona is not the turn of another."""

    def change(payloads: list[tuple[Payload, str]]) -> None:
        place = place_of(payloads, Turn)
        payloads[place] = (payloads[place][0], "p9")

    assert "shown to p1" in str(first_wrong(edited(change)))


def test_a_last_tick_without_an_end_is_named() -> None:
    """A world whose last tick is closed is completed, or its record is not whole."""
    assert "last tick" in str(first_wrong(edited(without(Completed), horizon=1), horizon=1))


def test_a_tick_past_the_horizon_is_named() -> None:
    """A world does not live longer than its scenario."""
    batch = full_batch(EMPTY, 3)
    late = Batch(events=tuple(msgspec.structs.replace(one, tick=3) for one in batch.events))
    assert "horizon" in str(first_wrong(late.events))


def test_sums_are_kept() -> None:
    """The figures that the registry's note must agree with."""
    tally = Tally(3)
    for event in full_batch(EMPTY).events:
        assert tally.follow(event) is None
    assert (tally.turns, tally.turns_failed, tally.cost, tally.unknown_costs) == (2, 1, 1_500, 1)


def test_every_blob_is_cited() -> None:
    """Prompts of turns and reflections, and vectors of answers, are what cites blobs."""
    batch = full_batch(EMPTY)
    assert {name for event in batch.events for name in cited(event)} == set(batch.blobs)
