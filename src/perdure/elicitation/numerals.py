"""Finding numbers in a folded answer as they are written: in digits, or in English words. Pure.

What is written with digits and is not read for certain has no value: "1.200" is one or a thousand,
"2e3" and "0x14" are no plain numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_UNDER_TWENTY = """
zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
sixteen seventeen eighteen nineteen
"""
_OF_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_UNITS = {word: number for number, word in enumerate(_UNDER_TWENTY.split())}
_TENS = {word: 10 * number for number, word in enumerate(_OF_TENS.split(), 2)}
_SCALES = {"hundred": 100, "thousand": 1_000, "million": 1_000_000, "billion": 1_000_000_000}
_SHORT = {"k": 1_000, "bn": 1_000_000_000}
_LARGE = "thousand|million|billion"
# As numbers are said: below a hundred, below a thousand, and those by thousands and millions.
_TO_99 = rf"(?:(?:{'|'.join(_TENS)})(?:[ -](?:{'|'.join(list(_UNITS)[1:10])}))?|{'|'.join(_UNITS)})"
_TO_999 = rf"(?:(?:(?:{_TO_99}|a)[ -])?hundred(?:[ -](?:and )?{_TO_99})?|{_TO_99})"
_IN_WORDS = (
    rf"(?:(?:(?:{_TO_999}|a)[ -])?(?:{_LARGE})(?:[ -]{_TO_999}[ -](?:{_LARGE}))*"
    rf"(?:[ -](?:and )?{_TO_999})?|{_TO_999})"
)
# The second half of "2e3", "0x14", "1h30", "10^3".
_GLUED = r"(?:[^\W\d_]{1,3}[-+]?|\^)\d\w*"
_NUMBER = re.compile(
    r"(?<![\w.,])(?P<digits>\d+(?:[.,]\d+)*)(?!\d|(?:st|nd|rd|th)\b)"
    rf"(?P<glued>{_GLUED})?(?:[ ]?(?P<short>k|bn)\b|[ ](?P<scale>hundred|{_LARGE})\b)?"
    rf"|\b(?P<words>{_IN_WORDS})\b"
)
# With a thousands comma, or a decimal point or comma. A point before three digits could be either.
_THOUSANDS = re.compile(r"[1-9]\d{0,2}(?:,\d{3})+(?:\.\d+)?")
_DECIMAL = re.compile(r"\d+(?:\.\d+|,\d{1,2})?|0,\d+")
_EITHER = re.compile(r"[1-9]\d{0,2}\.\d{3}")
# A dash right before a number is its sign: a short one, and with no word or number before it.
_SIGN = re.compile(
    "(?:(?<![\\w.,)%])[-\u2010-\u2013\u2212]|\u2212[ ]|\\b(?:minus|negative)[ ])[$\u20ac\u00a3]?$"
)
# "One of them", "that one", "no one", "once": words that count nothing.
_NO_COUNT = re.compile(r"(?:\b(?:no|any|some|every|that|this|which|the|each|another|either)[ ])$")
_LOOKED_BACK = 20


class Numeral(NamedTuple):
    """A number and its place in the text; without a value if it cannot be read for certain."""

    value: float | None
    start: int
    end: int


def numerals(text: str) -> Iterator[Numeral]:
    """Find the numbers of a text, from left to right."""
    for match in _NUMBER.finditer(text):
        before = text[max(0, match.start() - _LOOKED_BACK) : match.start()]
        counts_nothing = _NO_COUNT.search(before) or text.startswith((" of ", " way"), match.end())
        if match["words"] and counts_nothing:
            continue
        value = _of_words(match["words"]) if match["words"] else _of_digits(match)
        negative = value is not None and _SIGN.search(before)
        yield Numeral(-value if value and negative else value, match.start(), match.end())


def _of_digits(match: re.Match[str]) -> float | None:
    digits = match["digits"]
    if match["glued"] or _EITHER.fullmatch(digits):
        return None
    if _THOUSANDS.fullmatch(digits):
        digits = digits.replace(",", "")
    elif not _DECIMAL.fullmatch(digits):
        return None
    scale = _SHORT.get(match["short"] or "", _SCALES.get(match["scale"] or "", 1))
    return float(digits.replace(",", ".")) * scale


def _of_words(text: str) -> float:
    total, part = 0, 0
    for word in re.split(r"[ -]", text):
        if word == "hundred":
            part = max(part, 1) * 100
        elif word in _SCALES:
            total, part = total + max(part, 1) * _SCALES[word], 0
        elif word != "and":
            part += _UNITS.get(word, 0) + _TENS.get(word, 0)
    return float(total + part)
