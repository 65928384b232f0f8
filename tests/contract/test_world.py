"""The worlds that ship keep the World contract, and the contract catches worlds that do not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import pytest
from tests.support.channels import FEED, FORUM, WORD_OF_MOUTH, header_of, intervenes

from perdure.records.channels import Feed, Forum, Involvement, Ranking, Scope
from perdure.records.people import People
from perdure.records.persona import Persona
from perdure.records.presentation import (
    CompletedTurn,
    Exposure,
    Impression,
    Need,
    NeedAnswer,
    Plan,
    Presentation,
    Stimulus,
    WorldDelta,
)
from perdure.records.scenario import Header
from perdure.testing.contracts import (
    WorldContract,
    example_header,
    example_people,
    example_personas,
)
from perdure.world import BaseWorld, ChannelWorld, World


class Ranked(BaseWorld):
    """A world with needs of its own: it shows each persona the text that a ranking puts first."""

    def reset(self, header: Header) -> None:
        self.header = header
        self.heard = 0

    def needs(self, tick: int, turns: Sequence[CompletedTurn], plan: Plan) -> Sequence[Need]:
        return (Need(purpose="rank", texts=tuple(claim.text for claim in self.claims)),)

    @property
    def claims(self):
        return self.header.brief.claims

    def step(
        self,
        tick: int,
        turns: Sequence[CompletedTurn],
        plan: Plan,
        answers: Sequence[NeedAnswer],
    ) -> WorldDelta:
        self.heard += len(turns)
        scores = [vector[0] for vector in answers[0].vectors]
        first = self.claims[scores.index(max(scores))]
        stimulus = Stimulus(id=f"s{tick}", kind="claim", text=first.text, claim=first.id)
        exposure = Exposure(stimulus=stimulus.id, reason=f"ranked first, {self.heard} turns so far")
        impression = Impression(channel="feed", exposures=(exposure,))
        return WorldDelta(
            tick=tick,
            stimuli=(stimulus,),
            presentations=tuple(
                Presentation(persona=persona, impression=impression, question="react")
                for persona in self.header.persona_ids
            ),
        )


class TestChannelWorld(WorldContract):
    """The survey world keeps the contract."""

    def make_world(self) -> World:
        return ChannelWorld()


class _Channels(WorldContract):
    """A world of channels, in which the suite's personas react."""

    def make_world(self) -> World:
        return ChannelWorld()


class TestFeed(_Channels):
    """A feed keeps the contract."""

    def header(self) -> Header:
        return header_of(feed=FEED, horizon=6, activation=0.8)


class TestFeedByLot(_Channels):
    """A feed in a random order keeps the contract."""

    def header(self) -> Header:
        return header_of(feed=by(FEED, Ranking.RANDOM), horizon=6, activation=0.8)


class TestFeedByTies(_Channels):
    """A feed that goes by ties keeps the contract."""

    def header(self) -> Header:
        return header_of(feed=by(FEED, Ranking.NETWORK), horizon=6, activation=0.8)


class TestFeedByInterest(_Channels):
    """A feed that asks for embeddings keeps the contract."""

    def header(self) -> Header:
        return header_of(feed=by(FEED, Ranking.INTEREST), horizon=6, activation=0.8)


class TestForum(_Channels):
    """A forum keeps the contract."""

    def header(self) -> Header:
        return header_of(forum=FORUM, horizon=6, activation=0.8)


class TestForumOfCommunities(_Channels):
    """A forum for each community keeps the contract."""

    def header(self) -> Header:
        forum = msgspec.structs.replace(FORUM, scope=Scope.COMMUNITY)
        return header_of(forum=forum, horizon=6, activation=0.8)


class TestWordOfMouth(_Channels):
    """Word of mouth keeps the contract."""

    def header(self) -> Header:
        return header_of(word_of_mouth=WORD_OF_MOUTH, horizon=6, activation=0.6)


class TestAllChannels(_Channels):
    """All channels together with waves, exposures, a rhythm and interventions keep the contract."""

    def header(self) -> Header:
        return header_of(
            feed=by(FEED, Ranking.INTEREST),
            forum=by(FORUM, Ranking.NETWORK),
            word_of_mouth=msgspec.structs.replace(WORD_OF_MOUTH, moved_min=1, waiting_max=2),
            waves=(0, 5),
            exposures={"1": ("c1", "c2"), "3": ("c2",)},
            horizon=7,
            rhythm=(1.0, 0.5),
            involvement=Involvement(attribute="view", levels={"1": 0.7}),
            interventions=(
                intervenes(2, "rank", "feed", ranking=Ranking.HOT, ticks=2),
                intervenes(3, "remove", "word_of_mouth", claim="c1", ticks=1),
                intervenes(4, "promote", "forum", claim="c2"),
                intervenes(4, "hide_counts", "feed"),
            ),
        )

    def test_it_is_a_lively_world(self) -> None:
        """The world that is rebuilt above is one in which everything happens."""
        deltas = [step.delta for step in self._live()]
        shown = [p for delta in deltas for p in delta.presentations]
        assert {p.impression.channel for p in shown} == {
            "survey",
            "campaign",
            "feed",
            "forum",
            "word_of_mouth",
        }
        kinds = {s.kind for delta in deltas for s in delta.stimuli}
        assert {"claim", "post", "comment", "quote", "reply", "told"} <= kinds
        assert {one.reason for delta in deltas for one in delta.dropped} >= {"no room", "removed"}
        assert sum(len(delta.interventions) for delta in deltas) == 6
        assert any(p.view.ties and p.view.near and p.view.threads for p in shown)


def by(asked: Feed | Forum, ranking: Ranking) -> Any:
    """Give a feed or a forum another ranking."""
    return msgspec.structs.replace(asked, ranking=ranking)


class TestRankedWorld(WorldContract):
    """A world that needs embeddings keeps the contract too: the suite answers its needs."""

    def make_world(self) -> World:
        return Ranked()


class Stateful(ChannelWorld):
    """Broken: it keeps a count outside of what `reset` builds."""

    steps = 0

    def step(self, tick, turns, plan, answers):
        type(self).steps += 1
        delta = super().step(tick, turns, plan, answers)
        stimuli = tuple(
            Stimulus(id=f"{stimulus.id}-{self.steps}", kind="claim", text=stimulus.text)
            for stimulus in delta.stimuli
        )
        return WorldDelta(tick=tick, stimuli=stimuli)


class Misdated(ChannelWorld):
    """Broken: its deltas are dated one tick ahead."""

    def step(self, tick, turns, plan, answers):
        super().step(tick, turns, plan, answers)
        return WorldDelta(tick=tick + 1)


class Contrary(ChannelWorld):
    """Broken: it shows more when the plan asks for less."""

    def step(self, tick, turns, plan, answers):
        return super().step(tick, turns, Plan(activation=1.0 - 0.9 * plan.activation), answers)


class Counting(ChannelWorld):
    """Broken: what it shows depends on how often its needs were asked for."""

    asked = 0

    def reset(self, header):
        super().reset(header)
        self.asked = 0

    def needs(self, tick, turns, plan):
        self.asked += 1
        return ()

    def step(self, tick, turns, plan, answers):
        text = str(self.asked)
        return WorldDelta(tick=tick, stimuli=(Stimulus(id=f"s{tick}", kind="note", text=text),))


@pytest.mark.parametrize(
    ("make", "caught_by"),
    [
        (Stateful, WorldContract.test_a_second_world_does_the_same),
        (Misdated, WorldContract.test_deltas_are_whole),
        (Contrary, WorldContract.test_a_lower_activation_shows_no_more),
        (Counting, WorldContract.test_asking_for_needs_changes_nothing),
        (Counting, WorldContract.test_rebuilding_at_every_tick_changes_nothing),
    ],
)
def test_the_suite_catches_a_broken_world(
    make: Callable[[], World], caught_by: Callable[[WorldContract], None]
) -> None:
    """A world with a planted fault fails the test that is about it."""

    class Suite(WorldContract):
        def make_world(self) -> World:
            return make()

    with pytest.raises(AssertionError):
        caught_by(Suite())


def test_the_example_population_is_the_header_s() -> None:
    """The personas that the suites use are those of the header, and are fit to be asked."""
    header = example_header(5)
    personas = example_personas(header)
    assert tuple(personas) == header.persona_ids
    assert all(isinstance(persona, Persona) for persona in personas.values())


def test_the_order_in_which_a_graph_lists_ties_decides_nothing() -> None:
    """A graph that was read back lists the same ties in another order: the world is the same."""
    header = TestAllChannels().header()
    people = example_people(header)
    turned = msgspec.structs.replace(
        people,
        graph=tuple(
            msgspec.structs.replace(node, ties=dict(reversed(node.ties.items())))
            for node in people.graph
        ),
    )
    assert [list(node.ties) for node in turned.graph] != [list(node.ties) for node in people.graph]

    class Turned(TestAllChannels):
        def people(self) -> People:
            return turned

    first, other = (
        [step.delta for step in suite._live()] for suite in (TestAllChannels(), Turned())
    )
    assert first == other
