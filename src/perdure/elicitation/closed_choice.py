"""Scoring a free answer to a closed question: one choice, or the cause why there is none. Pure.

docs/scoring.md gives the rule with examples. In order:

1. Nothing but white space is EMPTY.
2. A refusal (as an AI, cannot answer, rather not say) is REFUSED, whatever follows it.
3. Two choices that are decided for, by words of choosing or by a bare name, are SEVERAL_CHOICES.
4. One that is decided for is the score, unless the answer denies it or takes it back anywhere.
5. Words of indecision (do not know, neither, not sure) are UNDECIDED.
6. One that is only liked, while no other is named, is the score.
7. Otherwise two that are named are SEVERAL_CHOICES, all denied is UNDECIDED, the rest NO_CHOICE.

To name a choice is not to choose it. To deny one choice is not to give another, except where one
is the other's own opposite in words (agree and disagree). Sentences that end in a question mark,
quoted sentences, and the question's own text are not read. The cues are English.
"""

from __future__ import annotations

from functools import lru_cache

from perdure.elicitation import vocabulary as words
from perdure.elicitation.echo import folded_answer
from perdure.elicitation.fold import fold
from perdure.elicitation.mentions import Names, names_of
from perdure.elicitation.reading import ANSWERS, Finding, Standing, plain, read
from perdure.records.outcome import Scored, UnscorableCause
from perdure.records.scenario import Question

_REMEMBERED_LENGTH_MAX = 240
_SEVERAL = Scored(unscorable=UnscorableCause.SEVERAL_CHOICES)


def score(answer: str, question: Question) -> Scored:
    """Score an answer. When it is unclear it is unscorable, with its cause; nothing is guessed."""
    if len(answer) <= _REMEMBERED_LENGTH_MAX:
        return _score_once(answer, question)
    return _score(answer, question)


def _score(answer: str, question: Question) -> Scored:
    if not answer.strip():
        return Scored(unscorable=UnscorableCause.EMPTY)
    folded = folded_answer(answer, question)
    if words.REFUSAL.search(folded):
        return Scored(unscorable=UnscorableCause.REFUSED)
    names = names_of(question.choices)
    text = plain(names.mark(folded))
    findings = [_opposed(finding, text, names) for finding in read(text, names)]
    asked = frozenset(words.WORD.findall(fold(question.text)))
    if any(_is_contradicted(finding, text, names, asked) for finding in findings):
        return Scored(unscorable=UnscorableCause.NO_CHOICE)
    verdict = _verdict(findings, text, len(names.ids))
    return verdict if isinstance(verdict, Scored) else Scored(choice=names.ids[verdict])


# Short answers to closed questions repeat. Scoring is pure, so this changes nothing but its cost.
_score_once = lru_cache(maxsize=4_096)(_score)


def _opposed(finding: Finding, text: str, names: Names) -> Finding:
    """Read "I do not agree" as to disagree, if the question has that; "No, I agree" as neither."""
    choice, standing = finding.choice, finding.standing
    if standing is Standing.OPPOSED:
        if choice not in names.opposite:
            return finding._replace(standing=Standing.DENIED)
        choice, standing = names.opposite[choice], Standing.DECIDED
    if standing in ANSWERS:
        said = words.ANSWER_BEFORE.search(text, 0, finding.place)
        contrary = names.opposite if said and said.group(1) == "no" else names.opposite.values()
        if said and choice in contrary:
            standing = Standing.NAMED
    return finding._replace(choice=choice, standing=standing)


def _is_contradicted(finding: Finding, text: str, names: Names, asked: frozenset[str]) -> bool:
    """Say whether a yes or no goes on with the other: "Yes, I would not", where that was asked."""
    if finding.standing not in ANSWERS or finding.choice not in names.yes | names.negations:
        return False
    goes_on = words.I_WOULD.match(text, finding.place + 1)
    if goes_on is None:
        return False
    denied = goes_on["not"] is not None
    if goes_on["verb"] is None or goes_on["verb"] in asked:
        return denied is (finding.choice in names.yes)
    return False


def _verdict(findings: list[Finding], text: str, choices: int) -> int | Scored:
    """Decide by the module's rule: the number of a choice, or a score without one."""
    decided = _choices(findings, *ANSWERS)
    headed = _choices(findings, Standing.HEADING) - decided
    if len(decided) > 1 or (decided and (headed or _is_exchanged(findings, text))):
        return _SEVERAL
    denied = _choices(findings, Standing.DENIED)
    undecided = words.UNDECIDED.search(text) is not None
    if decided and _holds(findings, text) and not decided & denied:
        return decided.pop()
    if decided or undecided:
        return _open(undecided=undecided)
    favoured = _choices(findings, Standing.FAVOURED)
    named = favoured | _choices(findings, Standing.NAMED, Standing.LISTED, Standing.HEADING)
    if favoured == named and len(favoured - denied) == 1 and not words.NEVER.search(text):
        return favoured.pop()
    if len(named) > 1:
        return _SEVERAL
    return _open(undecided=0 < choices == len(denied))


def _open(*, undecided: bool) -> Scored:
    cause = UnscorableCause.UNDECIDED if undecided else UnscorableCause.NO_CHOICE
    return Scored(unscorable=cause)


def _choices(findings: list[Finding], *standings: Standing) -> set[int]:
    return {finding.choice for finding in findings if finding.standing in standings}


def _is_exchanged(findings: list[Finding], text: str) -> bool:
    """Say whether a second thought names another choice after the one that is decided for."""
    decided = next(finding for finding in findings if finding.standing in ANSWERS)
    thoughts = words.SECOND_THOUGHT.finditer(text, decided.place + 1)
    named = (words.SOON_NAMED.match(text, thought.end()) for thought in thoughts)
    own = text[decided.place]
    return any(match is not None and match.group(1) != own for match in named)


def _holds(findings: list[Finding], text: str) -> bool:
    """Say whether a decision is not taken back after it, nor turned round by a phrase of never."""
    last = max(finding.place for finding in findings if finding.standing in ANSWERS)
    return not words.TAKEN_BACK.search(text, last) and not words.NEVER.search(text)
