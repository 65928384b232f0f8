"""Reading in which order a folded answer puts all choices of a question, the first one first. Pure.

Numbers or ordinals beside the names decide; without any, the order in which the names first stand.
Every choice has to be there, and nothing that could turn the order round: no other number, no
comparison of two that leaves the third open. Where nothing but their place puts the names in order,
every word of the sentence has to be understood.
"""

from __future__ import annotations

import re
from itertools import pairwise

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
_TURNED = re.compile(r"\b(?:worst|least|lowest)\b")
# An order that begins at its end, wherever it is said.
_UPWARDS = re.compile(
    r"\b(?:ascending|increasing|backwards?|revers(?:e|ed|ing)|invers(?:e|ely)|inverted|opposite"
    r"|upside down|(?:low|lower|lowest|least|worst|bottom|small|smallest)(?: \w+){0,2} "
    r"(?:to|up)|from (?:the )?(?:low|lower|lowest|least|worst|bottom|last))\b"
)
_PART = re.compile(r"[,.;!\n()]|\b(?:and|then|but|followed by|next|after that)\b")
# A name that opens a line, or that one of these leads to, is placed, whatever else is said of it.
_NEXT = re.compile(
    rf"\b(?:then|next|followed by|after that|finally|lastly)\b[^,.;!\n]*?({words.M})"
)
_OPENS_A_LINE = re.compile(rf"(?m)^[ ]*(?:(?:the|an?|my) )?({words.M})")
# Words that may stand in a sentence which names the choices in their order, and change nothing.
_ORDERING = """
    a about after an and are as b be by c care come comes d descending e f finally first follow
    followed following follows for from g given go goes h here highest i i'd i'll i'm ii iii
    importance important in is it it's iv like list listed maybe me most my next of on or order
    other others over perhaps personally position preference preferred priorities priority probably
    put rank ranked ranking remaining rest say so that that's the then these they this to top two v
    value with would
"""
_UNDERSTOOD = (frozenset(_ORDERING.split()) | words.FILLER_AFTER | set(_ORDINALS)) - {"all", "too"}
_AROUND = re.compile(
    r"\b(?:less|worse|under|below|behind|unless|if|before|until|reverse|opposite|equal|equally"
    r"|tied?|same|beats?|preferable|ahead|better than)\b|\bafter\b(?! that)"
    # Two that are less than a third are not in order: "X to Y and Z".
    rf"|\b(?:to|over|than)\b[^.,;\n]*{words.M} (?:and|or) (?:the |a )?{words.M}"
    rf"|{words.M} (?:and|or|&) (?:the |a |my )?{words.M}[ ,]*(?:over|above|then|followed|next)\b|="
)
_LIST_ENDS = re.compile(r"[.!?;\n]|\b(?:because|since)\b")
_ARTICLES = re.compile(r"\b(?:the|an?|my)\b")


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
    if _UPWARDS.search(text) or _is_corrected(text):
        return Scored(unscorable=UnscorableCause.UNCLEAR_ORDER)
    order = _numbered(text, first) if _NUMBER.search(text) else _in_words(text, first)
    if order is None:
        return Scored(unscorable=UnscorableCause.UNCLEAR_ORDER)
    return Scored(choices=tuple(names.ids[ord(mark) - MARKS_FIRST] for mark in order))


def _is_corrected(text: str) -> bool:
    """Say whether a second thought names again what stands before it."""
    for thought in words.CORRECTION.finditer(text):
        before = words.MENTION.findall(text, 0, thought.start())
        if not set(before).isdisjoint(words.MENTION.findall(text, thought.end())):
            return True
    return False


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
    if any(first[at - 1 : at] != [mark] for mark, at in place.items()):
        return None
    placed = place.keys() | set(_NEXT.findall(text)) | set(_OPENS_A_LINE.findall(text))
    return first if len(placed) >= len(first) - 1 or _is_plain_list(text, first) else None


def _is_plain_list(text: str, first: list[str]) -> bool:
    """Say whether names stand one after another, set apart alike, among words that are understood.

    What leads to the list with a colon, the reason for it, and other sentences may be anything.
    """
    begin = max(text.rfind(mark, 0, text.index(first[0])) for mark in ".!?:\n") + 1
    ends = _LIST_ENDS.search(text, text.index(first[-1]))
    listed = text[begin : ends.start() if ends else len(text)]
    rest = words.WORD.findall(words.MENTION.sub(" ", listed))
    between = [text[text.index(left) + 1 : text.index(right)] for left, right in pairwise(first)]
    marks = [_ARTICLES.sub("", gap).strip(" ") for gap in between]
    # "X, Y > Z" and "X, Y / Z" have two that are alike; the sign of more is read as a space.
    alike = len(set(marks)) == 1 or set(marks).isdisjoint({"", "/"})
    return alike and _UNDERSTOOD.issuperset(rest)
