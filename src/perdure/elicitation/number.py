"""Reading the one number of a folded answer, in the unit that its question asks for. Pure.

Digits and English number words are read ("1,200", "twenty-five", "2.5k", "3 million"). Of several
numbers, the one in the question's unit counts if it is the only one; a range is several, and so is
what was put together from two ("1 hour 30 minutes", "8 out of 10", "1 200"). A number in another
unit, or only a bound ("more than 20"), is no answer; "at most 20" is 20, where the most that one
would is asked for.
"""

from __future__ import annotations

import math
import re
from itertools import pairwise
from typing import NamedTuple

from perdure.elicitation import vocabulary as words
from perdure.elicitation.fold import fold
from perdure.records.outcome import Scored, UnscorableCause
from perdure.records.scenario import Question

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
_DIGITS = r"(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:[.,]\d+)?)(?![.,]?\d)"
_NUMBER = re.compile(
    rf"(?P<sign>(?<![\w.])(?:-|minus ))?(?:"
    rf"(?<![\w.,])(?P<digits>{_DIGITS})"
    rf"(?:[ ]?(?P<short>k|bn)\b|[ ](?P<scale>hundred|{_LARGE})\b)?"
    rf"|\b(?P<words>{_IN_WORDS})\b)(?![\w]*(?<=\d)(?:st|nd|rd|th)\b)"
)
# "One of them", "that one", "no one", "once": words that count nothing.
_NO_COUNT = re.compile(r"(?:\b(?:no|any|some|every|that|this|which|the|each|another|either)[ ])$")
_MEASURED = """
% percent percents years year yrs months month weeks week days day hours hour h hr hrs minutes
minute min mins seconds times people persons kids children miles mile m km meters metres kilometers
kilometres kg pounds grams dollars dollar cents euros euro francs chf usd eur gbp $ € £
points stars items pieces
"""
_MEASURES = frozenset(_MEASURED.split())
# What may stand between two numbers that are one answer, beside a unit.
_RANGE = re.compile("(?:-|[\u2010-\u2015\u2044/:',]|to|or|and|by|out of|of|in|x)?")
_BOUND = re.compile(
    r"(?:\b(?:more than|at least|over|above|beyond|less than|under|below|fewer than|minimum of"
    r"|upwards of|north of|not|never|cannot)|n't)\b[^,.;]*$"
)
_UP_TO = re.compile(
    r"(?:\b(?:no|not|nothing|never|cannot)|n't)\b[^,.;]*"
    r"\b(?:(?:more|higher|greater|longer) than|over|above|beyond)\b[^,.;]*$"
    r"|\b(?:at most|up to|maximum(?: of)?)\b[^,.;]*$"
)
_OPEN_END = re.compile(r"^(?:[ ]?\+|[ ](?:or|and) (?:more|less|over|above|up|under|fewer)\b)")


class _Found(NamedTuple):
    value: float
    start: int
    end: int
    owned: bool  # it is in the question's unit
    foreign: bool  # it is in another one


def read_number(folded: str, question: Question) -> Scored:
    """Read the number that a folded answer gives."""
    text = " ".join(folded.split())
    every = _numbers(text, _aliases(question))
    found = [one for one in every if not one.foreign]
    kept = [one for one in found if one.owned] or found
    wrong = _why_none(text, every) if not kept else _why_not(text, every, kept, question)
    return Scored(unscorable=wrong) if wrong is not None else Scored(number=kept[0].value)


def _why_not(
    text: str, every: list[_Found], kept: list[_Found], question: Question
) -> UnscorableCause | None:
    value, low, high = kept[0].value, question.least, question.most
    units = _aliases(question) | _MEASURES
    ranges = any(
        _are_one(text[left.end : right.start], units)
        for left, right in pairwise(every)
        if right in kept or (left in kept and not right.foreign)
    )
    reasons = (
        (ranges or len({one.value for one in kept}) > 1, UnscorableCause.SEVERAL_NUMBERS),
        (any(_is_bound(text, one) for one in kept), UnscorableCause.ONLY_A_BOUND),
        (words.TAKEN_BACK.search(text), UnscorableCause.UNDECIDED),
        (math.isinf(value), UnscorableCause.OUT_OF_RANGE),
        (low is not None and value < low, UnscorableCause.OUT_OF_RANGE),
        (high is not None and value > high, UnscorableCause.OUT_OF_RANGE),
    )
    return next((cause for holds, cause in reasons if holds), None)


def _aliases(question: Question) -> frozenset[str]:
    names = {fold(name).strip() for name in (question.unit, *question.unit_aliases) if name}
    return frozenset(names | {name.removesuffix("s") for name in names if len(name) > 2})  # noqa: PLR2004


def _why_none(text: str, every: list[_Found]) -> UnscorableCause:
    if every:
        return UnscorableCause.OTHER_UNIT
    return UnscorableCause.UNDECIDED if words.UNDECIDED.search(text) else UnscorableCause.NO_NUMBER


def _numbers(text: str, aliases: frozenset[str]) -> list[_Found]:
    found = []
    for match in _NUMBER.finditer(text):
        if match["words"] and (
            _NO_COUNT.search(text[: match.start()]) or text[match.end() :].startswith(" of ")
        ):
            continue
        owned = _has_unit(text, match.start(), match.end(), aliases)
        after = re.match(r"[ -]?(%|[^\W\d]+)", text[match.end() :])
        before = re.search(r"([$€£]|chf|usd|eur|gbp)[ ]?$", text[: match.start()])
        near = {after.group(1) if after else "", before.group(1) if before else ""}
        foreign = not owned and not near.isdisjoint(_MEASURES)
        found.append(_Found(_value(match), match.start(), match.end(), owned, foreign))
    return found


def _has_unit(text: str, start: int, end: int, aliases: frozenset[str]) -> bool:
    before, after = text[:start].rstrip(), text[end:].lstrip(" -")
    return any(
        (before.endswith(name) and not before[: -len(name)][-1:].isalpha())
        or (after.startswith(name) and not after[len(name) :][:1].isalpha())
        for name in aliases
    )


def _value(match: re.Match[str]) -> float:
    sign = -1.0 if match["sign"] else 1.0
    if match["words"]:
        return sign * _of_words(match["words"])
    digits = match["digits"]
    decimal_comma = re.fullmatch(r"\d+,\d{1,2}", digits)
    value = float(digits.replace(",", "." if decimal_comma else ""))
    scale = _SHORT.get(match["short"] or "", _SCALES.get(match["scale"] or "", 1))
    return sign * value * scale


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


def _are_one(between: str, units: frozenset[str]) -> bool:
    """Say whether two numbers are one answer: a range, a sum of two units, a part of a whole."""
    for name in sorted(units, key=len, reverse=True):
        between = re.sub(rf"(?<!\w){re.escape(name)}s?(?!\w)", " ", between)
    return _RANGE.fullmatch(" ".join(between.split())) is not None


def _is_bound(text: str, one: _Found) -> bool:
    before = text[: one.start]
    if _OPEN_END.match(text[one.end :]):
        return True
    return _BOUND.search(before) is not None and _UP_TO.search(before) is None
