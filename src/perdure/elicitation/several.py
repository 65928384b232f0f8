"""Reading which of several choices a folded answer gives: all that apply, or none of them. Pure.

A choice is given where it is named in a clause that speaks of oneself ("I use X and Y") or that is
nothing but names ("X, Y"), and every word beside it is understood; it is left out where it is
denied ("but not Z"). What one wants, had or will have is understood only where that was asked. One
that is only spoken of makes the answer unscorable: nobody can say whether it was meant. None is
given where that is said outright, or where every one of them is denied.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum, auto

from perdure.elicitation import vocabulary as words
from perdure.elicitation.fold import MARKS_FIRST, fold
from perdure.elicitation.mentions import names_of
from perdure.elicitation.reading import plain
from perdure.records.outcome import Scored, UnscorableCause
from perdure.records.scenario import Question

_NONE = re.compile(
    r"\b(?:none(?: of (?:them|these|those|the above|the options))?"
    r"|neither(?: of them)?(?=[ ]*(?:$|[.,;!\n]))|nothing(?= at all|[ ]*(?:$|[.,;!\n]))"
    r"|not any(?: of (?:them|these|those))?|no to all)\b"
    r"|(?:\bnot|n't)(?: \w+)? any of (?:them|these|those)\b"
)
_ALL = re.compile(
    r"\b(?:all(?: \w+)? of (?:them|these|those|the above)|all of it|everything|both"
    r"|all(?= (?:but|except)\b))\b"
)
_EXCEPT = re.compile(r"\b(?:except|excluding|apart from|other than|but|without|minus)\b")
_AGAINST = re.compile(
    r"\b(?:hate|dislike|detest|avoid|refuse|reject|skip|quit|stopped|gave up|distrust|mistrust"
    r"|oppose|rarely|seldom)\b"
)
_DOING = """
    agree apply applies bought bring buy carry cook count do drink drive eat enjoy follow get got
    had has have hear include keep know need often one ones own pay play read regularly ride rely on
    said sometimes several take taking these things those two three trust use used using usually
    visit watch which with work works every day daily week weekly by mainly primarily also other too
"""
# Words of an attitude, of what is to come and of what was: they say nothing of what is, and are
# understood only where the question has one of them, or asks for their like.
_WISH = """
    admire consider enjoy favor favour hope intend interested know like love need plan planning
    prefer support supporting trust want
"""
_LATER = (
    r"(?:will|i'll|going to|gonna) (?:\w+ )?(?:get|buy|have|use|install|own|start|try)"
    r"|in (?:the )?future|soon|later|eventually|some ?day|one day|tomorrow"
    r"|next (?:year|month|week|spring|summer|autumn|winter)"
)
_WISHES = re.compile(rf"\b(?:{'|'.join(_WISH.split())}|{_LATER})\b")
_ASKS_WISHES = re.compile(
    rf"{_WISHES.pattern}|\b(?:would|will|should|could|matters?|important|care|concerns?|worr(?:y|ies)"
    r"|choose|pick|think|favou?rites?|apply)\b"
)
_PAST = re.compile(r"\b(?:had|used|bought)\b")
_ASKS_PAST = re.compile(rf"{_PAST.pattern}|\b(?:did|was|were|been|last|ever)\b")
_BESIDE = (
    words.KNOWN
    | words.FILLER_AFTER
    | frozenset(_DOING.split())
    | {"a", "an", "both", "or", "them", "here", "only", "just"}
)
# "X or Y" is one of them, and which is not said.
_EITHER = re.compile(rf"{words.M}[ ]*or(?:[ ](?:maybe|perhaps|else|the|an?|my))*[ ]{words.M}")
_FOLLOW = words.FOLLOWS | frozenset({"sometimes", "often", "too", "daily", "every", "regularly"})


# "The bus: no", "the bus (no)".
_THEN_NO = re.compile(
    rf"{words.M}[ ]*[:=(-]*[ ]*(?:no|nope|never|not|none)\b(?![ ](?:\w+ )?{words.M})"
)


_TWO = 2
_ARTICLES = frozenset({"a", "an", "the", "my"})


class _Said(Enum):
    GIVEN = auto()
    DENIED = auto()
    UNCLEAR = auto()


def read_choices(folded: str, question: Question) -> Scored:
    """Read the choices that a folded answer gives, in the order of the question."""
    names = names_of(question.choices)
    marked = plain(names.mark(folded)).replace("and/or", "or")
    text = _asked_of(marked, fold(question.text))
    said: dict[int, set[_Said]] = {}
    for number, how in _mentions(text):
        said.setdefault(number, set()).add(how)
    given = {number for number, how in said.items() if _Said.GIVEN in how}
    denied = {number for number, how in said.items() if _Said.DENIED in how}
    everyone = set(range(len(names.ids)))
    if not given and _all_given(text, len(everyone)):
        given = everyone - denied
    elif _THEN_NO.search(text) or any(how == {_Said.UNCLEAR} for how in said.values()):
        return Scored(unscorable=UnscorableCause.NO_CHOICE)
    elif not given and (_NONE.search(text) or denied == everyone):
        return Scored(choices=())
    if given & denied or words.TAKEN_BACK.search(folded) or words.NEVER.search(text):
        return Scored(unscorable=UnscorableCause.UNDECIDED)
    if not given:
        undecided = words.UNDECIDED.search(folded) is not None and not denied
        cause = UnscorableCause.UNDECIDED if undecided else UnscorableCause.NO_CHOICE
        return Scored(unscorable=cause)
    kept = {names.ids[number] for number in given}
    return Scored(choices=tuple(one.id for one in question.choices if one.id in kept))


def _asked_of(text: str, question: str) -> str:
    """Replace words of wishes or of the past, unless a question has them, by an unknown one."""
    for spoken, asks in ((_WISHES, _ASKS_WISHES), (_PAST, _ASKS_PAST)):
        if asks.search(question) is None:
            text = spoken.sub("unasked", text)
    return text


def _all_given(text: str, choices: int) -> bool:
    """Say whether the text is that all apply, but perhaps for some that it names."""
    found = _ALL.search(text)
    if found is None or (found.group() == "both" and choices != _TWO):
        return False
    rest = words.MENTION.sub(" ", _EXCEPT.sub(" ", _ALL.sub(" ", text)))
    return _BESIDE.issuperset(words.WORD.findall(rest))


def _mentions(text: str) -> Iterator[tuple[int, _Said]]:
    """Find what is said of each mention, clause by clause; a sentence that asks says nothing."""
    for match in words.SENTENCE.finditer(text):
        if "?" in match.group(2):
            continue
        by_me, denying = True, False
        everything = _ALL.search(match.group(1)) is not None
        for opener, clause, rest in _clauses(match.group(1)):
            either = _EITHER.search(clause) is not None
            mine = not words.I_WORDS.isdisjoint(words.WORD.findall(clause))
            for mention in words.MENTION.finditer(clause):
                before, after = clause[: mention.start()], clause[mention.end() :]
                beside = words.WORD.findall(words.MENTION.sub(" ", before))
                understood = _BESIDE.issuperset(beside)
                # "I use X, Y and Z": what follows a comma goes on, and so does a "not".
                goes_on = understood and not mine and opener in {",", "and"}
                denying = (denying and goes_on) or _is_denied(opener, before, everything)
                given = (mine or by_me) and understood and not either
                given = given and not _is_aside(opener, before, after, rest)
                how = _Said.DENIED if denying else _Said.GIVEN if given else _Said.UNCLEAR
                by_me = by_me and understood
                yield ord(mention.group()) - MARKS_FIRST, how
            spoken = words.WORD.findall(words.MENTION.sub(" ", clause))
            by_me = mine or (by_me and _BESIDE.issuperset(spoken))


def _clauses(sentence: str) -> Iterator[tuple[str, str, str]]:
    """Part a sentence into clauses: what opens each, its words, and what follows it."""
    opener, start = "", 0
    for match in words.CLAUSE.finditer(sentence):
        yield opener, sentence[start : match.start()], sentence[match.start() :]
        opener, start = match.group().strip(), match.end()
    yield opener, sentence[start:], ""


def _is_denied(opener: str, before: str, everything: bool) -> bool:  # noqa: FBT001
    return bool(
        words.NEGATION.search(before)
        or words.PARTLY.search(before)
        or _AGAINST.search(before)
        or _EXCEPT.search(before)
        or (everything and opener == "but" and _ARTICLES.issuperset(words.WORD.findall(before)))
    )


def _is_aside(opener: str, before: str, after: str, rest: str) -> bool:
    """Say whether a mention is under a condition, past, somebody else's, or goes on oddly."""
    following = words.WORD.findall(after)[:1]
    known = all(word in _BESIDE | _FOLLOW or words.MENTION.fullmatch(word) for word in following)
    return bool(
        not known
        or opener in words.ASIDE_OPENERS
        or words.THIRD_PERSON.search(before)
        or words.GUARD.search(before)
        or words.PAST.search(before + " " + after)
        or words.CONDITION_AFTER.search(after + rest)
    )
