"""How an answer stands to each choice that it mentions. Pure.

A mention is read within its clause: what denies, compares, decides or lists it there. The cues are
English; in another language only a plain naming of one choice is understood.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum, auto
from typing import NamedTuple

from perdure.elicitation import vocabulary as words
from perdure.elicitation.fold import MARKS_FIRST

# How far a cue reaches, in characters: farther than in any sentence a person would write.
NEAR = 200


class Standing(Enum):
    """What one mention says of its choice."""

    DECIDED = auto()  # "I'd vote for X", "X.", "X over Y"
    PLAIN = auto()  # named, with nothing that decides or denies it
    REASON = auto()  # named only in a reason
    LISTED = auto()  # one of several side by side: "X or Y"
    DENIED = auto()  # "not X", "I would never vote for X"
    ASIDE = auto()  # spoken of, but not as an answer


class Finding(NamedTuple):
    """One mention: its choice by number, what it says, and where it is in the text."""

    choice: int
    standing: Standing
    place: int


class _Clause(NamedTuple):
    """A piece of a sentence without clause marks, the word that opens it, and where it starts."""

    opener: str
    text: str
    place: int


class _Named(NamedTuple):
    """A mention within its sentence: its clause, and what is near it there on either side."""

    choice: int
    place: int
    clause: _Clause
    before: str
    after: str


def read(marked: str) -> list[Finding]:
    """Find what an answer says of each choice; questions that it asks itself say nothing."""
    if words.SET_PHRASE_HINT.search(marked):
        for pattern, plain in words.SET_PHRASES:
            marked = pattern.sub(plain, marked)
    findings: list[Finding] = []
    for match in words.SENTENCE.finditer(marked):
        sentence, end = match.groups()
        if "?" not in end and words.MENTION.search(sentence):
            findings.extend(_read_sentence(sentence, match.start()))
    return findings


def _read_sentence(sentence: str, start: int) -> Iterator[Finding]:
    named = [
        _named(match, clause)
        for clause in _clauses(sentence)
        for match in words.MENTION.finditer(clause.text)
    ]
    standings = [_standing(mention) for mention in named]
    for place in range(len(named) - 1):
        left, right = named[place], named[place + 1]
        if left.choice != right.choice:
            between = sentence[left.place + 1 : right.place]
            _compare(standings, place, left, right, between)
    for mention, standing in zip(named, standings, strict=True):
        yield Finding(mention.choice, standing, start + mention.place)


def _named(match: re.Match[str], clause: _Clause) -> _Named:
    at = match.start()
    return _Named(
        choice=ord(match.group()) - MARKS_FIRST,
        place=clause.place + at,
        clause=clause,
        before=clause.text[max(at - NEAR, 0) : at],
        after=clause.text[at + 1 : at + 1 + NEAR],
    )


def _clauses(sentence: str) -> Iterator[_Clause]:
    opener, place = "", 0
    for match in words.CLAUSE.finditer(sentence):
        yield _Clause(opener, sentence[place : match.start()], place)
        opener, place = match.group().strip(), match.end()
    yield _Clause(opener, sentence[place:], place)


def _standing(mention: _Named) -> Standing:
    """Read one mention by itself."""
    denied = _denial(mention)
    if denied is not None:
        return denied
    before, opener = mention.before, mention.clause.opener
    if opener in words.ASIDE_OPENERS or _of_others(before) or words.PAST.search(before):
        return Standing.ASIDE
    if opener in words.REASON_OPENERS:
        return Standing.REASON
    if words.DECISION_BEFORE.search(before) or words.DECISION_AFTER.search(mention.after):
        return Standing.DECIDED
    return Standing.ASIDE if opener == "if" else _by_itself(before, mention.after)


def _by_itself(before: str, after: str) -> Standing:
    """Read a mention that no word of choosing goes with: an answer is little else than its name."""
    if words.I_AM_JUST_BEFORE.search(before):
        return Standing.PLAIN
    alone = _is_only_a_name(before, after) or _is_what_i_do(before)
    return Standing.DECIDED if alone else Standing.PLAIN


def _denial(mention: _Named) -> Standing | None:
    """Read what speaks against a mention; None if nothing does."""
    own = words.MENTION.split(mention.before)[-1]
    before = mention.before
    if words.PARTLY.search(before) or words.UNDECIDED.search(before):
        return Standing.ASIDE
    if words.NEGATION.search(before):
        return Standing.DENIED
    if (
        words.NAME_JUST_BEFORE.search(own)
        or words.AGAINST.search(own)
        or words.SHORTCOMING_AFTER.search(mention.after)
    ):
        return Standing.ASIDE
    return None


def _of_others(before: str) -> bool:
    """Say whether the nearest subject before a mention is somebody else."""
    third = max((match.start() for match in words.THIRD_PERSON.finditer(before)), default=-1)
    first = max((match.start() for match in words.FIRST_PERSON.finditer(before)), default=-1)
    return third > first


def _is_only_a_name(before: str, after: str) -> bool:
    """Say whether a clause is nothing but a name, give or take words that add nothing."""
    return all(word in words.FILLER_BEFORE for word in words.MENTION.sub(" ", before).split()) and (
        all(word in words.FILLER_AFTER for word in words.MENTION.sub(" ", after).split())
    )


def _is_what_i_do(before: str) -> bool:
    """Say whether a choice is itself what I do: "I fully agree with", whatever comes after."""
    spoken = before.split()
    return spoken[:1] != [] and spoken[0] in words.I_AM and set(spoken) <= words.FILLER_BEFORE


def _compare(
    standings: list[Standing], place: int, left: _Named, right: _Named, between: str
) -> None:
    """Read two neighbouring mentions of different choices against each other."""
    if Standing.DENIED in standings[place : place + 2]:
        if words.COMPARED.search(between):
            standings[place + 1] = Standing.ASIDE
        return
    better = words.COMPARED.search(between) or words.COMPARED_BETTER.search(between)
    more = words.COMPARED_MORE.search(between) and words.PREFERENCE.search(left.before)
    if better or more:
        standings[place : place + 2] = [Standing.DECIDED, Standing.ASIDE]
    elif _are_listed(right, between):
        standings[place : place + 2] = [Standing.LISTED, Standing.LISTED]


def _are_listed(right: _Named, between: str) -> bool:
    if words.COMPARED_OTHERWISE.search(between):
        return True
    if words.STARTS_A_CLAUSE.search(right.after):
        return False
    if words.COMMA.search(between):
        return not right.after.strip()
    return words.LISTED.search(between) is not None
