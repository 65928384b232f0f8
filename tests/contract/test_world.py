"""The worlds that ship keep the World contract, and the contract catches worlds that do not."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

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
from perdure.testing.contracts import WorldContract, example_header, example_personas
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
