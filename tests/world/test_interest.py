"""Ranking by interest goes by embeddings that the world asks for, and never falls back silently."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.channels import (
    FEED,
    FORUM,
    does,
    header_of,
    intervenes,
    on,
    shown_to,
    turns_of,
    world_of,
)

from perdure.records.channels import Ranking
from perdure.records.persona import Ontology, OutcomeSpec, Persona
from perdure.records.presentation import CompletedTurn, Need, NeedAnswer, Plan, WorldDelta
from perdure.records.request import FailureCause
from perdure.testing.contracts import example_header
from perdure.world import ChannelWorld
from perdure.world.interest import profile
from perdure.world.meanings import ONE, Meanings

BY_INTEREST = msgspec.structs.replace(FEED, ranking=Ranking.INTEREST)
C1, C2 = "The harbour will be rebuilt.", "Rents will be frozen."
LEFT, RIGHT = (1.0, 0.1, 0.0), (0.1, 1.0, 0.0)


def vector_of(text: str) -> tuple[float, ...]:
    """Let the left be interested in the harbour, and everybody else in the rest."""
    return LEFT if text == C1 or "left" in text else RIGHT


def answers(needs: Sequence[Need], *, failing: Sequence[int] = ()) -> list[NeedAnswer]:
    """Answer needs, but for those at some places."""
    return [
        NeedAnswer(purpose=need.purpose, failed=FailureCause.TIMEOUT)
        if place in failing
        else NeedAnswer(purpose=need.purpose, vectors=tuple(map(vector_of, need.texts)))
        for place, need in enumerate(needs)
    ]


def lived(
    world: ChannelWorld,
    tick: int,
    turns: Sequence[CompletedTurn] = (),
    *,
    failing: Sequence[int] = (),
) -> tuple[list[Need], WorldDelta]:
    """Live a tick; give what was asked for and what is shown."""
    needs = list(world.needs(tick, turns, Plan()))
    return needs, world.step(tick, turns, Plan(), answers(needs, failing=failing))


def test_everyone_sees_first_what_is_nearest_to_its_profile() -> None:
    """Profiles are embedded once, each new message once, and the nearest message comes first."""
    world = world_of(header_of(4, feed=BY_INTEREST))
    needs, delta = lived(world, 0)
    (need,) = needs
    assert (need.purpose, need.role, need.texts[-2:]) == ("interest", "embed", (C1, C2))
    assert need.texts[0] == "Age: 20 years. Politics: left."
    first = {persona: shown[0] for persona, shown in shown_to(delta, "feed").items()}
    assert first == dict.fromkeys(("p0", "p2"), "feed-t0-c1") | dict.fromkeys(
        ("p1", "p3"), "feed-t0-c2"
    )
    turns = turns_of(delta, {"p0": does("post", words="Hello."), "p1": does("post", words=C2)})
    (asked,), _ = lived(world, 1, turns)
    assert asked.texts == ("Hello.",)
    assert lived(world, 2)[0] == []


def test_texts_are_asked_for_in_batches() -> None:
    """At most 64 texts are in a need, all of them different."""
    needs, _ = lived(world_of(header_of(150, feed=BY_INTEREST)), 0)
    assert [len(need.texts) for need in needs] == [64, 64, 24]
    assert len({text for need in needs for text in need.texts}) == 152


def test_feed_and_forum_share_what_is_known() -> None:
    """A claim on both channels, and a profile, is embedded once."""
    forum = msgspec.structs.replace(FORUM, ranking=Ranking.INTEREST)
    needs, delta = lived(world_of(header_of(4, feed=BY_INTEREST, forum=forum)), 0)
    assert [len(need.texts) for need in needs] == [6]
    assert len(on(delta, "forum")) == 4


def test_a_failed_call_is_made_again_and_until_then_nothing_is_shown_by_interest() -> None:
    """What has no vector is recorded as dropped with the reason, and asked for at the next tick."""
    world = world_of(header_of(100, feed=BY_INTEREST))
    asked, delta = lived(world, 0, failing=[1])
    # The first 64 profiles are known, those of the others and both claims are not.
    assert delta.presentations == ()
    why = {one.persona: one.reason for one in delta.dropped}
    assert why["p63"] == "not embedded"
    assert why["p64"] == "persona not embedded"
    assert len(why) == 100
    again, delta = lived(world, 1)
    assert [need.texts for need in again] == [asked[1].texts]
    assert len(on(delta, "feed")) == 100
    assert delta.dropped == ()


def test_a_vector_that_is_none_is_no_vector() -> None:
    """A zero vector, or one of another length, ranks nothing and is said so."""
    world = world_of(header_of(2, feed=BY_INTEREST))
    (need,) = world.needs(0, (), Plan())
    for odd in ((0.0, 0.0, 0.0), (1.0, 2.0)):
        vectors = tuple(odd if text == C2 else vector_of(text) for text in need.texts)
        world.reset(header_of(2, feed=BY_INTEREST))
        delta = world.step(0, (), Plan(), (NeedAnswer(purpose="interest", vectors=vectors),))
        assert shown_to(delta, "feed") == {"p0": ["feed-t0-c1"], "p1": ["feed-t0-c1"]}
        assert {(one.stimulus, one.reason) for one in delta.dropped} == {
            ("feed-t0-c2", "not embedded")
        }
        # That is its vector: nobody pays to hear it at every tick again.
        assert world.needs(1, (), Plan()) == ()


def test_needs_move_nothing_and_are_only_asked_for_where_they_are_used() -> None:
    """A hot feed asks for nothing; one that becomes a feed by interest asks for all of it then."""
    planned = (intervenes(2, "rank", "feed", ranking=Ranking.INTEREST, ticks=1),)
    world = world_of(header_of(3, feed=FEED, interventions=planned))
    counts = []
    turns: list[CompletedTurn] = []
    for tick in range(4):
        assert world.needs(tick, turns, Plan()) == world.needs(tick, turns, Plan())
        needs, delta = lived(world, tick, turns)
        counts.append(sum(len(need.texts) for need in needs))
        saying = {p: does("post", words=f"{p}{tick}") for p in on(delta, "feed")}
        turns = turns_of(delta, saying)
    # Three profiles, two claims, and what the three wrote at both ticks before.
    assert counts == [0, 0, 3 + 2 + 6, 0]


def test_a_profile_never_tells_the_held_out_outcome() -> None:
    """Only declared attributes are told, in words, and the outcome is none of them."""
    ontology = example_header().ontology
    ontology = msgspec.structs.replace(
        ontology, outcome=OutcomeSpec(name="view", question="vote"), attributes=ontology.attributes
    )
    persona = Persona(id="p", attributes={"age": 41.0, "view": 2, "undeclared": "x"})
    assert profile(ontology, persona) == "Age: 41 years."
    assert profile(Ontology(attributes=()), persona) == ""


@given(
    st.lists(
        st.lists(st.floats(-1, 1, width=32), min_size=5, max_size=5).filter(
            lambda numbers: sum(n * n for n in numbers) > 1e-6
        ),
        min_size=2,
        max_size=6,
    )
)
def test_likeness_is_the_cosine_and_exact_in_any_order(vectors: list[list[float]]) -> None:
    """It is the cosine in whole steps, and no order of adding up makes another of it."""
    meanings, turned = Meanings(), Meanings()
    names = [str(number) for number in range(len(vectors))]
    for name, vector in zip(names, vectors, strict=True):
        meanings.learn(name, vector)
        turned.learn(name, vector[::-1])
    found = meanings.likeness(meanings.rows(names), meanings.rows(names))
    rows = np.asarray(vectors, dtype=np.float64)
    rows /= np.sqrt((rows * rows).sum(axis=1, keepdims=True))
    assert found / ONE == pytest.approx(rows @ rows.T, abs=5e-6)
    assert (found == np.rint(found)).all()
    assert (found == turned.likeness(turned.rows(names), turned.rows(names))).all()


@given(st.lists(st.sampled_from([0.1, 0.2, 0.3, -np.inf]), min_size=1), st.integers(1, 9))
def test_the_best_are_the_highest_and_the_first_of_equals(scores: list[float], count: int) -> None:
    """The choice of the best is that of sorting all of them."""
    ranked = sorted(range(len(scores)), key=lambda place: -scores[place])
    wanted = [place for place in ranked if scores[place] > -np.inf][:count]
    assert Meanings.best(np.asarray(scores), count) == wanted
