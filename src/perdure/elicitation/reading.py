"""How an answer stands to each choice that it mentions. Pure.

A mention is read within its clause. It decides only where the words beside it are all understood:
from "I" or the start of the clause up to the name, or from the name on. Words that are not known
leave a mention merely named, which is no answer.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum, auto
from itertools import pairwise
from typing import NamedTuple

from perdure.elicitation import vocabulary as words
from perdure.elicitation.fold import MARKS_FIRST
from perdure.elicitation.mentions import Names

# How far a cue reaches, in characters: farther than in any sentence a person would write.
NEAR = 200


class Standing(Enum):
    """What one mention says of its choice."""

    DECIDED = auto()  # "I'd vote for X", "X has my vote", "I agree with it"
    BARE = auto()  # a clause that is nothing but the name, first or last in the answer
    HEADING = auto()  # the same, elsewhere
    FAVOURED = auto()  # "I like X"
    LISTED = auto()  # one of several side by side: "X or Y"
    NAMED = auto()  # spoken of, and nothing that is understood as an answer
    DENIED = auto()  # "not X", "I would never vote for X", "not sure I X", "my name is X"
    OPPOSED = auto()  # "I do not X": a denial that is the other's own answer, if there is one


ANSWERS = (Standing.DECIDED, Standing.BARE)


class Finding(NamedTuple):
    """One mention: its choice by number, what it says, and where it is in the text."""

    choice: int
    standing: Standing
    place: int


class _Mention(NamedTuple):
    """A mention within its sentence: the word that opens its clause, and what is beside it."""

    choice: int
    place: int
    opener: str
    before: str  # in its clause
    after: str
    sentence_before: str
    sentence_after: str


def plain(marked: str) -> str:
    """Replace set phrases whose words would mislead, and drop the numbers of a list."""
    for pattern, replacement in words.SET_PHRASES:
        marked = pattern.sub(replacement, marked)
    return marked


def read(text: str, names: Names) -> list[Finding]:
    """Find what a plain text says of each choice; questions that it asks itself say nothing."""
    sentences = [
        (match.start(), match.group(1))
        for match in words.SENTENCE.finditer(text)
        if "?" not in match.group(2) and words.WORD.search(match.group(1))
    ]
    findings: list[Finding] = []
    for number, (start, sentence) in enumerate(sentences):
        told = any(found.standing in {Standing.NAMED, Standing.LISTED} for found in findings)
        inner = number > 0 and (told or number < len(sentences) - 1)
        for choice, standing, place in _read_sentence(sentence, names):
            heads = number > 0 and words.HEADING.match(sentence, place + 1)
            if standing is Standing.BARE and (inner or heads):
                findings.append(Finding(choice, Standing.HEADING, start + place))
            else:
                findings.append(Finding(choice, standing, start + place))
    return findings


def _read_sentence(sentence: str, names: Names) -> list[Finding]:
    mentions = list(_mentions(sentence))
    standings = [_standing(mention, names) for mention in mentions]
    for at, (left, right) in enumerate(pairwise(mentions)):
        denied = Standing.DENIED in standings[at : at + 2]
        between = sentence[left.place + 1 : right.place]
        if left.choice != right.choice and not denied and _are_listed(right, between):
            standings[at : at + 2] = [Standing.LISTED, Standing.LISTED]
    return [
        Finding(mention.choice, standing, mention.place)
        for mention, standing in zip(mentions, standings, strict=True)
    ]


def _mentions(sentence: str) -> Iterator[_Mention]:
    opener, start = "", 0
    clauses = [
        (match.start(), match.end(), match.group()) for match in words.CLAUSE.finditer(sentence)
    ]
    for stop, after_mark, mark in (*clauses, (len(sentence), len(sentence), "")):
        for match in words.MENTION.finditer(sentence, start, stop):
            at = match.start()
            yield _Mention(
                choice=ord(match.group()) - MARKS_FIRST,
                place=at,
                opener=opener,
                before=sentence[max(at - NEAR, start) : at],
                after=sentence[at + 1 : min(at + 1 + NEAR, stop)],
                sentence_before=sentence[max(at - NEAR, 0) : at],
                sentence_after=sentence[at + 1 : at + 1 + NEAR],
            )
        opener, start = mark.strip(), after_mark


def _standing(mention: _Mention, names: Names) -> Standing:
    """Read one mention by itself."""
    before = mention.before
    if mention.choice in names.persons and words.TAKEN_FOR.search(before):
        return Standing.DENIED
    if _of_others(mention.sentence_before):
        return Standing.NAMED
    if words.PARTLY.search(before) or words.UNDECIDED.search(before):
        return Standing.DENIED
    if words.NEGATION.search(before):
        affirmed = words.NEGATION.sub("", before)
        said = _affirmed(mention._replace(before=affirmed), names)
        return Standing.OPPOSED if said in ANSWERS else Standing.DENIED
    return _affirmed(mention, names)


def _affirmed(mention: _Mention, names: Names) -> Standing:
    """Read a mention that is not denied."""
    if (
        mention.opener in words.ASIDE_OPENERS
        or words.GUARD.search(mention.before)
        or words.CONDITION_BEFORE.search(mention.sentence_before)
        or words.CONDITION_AFTER.search(mention.sentence_after)
        or words.PAST.search(mention.before + " " + mention.after)
        or words.POSSESSED.search(mention.after)
        or words.LIKENED.search(mention.sentence_after)
    ):
        return Standing.NAMED
    return _understood(mention, names)


def _understood(mention: _Mention, names: Names) -> Standing:
    """Say what the words directly beside a mention make of it."""
    after = mention.after
    if words.MENTION.search(mention.before) and words.STARTS_A_CLAUSE.search(after):
        return Standing.NAMED
    chosen = words.CHOSEN_AFTER.search(after)
    last = words.WORD.findall(mention.before)[-1:]
    if chosen and (not last or last[0] in words.KNOWN):
        return Standing.DECIDED if _may_follow(after[chosen.end() :]) else Standing.NAMED
    spoken = _known_before(mention.before)
    return Standing.NAMED if spoken is None else _spoken(spoken, mention, names)


def _spoken(spoken: str, mention: _Mention, names: Names) -> Standing:
    """Read a mention by the known words that lead to it."""
    decision, favour = words.DECISION.search(spoken), words.FAVOUR.search(spoken)
    compared = words.COMPARED_AFTER.search(mention.after)
    if compared and not (decision or favour) and compared.group().startswith(" to "):
        return Standing.NAMED
    after = mention.after[: compared.start()] if compared else mention.after
    by_me = spoken.split(" ", maxsplit=1)[0] in words.I_WORDS
    does = mention.choice not in names.persons and words.I_DO.search(spoken)
    if not (decision or favour or does):
        return Standing.BARE if _is_bare(after, mention, names) else Standing.NAMED
    unclear = (
        not _may_follow(after)
        or (favour and (spoken.endswith(" to") or words.RESERVED.search(mention.sentence_after)))
        or not (by_me or (decision and not words.CALLED.search(mention.sentence_after)))
    )
    if unclear:
        return Standing.NAMED
    if words.I_HAVE.search(spoken):
        return Standing.FAVOURED
    return Standing.DECIDED if decision or does or compared else Standing.FAVOURED


def _may_follow(after: str) -> bool:
    """Say whether the next word leaves a decision as it is."""
    following = words.WORD.findall(after)[:1]
    known = not following or following[0] in words.FOLLOWS or ":" in after[:2]
    return known and words.FOLLOWED_BY_NO.search(after) is None


def _known_before(before: str) -> str | None:
    """Give what leads to a mention, from the last "I" or the clause's start; None if unknown."""
    *others, own = words.MENTION.split(before)
    leading = words.WORD.findall(" ".join((*others, own)))
    by_me = not words.I_WORDS.isdisjoint(words.WORD.findall(own))
    beside = not others or not own.strip() or words.LISTED.search(own)
    if not (by_me or beside) or not words.KNOWN.issuperset(leading):
        return None
    last = max((at for at, word in enumerate(leading) if word in words.I_WORDS), default=0)
    return " ".join(leading[last:])


def _is_bare(after: str, mention: _Mention, names: Names) -> bool:
    """Say whether a clause is nothing but a name, opens or ends its sentence, and calls nobody."""
    if words.GREETING.search(mention.sentence_before) or words.CALLED.search(
        mention.sentence_after
    ):
        return False
    opens = words.KNOWN.issuperset(words.WORD.findall(mention.sentence_before))
    if not opens and not words.FILLER_AFTER.issuperset(words.WORD.findall(mention.sentence_after)):
        return False
    rest = words.MENTION.sub(" ", after.split(":", maxsplit=1)[0])
    if all(word in words.FILLER_AFTER for word in words.WORD.findall(rest)):
        return True
    if mention.choice in names.persons or not words.GOES_ON.search(rest):
        return False
    if mention.choice in names.chances:
        # "Likely that I'll stay": what is likely is told, and need not be what was asked.
        return words.I_WOULD.fullmatch(rest) is not None
    return mention.choice in names.negations or words.NEGATION.search(rest) is None


def _of_others(before: str) -> bool:
    """Say whether the nearest subject before a mention is somebody else."""
    third = max((match.start() for match in words.THIRD_PERSON.finditer(before)), default=-1)
    first = max((match.start() for match in words.FIRST_PERSON.finditer(before)), default=-1)
    return third > first


def _are_listed(right: _Mention, between: str) -> bool:
    if words.STARTS_A_CLAUSE.search(right.after):
        return False
    if words.COMMA.search(between):
        return not right.after.strip()
    return words.LISTED.search(between) is not None
