"""Reading the one number of a folded answer, in the unit that its question asks for. Pure.

Of several numbers, the one in the question's unit counts if it is the only one; a range is several,
and so is what was put together from two ("1 hour 30 minutes", "8 out of 10", "two and a half"). A
number in another unit, or only a bound ("more than 20"), is no answer; "at most 20" is 20, where
the most that one would is asked for.

A number counts only where what stands beside it leaves it as it is. After one without a unit comes
a word that names none, or nothing; after any, no comparison, no part of a sum, no denial.
"""

from __future__ import annotations

import math
import re
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from perdure.elicitation import quantities as said
from perdure.elicitation import vocabulary as words
from perdure.elicitation.fold import fold
from perdure.elicitation.numerals import numerals
from perdure.records.outcome import Scored, UnscorableCause
from perdure.records.scenario import Question

_LONG_NAME = 3
_NONE = UnscorableCause.NO_NUMBER
_SEVERAL = UnscorableCause.SEVERAL_NUMBERS
_OUT = UnscorableCause.OUT_OF_RANGE


class _Found(NamedTuple):
    value: float | None
    before: str  # the text up to the number, and to a currency before it
    after: str  # the text from the number on, without its unit
    start: int
    end: int
    owned: bool  # it is in the question's unit
    foreign: bool  # it is in another one


class _Units:
    """The names of a question's unit, and how they stand beside a number."""

    def __init__(self, named: tuple[str, ...]) -> None:
        names = {fold(name).strip() for name in named if name}
        names |= {name.removeprefix("\u00b0") for name in names}
        names |= {name.removesuffix("s") for name in names if len(name) >= _LONG_NAME}
        names |= {f"{name}s" for name in names if len(name) > 1}
        if not names.isdisjoint(said.PERCENT):
            names |= said.PERCENT
        self.names = frozenset(names - {""})
        own = "|".join(sorted(map(re.escape, self.names), key=len, reverse=True)) or r"(?!)"
        self.after = re.compile(rf"[ -]*(?:(?:{said.BEFORE_A_UNIT})[ ])?(?:{own})(?![^\W\d_])")
        self.before = re.compile(rf"(?<![^\W\d_])(?:{own})[ ]*$")
        every = sorted(self.names | said.MEASURES, key=len, reverse=True)
        self.any = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, every))})s?(?!\w)")


def read_number(folded: str, question: Question) -> Scored:
    """Read the number that a folded answer gives."""
    text = " ".join(folded.split())
    units = _units((question.unit, *question.unit_aliases))
    every = _numbers(text, units)
    found = [one for one in every if not one.foreign]
    kept = [one for one in found if one.owned] or found
    wrong = _why_not(text, every, kept, question, units) if kept else _why_none(text, every)
    return Scored(unscorable=wrong) if wrong is not None else Scored(number=kept[0].value)


_units = lru_cache(maxsize=256)(_Units)


def _numbers(text: str, units: _Units) -> list[_Found]:
    found = []
    for value, start, end in numerals(text):
        before, after = text[:start], text[end:]
        unit, prefix = units.after.match(after), units.before.search(before)
        owned = unit is not None or prefix is not None
        following = said.FOLLOWING.match(after)
        currency = said.CURRENCY.search(before)
        word = following.group(1) if following else ""
        near = {word, currency.group(1) if currency else ""}
        unknown = units.names and word and word not in said.MAY_FOLLOW
        foreign = not owned and bool(unknown or not near.isdisjoint(said.MEASURES))
        rest = after[unit.end() :] if unit else after
        found.append(_Found(value, before, rest, start, end, owned, foreign))
    return found


def _why_none(text: str, every: list[_Found]) -> UnscorableCause:
    if every:
        return UnscorableCause.OTHER_UNIT
    return UnscorableCause.UNDECIDED if words.UNDECIDED.search(text) else UnscorableCause.NO_NUMBER


def _why_not(
    text: str, every: list[_Found], kept: list[_Found], question: Question, units: _Units
) -> UnscorableCause | None:
    values = {one.value for one in kept}
    low = -math.inf if question.least is None else question.least
    high = math.inf if question.most is None else question.most
    asked = fold(f"{question.text} {question.unit}")
    reasons = (
        (None in values, _NONE),
        (any(said.LABEL_BEFORE.search(one.before) for one in kept), _NONE),
        (low < 0 and any(said.LOOSE_DASH.search(one.before) for one in kept), _NONE),
        (len(values) > 1 or _are_put_together(text, every, kept, units), _SEVERAL),
        (any(_is_bound(one, units) for one in kept), UnscorableCause.ONLY_A_BOUND),
        (any(_is_rate(one, asked, units) for one in kept), UnscorableCause.OTHER_UNIT),
        (words.TAKEN_BACK.search(text) or _is_corrected(every, kept), UnscorableCause.UNDECIDED),
        (not all(low <= (value or 0.0) <= high for value in values), _OUT),
        (math.inf in map(abs, filter(None, values)), _OUT),
    )
    return next((cause for holds, cause in reasons if holds), None)


def _are_put_together(text: str, every: list[_Found], kept: list[_Found], units: _Units) -> bool:
    """Say whether a number is one end of a range, or a part of a sum, a product or a fraction."""
    for left, right in pairwise(every):
        between = text[left.end : right.start]
        bare = " ".join(units.any.sub(" ", between).split())
        linked = said.SUM if right.foreign else said.RANGE
        if (left in kept or right in kept) and linked.fullmatch(bare):
            return True
        if left in kept and right in kept and said.ADDED.fullmatch(between):
            return True
    for one in kept:
        measured = said.ONE_MEASURE.search(one.before)
        if measured and units.any.fullmatch(measured.group(1)):
            return True
        if said.TIMES_BEFORE.search(one.before) or said.PART_AFTER.match(one.after):
            return True
    return False


def _is_bound(one: _Found, units: _Units) -> bool:
    """Say whether a number is compared with, refused, or denied."""
    after = said.ROUGHLY.sub(" ", one.after)
    if said.BOUND_AFTER.match(after) or said.DENIED_AFTER.match(after):
        return True
    if "min" not in units.names and said.MIN_BEFORE.search(one.before):
        return True
    bound = said.BOUND_BEFORE.search(one.before)
    return bound is not None and said.UP_TO.search(one.before) is None


def _is_rate(one: _Found, asked: str, units: _Units) -> bool:
    """Say whether a number is by a time that was not asked for, or on another scale."""
    scale = said.OTHER_SCALE.match(one.after)
    if scale is not None:
        return scale.group(1) not in units.names
    rate = said.RATE.match(one.after)
    if rate is None:
        return False
    period = next(one for one in said.PERIODS if rate.group(1) in one)
    return period.isdisjoint(words.WORD.findall(asked))


def _is_corrected(every: list[_Found], kept: list[_Found]) -> bool:
    """Say whether a second thought gives another number, or none, after the one that counts."""
    last = kept[-1]
    thought = words.SECOND_THOUGHT.search(last.after)
    if thought is None:
        return False
    later = last.after[thought.end() :]
    return said.NO_AMOUNT.search(later) is not None or any(
        one.start >= last.end and one.value != last.value and len(one.after) < len(later)
        for one in every
    )
