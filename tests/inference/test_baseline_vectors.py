"""That vectors without a network tell likeness of words, and are the same on every machine."""

from __future__ import annotations

import math
import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.inference.baseline_vectors import DIMENSIONS, vector_of, words_of
from perdure.runner.vectors import pack, rounded, unpack

FARES = "The city plans a fare of two euros for any ride."
ALIKE = "A fare of two euros for any ride in the city!"
UNLIKE = "Our school needs another teacher before winter."


def cosine(one: str, other: str) -> float:
    """Say how near two texts are."""
    return math.fsum(a * b for a, b in zip(vector_of(one), vector_of(other), strict=True))


def test_texts_that_share_words_are_nearer() -> None:
    """By words: a near copy is near, another matter is far, and order and case say nothing."""
    assert cosine(FARES, ALIKE) > 0.7
    assert abs(cosine(FARES, UNLIKE)) < 0.3
    assert cosine(FARES, FARES.upper()) == pytest.approx(1)
    assert cosine("two euros", "euros: two...") == pytest.approx(1)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("It's 2 euros, isn't it?", "it s 2 euros isn t it"),
        ("snake_case", "snake case"),
        ("Stra\u00dfe STRASSE", "strasse strasse"),
        ("caf\u00e9 cafe\u0301", "caf\u00e9 caf\u00e9"),
        (
            "\u0425\u043b\u0435\u0431 \u0438 \u0441\u043e\u043b\u044c",
            "\u0445\u043b\u0435\u0431 \u0438 \u0441\u043e\u043b\u044c",
        ),
        ("\u0939\u093f\u0928\u094d\u0926\u0940", "\u0939\u093f\u0928\u094d\u0926\u0940"),
        ("\u65b0\u7968\u4ef7", "\u65b0 \u7968 \u4ef7"),
        ("\U0001f600 \u2014 ...", ""),
        ("a\ud800b", "a b"),
        ("", ""),
    ],
    ids=ascii,
)
def test_words_of_any_script_are_found(text: str, words: str) -> None:
    """Words are letters, marks and digits; where none are set apart, each letter is one."""
    assert list(words_of(text)) == words.split()


def test_texts_without_a_word_are_alike_and_near_nothing() -> None:
    """No vector is all zeros: what says nothing has a place of its own, at a right angle."""
    for text in ("", " ", "...", "\U0001f600"):
        assert math.hypot(*vector_of(text)) == 1
        assert cosine(text, "") == 1
        assert cosine(text, FARES) == 0


def test_words_that_cancel_out_say_nothing() -> None:
    """Two words of one place and opposite signs leave no word: that too is no vector of zeros."""
    seen: dict[int, tuple[str, float]] = {}
    for number in range(5_000):
        word = f"w{number}"
        place, value = next((n, v) for n, v in enumerate(vector_of(word)) if v)
        other, before = seen.setdefault(place, (word, value))
        if before == -value:
            assert vector_of(f"{word} {other}") == vector_of("")
            return
    pytest.fail("no two words share a place with opposite signs")


@given(st.text(st.characters()))
def test_every_text_has_a_vector_of_length_one(text: str) -> None:
    """Any text: as many finite numbers as ever, which 32 bits hold, of length 1, and repeatable."""
    vector = vector_of(text)
    assert len(vector) == DIMENSIONS
    assert math.hypot(*vector) == pytest.approx(1)
    assert vector == vector_of(text)
    assert unpack(pack([vector]), 1) == rounded([vector])


def test_what_is_pinned_never_moves() -> None:
    """The vector of a sentence, as it was first made: places, signs and length."""
    vector = vector_of("One price for any ride is easy to understand; one price!")
    length = math.sqrt(sum(value * value for value in PINNED.values()))
    assert {place: value for place, value in enumerate(vector) if value} == {
        place: value / length for place, value in PINNED.items()
    }


PINNED = {45: -2, 110: 1, 112: 2, 121: 1, 127: 1, 175: 1, 179: -1, 185: 1, 208: 1}


def test_another_process_makes_the_same_vector() -> None:
    """Python's own hashes differ from process to process; these do not."""
    code = f"from perdure.inference.baseline_vectors import vector_of;print(vector_of({FARES!r}))"
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        printed = subprocess.run(
            [sys.executable, "-c", code],
            env=environment,
            capture_output=True,
            check=True,
            text=True,
        )
        assert printed.stdout.strip() == str(vector_of(FARES))
