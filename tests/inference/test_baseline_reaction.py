"""That the baseline reacts as its declared model of one person says, in a form that can be read."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.elicitation import score
from perdure.inference.baseline import NOTICE, answer
from perdure.inference.baseline_reaction import Regard, deed, moved, pull_of, regarded
from perdure.records.baseline_rule import BaselineRule, Identification, Reactions
from perdure.records.facts import MessageFacts, PersonaFacts
from perdure.records.outcome import UnscorableCause
from perdure.records.persona import Choice
from perdure.records.reaction import Action, Change
from perdure.records.scenario import Question

AGREEING = Question(
    id="react",
    text="Do you agree with it?",
    choices=(Choice(id="agree", label="agree"), Choice(id="disagree", label="disagree")),
)
VOTE = Question(
    id="vote",
    text="Whom?",
    choices=(Choice(id="north", label="Ann"), Choice(id="south", label="Bo")),
)
OPEN = Question(id="open", text="What do you say?")
FEED = (
    Action(name="like"),
    Action(name="dislike"),
    Action(name="repost"),
    Action(name="comment", says=True),
    Action(name="follow"),
    Action(name="post", about=False, says=True),
)
FORUM = (Action(name="reply", says=True), Action(name="up"), Action(name="down"))
MOUTH = (Action(name="tell", says=True),)
STRANGE = (Action(name="erase"), Action(name="post", about=True), Action(name="like", says=True))
LEANING = Identification(attribute="party", midpoint=3, low="north", high="south")
RULE = BaselineRule(
    identification=LEANING,
    claims={"taxes": {"south": 1.0}, "schools": {"north": 1.0, "south": -0.5}},
    social_proof=0.5,
)
WORDS = {
    "much less convinced": Change.MUCH_LESS,
    "less convinced": Change.LESS,
    "unchanged": Change.SAME,
    "more convinced": Change.MORE,
    "much more convinced": Change.MUCH_MORE,
}
# Nobody leans anywhere: what is left is what the messages do.
FLOATING: dict[str, Any] = {"party": 3}


class Read(NamedTuple):
    """An answer as a reader of the form finds it."""

    words: str
    message: str
    action: str
    belief: Change


def read(text: str) -> Read:
    """Read an answer by the form that the persona agent asks for, and by nothing else."""
    found = re.fullmatch(r"([^\n]+)\nMessage: (\w+)\nAction: (\S+)\nBelief: ([a-z ]+)", text)
    assert found is not None, text
    words, message, action, belief = found.groups()
    return Read(words, message, action, WORDS[belief])


def facts(
    *messages: MessageFacts, attributes: dict[str, Any] | None = None, **more: Any
) -> PersonaFacts:
    """Make the facts of a prompt on a feed."""
    given: dict[str, Any] = {"actions": FEED, "question": AGREEING, **more}
    return PersonaFacts(persona="p", attributes=attributes or FLOATING, messages=messages, **given)


def reaction(rule: BaselineRule, about: PersonaFacts, seed: int = 1) -> Read:
    """React, and read it."""
    text = answer(rule, about, seed)
    assert text is not None
    return read(text)


def shown(claim: str = "weather", **more: Any) -> MessageFacts:
    """Make a message; of the weather the rule has nothing to say."""
    return MessageFacts(claim=claim, **more)


claims = st.sampled_from(["", "taxes", "schools", "weather"])
names = st.sampled_from(["like", "up", "repost", "tell", "dislike", "down", "comment", "erase"])
messages = st.lists(
    st.builds(
        MessageFacts,
        claim=claims,
        stance=st.sampled_from(["", "agree", "disagree", "north", "south", "elsewhere"]),
        counts=st.dictionaries(names, st.integers(0, 10**6), max_size=4),
        tie=st.floats(0, 1),
    ),
    max_size=4,
).map(tuple)
strengths = st.floats(0, 1000)
reactions = st.builds(
    Reactions,
    **dict.fromkeys(Reactions.__struct_fields__, strengths),
)
rules = st.builds(
    BaselineRule,
    identification=st.sampled_from([None, LEANING]),
    claims=st.just(RULE.claims),
    social_proof=strengths,
    noise=strengths,
    reactions=st.none() | reactions,
)
all_facts = st.builds(
    PersonaFacts,
    persona=st.just("p"),
    attributes=st.builds(dict, party=st.integers(0, 6)),
    question=st.sampled_from([AGREEING, VOTE, OPEN, None]),
    messages=messages,
    actions=st.lists(
        st.sampled_from([*FEED, *FORUM, *MOUTH, *STRANGE]), min_size=1, unique=True
    ).map(tuple),
    beliefs=st.dictionaries(claims, st.integers(-5, 5)),
)
seeds = st.integers(0, 2**31 - 1)


@given(rules, all_facts, seeds)
def test_every_answer_has_the_form_and_names_what_is_there(
    rule: BaselineRule, about: PersonaFacts, seed: int
) -> None:
    """Under any rule: one line of words, then a message that is shown, an action that is offered.

    What it does is known by its name and is like its name; the same request gets the same answer.
    """
    text = answer(rule, about, seed)
    assert text == answer(rule, about, seed)
    assert text is not None
    found = read(text)
    assert found.words.endswith(NOTICE)
    shown_now = [str(number) for number in range(1, len(about.messages) + 1)]
    assert found.message in shown_now if shown_now else found.message == "none"
    if found.action != "none":
        done = [one for one in about.actions if one.name == found.action]
        assert any(one in {*FEED, *FORUM, *MOUTH} for one in done)
    held = about.beliefs
    claim = about.messages[int(found.message) - 1].claim if shown_now else ""
    if not claim or not shown_now:
        assert found.belief is Change.SAME
    else:
        now = max(-3, min(3, held.get(claim, 0)))
        assert -3 <= now + found.belief.steps <= 3


@given(rules, all_facts, seeds)
def test_what_has_no_known_name_is_never_done(
    rule: BaselineRule, about: PersonaFacts, seed: int
) -> None:
    """Where all that can be done is unknown, or not what its name says, nothing is done."""
    offered = PersonaFacts(
        persona="p",
        attributes=about.attributes,
        question=about.question,
        messages=about.messages,
        actions=STRANGE,
    )
    assert reaction(rule, offered, seed).action == "none"


@pytest.mark.parametrize(
    ("message", "choice"),
    [
        (shown(), "agree"),
        (shown(stance="agree"), "agree"),
        (shown(stance="disagree"), "disagree"),
    ],
)
def test_what_one_says_is_scored_as_what_one_makes_of_the_claim(
    message: MessageFacts, choice: str
) -> None:
    """Who is taken along by one who disagrees disagrees with the claim, and says so."""
    found = reaction(RULE, facts(message))
    assert score(found.words, AGREEING).choice == choice


@pytest.mark.parametrize(
    ("party", "done", "belief"), [(3, "like", Change.LESS), (6, "dislike", Change.MORE)]
)
def test_who_agrees_with_one_who_disagrees_approves_of_that(
    party: int, done: str, belief: Change
) -> None:
    """Approval is of the message, belief of its claim: who is against it likes who is, too."""
    rule = BaselineRule(identification=LEANING, claims={"taxes": {"south": 2.0}})
    about = facts(shown("taxes", stance="disagree"), attributes={"party": party})
    found = reaction(rule, about)
    assert (found.action, found.belief) == (done, belief)


def test_a_pull_that_cancels_out_is_undecided_and_nothing_is_done() -> None:
    """A claim against one's leaning, by a stranger: neither convinced nor put off."""
    about = facts(shown("taxes"), attributes={"party": 2})
    found = reaction(BaselineRule(identification=LEANING, claims={"taxes": {"south": 1}}), about)
    assert score(found.words, AGREEING).unscorable is UnscorableCause.UNDECIDED
    assert (found.action, found.belief) == ("none", Change.SAME)
    free = BaselineRule(reactions=Reactions(approve=0.0, motivation=0.0))
    assert reaction(free, facts(shown(stance="elsewhere"))).action == "none"


@pytest.mark.parametrize(("question", "says"), [(VOTE, "Ann"), (OPEN, "I have met"), (None, "I ")])
def test_the_form_follows_the_words_whatever_is_asked(question: Question | None, says: str) -> None:
    """A question over the rule's own choices, or an open one, is answered as it ever was."""
    about = facts(shown("schools"), attributes={"party": 0}, question=question)
    found = reaction(RULE, about)
    assert says in found.words
    assert found.action != "none"


def test_a_label_of_several_lines_cannot_forge_the_form() -> None:
    """What is said is one line, whatever a study calls its choices."""
    forged = "agree\nMessage: 7\nAction: erase"
    question = Question(
        id="q", text="?", choices=(Choice(id="agree", label=forged), Choice(id="no", label="no"))
    )
    found = reaction(RULE, facts(shown(), question=question))
    assert (found.message, found.action) == ("1", "like")


def test_without_messages_nothing_is_done_and_the_turn_is_taken() -> None:
    """An empty feed is no failure: the persona has not decided, and does nothing."""
    assert reaction(RULE, facts())[1:] == ("none", "none", Change.SAME)


CROWD = [{"like": 3}, {"like": 40}, {"like": 0}, {}]


def test_where_counts_are_shown_the_choice_follows_them() -> None:
    """Herding: of messages that are alike in all else, the one that most approve of is liked."""
    for turned in range(len(CROWD)):
        counts = CROWD[turned:] + CROWD[:turned]
        for seed in range(50):
            found = reaction(RULE, facts(*(shown(counts=one) for one in counts)), seed)
            assert found.message == str(1 + counts.index({"like": 40}))
    quiet = [{"like": 40, "dislike": 39}, {"up": 2}, {"like": 3, "down": 2}]
    found = reaction(RULE, facts(*(shown(counts=one) for one in quiet)))
    assert found.message == "2", "who disapproves counts against"


def test_where_no_counts_are_shown_or_heeded_chance_decides() -> None:
    """Without counts, or for who does not heed them, each message is liked about as often.

    That is so whichever is shown first: the order is the world's, and no reason by itself.
    """
    unseen = Counter(
        reaction(RULE, facts(shown(), shown(), shown()), seed).message for seed in range(600)
    )
    assert unseen.keys() == {"1", "2", "3"}
    assert all(150 < count < 250 for count in unseen.values()), unseen
    heedless = BaselineRule(social_proof=0.0)
    about = facts(*(shown(counts=one) for one in CROWD))
    unheeded = Counter(reaction(heedless, about, seed).message for seed in range(600))
    assert all(100 < count < 200 for count in unheeded.values()), unheeded


def test_a_crowd_convinces_of_what_one_would_not_believe() -> None:
    """Against one's leaning a claim is rejected, and taken over once enough approve of it."""
    rule = BaselineRule(identification=LEANING, claims={"taxes": {"south": 2.0}}, social_proof=0.5)
    against = {"party": 1}
    alone = reaction(rule, facts(shown("taxes"), attributes=against))
    assert (alone.action, alone.belief) == ("dislike", Change.LESS)
    praised = reaction(rule, facts(shown("taxes", counts={"like": 63}), attributes=against))
    assert (praised.action, praised.belief) == ("repost", Change.MUCH_MORE)


def test_who_is_close_is_heeded_more_than_a_stranger() -> None:
    """Of two who disagree about a claim, the one with the stronger tie is believed."""
    pair = (shown(tie=0.1), shown(stance="disagree", tie=0.9))
    assert reaction(RULE, facts(*pair)).belief is Change.LESS
    assert reaction(RULE, facts(*pair[::-1])).message == "1"
    deaf = BaselineRule(reactions=Reactions(tie=0.0))
    assert {reaction(deaf, facts(*pair), seed).belief for seed in range(30)} == {
        Change.LESS,
        Change.MORE,
    }


@pytest.mark.parametrize("party", [0, 6])
def test_one_believes_what_one_would_like_to(party: int) -> None:
    """The same two claims, seen by two who lean apart: each takes up what suits it."""
    about = facts(shown("taxes"), shown("schools"), attributes={"party": party})
    found = reaction(RULE, about)
    assert found.message == ("2" if party == 0 else "1")
    assert found.belief in {Change.MORE, Change.MUCH_MORE}
    indifferent = BaselineRule(
        identification=LEANING, claims=RULE.claims, reactions=Reactions(motivation=0.0)
    )
    picked = {reaction(indifferent, about, seed).message for seed in range(30)}
    assert picked == {"1", "2"}


def test_a_stance_among_the_rules_own_choices_speaks_by_what_the_claim_does() -> None:
    """Who would vote south speaks for what helps the south, and against what harms it."""
    for claim, stance, side in (
        ("taxes", "south", 1),
        ("taxes", "north", -1),
        ("schools", "south", -1),
        ("weather", "south", 0),
    ):
        message = shown(claim, stance=stance)
        assert pull_of(RULE, message, None, VOTE.choices) == side


def regard(pull: float, *, agrees: bool | None = None, is_tied: bool = False) -> Regard:
    """Make what somebody makes of a message."""
    is_for = pull > 0 if agrees is None else agrees
    return Regard(number=1, claim="c", pull=pull, agrees=is_for, is_tied=is_tied)


@pytest.mark.parametrize(
    ("pull", "done"),
    [
        *((0.0, ""), (0.4, ""), (0.5, "like"), (1.5, "comment"), (2.0, "repost"), (3.0, "follow")),
        *((4.0, "post"), (-0.4, ""), (-0.5, "dislike"), (-1.5, "comment"), (-3.9, "comment")),
        *((-4.0, "post"), (1e9, "post")),
    ],
)
def test_the_strength_of_a_pull_decides_what_is_done(pull: float, done: str) -> None:
    """More strength takes more effort; who disagrees passes nothing on and follows nobody."""
    assert deed(Reactions(), FEED, regard(pull)) == done


def test_of_what_a_channel_lacks_the_next_below_is_done() -> None:
    """Who would pass it on in a forum is heard there; where one can only tell, little is told."""
    assert deed(Reactions(), FORUM, regard(9.0)) == "reply"
    assert deed(Reactions(), FORUM, regard(-0.7)) == "down"
    assert deed(Reactions(), MOUTH, regard(1.9)) == ""
    assert deed(Reactions(), MOUTH, regard(2.0)) == "tell"
    assert deed(Reactions(), MOUTH, regard(-9.0)) == ""
    assert deed(Reactions(), FEED, regard(3.5, is_tied=True)) == "repost"
    quiet = Reactions(approve=3.0, answer=2.0, pass_on=1.0, follow=9, post=9)
    assert [deed(quiet, FEED, regard(pull)) for pull in (1, 2, 3)] == ["repost", "comment", "like"]


@given(reactions, strengths, strengths)
def test_a_stronger_pull_never_takes_less_effort(
    how: Reactions, weaker: float, stronger: float
) -> None:
    """Of two pulls one way, the stronger one does what has the higher threshold, or the same."""
    effort = {
        "": -1.0,
        "like": how.approve,
        "comment": how.answer,
        "repost": how.pass_on,
        "follow": how.follow,
        "post": how.post,
    }
    low, high = sorted((weaker, stronger))
    if low > 0:
        done = (deed(how, FEED, regard(pull)) for pull in (low, high))
        first, second = (effort[one] for one in done)
        assert first <= second <= high


@given(reactions, st.floats(-1000, 1000), st.floats(-1000, 1000), st.integers(-3, 3))
def test_belief_moves_with_the_pull_and_never_beyond_its_scale(
    how: Reactions, one: float, other: float, held: int
) -> None:
    """A pull the other way never moves a belief forward, and a stronger one moves it no less."""
    low, high = sorted((one, other))
    first, second = (moved(how, regard(pull), held).steps for pull in (low, high))
    assert first <= second
    assert first <= 0 or low > 0
    assert -3 <= held + first <= held + second <= 3


@pytest.mark.parametrize(
    ("pull", "held", "change"),
    [
        *((0.9, 0, Change.SAME), (1.0, 0, Change.MORE), (2.0, 0, Change.MUCH_MORE)),
        *((9.0, 2, Change.MORE), (9.0, 3, Change.SAME), (-1.0, 3, Change.LESS)),
        *((-9.0, 0, Change.MUCH_LESS), (-9.0, -2, Change.LESS), (-9.0, -3, Change.SAME)),
    ],
)
def test_who_is_convinced_entirely_cannot_be_more_so(
    pull: float, held: int, change: Change
) -> None:
    """A belief moves by at most two steps at once, and by what room there is."""
    assert moved(Reactions(), regard(pull), held) is change
    assert moved(Reactions(persuasion=0.0), regard(pull), held) is Change.SAME


@given(st.integers(0, 10**6), st.integers(0, 10**6), st.floats(0, 1), st.floats(0, 1))
def test_more_approval_and_a_closer_tie_never_weaken_a_pull(
    few: int, many: int, far: float, near: float
) -> None:
    """Each alone strengthens what a message says, towards its claim or away from it."""
    few, many = sorted((few, many))
    far, near = sorted((far, near))
    for stance, side in (("", 1), ("agree", 1), ("disagree", -1)):

        def pull(count: int, tie: float, stance: str = stance, side: int = side) -> float:
            message = shown(stance=stance, counts={"like": count}, tie=tie)
            return side * pull_of(RULE, message, None, AGREEING.choices)

        assert 1 <= pull(few, far) <= pull(many, far) <= pull(many, near)
        assert pull(few, far) <= pull(few, near)


def test_noise_comes_from_the_seed_and_is_each_messages_own() -> None:
    """The same seed gives the same pulls; over seeds a close call goes both ways."""
    rule = BaselineRule(reactions=Reactions(noise=2.0))
    about = facts(shown(), shown())
    seen = [regarded(rule, about, None, seed) for seed in range(80)]
    assert seen == [regarded(rule, about, None, seed) for seed in range(80)]
    found = [one for one in seen if one is not None]
    assert {one.number for one in found} == {1, 2}
    assert {one.pull > 0 for one in found} == {True, False}
    pulls = [one.pull for one in found]
    assert len(set(pulls)) == len(pulls)
