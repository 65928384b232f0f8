"""The rules that make events a record: begun once, one outcome per job, whole ticks, ended once."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest
from tests.support.runs import full_batch, number, pause_batch, resumed_batch

from perdure.records.budget import Rung
from perdure.records.events import (
    AnswerGiven,
    Batch,
    BeliefsHeld,
    Completed,
    Cost,
    Degraded,
    Event,
    GuardrailViolation,
    Head,
    MemoryFormed,
    Payload,
    Probed,
    Reflected,
    Restored,
    ScoreGiven,
    Started,
    TickClosed,
    Turn,
    TurnNotTaken,
)
from perdure.records.presentation import Plan
from perdure.records.reaction import Reaction
from perdure.records.registry import RungAt
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


def of_persona(cls: type, persona: str) -> Callable[[list[tuple[Payload, str]]], None]:
    """Give the first payload of a type to another persona."""

    def change(payloads: list[tuple[Payload, str]]) -> None:
        place = place_of(payloads, cls)
        payloads[place] = (payloads[place][0], persona)

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
        (without(Started), "starts with the first event"),
        (with_another(Started(), 3), "starts with the first event"),
        (without(TurnNotTaken), "0 outcomes of the job 2"),
        (replaced(TurnNotTaken, job=1), "2 outcomes of the job 1"),
        (replaced(TurnNotTaken, job=3), "0 outcomes of the job 2"),
        (replaced(TickClosed, jobs=2), "3 jobs, and not of 2"),
        (replaced(ScoreGiven, turn=0), "not of this tick"),
        (replaced(MemoryFormed, turn=0), "not of this tick"),
        (replaced(BeliefsHeld, turn=0), "not of this tick"),
        (of_persona(BeliefsHeld, "p2"), "another persona's"),
        (replaced(BeliefsHeld, beliefs={"trams": 4}), "not within -3 and 3"),
        (replaced(BeliefsHeld, beliefs={"trams": -4}), "not within -3 and 3"),
        (replaced(Reflected, turn=0), "not of this tick"),
        (replaced(Probed, turn=0), "not of this tick"),
        (replaced(GuardrailViolation, job=0), "follows the outcome of its job 0"),
        (replaced(GuardrailViolation, job=3), "answers of a job"),
        (replaced(GuardrailViolation, job=2), "that broke a rule is another persona's"),
        (replaced(AnswerGiven, job=3), "answers of a job"),
        (replaced(AnswerGiven, job=-3), "answers of a job"),
        (replaced(Turn, recalled=(5,)), "recalls 5, which is no earlier memory of p1"),
        (replaced(Turn, reaction=Reaction(stimulus="s9")), "about s9, which it did not show"),
        (replaced(Cost, job=9), "answers of a job"),
        (replaced(Cost, job=-3), "answers of a job"),
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


def test_only_own_earlier_memories_are_recalled() -> None:
    """A turn may tell what its persona formed in any tick before, and nothing of anybody else."""
    first = full_batch(EMPTY)
    formed = next(
        event.content for event in first.events if isinstance(event.payload, MemoryFormed)
    )
    head = Head(seq=first.events[-1].seq, chain="", content=14, digest="", tick=0)

    def second(job: int, number: int) -> tuple[Event, ...]:
        return tuple(
            msgspec.structs.replace(
                event, payload=msgspec.structs.replace(event.payload, recalled=(number,))
            )
            if isinstance(event.payload, Turn) and event.payload.job == job
            else event
            for event in full_batch(head).events
        )

    assert formed is not None
    assert first_wrong((*first.events, *second(0, formed))) is None
    assert "no earlier memory of p2" in str(first_wrong((*first.events, *second(1, formed))))
    assert "no earlier memory of p1" in str(first_wrong((*first.events, *second(0, formed + 1))))


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


WARN, FREEZE, PAUSE = Rung.WARN, Rung.FREEZE, Rung.PAUSE
CLOSED = TickClosed(plan=Plan(), jobs=0)


def down(*rungs: Rung) -> list[Payload]:
    """Say that rungs are taken."""
    return [Degraded(rung=rung) for rung in rungs]


def up(*rungs: Rung) -> list[Payload]:
    """Say that rungs are lifted."""
    return [Restored(rung=rung) for rung in rungs]


def lived(*parts: list[Payload]) -> tuple[Tally, str | None]:
    """Follow ticks without jobs, each with some events at its head; a pause is a part of its own.

    Gives the tally and the first thing that is wrong.
    """
    tally, head = Tally(9), EMPTY
    for part in parts:
        is_pause = part == down(PAUSE)
        payloads = list(part) if is_pause else [*part, CLOSED]
        for event in number(head, head.tick + 1, [(payload, "") for payload in payloads]):
            wrong = tally.follow(event)
            if wrong is not None:
                return tally, wrong
        head = Head(
            seq=head.seq + len(payloads),
            chain="",
            content=head.content,
            digest="",
            tick=head.tick + (not is_pause),
        )
    return tally, None


def test_rungs_are_followed() -> None:
    """What a record says of rungs: from which tick each had effect, and until when."""
    tally, wrong = lived(
        [Started(), *down(WARN)],
        [*down(FREEZE)],
        [],
        down(PAUSE),
        [*up(PAUSE, FREEZE)],
        [*down(FREEZE)],
        down(PAUSE),
    )
    assert wrong is None
    assert tally.rungs == (
        RungAt(rung=WARN, tick=0),
        RungAt(rung=FREEZE, tick=1, lifted=3),
        RungAt(rung=PAUSE, tick=3, lifted=3),
        RungAt(rung=FREEZE, tick=4),
        RungAt(rung=PAUSE, tick=5),
    )


def test_a_world_may_be_paused_before_it_starts() -> None:
    """Its record then begins with the pause, and its first tick with its start all the same."""
    tally, wrong = lived(down(PAUSE), [Started(), *up(PAUSE), *down(WARN)], [])
    assert wrong is None
    assert tally.rungs[0] == RungAt(rung=PAUSE, tick=0, lifted=0)


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ([[Started(), *down(WARN, WARN)]], "warn was taken already"),
        ([[Started(), *down(WARN)], [*down(WARN)]], "warn was taken already"),
        ([[Started()], down(PAUSE), down(PAUSE)], "pause was taken already"),
        ([[Started(), *up(WARN)]], "warn was not taken"),
        ([[Started(), *down(WARN)], up(WARN), up(WARN)], "warn was not taken"),
        ([[Started()], down(PAUSE), [*down(WARN)]], "the world is paused"),
        ([[Started()], down(PAUSE), []], "the world is paused"),
        ([[Started(), *down(WARN)], down(PAUSE), [*up(WARN, PAUSE)]], "the world is paused"),
        ([down(PAUSE), [Started()]], "the world is paused"),
        ([down(PAUSE), [*up(PAUSE)]], "starts with the first event"),
        ([[*down(WARN), Started()]], "starts with the first event"),
        ([[Started(), Degraded(rung=PAUSE)]], "a pause between ticks"),
        ([[Started()], [*down(WARN, PAUSE)]], "a pause between ticks"),
    ],
)
def test_a_rung_out_of_place_is_named(parts: list[list[Payload]], said: str) -> None:
    """P9: a rung is taken once until it is lifted, and nothing is lived while a world is paused."""
    _, wrong = lived(*parts)
    assert wrong is not None
    assert said in wrong


@pytest.mark.parametrize("rung", [Degraded(rung=FREEZE), Restored(rung=WARN)])
def test_rungs_stand_at_the_head_of_their_tick(rung: Payload) -> None:
    """A rung among what a tick did would have had no effect on some of it."""
    for place in range(2, len(full_batch(EMPTY).events)):
        wrong = first_wrong(edited(with_another(rung, place)))
        assert (wrong is None) is (place == 2)
        assert wrong is None or "head of its tick" in wrong


def test_nothing_follows_the_end_but_its_mark() -> None:
    """A world that has come to its horizon is not paused any more."""
    batch = full_batch(EMPTY, 1)
    end = Head(seq=batch.events[-1].seq, chain="", content=14, digest="", tick=0)
    assert "horizon" in str(first_wrong((*batch.events, *pause_batch(end).events), 1))


def test_a_paused_world_that_goes_on_breaks_no_rule() -> None:
    """Ticks with all kinds of events around a pause pass."""
    first = full_batch(EMPTY)
    head = Head(seq=first.events[-1].seq, chain="", content=14, digest="", tick=0)
    later = msgspec.structs.replace(head, seq=head.seq + 1)
    events = (*first.events, *pause_batch(head).events, *resumed_batch(later).events)
    assert first_wrong(events) is None
