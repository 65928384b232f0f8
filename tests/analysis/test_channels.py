"""Exposures, reach, concentration, actions, drops: by hand, and in a real run with its control."""

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest
from tests.support.ran_source import RanSource
from tests.support.street import CLAIMS, RULE, channels, lived, street

from perdure.analysis.channels import most_shown
from perdure.analysis.concentration import first_tenth, gini
from perdure.analysis.replicates import Between
from perdure.analysis.report import build_report
from perdure.records.baseline_rule import Reactions
from perdure.records.channels import Feed, Ranking, WordOfMouth
from perdure.records.events import ExposureDropped, StimulusPublished, Turn
from perdure.records.presentation import (
    DroppedExposure,
    Exposure,
    Impression,
    Presentation,
    Stimulus,
    View,
)
from perdure.records.reaction import Action, Reaction, Rejection


@pytest.mark.parametrize(
    ("counts", "unequal", "tenth"),
    [
        ((3, 3, 3), 0.0, 1 / 3),
        ((0, 0, 0, 12), 0.75, 1.0),
        ((1, 3), 0.25, 0.75),
        ((10,), None, None),
        ((0, 0), None, None),
        ((), None, None),
        (tuple(range(1, 21)), 19 * 21 / (3 * 20 * 21), 39 / 210),
    ],
)
def test_concentration_by_hand(counts, unequal, tenth):
    """The same for all is 0; of one message, or none shown, it is unmeasured."""
    assert gini(counts) == (None if unequal is None else pytest.approx(unequal))
    assert first_tenth(counts) == (None if tenth is None else pytest.approx(tenth))


LIKE = Action(name="like")


def shown(record: Any, world: str, persona: str, messages: dict[str, str], did: Reaction) -> None:
    """Show messages to somebody on a channel, each with who told it, if anybody."""
    record.put(
        world,
        1,
        Turn(
            job=0,
            presentation=Presentation(
                persona=persona,
                impression=Impression(
                    channel="street",
                    exposures=tuple(Exposure(stimulus=one, reason="x") for one in messages),
                ),
                question="felt",
                view=View(told_by={one: by for one, by in messages.items() if by}),
                actions=(LIKE,),
            ),
            prompt=(),
            answer="Hm.",
            reaction=did,
        ),
        persona,
    )


def mean_of(figures: Mapping[str, Between], name: str) -> float:
    """Give the mean of a figure that is measured."""
    found = figures[name].spreads[name].mean
    assert found is not None
    return found


def a_street(record_of: Any) -> Any:
    """One world: m1 reaches three, m2 one of them, who was told it; one like, one refused act."""
    record = record_of(seeds=(1,))
    for number, claim in (("m1", "C1"), ("m2", "C2")):
        stimulus = Stimulus(id=number, kind="claim", text="…", claim=claim)
        record.put("plain-1", 1, StimulusPublished(stimulus=stimulus))
    shown(record, "plain-1", "p1", {"m1": ""}, Reaction(action="like", stimulus="m1"))
    shown(record, "plain-1", "p2", {"m1": ""}, Reaction())
    refused = Reaction(action="shout", rejected=Rejection.NOT_ACCEPTED)
    shown(record, "plain-1", "p3", {"m1": "", "m2": "p1"}, refused)
    shown(record, "plain-1", "p3", {"m1": ""}, Reaction())
    dropped = DroppedExposure(persona="p4", stimulus="m2", channel="street", reason="no room")
    record.put("plain-1", 1, ExposureDropped(dropped=dropped))
    record.close("plain-1", 1, 4)
    return record


def test_a_channel_by_hand(record_of):
    """Every count, with who was reached twice counted once, and the events of the messages."""
    record = a_street(record_of)
    record.wave("plain-1", 2, {"p1": "a"})
    (one,) = build_report(record).channels
    (world,) = one.worlds
    seen = world.seen
    assert seen.by_tick == {"1": 5}
    assert seen.messages == {"4": 1, "1": 1}
    assert (seen.reached, seen.told, seen.first_hand) == (3, 1, 3)
    assert seen.claims == {"C1": 3, "C2": 1}
    assert seen.actions == {"like": 1, "nothing": 2}
    assert seen.rejected == {"shout": {"not_accepted": 1}}
    assert seen.dropped == {"no room": 1}
    assert [(event, m.claim, m.exposures, m.reached) for event, m in most_shown(one)] == [
        ("plain-1:0", "C1", 4, 3),
        ("plain-1:1", "C2", 1, 1),
    ]
    means = {name: found.spreads[name].mean for name, found in one.figures.items()}
    assert means == {
        "exposures": 5.0,
        "messages": 2.0,
        "turns": 4.0,
        "reached": 0.75,
        "told": 0.25,
        "first_hand": 0.75,
        "gini": pytest.approx(0.3),
        "first_tenth": 0.8,
    }
    assert one.claims["C1"].spreads["C1"].mean == 0.75
    assert one.rejected["shout: not_accepted"].spreads["shout: not_accepted"].mean == 1.0


def test_a_world_that_is_not_at_its_end_has_no_whole_figures(record_of):
    """Its ticks count where they are closed; its totals are not those of a whole world."""
    (one,) = build_report(a_street(record_of)).channels
    assert one.by_tick[0].between.spreads["exposures"].mean == 5.0
    assert one.figures["exposures"].spreads["exposures"].mean is None
    assert [note.why for note in one.figures["exposures"].missing] == [
        "partial with 2 of 3 ticks closed"
    ]


def test_one_message_is_not_unequal(record_of):
    """Gini of one message is unmeasured, with the reason."""
    record = record_of(seeds=(1,))
    stimulus = Stimulus(id="m1", kind="claim", text="…", claim="C1")
    record.put("plain-1", 1, StimulusPublished(stimulus=stimulus))
    shown(record, "plain-1", "p1", {"m1": ""}, Reaction())
    record.wave("plain-1", 2, {"p1": "a"})
    (one,) = build_report(record).channels
    assert one.figures["gini"].spreads["gini"].mean is None
    assert [note.why for note in one.figures["gini"].missing] == [
        "fewer than two messages were shown"
    ]


def test_concentration_is_found_where_it_is_planted_and_not_where_it_is_not():
    """A hot feed concentrates exposures in every seed; a random one, all else equal, does not."""
    reactions = Reactions(
        noise=1.0, motivation=0.0, approve=0.5, answer=99, pass_on=99, follow=99, post=99
    )
    rule = msgspec.structs.replace(RULE, social_proof=0.5, reactions=reactions)
    arms = [
        channels(feed=Feed(question="react", posts={"0": CLAIMS}, exposures_max=1, ranking=ranking))
        for ranking in (Ranking.HOT, Ranking.RANDOM)
    ]
    config = street(*arms, rule=rule)
    hot, level = build_report(RanSource(lived(config, rule), config)).channels
    assert (hot.scenario, level.scenario) == ("s0", "s1")
    apart = hot.figures["gini"].spreads["gini"], level.figures["gini"].spreads["gini"]
    assert (apart[0].low or 0.0) > 0.3 > (apart[1].high or 1.0)
    tenth = [mean_of(one.figures, "first_tenth") for one in (hot, level)]
    assert tenth[0] > tenth[1] + 0.1
    assert mean_of(hot.actions, "like") > 0


def test_hearers_by_word_of_mouth_are_told_apart_from_first_hand():
    """Told along ties where people know each other; where nobody is tied nobody is told."""
    spoken = channels(word_of_mouth=WordOfMouth(question="react", starts={"0": ("c0",)}, reach=0.2))
    told = []
    for tied in (True, False):
        config = street(spoken, tied=tied)
        (one,) = build_report(RanSource(lived(config), config)).channels
        told.append(mean_of(one.figures, "told"))
        assert mean_of(one.figures, "first_hand") > 0.05
    assert told[0] > 0.05
    assert told[1] == 0.0
