"""A delta that breaks the rules is refused with every fault named, each in a sentence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from perdure.records.presentation import (
    DroppedExposure,
    Exposure,
    Impression,
    Presentation,
    Stimulus,
    View,
    WorldDelta,
)
from perdure.records.reaction import Action
from perdure.world.check import PROBLEMS_MAX, check_delta

LIKE = Action(name="like")
S1 = Stimulus(id="s1", kind="claim", text="a")


def shows(
    *stimuli: str, persona: str = "p1", question: str = "q", channel: str = "feed", **view: int
) -> Presentation:
    """Make a presentation of some stimuli."""
    return Presentation(
        persona=persona,
        impression=Impression(
            channel=channel,
            exposures=tuple(Exposure(stimulus=stimulus, reason="r") for stimulus in stimuli),
        ),
        question=question,
        view=View(counts={stimulus: {"likes": count} for stimulus, count in view.items()}),
    )


def views(**view: Any) -> Presentation:
    """Make a presentation of `old` with this view."""
    return msgspec.structs.replace(shows("old"), view=View(**view))


def can_do(*actions: str) -> Presentation:
    """Make a presentation of `old` with these actions."""
    return msgspec.structs.replace(shows("old"), actions=tuple(Action(name=one) for one in actions))


def answers(stimulus: str) -> Stimulus:
    """Make a stimulus that answers another."""
    return Stimulus(id="s2", kind="reply", text="b", reply_to=stimulus)


def anything(record: Callable[..., Any], **fields: object) -> Any:
    """Build a record as code without type checks would."""
    return record(**fields)


def problems(delta: object) -> list[str]:
    """Check a delta for tick 3 of a world that knows `old` and two personas."""
    return check_delta(delta, 3, {"old"}, {"p1", "p2"}, {"q"})


def test_a_whole_delta_has_no_problem() -> None:
    """What a world may do passes: new and old stimuli, two channels, somebody left out."""
    delta = WorldDelta(
        tick=3,
        stimuli=(S1,),
        dropped=(DroppedExposure(persona="p2", stimulus="s1", channel="feed", reason="full"),),
        presentations=(shows("s1", "old", s1=4), shows(channel="survey")),
    )
    assert problems(delta) == []
    view = {"ties": {"old": 0.5}, "told_by": {"old": "p2"}, "near": ("old",)}
    shown = msgspec.structs.replace(views(**view, threads={"old": ("s1",)}), actions=(LIKE,))
    assert problems(WorldDelta(tick=3, stimuli=(S1, answers("s1")), presentations=(shown,))) == []


@pytest.mark.parametrize(
    ("delta", "said"),
    [
        ({"tick": 3}, "not 'dict'"),
        (None, "not 'NoneType'"),
        (WorldDelta(tick=4), "dated tick 4"),
        (anything(WorldDelta, tick="3"), "cannot be recorded"),
        (
            WorldDelta(tick=3, stimuli=(anything(Stimulus, id=1, kind="k", text="t"),)),
            "cannot be recorded",
        ),
        (WorldDelta(tick=3, stimuli=(Stimulus(id="s", kind="k", text="\ud800"),)), "recorded"),
        (anything(WorldDelta, tick=3, presentations=(object(),)), "cannot be recorded"),
        (WorldDelta(tick=3, stimuli=(S1, S1)), "published twice"),
        (WorldDelta(tick=3, stimuli=(Stimulus(id="old", kind="k", text="t"),)), "published twice"),
        (WorldDelta(tick=3, stimuli=(Stimulus(id="", kind="k", text="t"),)), "empty id"),
        (WorldDelta(tick=3, presentations=(shows("s9"),)), "never published"),
        (WorldDelta(tick=3, presentations=(shows("old", "old"),)), "twice in one impression"),
        (WorldDelta(tick=3, presentations=(shows(persona="p9"),)), "not in the population"),
        (WorldDelta(tick=3, presentations=(shows(question="q9"),)), "'q9'"),
        (WorldDelta(tick=3, presentations=(shows(channel=""),)), "empty channel"),
        (WorldDelta(tick=3, presentations=(shows(), shows("old"))), "more than one presentation"),
        (WorldDelta(tick=3, presentations=(shows(old=1),)), "not shown to it"),
        (WorldDelta(tick=3, presentations=(shows("old", old=-1),)), "negative count"),
        (WorldDelta(tick=3, presentations=(views(near=("s9",)),)), "tells of stimulus 's9'"),
        (WorldDelta(tick=3, presentations=(views(ties={"s9": 0.5}),)), "tells of stimulus 's9'"),
        (WorldDelta(tick=3, presentations=(views(told_by={"s9": "p2"}),)), "of stimulus 's9'"),
        (WorldDelta(tick=3, presentations=(views(ties={"old": 1.5}),)), "a tie of 1.5"),
        (WorldDelta(tick=3, presentations=(views(threads={"old": ("s9",)}),)), "'s9' in the thr"),
        (WorldDelta(tick=3, stimuli=(answers("s9"),)), "answers 's9', which was never"),
        (WorldDelta(tick=3, stimuli=(answers("s2"),)), "answers 's2', which was never"),
        (WorldDelta(tick=3, presentations=(can_do("like", "like"),)), "names of their own"),
        (WorldDelta(tick=3, presentations=(can_do(""),)), "names of their own"),
        (
            WorldDelta(
                tick=3,
                presentations=(
                    Presentation(
                        persona="p1",
                        question="q",
                        impression=Impression(
                            channel="feed",
                            exposures=(Exposure(stimulus="old", reason="r", attention=1.5),),
                        ),
                    ),
                ),
            ),
            "attention",
        ),
        (
            WorldDelta(
                tick=3,
                presentations=(shows("old"),),
                dropped=(
                    DroppedExposure(persona="p1", stimulus="old", channel="feed", reason="full"),
                ),
            ),
            "both shown",
        ),
        (
            WorldDelta(
                tick=3,
                dropped=(DroppedExposure(persona="p9", stimulus="s9", channel="c", reason="r"),),
            ),
            "somebody who is not",
        ),
    ],
)
def test_each_fault_is_named(delta: object, said: str) -> None:
    """Every way of breaking the rules is caught and said."""
    found = problems(delta)
    assert any(said in problem for problem in found), found
    assert all(problem.endswith((".", "`", "$.tick`.")) for problem in found)


def test_all_faults_are_named_at_once() -> None:
    """A delta with several faults is told all of them, so that one correction suffices."""
    delta = WorldDelta(
        tick=9, stimuli=(S1, S1), presentations=(shows("s9", persona="p9", question="q9"),)
    )
    assert len(problems(delta)) == 5


def test_the_list_of_faults_is_bounded() -> None:
    """A delta that is wrong in a thousand places gives a list that can be read."""
    delta = WorldDelta(tick=3, presentations=tuple(shows(f"s{n}") for n in range(1000)))
    found = problems(delta)
    assert len(found) == PROBLEMS_MAX + 1
    assert "more problems" in found[-1]
