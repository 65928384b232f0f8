"""What personas do is judged by the runner, recorded, and told to the world from the record."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.crash.whole.townsfolk import Square
from tests.support.town import OwnParts, Ran, run_in_memory, town

from perdure.agent import rejection_of
from perdure.base.vectors import pack
from perdure.records.events import BeliefsHeld, MemoryFormed, Probed, ScoreGiven, Turn
from perdure.records.outcome import (
    Outcome,
    ProbeDone,
    TurnDone,
    UnscorableCause,
)
from perdure.records.persona import Choice, Memory
from perdure.records.presentation import (
    CompletedTurn,
    Exposure,
    Impression,
    Plan,
    Presentation,
    TurnJob,
)
from perdure.records.reaction import Action, Change, Reaction, Rejection
from perdure.records.registry import RunState, WorldState
from perdure.records.request import FailureCause
from perdure.records.scenario import Header, Question
from perdure.runner.past import past_ticks

ACTIONS = (
    Action(name="like"),
    Action(name="reply", says=True),
    Action(name="post", about=False, says=True),
    Action(name="leave", about=False),
)
SEEN = Presentation(
    persona="p",
    impression=Impression(channel="c", exposures=(Exposure(stimulus="s1", reason="r"),)),
    question="q",
    actions=ACTIONS,
)


@pytest.mark.parametrize(
    ("action", "stimulus", "words", "rejected"),
    [
        ("", "", "", None),
        ("", "s1", "x", None),
        ("like", "s1", "", None),
        ("like", "", "x", Rejection.ABOUT_NOTHING),
        ("reply", "s1", "x", None),
        ("reply", "s1", " \n", Rejection.NO_WORDS),
        ("reply", "", "", Rejection.ABOUT_NOTHING),
        ("post", "", "x", None),
        ("post", "s1", "x", None),
        ("post", "", "", Rejection.NO_WORDS),
        ("leave", "", "", None),
        ("shout", "s1", "x", Rejection.NOT_ACCEPTED),
        ("Like", "s1", "x", Rejection.NOT_ACCEPTED),
    ],
)
def test_an_action_is_accepted_or_not(
    action: str, stimulus: str, words: str, rejected: Rejection | None
) -> None:
    """By what the channel lists, and by what each of its actions takes."""
    reaction = Reaction(action=action, stimulus=stimulus, words=words)
    assert rejection_of(SEEN, reaction) is rejected


@given(st.text(max_size=8))
def test_nothing_is_accepted_where_nothing_is_listed(action: str) -> None:
    """A survey accepts no action, whatever it is called."""
    survey = msgspec.structs.replace(SEEN, actions=())
    expected = Rejection.NOT_ACCEPTED if action else None
    assert rejection_of(survey, Reaction(action=action, stimulus="s1", words="x")) is expected


class Puppet:
    """Does what it is told to do, by persona and channel, at the tick that first shows a thing."""

    def __init__(self, outcomes: dict[tuple[str, str], dict[str, Any]]) -> None:
        self._outcomes = outcomes

    def reset(self, header: Header) -> None:
        """Nothing is kept."""

    async def act(self, jobs: Sequence[TurnJob], plan: Plan, models: Any) -> Sequence[Outcome]:
        """Take every turn without any call."""
        return [self._turn(job) for job in jobs]

    def _turn(self, job: TurnJob) -> Outcome:
        place = job.persona.id, job.presentation.impression.channel
        told = self._outcomes.get(place, {}) if job.tick == 1 else {}
        return TurnDone(**{"messages": (), "answer": "I agree.", **told})


class Watched(Square):
    """Keeps every turn that it is told of."""

    told: list[CompletedTurn]

    def reset(self, header: Header) -> None:
        super().reset(header)
        self.told = []

    def step(self, tick: int, turns: Any, plan: Plan, answers: Any) -> Any:
        self.told += turns
        return super().step(tick, turns, plan, answers)


def live(**outcomes: dict[str, Any]) -> tuple[Ran, Watched]:
    """Let three personas live on the square; `p0_square` says what one does there at tick 1."""
    config = town(3, scenarios=({"horizon": 3, "waves": ()},), seeds=(1,))
    world = Watched()
    puppet = Puppet({(name[:2], name[3:]): told for name, told in outcomes.items()})
    parts = OwnParts(config, world=lambda _header: world, agent=lambda _header: puppet)
    return run_in_memory(config, parts=parts), world


def reacting(**fields: Any) -> dict[str, Any]:
    """Make an outcome's reaction."""
    return {"reaction": Reaction(**fields)}


def test_a_judgement_is_the_runner_s_alone() -> None:
    """What an agent says of its own action is overruled; the world is told what is on record."""
    ran, world = live(
        p0_square=reacting(action="like", stimulus="c1", rejected=Rejection.NO_WORDS),
        p1_square=reacting(action="shout", stimulus="c1", words="Boo."),
    )
    assert ran.result.state is RunState.COMPLETED
    recorded = [
        e.payload.reaction for e in ran.events() if isinstance(e.payload, Turn) and e.tick == 1
    ]
    by_persona = {turn.persona: turn.reaction for turn in world.told if turn.reaction}
    assert by_persona == {
        "p0": Reaction(action="like", stimulus="c1"),
        "p1": Reaction(
            action="shout", stimulus="c1", words="Boo.", rejected=Rejection.NOT_ACCEPTED
        ),
    }
    assert [one for one in recorded if one] == list(by_persona.values())


def test_own_words_are_scored_and_not_the_form() -> None:
    """Where there is a reaction its words are scored; a form that names a choice is none."""
    ran, _ = live(
        p0_square={
            "answer": "I disagree.\nMessage: 1\nAction: none\nBelief: I agree",
            **reacting(stimulus="c1", words="I disagree."),
        },
        p1_square={"answer": "I agree.", **reacting(words="")},
    )
    # Whoever also comes to the corner does so after the square.
    scores: dict[str, ScoreGiven] = {}
    for event in ran.events():
        if isinstance(event.payload, ScoreGiven) and event.tick == 1:
            scores.setdefault(event.persona, event.payload)
    assert scores["p0"].choice == "disagree"
    assert scores["p1"].unscorable is UnscorableCause.EMPTY


def test_two_turns_of_a_tick_move_beliefs_together() -> None:
    """Both began with the beliefs at the tick's opening; neither undoes what the other moved."""
    ran, _ = live(
        p0_square={"beliefs": {"c1": 2}},
        p0_corner={"beliefs": {"c1": 2, "c2": -1}},
        p1_square={"beliefs": {}},
    )
    held = [e.payload.beliefs for e in ran.events() if isinstance(e.payload, BeliefsHeld)]
    assert held == [{"c1": 2}, {"c1": 3, "c2": -1}]
    world_id = ran.result.worlds[0].world_id
    pasts = list(past_ticks(ran.events(), partial(ran.partitions.blob, world_id)))
    assert [turn.beliefs for turn in pasts[1].turns if turn.beliefs] == held


def test_a_memory_comes_back_with_its_number_and_its_vector() -> None:
    """In its event it has neither: the number is the event's own, the vector is a blob."""
    vector = pack([(0.5, 0.25)])
    memory = Memory(tick=1, text="x", importance=0.5, vector=vector, number=99)
    plain = Memory(tick=1, text="y", importance=0.5)
    ran, _ = live(p0_square={"memories": (memory, plain)})
    numbers = [e.content for e in ran.events() if isinstance(e.payload, MemoryFormed)]
    formed = [e.payload for e in ran.events() if isinstance(e.payload, MemoryFormed)]
    assert [one.memory.number for one in formed] == [-1, -1]
    assert [one.memory.vector for one in formed] == [b"", b""]
    assert [bool(one.vector) for one in formed] == [True, False]
    world_id = ran.result.worlds[0].world_id
    pasts = past_ticks(ran.events(), partial(ran.partitions.blob, world_id))
    (found,) = [turn.memories for past in pasts for turn in past.turns if turn.memories]
    assert [one.vector for one in found] == [vector, b""]
    assert [one.number for one in found] == numbers


GENDER = Question(
    id="probe:gender",
    text="Which of these is true of you? Gender:",
    choices=(Choice(id="1", label="a man"), Choice(id="2", label="a woman")),
)


@pytest.mark.parametrize(
    ("answer", "failed", "choice", "unscorable"),
    [
        ("I am a woman.", None, "2", None),
        ("Who knows?", None, "", UnscorableCause.NO_CHOICE),
        ("", FailureCause.TIMEOUT, "", None),
    ],
)
def test_a_probe_is_scored_by_the_runner(
    answer: str,
    failed: FailureCause | None,
    choice: str,
    unscorable: UnscorableCause | None,
) -> None:
    """As any closed question is; a probe without a reply has no score and says why."""
    probe = ProbeDone(
        attribute="gender", code="1", question=GENDER, messages=(), answer=answer, failed=failed
    )
    ran, _ = live(p0_square={"probe": probe})
    (found,) = [e.payload for e in ran.events() if isinstance(e.payload, Probed)]
    assert (found.code, found.answer, found.failed) == ("1", answer, failed)
    assert (found.choice, found.unscorable) == (choice, unscorable)


@pytest.mark.parametrize(
    ("outcome", "said"),
    [
        (reacting(stimulus="s9"), "the reaction is about 's9', which was not shown"),
        ({"beliefs": {"c1": 4}}, "the belief in 'c1' is 4"),
        ({"beliefs": {"c1": -4}}, "not within -3 and 3"),
        ({"recalled": (5,)}, "a memory is recalled that the persona does not have"),
    ],
)
def test_what_no_turn_can_be_is_refused(outcome: dict[str, Any], said: str) -> None:
    """P9: an outcome that says what cannot be is the agent's fault, and no record of it is made."""
    ran, _ = live(p0_square=outcome)
    (world,) = ran.result.worlds
    assert world.state is WorldState.FAILED
    assert said in world.cause
    assert world.tick == 0


def test_a_change_has_its_steps() -> None:
    """From much less to much more, in steps of one."""
    assert [change.steps for change in Change] == [-2, -1, 0, 1, 2]
