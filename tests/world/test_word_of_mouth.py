"""Word of mouth spreads along ties, waits for sleepers, and loses nothing without a record."""

from __future__ import annotations

from collections import Counter

import msgspec
import pytest
from tests.support.channels import (
    FEED,
    WORD_OF_MOUTH,
    does,
    header_of,
    live,
    on,
    reasons,
    shown_to,
    step,
    tied,
    turns_of,
    world_of,
)

from perdure.base.chance import Stream
from perdure.base.errors import PluginError
from perdure.records.channels import WordOfMouth
from perdure.records.people import People
from perdure.records.presentation import CompletedTurn, Presentation, WorldDelta
from perdure.records.reaction import Change, Reaction
from perdure.world.word_of_mouth import TELL, drawn

CHANNEL = "word_of_mouth"
LINE = ((0, 1, 0.9), (1, 2, 0.6), (2, 3, 0.3), (3, 4, 0.9))
START = "word_of_mouth-t0-c1"


def mouth(**changes: object) -> WordOfMouth:
    """Make a channel on which everyone hears the claim first-hand, changed as given."""
    return msgspec.structs.replace(WORD_OF_MOUTH, **{"reach": 1.0, **changes})


def tell(shown: Presentation) -> Reaction:
    """Tell what was heard first, in words of one's own."""
    return does("tell", shown.impression.exposures[0].stimulus, f"{shown.persona} heard it.")


def only(turns: list[CompletedTurn], *personas: str) -> list[CompletedTurn]:
    """Keep the turns of some personas."""
    return [turn for turn in turns if turn.persona in personas]


def heard_by(deltas: list[WorldDelta]) -> dict[str, int]:
    """Give the tick at which each persona heard anything first."""
    first: dict[str, int] = {}
    for delta in deltas:
        for persona in on(delta, CHANNEL):
            first.setdefault(persona, delta.tick)
    return first


def starting_at(persona: int, people: People, reach: float = 0.2) -> str:
    """Find a world seed with which this persona alone hears the claim first-hand."""
    for number in range(10_000):
        seed = f"{number:016x}"
        hearing = [
            place
            for place, one in enumerate(people.personas)
            if Stream(seed, 0, "first_hand:c1", one.id).uniform() < reach
        ]
        if hearing == [persona]:
            return seed
    raise AssertionError("no seed does")


def test_some_hear_first_hand_by_the_reach() -> None:
    """At a start each hears the claim with the chance `reach`, by lot, from nobody."""
    delta = step(world_of(header_of(400, word_of_mouth=mouth(reach=0.25))), 0)
    heard = on(delta, CHANNEL)
    assert 60 < len(heard) < 140
    assert {tuple(reasons(shown)) for shown in heard.values()} == {("launch",)}
    assert all(shown.view.told_by == {} for shown in heard.values())
    assert {shown.actions for shown in heard.values()} == {(TELL,)}


def test_what_is_told_reaches_those_who_are_tied_one_tick_later() -> None:
    """On a line a message moves by one tie a tick, with the teller's words, name and tie."""
    people = tied(*LINE, personas=6)
    header = header_of(6, word_of_mouth=mouth(reach=0.2))
    header = msgspec.structs.replace(header, world_seed=starting_at(0, people))
    deltas = live(header, tell, ticks=8, people=people)
    assert heard_by(deltas) == {"p0": 0, "p1": 1, "p2": 2, "p3": 3, "p4": 4}
    shown = on(deltas[2], CHANNEL)["p2"]
    (exposure,) = shown.impression.exposures
    assert exposure.reason == "told"
    assert shown.view.told_by == {exposure.stimulus: "p1"}
    assert shown.view.ties == {exposure.stimulus: 0.6}
    assert len(shown.view.threads[exposure.stimulus]) == 2
    told = next(s for s in deltas[2].stimuli if s.id == exposure.stimulus)
    assert (told.kind, told.text, told.author) == ("told", "p1 heard it.", "p1")
    assert (told.claim, told.stance) == ("c1", "agree")


def test_without_ties_nothing_spreads() -> None:
    """With a graph that has no ties, only those hear it who hear it first-hand."""
    header = header_of(60, word_of_mouth=mouth(reach=0.3))
    alone, knowing = (
        heard_by(live(header, tell, ticks=6, people=people)) for people in (tied(personas=60), None)
    )
    assert set(alone.values()) == {0}
    assert len(knowing) > 2 * len(alone)


def test_without_a_graph_it_is_refused() -> None:
    """Where nothing is known of who knows whom, the world says so."""
    people = msgspec.structs.replace(tied(personas=12), graph=())
    with pytest.raises(PluginError, match="nobody knows anybody"):
        world_of(header_of(12, word_of_mouth=mouth()), people)


def test_a_message_waits_for_who_is_asleep() -> None:
    """What is told to a sleeper is heard at the tick at which it wakes, and not lost."""
    people = tied((0, 1, 0.9), personas=2)
    world = world_of(header_of(2, word_of_mouth=mouth()), people)
    turns = only(turns_of(step(world, 0), tell), "p0")
    for tick in range(1, 9):
        assert step(world, tick, turns, activation=0.0).presentations == ()
        turns = []
    delta = step(world, 9)
    (shown,) = delta.presentations
    assert (shown.persona, shown.view.told_by) == ("p1", {"word_of_mouth-p1-0": "p0"})
    assert delta.dropped == ()
    assert step(world, 10).presentations == ()


def test_too_many_waiting_push_out_the_oldest_on_record() -> None:
    """At most `waiting_max` wait for one persona; the oldest that has to go is recorded."""
    people = tied(*((0, other, 0.5) for other in range(1, 5)), personas=5)
    world = world_of(header_of(5, word_of_mouth=mouth(waiting_max=2, exposures_max=9)), people)
    delta = step(world, 0)
    tellers = only(turns_of(delta, tell), "p1", "p2", "p3", "p4")
    asleep = step(world, 1, tellers, activation=0.0)
    assert [(one.persona, one.reason) for one in asleep.dropped] == [("p0", "pushed out")] * 2
    assert [one.stimulus for one in asleep.dropped] == [s.id for s in asleep.stimuli[:2]]
    shown = on(step(world, 2), CHANNEL)["p0"]
    assert set(shown.view.told_by.values()) == {"p3", "p4"}


def test_what_has_no_room_goes_on_waiting() -> None:
    """At most `exposures_max` are heard at once, those that waited longest first."""
    people = tied(*((0, other, 0.5) for other in range(1, 5)), personas=5)
    world = world_of(header_of(5, word_of_mouth=mouth(exposures_max=3)), people)
    delta = step(world, 1, only(turns_of(step(world, 0), tell), "p1", "p2", "p3", "p4"))
    told = [s.id for s in delta.stimuli]
    assert shown_to(delta, CHANNEL)["p0"] == told[:3]
    assert shown_to(step(world, 2), CHANNEL)["p0"] == told[3:]


def test_the_same_message_from_several_is_heard_from_the_nearest() -> None:
    """Equal words about one claim are one message, from the teller with the strongest tie."""
    people = tied((0, 1, 0.3), (0, 2, 0.8), (0, 3, 0.5), personas=4)
    world = world_of(header_of(4, word_of_mouth=mouth()), people)
    saying = turns_of(step(world, 0), lambda _: does("tell", START, "It is so."))
    shown = on(step(world, 1, only(saying, "p1", "p2", "p3")), CHANNEL)["p0"]
    (stimulus,) = [exposure.stimulus for exposure in shown.impression.exposures]
    assert shown.view.told_by == {stimulus: "p2"}
    assert shown.view.ties == {stimulus: 0.8}


def test_nobody_is_told_its_own_words() -> None:
    """Neither the words that it told itself, nor what answers its own message."""
    people = tied((0, 1, 0.9), personas=2)
    world = world_of(header_of(2, word_of_mouth=mouth()), people)
    first = only(turns_of(step(world, 0), lambda _: does("tell", START, "It is so.")), "p0")
    second = step(world, 1, first)
    (heard,) = second.presentations
    assert heard.persona == "p1"
    (stimulus,) = [exposure.stimulus for exposure in heard.impression.exposures]
    for words in ("It is so.", "It is not so."):
        third = step(world, 2, turns_of(second, {"p1": does("tell", stimulus, words)}))
        assert third == WorldDelta(tick=2)


@pytest.mark.parametrize(
    ("change", "moved_min", "tells"),
    [
        (Change.MUCH_MORE, 2, True),
        (Change.MUCH_LESS, 2, True),
        (Change.MORE, 2, False),
        (Change.MORE, 1, True),
        (Change.SAME, 1, False),
        (None, 1, False),
    ],
)
def test_what_moves_a_belief_is_told_whatever_the_channel(
    change: Change | None, moved_min: int, *, tells: bool
) -> None:
    """A turn on the feed that moves a belief far enough is told, though nothing was done."""
    people = tied((0, 1, 0.9), personas=3)
    feed = msgspec.structs.replace(FEED, posts={"0": ("c1",)})
    asked = mouth(starts={}, moved_min=moved_min)
    world = world_of(header_of(3, feed=feed, word_of_mouth=asked), people)
    moved = Reaction(stimulus="feed-t0-c1", words="I never knew.", change=change)
    delta = step(world, 1, turns_of(step(world, 0), {"p0": moved}))
    assert list(on(delta, CHANNEL)) == (["p1"] if tells else [])
    told = [(s.text, s.claim, s.reply_to) for s in delta.stimuli]
    assert told == ([("I never knew.", "c1", "feed-t0-c1")] if tells else [])


def test_only_strong_ties_are_told_and_only_so_many() -> None:
    """Nobody beyond `tie_min` is told, and at most `targets_max` of the others."""
    people = tied(*((0, other, other / 10) for other in range(1, 10)), personas=10)
    asked = mouth(tie_min=0.5, targets_max=3)
    told: Counter[str] = Counter()
    for number in range(40):
        header = header_of(10, word_of_mouth=asked)
        header = msgspec.structs.replace(header, world_seed=f"{number:016x}")
        world = world_of(header, people)
        delta = step(world, 1, only(turns_of(step(world, 0), tell), "p0"))
        assert len(on(delta, CHANNEL)) == 3
        told.update(list(on(delta, CHANNEL)))
    assert set(told) == {"p5", "p6", "p7", "p8", "p9"}


def test_stronger_ties_are_told_more_often() -> None:
    """Whom one tells is drawn in proportion to the strength of the tie, each once at most."""
    ties = {"a": 0.1, "b": 0.3, "c": 0.6}
    first: Counter[str] = Counter()
    for number in range(3_000):
        names = list(drawn(ties, 2, Stream("0", number, "test")))
        assert len(set(names)) == 2
        first[names[0]] += 1
    shares = {name: first[name] / 3_000 for name in ties}
    assert shares == pytest.approx(ties, abs=0.03)
    assert sorted(drawn(ties, 9, Stream("0", 0, "test"))) == ["a", "b", "c"]
    assert list(drawn({}, 2, Stream("0", 0, "test"))) == []


def test_a_rejected_telling_tells_nobody() -> None:
    """An action of another channel, or one without words, spreads nothing."""
    world = world_of(header_of(6, word_of_mouth=mouth()))
    first = step(world, 0)
    for reaction in (does("post", START, "Hm."), does("tell", START), does("tell", "", "Hm.")):
        doing = {shown.persona: reaction for shown in first.presentations}
        assert step(world, 1, turns_of(first, doing)) == WorldDelta(tick=1)


def test_of_the_same_thing_one_is_told_by_many_and_by_nobody_twice() -> None:
    """Each acquaintance tells it once, in whatever words; what it says of it may be new again."""
    people = tied((0, 1, 0.9), (0, 2, 0.9), (1, 2, 0.9), personas=3)
    world = world_of(header_of(3, word_of_mouth=mouth(targets_max=9)), people)
    first = step(world, 0)
    everybody = ("p0", "p1", "p2")
    told: Counter[tuple[str, str]] = Counter()
    for tick, stance in enumerate(("agree", "agree", "disagree", "agree", "disagree"), 1):
        telling = {one: does("tell", START, f"{one} at {tick}.") for one in everybody}
        turns = turns_of(first, telling)
        turns = [msgspec.structs.replace(turn, choice=stance) for turn in turns]
        for persona, shown in on(step(world, tick, turns), CHANNEL).items():
            told.update((teller, persona) for teller in shown.view.told_by.values())
    pairs = [(one, other) for one in everybody for other in everybody if one != other]
    assert told == dict.fromkeys(pairs, 2)


def test_two_who_tell_each_other_the_same_hear_each_other() -> None:
    """That somebody else says the same is news, and the people who stand before make no odds."""
    people = tied((0, 1, 0.9), personas=2)
    world = world_of(header_of(2, word_of_mouth=mouth()), people)
    telling = {one: does("tell", START, "It is so.") for one in ("p0", "p1")}
    assert set(on(step(world, 1, turns_of(step(world, 0), telling)), CHANNEL)) == {"p0", "p1"}
