"""Free text is scored as the choice that it makes, and as nothing where it makes none."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.elicitation import score
from perdure.records.outcome import UnscorableCause
from perdure.records.persona import Choice
from perdure.records.scenario import Question

_spec = importlib.util.spec_from_file_location("answers", Path(__file__).with_name("answers.py"))
assert _spec is not None
assert _spec.loader is not None
answers = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(answers)

QUESTIONS = (
    *(answers.VOTE, answers.AGREE, answers.SCALE, answers.YES_NO, answers.LETTERS, answers.FARE),
)
CASES = [
    *((answers.VOTE, answer, expected) for answer, expected in answers.VOTE_ANSWERS),
    *answers.OTHER_ANSWERS,
]
PIECES = (
    *("Clinton", "Bob Dole", "not", "don't", "agree", "disagree", "yes", "no", "or", "and", "but"),
    *("I'd vote for", "over", "than", "to", "prefer", "?", ".", ",", "\n", "**", "neither", "AI"),
    *(
        "as an",
        "because",
        "I",
        "is",
        "too old",
        "don't know",
        "A",
        "(",
        ")",
        "\u2019",
        "\U000f0000",
    ),
)


def verdict(answer: str, question: Question) -> str:
    """Score an answer: the choice's id, or the cause in capitals."""
    scored = score(answer, question)
    return scored.unscorable.name if scored.unscorable is not None else scored.choice


@pytest.mark.parametrize(("question", "answer", "expected"), CASES)
def test_an_answer_gets_its_score(question: Question, answer: str, expected: str) -> None:
    """Each answer of the table is scored as a careful reader would score it."""
    assert verdict(answer, question) == expected


def test_the_table_is_large_and_covers_every_verdict() -> None:
    """The table has at least sixty answers, every cause of its kind and every choice among them."""
    expected = {expected for _, _, expected in CASES}
    assert len(CASES) >= 60
    causes = {"EMPTY", "REFUSED", "UNDECIDED", "NO_CHOICE", "SEVERAL_CHOICES"}
    assert causes == {cause.name for cause in UnscorableCause} & expected
    assert {"clinton", "dole", "agree", "disagree"} <= expected


@given(
    answer=st.one_of(st.text(max_size=200), st.lists(st.sampled_from(PIECES)).map(" ".join)),
    question=st.sampled_from(QUESTIONS),
)
def test_any_text_has_exactly_one_verdict(answer: str, question: Question) -> None:
    """Scoring never raises, and gives a choice of the question or a cause, never both."""
    scored = score(answer, question)
    assert (scored.choice == "") != (scored.unscorable is None)
    assert scored.choice in {"", *(choice.id for choice in question.choices)}


@given(
    answer=st.lists(st.sampled_from(PIECES)).map(" ".join),
    question=st.sampled_from(QUESTIONS),
    data=st.data(),
)
def test_the_order_of_choices_decides_nothing(
    answer: str, question: Question, data: st.DataObject
) -> None:
    """However a study lists its choices and their aliases, the score is the same."""
    choices = tuple(
        msgspec.structs.replace(choice, aliases=tuple(reversed(choice.aliases)))
        for choice in data.draw(st.permutations(question.choices))
    )
    other = msgspec.structs.replace(question, choices=choices)
    assert score(answer, other) == score(answer, question)


@given(label=st.text(min_size=1, max_size=12), alias=st.text(max_size=8))
def test_any_label_can_be_looked_for(label: str, alias: str) -> None:
    """Labels are text, not patterns: whatever they hold, nothing raises."""
    question = Question(
        id="q",
        text=label,
        choices=(Choice(id="one", label=label, aliases=(alias,)), Choice(id="two", label="Two")),
    )
    score(f"I choose {label}", question)
    assert verdict("I choose Two.", question) in {"two", "one", "SEVERAL_CHOICES", "NO_CHOICE"}


def test_a_name_that_two_choices_share_decides_nothing() -> None:
    """An alias that names two choices is several choices, not the first of them."""
    question = Question(
        id="q",
        text="Which?",
        choices=(
            Choice(id="old", label="Old Bridge", aliases=("the bridge",)),
            Choice(id="new", label="New Bridge", aliases=("the bridge",)),
        ),
    )
    assert verdict("I'd pick the bridge.", question) == "SEVERAL_CHOICES"
    assert verdict("I'd pick the new bridge.", question) == "new"


def test_the_longest_name_counts() -> None:
    """A name within a longer name is not a mention of its own."""
    question = Question(
        id="q",
        text="Which?",
        choices=(Choice(id="york", label="York"), Choice(id="new-york", label="New York")),
    )
    assert verdict("New York", question) == "new-york"
    assert verdict("York", question) == "york"
    assert verdict("Not New York. York.", question) == "york"


def test_a_choice_may_be_worded_as_a_denial_or_as_indecision() -> None:
    """Where not voting and not knowing are choices of the question, to say so is an answer."""
    question = Question(
        id="q",
        text="How would you vote?",
        choices=(
            Choice(id="ada", label="Ada Hill"),
            Choice(id="none", label="I would not vote", aliases=("wouldn't vote",)),
            Choice(id="unknown", label="Don't know"),
        ),
    )
    assert verdict("I would not vote.", question) == "none"
    assert verdict("I wouldn't vote at all.", question) == "none"
    assert verdict("Don't know.", question) == "unknown"
    assert verdict("I would not vote for Ada Hill.", question) != "ada"


def test_only_the_beginning_of_a_runaway_answer_is_read() -> None:
    """What stands beyond any answer's length has no say, and costs nothing."""
    assert verdict("Bob Dole. " + "blah " * 2_000 + " Bill Clinton.", answers.VOTE) == "dole"


@pytest.mark.parametrize("text", ["Agree", "I agree", "agree?", "Do you agree?"])
def test_a_question_that_is_part_of_a_choice_s_name_is_no_echo(text: str) -> None:
    """What answers repeat of a question is left out, but not where it is the answer itself."""
    choices = (Choice(id="a", label="I agree"), Choice(id="d", label="I disagree"))
    question = Question(id="q", text=text, choices=choices)
    assert score("My answer: I agree", question).choice == "a"
    assert score("I disagree.", question).choice == "d"
