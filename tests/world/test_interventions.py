"""Every intervention changes what is seen, and is on record when it begins and when it ends."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from tests.support.channels import (
    FEED,
    FORUM,
    WORD_OF_MOUTH,
    does,
    header_of,
    intervenes,
    live,
    on,
    reasons,
    seen_bytes,
    shown_to,
    step,
    tied,
    turns_of,
    world_of,
)

from perdure.base.errors import PluginError
from perdure.records.channels import Feed, PlannedIntervention, Ranking
from perdure.records.presentation import Presentation, WorldDelta
from perdure.records.reaction import Reaction
from perdure.records.scenario import Header


def doing(shown: Presentation) -> Reaction:
    """Comment, like or tell, by who one is."""
    first = shown.impression.exposures[0].stimulus
    names = [action.name for action in shown.actions]
    if "tell" in names:
        return does("tell", first, f"{shown.persona} says so.")
    if int(shown.persona[1:]) % 3:
        return does("like" if "like" in names else "up", first)
    return does("comment" if "like" in names else "reply", first, f"{shown.persona} doubts it.")


def with_all(*planned: PlannedIntervention, **changes: Any) -> Header:
    """Make a world with all channels and these interventions."""
    few = msgspec.structs.replace(FEED, exposures_max=2)
    given = {"feed": few, "forum": FORUM, "word_of_mouth": WORD_OF_MOUTH, **changes}
    return header_of(12, interventions=planned, activation=0.7, **given)


def told(deltas: list[WorldDelta]) -> list[tuple[int, str, str]]:
    """List what is on record of interventions."""
    return [(delta.tick, one.kind, one.detail) for delta in deltas for one in delta.interventions]


CASES = {
    "publish": intervenes(3, "publish", "feed", claim="c2"),
    "promote": intervenes(2, "promote", "feed", claim="c1"),
    "remove": intervenes(2, "remove", "feed", claim="c1"),
    "hide_counts": intervenes(2, "hide_counts", "feed"),
    "rank": intervenes(2, "rank", "feed", ranking=Ranking.RANDOM),
    "publish in the forum": intervenes(3, "publish", "forum", claim="c2"),
    "promote in the forum": intervenes(1, "promote", "forum", claim="c1"),
    "remove in the forum": intervenes(2, "remove", "forum", claim="c1"),
    "hide_counts in the forum": intervenes(2, "hide_counts", "forum"),
    "rank in the forum": intervenes(2, "rank", "forum", ranking=Ranking.NETWORK),
    "publish by mouth": intervenes(3, "publish", "word_of_mouth", claim="c2"),
    "remove by mouth": intervenes(2, "remove", "word_of_mouth", claim="c1"),
}


@pytest.mark.parametrize("case", CASES)
def test_every_intervention_changes_what_is_seen_from_its_tick_on(case: str) -> None:
    """Up to its tick the world is the same, from it on another is seen; it is recorded once."""
    planned = CASES[case]
    plain = seen_bytes(live(with_all(), doing, ticks=8))
    deltas = live(with_all(planned), doing, ticks=8)
    changed = seen_bytes(deltas)
    assert changed[: planned.tick] == plain[: planned.tick]
    assert changed[planned.tick :] != plain[planned.tick :]
    ((tick, kind, detail),) = told(deltas)
    assert (tick, kind) == (planned.tick, planned.kind.value)
    assert detail.startswith(f"{planned.channel}: ")


def test_counts_that_are_off_can_be_shown() -> None:
    """`show_counts` does to a feed without counts what `hide_counts` does to one with them."""
    off = msgspec.structs.replace(FEED, counts=False)
    header = with_all(intervenes(2, "show_counts", "feed", ticks=2), feed=off)
    deltas = live(header, doing, ticks=6)
    shows = [any(p.view.counts for p in on(delta, "feed").values()) for delta in deltas]
    assert shows == [False, False, True, True, False, False]
    assert told(deltas) == [
        (2, "show_counts", "feed: what others did is shown, for 2 ticks"),
        (4, "show_counts", "feed: what others did is no longer shown by this"),
    ]


def test_a_promoted_claim_comes_first_for_whom_it_is_new() -> None:
    """While it is promoted a claim stands before hotter ones, and says why; after it, not."""
    posts: dict[str, tuple[str, ...]] = {"0": ("c1",), "3": ("c2",)}
    asked = Feed(question="react", posts=posts, exposures_max=1, drops_max=0, decay=1.0)
    header = header_of(
        30, feed=asked, interventions=(intervenes(3, "promote", "feed", claim="c1"),)
    )
    first = {}
    for name, one in (("promoted", header), ("plain", header_of(30, feed=asked))):
        world = world_of(one)
        for tick in range(3):
            step(world, tick, activation=0.1)
        shown = on(step(world, 3), "feed")
        first[name] = [(p.impression.exposures[0].stimulus, *reasons(p)) for p in shown.values()]
    assert first["promoted"].count(("feed-t0-c1", "promoted")) > 15
    assert first["plain"].count(("feed-t3-c2", "hot")) == 30


def test_what_is_removed_is_gone_with_its_answers_and_comes_back() -> None:
    """A removed claim and all that answers it is shown to nobody; when it ends, it is again."""
    planned = intervenes(2, "remove", "feed", claim="c1", ticks=2)
    wide = msgspec.structs.replace(FEED, exposures_max=9)
    header = header_of(20, feed=wide, interventions=(planned,), activation=0.3)
    deltas = live(header, lambda shown: does("comment", "feed-t0-c1", shown.persona), ticks=8)
    claim = {s.id: s.claim for delta in deltas for s in delta.stimuli}
    comments = {s.id for delta in deltas for s in delta.stimuli if s.author}
    seen = [{one for shown in shown_to(d, "feed").values() for one in shown} for d in deltas]
    about = [{one for one in tick if claim[one] == "c1"} for tick in seen]
    assert about[0]
    assert about[2:4] == [set(), set()]
    assert any(one & comments for one in about[4:])
    assert not {one.stimulus for d in deltas[2:4] for one in d.dropped} & set().union(*about)
    assert told(deltas)[1] == (4, "remove", "feed: claim c1 and what answers it are back in sight")


def test_removed_word_of_mouth_does_not_wait_any_longer() -> None:
    """What waits for sleepers about a removed claim is dropped on record, and so is what comes."""
    people = tied((0, 1, 0.9), personas=2)
    asked = msgspec.structs.replace(WORD_OF_MOUTH, reach=1.0)
    planned = intervenes(2, "remove", "word_of_mouth", claim="c1")
    world = world_of(header_of(2, word_of_mouth=asked, interventions=(planned,)), people)
    telling = turns_of(step(world, 0), doing)[:1]
    assert step(world, 1, telling, activation=0.0).dropped == ()
    removed = step(world, 2, telling)
    assert removed.presentations == ()
    assert [(one.persona, one.reason) for one in removed.dropped] == [("p1", "removed")]


def test_of_two_that_overlap_the_later_holds() -> None:
    """A ranking that begins later holds until it ends; then the earlier one does again."""
    planned = (
        intervenes(2, "rank", "feed", ranking=Ranking.NETWORK, ticks=2),
        intervenes(1, "rank", "feed", ranking=Ranking.RANDOM, ticks=4),
    )
    feed = msgspec.structs.replace(FEED, posts={str(tick): ("c1",) for tick in range(7)})
    deltas = live(header_of(6, feed=feed, interventions=planned), lambda _: None, ticks=7)
    found = [{why for p in on(d, "feed").values() for why in reasons(p)} for d in deltas]
    assert (
        found
        == [{name} for name in ("hot", "random", "network", "network", "random")] + [{"hot"}] * 2
    )


@pytest.mark.parametrize(
    ("planned", "said"),
    [
        (intervenes(1, "publish", "radio", claim="c1"), "no channel 'radio'"),
        (intervenes(1, "publish", "forum", claim="c1"), "no channel 'forum'"),
        (intervenes(1, "publish", "feed", claim="c9"), "'c9'"),
        (intervenes(1, "remove", "feed"), "''"),
        (intervenes(1, "rank", "feed"), "which ranking"),
        (intervenes(1, "publish", "feed", claim="c1", ticks=2), "stays"),
        (intervenes(1, "hide_counts", "word_of_mouth"), "neither ranking nor counts"),
    ],
)
def test_what_cannot_be_carried_out_is_refused(planned: PlannedIntervention, said: str) -> None:
    """A channel, claim or ranking that is not there is refused before anything is shown."""
    with pytest.raises(PluginError, match=said):
        world_of(header_of(feed=FEED, word_of_mouth=WORD_OF_MOUTH, interventions=(planned,)))
