"""That the baseline carries out its declared rule, in words that can be scored."""

from __future__ import annotations

import asyncio
import math
from typing import Any

import msgspec
import pytest

from perdure.elicitation import score
from perdure.inference.baseline import NOTICE, BaselineProvider, answer
from perdure.inference.baseline_utility import agreement, leading, probability, weigh
from perdure.records.baseline_rule import BaselineRule, Distance, Identification
from perdure.records.facts import PersonaFacts
from perdure.records.outcome import UnscorableCause
from perdure.records.persona import Choice
from perdure.records.reaction import Action
from perdure.records.request import (
    ChatRequest,
    EmbedRequest,
    Failure,
    FailureCause,
    Reply,
    Vectors,
)
from perdure.records.scenario import Question, QuestionType, Scoring, Similarity
from perdure.records.usage import Usage

VOTE = Question(
    id="vote",
    text="Whom would you vote for?",
    choices=(Choice(id="north", label="Ann North"), Choice(id="south", label="Bo South")),
)
REACTION = Question(
    id="reaction",
    text="Do you agree with the message?",
    choices=(Choice(id="agree", label="Agree"), Choice(id="disagree", label="Disagree")),
)
DISTANCE = Distance(own="self", placements={"north": "at_north", "south": "at_south"})
IDENTIFICATION = Identification(
    attribute="party", midpoint=3, low="north", high="south", weight=0.6
)
RULE = BaselineRule(
    distance=DISTANCE,
    identification=IDENTIFICATION,
    claims={"taxes": {"south": 1.0, "north": -0.5}, "schools": {"north": 1.0}},
    social_proof=0.5,
)
NEAR_NORTH: dict[str, Any] = {"self": 2, "at_north": 2, "at_south": 6, "party": 3}


def facts(attributes: dict[str, Any] | None = None, **more: Any) -> PersonaFacts:
    """Make the facts of a prompt; the vote is asked unless something else is said."""
    more.setdefault("question", VOTE)
    return PersonaFacts(persona="p1", attributes=attributes or NEAR_NORTH, **more)


def said(rule: BaselineRule, about: PersonaFacts, seed: int = 1) -> str:
    """Answer, where an answer is due."""
    text = answer(rule, about, seed)
    assert text is not None
    return text


def test_every_answer_says_that_it_is_a_rule() -> None:
    """Whatever is asked, the answer ends by saying that no language model gave it."""
    asked = (VOTE, REACTION, None, Question(id="open", text="What now?"))
    for question in asked:
        assert said(RULE, facts(question=question, shown=("taxes",))).endswith(NOTICE)


@pytest.mark.parametrize(("own", "choice"), [(1, "north"), (3, "north"), (5, "south")])
def test_the_nearest_choice_is_given_and_scored(own: int, choice: str) -> None:
    """With distance alone the choice placed nearest is answered, and a scorer reads it back."""
    rule = BaselineRule(distance=DISTANCE)
    text = said(rule, facts({**NEAR_NORTH, "self": own}))
    assert score(text, VOTE).choice == choice


@pytest.mark.parametrize(("party", "choice"), [(0, "north"), (2, "north"), (6, "south")])
def test_identification_leans_by_steps_from_its_midpoint(party: int, choice: str) -> None:
    """With identification alone, values below the midpoint lean one way, above it the other."""
    rule = BaselineRule(identification=IDENTIFICATION)
    utilities = weigh(rule, facts({"party": party}), ("north", "south"), 1).utilities
    assert leading(rule, utilities) == choice
    assert max(utilities.values()) == pytest.approx(0.6 * abs(party - 3))


def test_a_tie_is_undecided_and_not_scored() -> None:
    """Equal utilities are answered as not decided, and no choice can be read from that."""
    rule = BaselineRule(identification=IDENTIFICATION)
    scored = score(said(rule, facts({"party": 3})), VOTE)
    assert (scored.choice, scored.unscorable) == ("", UnscorableCause.UNDECIDED)


def test_a_lead_below_the_margin_is_undecided() -> None:
    """The declared margin decides: a lead is enough at the margin and not enough below it."""
    utilities = {"north": 1.0, "south": 0.5}
    assert leading(BaselineRule(undecided=0.5), utilities) == "north"
    assert leading(BaselineRule(undecided=0.51), utilities) is None


def test_a_claim_counts_once_shown_or_remembered() -> None:
    """A claim met before and shown again moves a persona once."""
    shown = weigh(RULE, facts(shown=("taxes",)), ("north", "south"), 1).utilities
    both = weigh(RULE, facts(shown=("taxes",), remembered=("taxes",)), ("north", "south"), 1)
    before = weigh(RULE, facts(), ("north", "south"), 1).utilities
    assert both.utilities == shown
    assert shown["south"] - before["south"] == pytest.approx(1.0)
    assert shown["north"] - before["north"] == pytest.approx(-0.5)


def test_each_doubling_of_those_who_agreed_strengthens_a_claim() -> None:
    """Social proof adds its weight once per doubling of the people who agreed."""
    effects = [
        agreement(RULE, facts(shown=("schools",), agreed={"schools": count}), "north")
        for count in (0, 1, 3, 7)
    ]
    assert effects == pytest.approx([1.0, 1.5, 2.0, 2.5])


@pytest.mark.parametrize(
    ("own", "claim", "choice"),
    [
        (2, "schools", "agree"),
        (2, "taxes", "disagree"),
        (6, "schools", "disagree"),
        (6, "taxes", "agree"),
    ],
)
def test_a_reaction_turns_on_whether_the_claim_speaks_for_ones_choice(
    own: int, claim: str, choice: str
) -> None:
    """A persona agrees with what favours the choice it leans to, and only with that."""
    rule = BaselineRule(distance=DISTANCE, claims=RULE.claims)
    at = {**NEAR_NORTH, "self": own}
    text = said(rule, facts(at, question=REACTION, shown=(claim,)))
    assert score(text, REACTION).choice == choice


def test_a_reaction_to_a_claim_without_declared_effect_is_undecided() -> None:
    """What the rule says nothing about moves nobody to agree or disagree."""
    text = said(RULE, facts(question=REACTION, shown=("weather",)))
    assert score(text, REACTION).unscorable is UnscorableCause.UNDECIDED


def test_noise_depends_on_the_seed_alone() -> None:
    """The same seed gives the same answer; over many seeds a close call goes both ways."""
    rule = BaselineRule(identification=IDENTIFICATION, noise=0.5)
    close = facts({"party": 3.1})
    answers = [said(rule, close, seed) for seed in range(60)]
    assert answers == [said(rule, close, seed) for seed in range(60)]
    assert {score(text, VOTE).choice for text in answers} == {"north", "south"}


def test_a_missing_attribute_leaves_out_its_term_and_is_stated() -> None:
    """Without an own placement the rule goes by identification alone, and says so."""
    about = facts({"at_north": 2, "at_south": 6, "party": 5})
    text = said(BaselineRule(distance=DISTANCE, identification=IDENTIFICATION), about)
    assert score(text, VOTE).choice == "south"
    assert "nearness" not in text
    assert "unknown" in text


@pytest.mark.parametrize("hole", ["at_north", "at_south"])
def test_one_missing_placement_leaves_out_the_distance(hole: str) -> None:
    """A choice is neither favoured nor punished for being the only one that is placed."""
    placed = {name: value for name, value in NEAR_NORTH.items() if name != hole}
    weighed = weigh(RULE, facts(placed), ("north", "south"), 1)
    assert weighed.terms == ("identification",)
    assert weighed.unknown == 1


@pytest.mark.parametrize("value", ["far left", float("nan"), True])
def test_a_value_that_is_no_number_counts_as_missing(value: object) -> None:
    """Words where a number is needed are never taken for one."""
    about = facts({**NEAR_NORTH, "self": value})
    assert "nearness" not in weigh(RULE, about, ("north", "south"), 1).terms


def test_a_question_may_have_more_than_two_choices() -> None:
    """The rule answers with any of several choices, each placed by an attribute of its own."""
    names = ("red", "green", "blue")
    question = Question(
        id="pick", text="Which?", choices=tuple(Choice(id=n, label=n.title()) for n in names)
    )
    rule = BaselineRule(distance=Distance(own="self", placements={n: f"at_{n}" for n in names}))
    for position, name in enumerate(names):
        at = {"self": position * 3, "at_red": 0, "at_green": 3, "at_blue": 6}
        assert score(said(rule, facts(at, question=question)), question).choice == name


def test_an_open_question_is_answered_with_a_summary() -> None:
    """A reflection says how much was met and which way the persona leans."""
    text = said(RULE, facts(question=None, remembered=("schools", "taxes")))
    assert "2 messages" in text
    assert "lean to north" in text


@pytest.mark.parametrize(
    "about",
    [
        None,
        facts({"age": 40}),
        facts(question=REACTION),
    ],
    ids=["no facts", "no attribute of the rule", "a reaction to nothing"],
)
def test_without_what_the_rule_needs_the_call_fails(about: PersonaFacts | None) -> None:
    """Facts that are missing make a failure with its cause, never an answer."""
    request = ChatRequest(role="tier_a", messages=(), tokens_max=20, facts=about)
    outcome = asyncio.run(BaselineProvider(RULE).chat(request, 1.0))
    assert outcome == Failure(cause=FailureCause.FACTS_MISSING)


def test_a_claim_counts_by_the_belief_in_it() -> None:
    """Not at all for who does not believe it, twice for who does, as ever for who is unsure."""
    before = weigh(RULE, facts(), ("north", "south"), 1).utilities["south"]
    added = [
        weigh(RULE, facts(shown=("taxes",), beliefs={"taxes": steps}), ("north", "south"), 1)
        for steps in (-9, -3, 0, 3, 9)
    ]
    assert [one.utilities["south"] - before for one in added] == pytest.approx([0, 0, 1, 2, 2])
    unsure = [
        said(RULE, facts(shown=("taxes",), beliefs=beliefs)) for beliefs in ({}, {"taxes": 0})
    ]
    assert unsure[0] == unsure[1]


def test_a_belief_can_turn_a_vote() -> None:
    """The same person, told the same: who believes it votes otherwise."""
    rule = BaselineRule(distance=DISTANCE, claims={"taxes": {"south": 3.0}})
    choices = [
        score(said(rule, facts(remembered=("taxes",), beliefs={"taxes": steps})), VOTE).choice
        for steps in (0, 3)
    ]
    assert choices == ["north", "south"]


def test_a_summary_says_what_is_believed_and_what_is_doubted() -> None:
    """A reflection names the beliefs, and is as it ever was where there are none."""
    plain = facts(question=None, remembered=("schools", "taxes"))
    unsure = msgspec.structs.replace(plain, beliefs={"schools": 0})
    assert said(RULE, unsure) == said(RULE, plain)
    held = msgspec.structs.replace(plain, beliefs={"schools": 2, "taxes": -1})
    assert "I believe schools. I doubt taxes." in said(RULE, held)


PARTY = Question(
    id="probe:party",
    text="With whom do you side?",
    choices=tuple(
        Choice(id=code, label=label)
        for code, label in (("0", "strong north"), ("3", "nobody"), ("6", "strong south"))
    ),
)


@pytest.mark.parametrize(("value", "code"), [(0, "0"), (3, "3"), (6.0, "6"), ("6", "6")], ids=str)
def test_a_probe_is_answered_with_what_one_is(value: object, code: str) -> None:
    """A question about an attribute of one's own is answered by its code's label, and scored so."""
    text = said(RULE, facts({"party": value}, question=PARTY, actions=(Action(name="like"),)))
    assert score(text, PARTY).choice == code
    assert text.endswith(NOTICE)
    assert text == said(BaselineRule(noise=9.0), facts({"party": value}, question=PARTY), 7)


@pytest.mark.parametrize("attributes", [{"self": 3}, {"party": 5}, {"party": 0.5}])
def test_a_probe_of_what_one_does_not_know_of_oneself_fails(attributes: dict[str, Any]) -> None:
    """No attribute, or no choice that it is: the call fails, and nothing is made up."""
    assert answer(RULE, facts(attributes, question=PARTY), 1) is None


def test_without_a_rule_it_gives_vectors_and_does_not_speak() -> None:
    """A baseline that serves embeddings alone refuses to answer for anybody."""
    provider = BaselineProvider()
    request = ChatRequest(role="tier_a", messages=(), tokens_max=20, facts=facts())
    spoken = asyncio.run(provider.chat(request, 1.0))
    assert spoken == Failure(cause=FailureCause.UNSUPPORTED)
    vectors = asyncio.run(provider.embed(EmbedRequest(role="embed", texts=("a",)), 1.0))
    assert isinstance(vectors, Vectors)


def test_a_call_uses_no_tokens() -> None:
    """Usage is known and zero, of a reply and of vectors."""
    provider = BaselineProvider(RULE)
    request = ChatRequest(role="tier_a", messages=(), tokens_max=20, facts=facts())

    async def use() -> tuple[object, object]:
        await provider.open()
        reply = await provider.chat(request, 1.0)
        vectors = await provider.embed(EmbedRequest(role="tier_a", texts=("a",)), 1.0)
        await provider.close()
        return reply, vectors

    reply, vectors = asyncio.run(use())
    assert isinstance(reply, Reply)
    assert (reply.served, reply.usage) == ("baseline", Usage())
    assert isinstance(vectors, Vectors)
    assert (vectors.served, vectors.usage, len(vectors.vectors)) == ("baseline", Usage(), 1)


FARES = BaselineRule(
    worth={"train": {"fare": -0.04, "time": -0.01}, "car": {"petrol": -0.04}},
    factors={"halved": {"fare": 0.5}, "slower": {"time": 2.0}, "free": {"fare": 0.0}},
    scales={"likely": "train"},
)
TRIP: dict[str, Any] = {"fare": 50, "time": 100, "petrol": 50}
LIKELY = Question(
    id="likely",
    text="How likely are you to take the train?",
    type=QuestionType.LIKERT,
    choices=tuple(
        Choice(id=f"p{point}", label=label)
        for point, label in enumerate(("very unlikely", "unlikely", "likely", "very likely"))
    ),
)


def worth(*shown: str, remembered: tuple[str, ...] = ()) -> dict[str, float]:
    """Give what the fares make of each choice, for somebody who has met some claims."""
    about = facts(TRIP, shown=shown, remembered=remembered)
    return weigh(FARES, about, ("train", "car"), 1).utilities


def test_what_is_known_of_each_choice_is_added_up() -> None:
    """Each unit of an attribute adds its weight, to its own choice alone."""
    assert worth() == pytest.approx({"train": -3.0, "car": -2.0})


def test_a_claim_multiplies_an_attribute_once_met() -> None:
    """Now or before, once however often; several factors are multiplied, and 0 is one."""
    halved = {"train": -2.0, "car": -2.0}
    assert worth("halved") == pytest.approx(halved)
    assert worth(remembered=("halved",)) == pytest.approx(halved)
    assert worth("halved", remembered=("halved",)) == pytest.approx(halved)
    assert worth("halved", remembered=("slower",)) == pytest.approx({"train": -3.0, "car": -2.0})
    assert worth("free")["train"] == pytest.approx(-1.0)
    assert worth("something else") == worth()


@pytest.mark.parametrize("hole", ["fare", "petrol"])
def test_one_missing_fare_leaves_all_of_the_worth_out(hole: str) -> None:
    """To know what one choice costs and not the other says nothing of which is better."""
    known = {name: value for name, value in TRIP.items() if name != hole}
    weighed = weigh(FARES, facts(known), ("train", "car"), 1)
    assert (weighed.utilities, weighed.terms) == ({"train": 0.0, "car": 0.0}, ())
    assert weighed.unknown == 1
    assert answer(FARES, facts(known, question=LIKELY), 1) is None


@pytest.mark.parametrize(
    ("fare", "point"),
    [(-100, "p3"), (0, "p2"), (5, "p1"), (26, "p1"), (60, "p0"), (1_000_000, "p0")],
)
def test_a_scale_is_answered_by_how_probable_its_choice_is(fare: int, point: str) -> None:
    """Of four points the first below a quarter, the last from three quarters on."""
    about = facts({"fare": fare, "time": 200, "petrol": 50}, question=LIKELY)
    assert score(said(FARES, about), LIKELY).choice == point


def test_a_probability_is_that_of_the_logit() -> None:
    """Utilities that differ by ln 3 are three to one; only differences count."""
    assert probability({"a": math.log(3), "b": 0.0}, "a") == pytest.approx(0.75)
    assert probability({"a": math.log(3) + 5_000, "b": 5_000.0}, "b") == pytest.approx(0.25)
    assert probability({"a": 0.0}, "a") == 1.0


def test_nothing_but_the_point_is_said_where_all_words_are_rated() -> None:
    """Reasons would be compared with the anchors too; that a rule answers is said all the same."""
    rated = msgspec.structs.replace(
        LIKELY, scoring=Scoring.SIMILARITY, similarity=Similarity(anchors="intent")
    )
    assert said(FARES, facts(TRIP, question=rated)) == f"unlikely. {NOTICE}"
    assert said(FARES, facts(TRIP, question=LIKELY)).startswith("My answer: unlikely. I go by ")


def test_a_scale_can_be_asked_where_something_can_be_done() -> None:
    """On a channel the point is said in words, above the lines of the form."""
    about = facts(TRIP, question=LIKELY, actions=(Action(name="like", about=True),))
    assert said(FARES, about).splitlines()[0].startswith("My answer: unlikely.")
