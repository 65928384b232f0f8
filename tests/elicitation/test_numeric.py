"""An answer that gives only a number is told from one in words that has a number in it."""

from __future__ import annotations

import pytest

from perdure.elicitation.numeric import is_numeric

NUMBERS = (
    "4",
    "4.",
    "4/5",
    "4 / 5",
    "**4**",
    "Answer: 4",
    "Rating: 4/5",
    '{"rating": 4}',
    "I'd say a 4 out of 5",
    "I\u2019d say a 4 out of 5.",
    "I'd give it a 4.",
    "I would rate it 7 out of 10.",
    "7 out of 10.",
    "four",
    "Four out of five.",
    "Three and a half.",
    "3.5",
    "3,5",
    "3-4",
    "3 or 4",
    "between 3 and 4, I think",
    "Probably a 2.",
    "Definitely a 5!",
    "a solid 4",
    "4 stars",
    "Point 4 of the scale.",
    "Option 3",
    "#3",
    "the fourth point",
    "4th",
    "80%",
    "About 80 percent.",
    "There's an 80% chance.",
    "My likelihood would be 65 out of 100.",
    "fifty-fifty",
    "one",
    "One out of five.",
    "I'd say one.",
    "\u2463",
    "5\ufe0f\u20e3",
    "\uff14",
    "\u0664",
    "IV",
    "\u2605\u2605\u2605\u2605\u2606",
    "On a scale from 1 to 5, I'd say 4.",
    "Hmm, I think it's a 3.",
    "It is a 4, I guess.",
)
WORDS = (
    "My first choice.",
    "I'd put it second.",
    "I bought 4 of them",
    "I would probably take the train.",
    "At 40 euros I would never take it.",
    "40 euros is too much for me.",
    "I'd take the 7:15 train.",
    "Maybe.",
    "Yes.",
    "No way, not in 100 years.",
    "I'd buy one.",
    "I'd pick one.",
    "I would choose one.",
    "Give me two of those!",
    "I have two children and no car, so yes.",
    "4 - very likely",
    "4 because the price is fair",
    "A 4, I like the price.",
    "It's 5 o'clock somewhere.",
    "Quite likely.",
    "I think so.",
    "I feel strongly about it.",
    "It's a strong maybe.",
    "Not a 5.",
    "B2B is not for me",
    "I'd take the T4.",
    "Half the time I would.",
    "Ten times out of ten I would go.",
    "",
    "   ",
    "...",
    "***",
    "\U0001f44d",
)


@pytest.mark.parametrize("answer", NUMBERS)
def test_only_a_number_is_numeric(answer: str) -> None:
    """Only a number is numeric."""
    assert is_numeric(answer)


@pytest.mark.parametrize("answer", WORDS)
def test_words_are_words(answer: str) -> None:
    """Words are words."""
    assert not is_numeric(answer)


def test_what_no_person_writes_is_read_to_a_limit() -> None:
    """What no person writes is read to a limit."""
    assert is_numeric("4 " * 1_000_000)
