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
_NEAR = 200  # how far a cue reaches, in characters
_NONE = UnscorableCause.NO_NUMBER
_SEVERAL = UnscorableCause.SEVERAL_NUMBERS
_OUT = UnscorableCause.OUT_OF_RANGE


class _Found(NamedTuple):
    value: float | None
    before: str  # what leads to it, as far as that can matter
    after: str  # what follows it, without its unit
    start: int
    end: int
    owned: bool  # it is in the question's unit
    foreign: bool  # it is in another one


class _Asked:
    """What a question asks for: the names of its unit beside a number, its bounds, its words."""

    def __init__(self, question: Question) -> None:
        names = {fold(name).strip() for name in (question.unit, *question.unit_aliases) if name}
        names |= {name.removeprefix("\u00b0") for name in names}
        names |= {name.removesuffix("s") for name in names if len(name) >= _LONG_NAME}
        names |= {f"{name}s" for name in names if len(name) > 1}
        if not names.isdisjoint(said.PERCENT):
            names |= said.PERCENT
        self.names = frozenset(names - {""})
        self.words = frozenset(words.WORD.findall(fold(f"{question.text} {question.unit}")))
        # Without a unit, what is counted is in the question.
        self.others = said.MEASURES - (self.names or self.words)
        own = "|".join(sorted(map(re.escape, self.names), key=len, reverse=True)) or r"(?!)"
        self.after = re.compile(rf"[ -]*(?:(?:{said.BEFORE_A_UNIT})[ ])?(?:{own})(?![^\W\d_])")
        self.before = re.compile(rf"(?<![^\W\d_])(?:{own})[ ]*$")
        every = sorted(self.names | said.MEASURES, key=len, reverse=True)
        self.any = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, every))})s?(?!\w)")
        self.low = -math.inf if question.least is None else question.least
        self.high = math.inf if question.most is None else question.most


def read_number(folded: str, question: Question) -> Scored:
    """Read the number that a folded answer gives."""
    text, asked = " ".join(folded.split()), _asked_for(question)
    every = _numbers(text, asked)
    found = [one for one in every if not one.foreign]
    kept = [one for one in found if one.owned] or found
    wrong = _why_not(text, every, kept, asked) if kept else _why_none(text, every)
    return Scored(unscorable=wrong) if wrong is not None else Scored(number=kept[0].value)


_asked_for = lru_cache(maxsize=256)(_Asked)


def _numbers(text: str, asked: _Asked) -> list[_Found]:
    found = []
    for value, start, end in numerals(text):
        before, after = text[max(0, start - _NEAR) : start], text[end : end + _NEAR]
        unit, prefix = asked.after.match(after), asked.before.search(before)
        owned = unit is not None or prefix is not None
        following, currency = said.FOLLOWING.match(after), said.CURRENCY.search(before)
        word = following.group(1) if following else ""
        unknown = bool(asked.names and word) and word not in said.MAY_FOLLOW
        measured = word in asked.others or (currency and currency.group(1) in asked.others)
        foreign = not owned and bool(unknown or measured)
        rest = after[unit.end() :] if unit else after
        found.append(_Found(value, before, rest, start, end, owned, foreign))
    return found


def _why_none(text: str, every: list[_Found]) -> UnscorableCause:
    if every:
        return UnscorableCause.OTHER_UNIT
    return UnscorableCause.UNDECIDED if words.UNDECIDED.search(text) else UnscorableCause.NO_NUMBER


def _why_not(
    text: str, every: list[_Found], kept: list[_Found], asked: _Asked
) -> UnscorableCause | None:
    values = {one.value for one in kept}
    unclear = said.LABEL_BEFORE if asked.low >= 0 else said.LABEL_OR_DASH_BEFORE
    reasons = (
        (None in values or any(unclear.search(one.before) for one in kept), _NONE),
        (len(values) > 1 or _are_put_together(text, every, kept, asked), _SEVERAL),
        (any(_is_bound(one, asked) for one in kept), UnscorableCause.ONLY_A_BOUND),
        (any(_is_rate(one, asked) for one in kept), UnscorableCause.OTHER_UNIT),
        (
            words.TAKEN_BACK.search(text) or _is_corrected(text, every, kept),
            UnscorableCause.UNDECIDED,
        ),
        (not all(_is_possible(value, asked) for value in values), _OUT),
    )
    return next((cause for holds, cause in reasons if holds), None)


def _is_possible(value: float | None, asked: _Asked) -> bool:
    return value is not None and math.isfinite(value) and asked.low <= value <= asked.high


def _are_put_together(text: str, every: list[_Found], kept: list[_Found], asked: _Asked) -> bool:
    """Say whether a number is one end of a range, or a part of a sum, a product or a fraction."""
    for left, right in pairwise(every):
        between = text[left.end : right.start]
        bare = " ".join(asked.any.sub(" ", between).split())
        linked = said.SUM if right.foreign else said.RANGE
        # "20 bis 30": whatever single word it is, unless it is one that begins something else.
        abroad = right in kept and bare.isalpha() and bare not in said.MAY_FOLLOW
        if (left in kept or right in kept) and (abroad or linked.fullmatch(bare)):
            return True
        if left in kept and right in kept and said.ADDED.fullmatch(between):
            return True
    for one in kept:
        measured = said.ONE_MEASURE.search(one.before)
        if measured and asked.any.fullmatch(measured.group(1)):
            return True
        if said.TIMES_BEFORE.search(one.before) or said.PART_AFTER.match(one.after):
            return True
    return False


def _is_bound(one: _Found, asked: _Asked) -> bool:
    """Say whether a number is compared with, refused, or denied."""
    after = said.ROUGHLY.sub(" ", one.after)
    if said.BOUND_AFTER.match(after) or said.DENIED_AFTER.match(after):
        return True
    if "min" not in asked.names and said.MIN_BEFORE.search(one.before):
        return True
    bound = said.BOUND_BEFORE.search(one.before)
    return bound is not None and said.UP_TO.search(one.before) is None


def _is_rate(one: _Found, asked: _Asked) -> bool:
    """Say whether a number is by a time that was not asked for, or on another scale."""
    scale = said.OTHER_SCALE.match(one.after)
    if scale is not None:
        return scale.group(1) not in asked.names
    rate = said.RATE.match(one.after)
    if rate is None:
        return False
    period = next(one for one in said.PERIODS if rate.group(1) in one)
    return period.isdisjoint(asked.words)


def _is_corrected(text: str, every: list[_Found], kept: list[_Found]) -> bool:
    """Say whether a second thought gives another number, or none, after the one that counts."""
    last = kept[-1]
    thought = words.SECOND_THOUGHT.search(text, last.end)
    if thought is None:
        return False
    others = (one for one in every if one.value != last.value)
    later = any(one.start >= thought.end() for one in others)
    return later or said.NO_AMOUNT.search(text, thought.end()) is not None
