"""The forum is everybody's or one for each community, and goes by votes up less votes down."""

from __future__ import annotations

import msgspec
import pytest
from tests.support.channels import (
    FORUM,
    does,
    header_of,
    live,
    on,
    shown_to,
    step,
    tied,
    turns_of,
    world_of,
)

from perdure.base.errors import PluginError
from perdure.records.channels import Forum, Scope
from perdure.records.people import People
from perdure.records.presentation import Presentation
from perdure.records.reaction import Reaction
from perdure.world.forum import FORUM_ACTIONS

BOTH = Forum(question="react", posts={"0": ("c1", "c2")}, exposures_max=2)
# Two of the first community, two of the second, one of neither, then ten of the first.
COMMUNITIES = [0, 0, 1, 1]


def forum(**changes: object) -> Forum:
    """Make a forum, changed as given."""
    return msgspec.structs.replace(FORUM, **changes)


def some(personas: int = 5) -> People:
    """Make people of whom four are in two communities."""
    return tied((0, 1, 0.5), personas=personas, communities=COMMUNITIES)


def talk(shown: Presentation) -> Reaction:
    """Say something new, or answer what is first."""
    first = shown.impression.exposures[0].stimulus
    if int(shown.persona[1:]) % 2:
        return does("reply", first, f"{shown.persona} answers.")
    return does("post", words=f"{shown.persona} asks.")


@pytest.mark.parametrize("scope", list(Scope))
def test_community_scope_shows_nothing_from_elsewhere(scope: Scope) -> None:
    """In the scope of communities everything with an author is of the viewer's own; else not."""
    header = header_of(5, forum=forum(scope=scope, exposures_max=9))
    community = dict(zip(header.persona_ids, [*COMMUNITIES, None], strict=True))
    deltas = live(header, talk, ticks=6, people=some())
    author = {s.id: s.author for delta in deltas for s in delta.stimuli}
    pairs = {
        (persona, author[one])
        for delta in deltas
        for persona, shown in shown_to(delta, "forum").items()
        for one in shown
        if author[one]
    }
    assert pairs
    from_elsewhere = {pair for pair in pairs if community[pair[0]] != community[pair[1]]}
    assert bool(from_elsewhere) is (scope is Scope.GLOBAL)
    # Who is in no community sees the claims, and nobody is without anything to see.
    claims = {one for one, name in author.items() if not name}
    seen = {one for delta in deltas for one in shown_to(delta, "forum").get("p4", ())}
    assert claims <= seen


def test_votes_are_of_the_own_community() -> None:
    """A vote counts where its voter is: elsewhere the view has none, and the order is another."""
    for scope, seen in ((Scope.COMMUNITY, {}), (Scope.GLOBAL, {"up": 3})):
        people = tied(personas=8, communities=[0, 0, 0, 0, 1, 1, 1, 1])
        header = header_of(8, forum=msgspec.structs.replace(BOTH, scope=scope))
        world = world_of(header, people)
        voting = turns_of(step(world, 0), lambda _: does("up", "forum-t0-c1"))
        for known in world._state._boards[0]._posts._known.values():
            known.clear()
        delta = step(world, 1, [turn for turn in voting if turn.persona in ("p0", "p2", "p3")])
        views = {p: v.view.counts["forum-t0-c1"] for p, v in on(delta, "forum").items()}
        assert views["p1"] == {"up": 3}
        assert views["p5"] == seen
        assert shown_to(delta, "forum")["p1"][0] == "forum-t0-c1"


def test_down_votes_count_against_a_message() -> None:
    """A message that is voted down stands behind one without votes."""
    for action, first in (("up", "forum-t0-c1"), ("down", "forum-t0-c2")):
        world = world_of(header_of(8, forum=BOTH))
        seen = step(world, 0)
        for known in world._state._boards[0]._posts._known.values():
            known.clear()
        voting = {persona: does(action, "forum-t0-c1") for persona in on(seen, "forum")}
        delta = step(world, 1, turns_of(seen, voting))
        assert {shown[0] for shown in shown_to(delta, "forum").values()} == {first}
        counts = on(delta, "forum")["p0"].view.counts
        assert counts == {"forum-t0-c1": {action: 8}, "forum-t0-c2": {}}


def test_a_thread_is_told_from_its_first_message_on() -> None:
    """A reply is about the claim of what it answers, and its view tells the whole thread."""
    header = header_of(4, forum=forum(posts={"0": ("c1",)}))
    world = world_of(header)
    first = step(world, 0)
    replies = turns_of(first, {"p0": does("reply", "forum-t0-c1", "No."), "p1": Reaction()})
    second = step(world, 1, replies)
    assert on(second, "forum")["p1"].actions == FORUM_ACTIONS
    third = step(world, 2, turns_of(second, {"p1": does("reply", "forum-p1-0", "Yes.")}))
    (reply,) = third.stimuli
    assert (reply.reply_to, reply.claim) == ("forum-p1-0", "c1")
    thread = on(third, "forum")["p0"].view.threads[reply.id]
    assert thread == ("forum-t0-c1", "forum-p1-0")


def test_a_long_thread_is_told_by_its_first_message_and_its_latest() -> None:
    """What a view tells of a thread is bounded."""
    world = world_of(header_of(2, forum=forum(posts={"0": ("c1",)}), horizon=40))
    delta = step(world, 0)
    threads = []
    for tick in range(1, 30):
        answers = {
            p: does("reply", shown[0], f"{tick}") for p, shown in shown_to(delta, "forum").items()
        }
        delta = step(world, tick, turns_of(delta, answers))
        threads += [t for p in delta.presentations for t in p.view.threads.values()]
    assert max(map(len, threads)) == 10
    assert {thread[0] for thread in threads} == {"forum-t0-c1"}


def test_a_forum_by_community_without_communities_is_refused() -> None:
    """A population without a partition cannot have a forum for each community, and is told so."""
    with pytest.raises(PluginError, match=r"no communities.*scope: global"):
        world_of(header_of(6, forum=forum(scope=Scope.COMMUNITY)), tied(personas=6))
