"""Marks that folding takes away, and that may turn an answer round. Pure.

Text that is struck out, boxes that are ticked, signs of comparison, small numbers beside a number.
"""

from __future__ import annotations

import re

from perdure.records.outcome import UnscorableCause
from perdure.records.scenario import Question, QuestionType

_STRUCK = re.compile(r"~~[^\s~]|<(?:s|del|strike)>", re.IGNORECASE)
_BOXES = re.compile("\\[[ xX]?\\]|[\u2610-\u2612\u2713-\u2718\u2705\u274c\u274e]")
_LESS = re.compile(r"<(?![a-z/])")
# "At most" is no bound where a number is asked for; an arrow is no sign.
_BOUND = re.compile(
    "(?:(?<![-=<>])>=?|<(?![=a-z/!-])|[\u2265\u2267\u2a7e])\\s*[$\u20ac\u00a3]?\\s*-?\\d"
)
_SMALL = "[\u00b2\u00b3\u00b9\u00bc-\u00be\u2070-\u2089\u2150-\u2189\u2460-\u249b]"
_SMALL_BESIDE = re.compile(rf"\d{_SMALL}|{_SMALL}\d")
_BULLET = re.compile("(?m)^\\s*[-\u2010-\u2013]\\s+[$\u20ac\u00a3]?\\d")

_UNREADABLE = {
    QuestionType.RANKED: UnscorableCause.UNCLEAR_ORDER,
    QuestionType.NUMBER: UnscorableCause.NO_NUMBER,
}


def turned(answer: str, question: Question) -> UnscorableCause | None:
    """Say why an answer cannot be read because of its marks; None if it can be."""
    kind = question.asks_for
    cause = _UNREADABLE.get(kind, UnscorableCause.NO_CHOICE)
    if _STRUCK.search(answer):
        return cause
    if kind is QuestionType.SEVERAL:
        return cause if _BOXES.search(answer) else None
    if kind is QuestionType.RANKED:
        return cause if _LESS.search(answer) else None
    if kind is not QuestionType.NUMBER:
        return None
    if _BOUND.search(answer):
        return UnscorableCause.ONLY_A_BOUND
    # A dash that opens a line is a sign, or the mark of a list.
    may_be_sign = question.least is not None and question.least < 0 and _BULLET.search(answer)
    return cause if may_be_sign or _SMALL_BESIDE.search(answer) else None
