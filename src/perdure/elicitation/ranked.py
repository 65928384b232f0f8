"""Reading in which order a folded answer puts all choices of a question, the first one first. Pure.

Numbers or ordinals beside the names decide; without any, the order in which the names first stand.
Every choice has to be there, and nothing that could turn the order round: no other number, and no
comparison of two that leaves the third open.
"""

from __future__ import annotations

import re

from perdure.elicitation import vocabulary as words
from perdure.elicitation.fold import MARKS_FIRST
from perdure.elicitation.mentions import names_of
from perdure.records.outcome import Scored, UnscorableCause
from perdure.records.scenario import Question

_NAMED_PLACES = (
    "first firstly 1st most top best favourite favorite",
    "second secondly 2nd",
    "third thirdly 3rd",
    "fourth 4th",
    "fifth 5th",
    "sixth 6th",
    "seventh 7th",
    "eighth 8th",
    "ninth 9th",
    "tenth 10th",
)
_LAST = -1
_ORDINALS = {
    **{word: place for place, named in enumerate(_NAMED_PLACES, 1) for word in named.split()},
    **dict.fromkeys(("last", "lastly", "finally", "least", "worst", "bottom"), _LAST),
}
_ORDINAL = re.compile(rf"\b(?:{'|'.join(_ORDINALS)})\b")
_NUMBERED = re.compile(
    rf"(?:\bnumber |\bno\.? |#)?\b(\d{{1,2}})(?:[.):]|[ ]*[-=:]| )[ ]*(?:the |my |is )*({words.M})"
)
_NUMBER = re.compile(r"\d+(?!\d|st\b|nd\b|rd\b|th\b)")
# "From most to least preferred" is the order that is read.
_HEADING = re.compile(
    r"\bfrom (?:the )?(?:best|most|favou?rite|first|top)(?: \w+)? "
    r"to (?:the )?(?:worst|least|last|bottom)(?: (?!is\b)\w+)?"
)
_TURNED = re.compile(r"\b(?:reverse|opposite|worst|least|lowest)\b")
_PART = re.compile(r"[,.;!\n()]|\b(?:and|then|but|followed by|next|after that)\b")
_AROUND = re.compile(
    r"\b(?:less|worse|under|below|behind|unless|if|before|until|reverse|opposite|equal|equally"
    r"|tied?|same|beats?|preferable|ahead|better than)\b|\bafter\b(?! that)"
    # Two that are less than a third are not in order: "X to Y and Z".
    rf"|\b(?:to|over|than)\b[^.,;\n]*{words.M} (?:and|or) (?:the |a )?{words.M}"
)


def read_order(folded: str, question: Question) -> Scored:
    """Read the order that a folded answer gives."""
    names = names_of(question.choices)
    text = _HEADING.sub(" ", names.mark(folded))
    first = list(dict.fromkeys(match.group() for match in words.MENTION.finditer(text)))
    if not first:
        undecided = words.UNDECIDED.search(text) is not None
        cause = UnscorableCause.UNDECIDED if undecided else UnscorableCause.NO_CHOICE
        return Scored(unscorable=cause)
    if len(first) != len(names.ids):
        return Scored(unscorable=UnscorableCause.NOT_ALL_RANKED)
    order = _numbered(text, first) if _NUMBER.search(text) else _in_words(text, first)
    if order is None:
        return Scored(unscorable=UnscorableCause.UNCLEAR_ORDER)
    return Scored(choices=tuple(names.ids[ord(mark) - MARKS_FIRST] for mark in order))


def _numbered(text: str, marks: list[str]) -> list[str] | None:
    """Give the order by the numbers beside the names, if each has one of its own, and no other."""
    if _NUMBER.search(_NUMBERED.sub(" ", text)) or _TURNED.search(text):
        return None
    places: dict[str, int] = {}
    for match in _NUMBERED.finditer(text):
        if places.setdefault(match.group(2), int(match.group(1))) != int(match.group(1)):
            return None
    if sorted(places.values()) != list(range(1, len(marks) + 1)):
        return None
    return sorted(marks, key=places.__getitem__)


def _in_words(text: str, first: list[str]) -> list[str] | None:
    """Give the order in which the names stand, or the one of the ordinals beside them."""
    if words.NEGATION.search(text) or words.UNDECIDED.search(text) or _AROUND.search(text):
        return None
    told: dict[str, set[int]] = {}
    for part in _PART.split(text):
        marks = set(words.MENTION.findall(part))
        places = {_ORDINALS[word] for word in _ORDINAL.findall(part)}
        if places and (len(marks) != 1 or len(places) > 1):
            return None
        for mark in marks if places else ():
            told.setdefault(mark, set()).add(len(first) if places == {_LAST} else min(places))
    if any(len(places) > 1 for places in told.values()):
        return None
    place = {mark: min(places) for mark, places in told.items()}
    if sorted(place.values()) == list(range(1, len(first) + 1)):
        return sorted(first, key=place.__getitem__)
    return first if all(first[at - 1 : at] == [mark] for mark, at in place.items()) else None
