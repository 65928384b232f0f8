"""The feed shows each active persona the best that is new to it, and what is done there acts."""

from __future__ import annotations

from collections import Counter

import msgspec
import pytest
from tests.support.channels import (
    FEED,
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
from perdure.records.channels import Feed, Ranking
from perdure.records.presentation import Presentation
from perdure.records.reaction import Reaction, Rejection
from perdure.world.feed import FEED_ACTIONS

ONE = Feed(question="react", posts={"0": ("c1",)})


def feed(**changes: object) -> Feed:
    """Make a feed that has both claims from tick 0 on, changed as given."""
    return msgspec.structs.replace(FEED, **changes)


def test_what_is_posted_is_published_and_shown_at_its_tick() -> None:
    """A claim is on the feed from its tick on, with all that can be done; nothing is before it."""
    world = world_of(header_of(4, feed=feed(posts={"1": ("c1",)})))
    assert step(world, 0).presentations == ()
    delta = step(world, 1)
    assert [(s.id, s.kind, s.claim) for s in delta.stimuli] == [("feed-t1-c1", "claim", "c1")]
    assert set(on(delta, "feed")) == {"p0", "p1", "p2", "p3"}
    shown = on(delta, "feed")["p0"]
    assert (shown.question, shown.actions) == ("react", FEED_ACTIONS)
    assert reasons(shown) == ["hot"]


def test_nobody_is_shown_a_message_twice_nor_its_own() -> None:
    """A message is shown once to each, and never to its author."""
    deltas = live(
        header_of(5, feed=feed()),
        lambda shown: does("post", words=f"From {shown.persona} of {len(shown.view.counts)}."),
        ticks=6,
    )
    author_of = {s.id: s.author for delta in deltas for s in delta.stimuli}
    seen: Counter[tuple[str, str]] = Counter()
    for delta in deltas:
        for persona, stimuli in shown_to(delta, "feed").items():
            seen.update((persona, stimulus) for stimulus in stimuli)
            assert persona not in {author_of[stimulus] for stimulus in stimuli}
    assert set(seen.values()) == {1}
    assert any(author_of[stimulus] for _, stimulus in seen)


def test_no_more_is_shown_than_there_is_room_for_and_the_next_best_are_recorded() -> None:
    """At most so many are shown, so many of the next are recorded as dropped, with the reason."""
    header = header_of(6, feed=feed(exposures_max=2, drops_max=1))
    world = world_of(header)
    turns = turns_of(step(world, 0), lambda shown: does("post", words=f"I am {shown.persona}."))
    delta = step(world, 1, turns)
    assert {len(shown) for shown in shown_to(delta, "feed").values()} == {2}
    assert Counter(one.persona for one in delta.dropped) == dict.fromkeys(header.persona_ids, 1)
    assert {(one.channel, one.reason) for one in delta.dropped} == {("feed", "no room")}
    # What was dropped can still be shown later.
    later = step(world, 2)
    first = delta.dropped[0]
    assert first.stimulus in shown_to(later, "feed")[first.persona]


def test_attention_falls_evenly_to_that_of_the_last() -> None:
    """The first message gets all attention, the last shown what the scenario says."""
    world = world_of(header_of(5, feed=feed(attention_last=0.4)))
    first = step(world, 0)
    assert attention(on(first, "feed")["p0"]) == [1.0, 0.4]
    second = step(world, 1, turns_of(first, lambda _: does("post", words="Hm.")))
    assert attention(on(second, "feed")["p0"]) == [1.0, 0.7, 0.4]


def attention(shown: Presentation) -> list[float]:
    """Give the attention of each exposure."""
    return [exposure.attention for exposure in shown.impression.exposures]


def test_what_is_done_is_counted_and_seen_from_the_next_tick_on() -> None:
    """Likes, reposts and comments are counted by kind; at their own tick nobody sees them."""
    header = header_of(6, feed=ONE, activation=0.5)
    world = world_of(header)
    first = step(world, 0)
    acting = list(on(first, "feed"))
    assert 1 < len(acting) < 6
    assert all(p.view.counts == {"feed-t0-c1": {}} for p in first.presentations)
    done = {
        acting[0]: does("like", "feed-t0-c1"),
        acting[1]: does("comment", "feed-t0-c1", "Really?"),
    }
    for tick, turns in ((1, turns_of(first, done)), (2, [])):
        for shown in on(step(world, tick, turns), "feed").values():
            if "feed-t0-c1" in shown.view.counts:
                assert shown.view.counts["feed-t0-c1"] == {"like": 1, "comment": 1}
                return
    raise AssertionError("nobody saw the claim after it was liked")


def test_without_counts_nobody_sees_them() -> None:
    """With counts off the view has none at all, though they go on deciding what is hot."""
    for counts in (True, False):
        deltas = live(
            header_of(4, feed=feed(counts=counts)),
            lambda shown: does("post", words=f"{shown.persona}"),
            ticks=3,
        )
        views = [p.view.counts for delta in deltas for p in delta.presentations]
        assert any(views) is counts


def test_what_is_said_becomes_a_message_about_what_it_answers() -> None:
    """Comment and quote answer a message and are about its claim; each has author and stance."""
    header = header_of(4, feed=ONE)
    world = world_of(header)
    turns = turns_of(
        step(world, 0),
        {
            "p0": does("comment", "feed-t0-c1", "  I doubt it. "),
            "p1": does("quote", "feed-t0-c1", "Look at this."),
            "p2": does("post", words="Nice weather."),
            "p3": does("like", "feed-t0-c1", "Words that a like does not say."),
        },
    )
    delta = step(world, 1, turns)
    assert [
        (s.id, s.kind, s.text, s.claim, s.author, s.reply_to, s.stance) for s in delta.stimuli
    ] == [
        ("feed-p1-0", "comment", "I doubt it.", "c1", "p0", "feed-t0-c1", "agree"),
        ("feed-p1-1", "quote", "Look at this.", "c1", "p1", "feed-t0-c1", "agree"),
        ("feed-p1-2", "post", "Nice weather.", "", "p2", "", "agree"),
    ]
    shown = on(delta, "feed")["p3"]
    assert shown.view.threads == {"feed-p1-0": ("feed-t0-c1",), "feed-p1-1": ("feed-t0-c1",)}


@pytest.mark.parametrize(
    "reaction",
    [
        None,
        Reaction(),
        Reaction(action="like", stimulus="feed-t0-c1", rejected=Rejection.NOT_ACCEPTED),
        does("up", "feed-t0-c1"),
        does("tell", "feed-t0-c1", "Listen."),
        does("like", "feed-t0-c9"),
        does("like"),
        does("comment", "feed-t0-c1", "  "),
        does("post"),
    ],
)
def test_what_is_not_accepted_has_no_effect(reaction: Reaction | None) -> None:
    """Nothing done, a rejected action, another channel's, about nothing shown, without words."""
    header = header_of(4, feed=ONE)
    plain, other = world_of(header), world_of(header)
    first = step(plain, 0)
    step(other, 0)
    assert step(plain, 1) == step(other, 1, turns_of(first, lambda _: reaction))
    assert plain._state._boards[0]._posts._all == other._state._boards[0]._posts._all


def test_hot_goes_by_votes_and_age() -> None:
    """Ten times the votes make up for `decay` ticks of age, whatever a tick is."""
    for likes, first in ((8, "feed-t2-c2"), (10, "feed-t0-c1")):
        # Two ticks of age, at a decay of two: ten votes are even, with the one that all have.
        header = header_of(40, feed=feed(posts={"0": ("c1",), "2": ("c2",)}, decay=2.0))
        world = world_of(header)
        seen = step(world, 0, activation=0.5)
        liking = list(on(seen, "feed"))[:likes]
        turns = turns_of(seen, {persona: does("like", "feed-t0-c1") for persona in liking})
        assert len(liking) == likes
        step(world, 1, turns, activation=0.0)
        fresh = [
            shown
            for persona, shown in shown_to(step(world, 2), "feed").items()
            if persona not in on(seen, "feed")
        ]
        assert fresh
        assert {shown[0] for shown in fresh} == {first}


def test_messages_that_are_equal_are_first_for_some_and_last_for_others() -> None:
    """As long as nobody votes, hot shows each message to as many as random does."""
    header = header_of(400, feed=feed(exposures_max=1))
    world = world_of(header)
    posting = {f"p{number}": does("post", words=f"{number}") for number in range(8)}
    delta = step(world, 1, turns_of(step(world, 0), posting))
    new = {s.id for s in delta.stimuli if s.author}
    first = Counter(shown[0] for shown in shown_to(delta, "feed").values())
    # The claims of the tick before are older, and come after all that is new.
    assert set(first) == new
    assert all(25 < count < 80 for count in first.values())


def test_messages_of_one_tick_are_in_a_lot_of_their_own_and_not_by_author() -> None:
    """Nobody's message is first because of its author's place in the population."""
    first: Counter[str] = Counter()
    for seed in range(30):
        header = msgspec.structs.replace(header_of(8, feed=ONE), world_seed=f"{seed:016x}")
        world = world_of(header)
        turns = turns_of(step(world, 0), lambda shown: does("post", words=shown.persona))
        delta = step(world, 1, turns)
        author = {s.id: s.author for s in delta.stimuli}
        first[author[shown_to(delta, "feed")["p7"][0]]] += 1
    assert len(first) > 4
    assert first.most_common(1)[0][1] < 15


def test_random_is_another_order_for_each_persona_and_tick() -> None:
    """Every message has the same chance to be shown, and nobody's order is another's."""
    header = header_of(200, feed=feed(ranking=Ranking.RANDOM, exposures_max=1))
    world = world_of(header)
    posting = {f"p{number}": does("post", words=f"{number}") for number in range(8)}
    delta = step(world, 1, turns_of(step(world, 0), posting))
    first = Counter(shown[0] for shown in shown_to(delta, "feed").values())
    assert len(first) == 10
    assert max(first.values()) < 60
    assert {reason for p in delta.presentations for reason in reasons(p)} == {"random"}


def test_network_goes_by_the_strength_of_ties_then_by_age() -> None:
    """Whom one knows best comes first; a stranger's newer message comes after a friend's."""
    people = tied((0, 1, 0.2), (0, 2, 0.9), personas=5)
    header = header_of(5, feed=feed(posts={"0": ("c1",)}, ranking=Ranking.NETWORK))
    world = world_of(header, people)
    turns = turns_of(step(world, 0), lambda shown: does("post", words=shown.persona))
    delta = step(world, 1, turns)
    author = {s.id: s.author for s in delta.stimuli}
    shown = on(delta, "feed")["p0"]
    order = shown_to(delta, "feed")["p0"]
    assert [author[one] for one in order[:2]] == ["p2", "p1"]
    assert author[order[2]] in {"p3", "p4"}
    assert shown.view.ties == {order[0]: 0.9, order[1]: 0.2}


def test_a_repost_reaches_those_who_know_who_made_it() -> None:
    """In `network`, what a friend passed on stands where the friend's own messages do."""
    people = tied((0, 1, 0.5), personas=4)
    asked = feed(posts={"0": ("c1",), "1": ("c2",)}, ranking=Ranking.NETWORK, exposures_max=1)
    plans = (does("repost", "feed-t0-c1"), Reaction())
    found = []
    for reaction in plans:
        world = world_of(header_of(4, feed=asked), people)
        first = step(world, 0, activation=1.0)
        # p0 is not shown anything before: it would know the claim.
        kept = [turn for turn in turns_of(first, {"p1": reaction}) if turn.persona == "p1"]
        world._state._boards[0]._posts._known.pop("p0")
        found.append(on(step(world, 1, kept), "feed")["p0"])
    reposted, plain = found
    assert [e.stimulus for e in reposted.impression.exposures] == ["feed-t0-c1"]
    assert reasons(reposted) == ["reposted"]
    assert reposted.view.told_by == {"feed-t0-c1": "p1"}
    assert reposted.view.ties == {"feed-t0-c1": 0.5}
    assert [e.stimulus for e in plain.impression.exposures] == ["feed-t1-c2"]
    assert reasons(plain) == ["network"]


def test_who_is_followed_counts_as_tied() -> None:
    """After a follow the author's messages come first, and the view has a tie of 1."""
    people = tied((0, 1, 0.9), personas=4)
    header = header_of(4, feed=feed(posts={"0": ("c1",)}, ranking=Ranking.NETWORK))
    world = world_of(header, people)
    said = turns_of(step(world, 0), lambda shown: does("post", words=shown.persona))
    first = step(world, 1, said)
    author = {s.id: s.author for s in first.stimuli}
    by_p3 = next(one for one, name in author.items() if name == "p3")
    assert by_p3 in shown_to(first, "feed")["p0"]
    again = {shown.persona: does("post", words="More.") for shown in first.presentations}
    second = step(world, 2, turns_of(first, {**again, "p0": does("follow", by_p3)}))
    author = {s.id: s.author for s in second.stimuli}
    order = shown_to(second, "feed")["p0"]
    assert [author[one] for one in order[:2]] == ["p3", "p1"]
    assert on(second, "feed")["p0"].view.ties[order[0]] == 1.0
    # It is a tie in one direction.
    assert order[0] not in on(second, "feed")["p3"].view.ties


def test_near_is_what_comes_from_the_own_community() -> None:
    """A view tells which messages are from somebody of the viewer's community."""
    people = tied(personas=4, communities=[0, 0, 1])
    world = world_of(header_of(4, feed=feed(exposures_max=9)), people)
    said = turns_of(step(world, 0), lambda shown: does("post", words=shown.persona))
    delta = step(world, 1, said)
    author = {s.id: s.author for s in delta.stimuli}
    near = {p: {author[one] for one in v.view.near} for p, v in on(delta, "feed").items()}
    assert near == {"p0": {"p1"}, "p1": {"p0"}, "p2": set(), "p3": set()}


def gini(counts: list[int]) -> float:
    """Measure how unevenly something is spread: 0 if evenly."""
    ranked, total = sorted(counts), sum(counts)
    return sum((2 * n - len(ranked) + 1) * count for n, count in enumerate(ranked)) / (
        len(ranked) * total
    )


def concentration(ranking: Ranking, seed: int) -> float:
    """Measure how unevenly messages are shown where people like what others liked."""
    header = header_of(60, feed=feed(ranking=ranking, exposures_max=2), activation=0.5)
    header = msgspec.structs.replace(header, world_seed=f"{seed:016x}")

    def doing(shown: Presentation) -> Reaction:
        draw = Stream(header.world_seed, len(exposed), "doing", shown.persona)
        if draw.uniform() < 0.3:
            return does("post", words=f"{shown.persona}")
        likes = {one: count.get("like", 0) for one, count in shown.view.counts.items()}
        best = max(likes, key=lambda one: (likes[one], one))
        return does("like", best) if draw.uniform() < 0.3 + 0.1 * likes[best] else Reaction()

    exposed: Counter[str] = Counter()
    for delta in live(header, doing, ticks=12):
        exposed.update(dict.fromkeys((s.id for s in delta.stimuli), 0))
        exposed.update(one for shown in shown_to(delta, "feed").values() for one in shown)
    return gini(list(exposed.values()))


def test_hot_concentrates_what_is_seen_more_than_random() -> None:
    """Where likes follow likes, a hot feed shows a few messages to many, a random one does not."""
    for seed in range(5):
        hot, by_lot = (concentration(ranking, seed) for ranking in (Ranking.HOT, Ranking.RANDOM))
        assert hot > by_lot + 0.1


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"question": "nobody"}, "nobody"),
        ({"posts": {"1": ("c9",)}}, "c9"),
        ({"posts": {"soon": ("c1",)}}, "soon"),
    ],
)
def test_a_feed_that_names_what_is_not_there_is_refused(
    changes: dict[str, object], named: str
) -> None:
    """A feed that cannot be built says what is missing."""
    with pytest.raises(PluginError, match=named):
        world_of(header_of(feed=feed(**changes)))


def test_a_ranking_by_ties_without_a_graph_is_refused() -> None:
    """Where nothing is known of who knows whom, nothing can be ranked by it."""
    people = msgspec.structs.replace(tied(personas=12), graph=())
    with pytest.raises(PluginError, match="no graph"):
        world_of(header_of(feed=feed(ranking=Ranking.NETWORK)), people)


def test_what_one_friend_wrote_comes_newest_first() -> None:
    """Among messages from ties of one strength, in `network`, the newer stands first."""
    people = tied((0, 1, 0.5), (0, 2, 0.5), personas=3)
    header = header_of(3, feed=feed(posts={"0": ("c1",)}, ranking=Ranking.NETWORK, exposures_max=9))
    world = world_of(header, people)
    delta = step(world, 0)
    for tick in (1, 2, 3):
        said = {p: does("post", words=f"{p} at {tick}") for p in ("p1", "p2")}
        # p0 sleeps: it has no turn, and what it would have been shown is new to it.
        delta = step(world, tick, turns_of(delta, said))
        world._state._boards[0]._posts._known.pop("p0", None)
    text = {s.id: s.text for s in world._state._published._stimuli.values()}
    again = step(world, 4)
    ticks = [
        int(text[one].split()[-1]) for one in shown_to(again, "feed")["p0"] if " at " in text[one]
    ]
    assert ticks == sorted(ticks, reverse=True)
    assert len(set(ticks)) == 3
