"""Scoring a free answer to a closed question: one choice, or the cause why there is none. Pure.

The rule, in order:

1. Nothing but white space is EMPTY.
2. A refusal (as an AI, cannot answer, rather not say) is REFUSED, whatever follows it.
3. One choice that is decided for is the score: by a verb of choosing, by comparison (X over Y), or
   because a clause is nothing but its name. Two are SEVERAL_CHOICES. A decision that is denied or
   taken back afterwards counts for nothing.
4. Words of indecision (do not know, neither, not sure) are UNDECIDED.
5. Choices only listed side by side are SEVERAL_CHOICES.
6. One choice that is merely named, with nothing said against it, is the score; several are
   SEVERAL_CHOICES. Names given only within a reason come last, by the same rule.
7. To deny every choice is UNDECIDED; anything else is NO_CHOICE.

To deny one choice is not to give another, except where one is the other's own opposite in words
(agree and disagree). Sentences that end in a question mark, and the question's own text, are not
read. The cues are English.
"""

from __future__ import annotations

from functools import lru_cache

from perdure.elicitation import vocabulary as words
from perdure.elicitation.fold import fold
from perdure.elicitation.mentions import Names, names_of
from perdure.elicitation.reading import Finding, Standing, read
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
    folded = _without_echo(fold(answer), question.text)
    if words.REFUSAL.search(folded):
        return Scored(unscorable=UnscorableCause.REFUSED)
    names = names_of(question.choices)
    marked = names.mark(folded)
    findings = [_opposed(finding, names) for finding in read(marked)]
    verdict = _verdict(findings, marked, len(names.ids))
    return verdict if isinstance(verdict, Scored) else Scored(choice=names.ids[verdict])


def _without_echo(folded: str, question: str) -> str:
    """Drop what repeats the question."""
    echoed = _echo_of(question)
    if echoed:
        folded = folded.replace(echoed, " . ")
    return words.ECHO_LINE.sub("", folded)


# Short answers to closed questions repeat. Scoring is pure, so this changes nothing but its cost.
_score_once = lru_cache(maxsize=4_096)(_score)


@lru_cache(maxsize=256)
def _echo_of(question: str) -> str:
    """Fold a question's text, once for each question."""
    return fold(question).replace("\n", " ").strip()


def _opposed(finding: Finding, names: Names) -> Finding:
    """Read the denial of a choice as its opposite, if the question has that one."""
    opposite = names.opposite.get(finding.choice)
    if finding.standing is Standing.DENIED and opposite is not None:
        return finding._replace(choice=opposite, standing=Standing.DECIDED)
    return finding


def _verdict(findings: list[Finding], marked: str, choices: int) -> int | Scored:
    """Decide by the module's rule: the number of a choice, or a score without one."""
    decided = _choices(findings, Standing.DECIDED)
    if len(decided) > 1:
        return _SEVERAL
    undecided = words.UNDECIDED.search(marked) is not None
    if decided:
        (choice,) = decided
        return choice if _holds(choice, findings, marked) else _open(undecided=undecided)
    if undecided:
        return Scored(unscorable=UnscorableCause.UNDECIDED)
    return _merely_named(findings, choices)


def _merely_named(findings: list[Finding], choices: int) -> int | Scored:
    """Decide where nothing was decided for: by the last three points of the module's rule."""
    if _choices(findings, Standing.LISTED):
        return _SEVERAL
    denied = _choices(findings, Standing.DENIED)
    for standing in (Standing.PLAIN, Standing.REASON):
        named = _choices(findings, standing)
        if len(named) > 1:
            return _SEVERAL
        if named and not named & denied:
            return named.pop()
    return _open(undecided=0 < choices == len(denied))


def _open(*, undecided: bool) -> Scored:
    cause = UnscorableCause.UNDECIDED if undecided else UnscorableCause.NO_CHOICE
    return Scored(unscorable=cause)


def _choices(findings: list[Finding], standing: Standing) -> set[int]:
    return {finding.choice for finding in findings if finding.standing is standing}


def _holds(choice: int, findings: list[Finding], marked: str) -> bool:
    """Say whether the last decision for a choice is neither denied nor taken back after it."""
    of_choice = [finding for finding in findings if finding.choice == choice]
    last = max(f.place for f in of_choice if f.standing is Standing.DECIDED)
    denied = any(f.standing is Standing.DENIED and f.place > last for f in of_choice)
    return not denied and words.TAKEN_BACK.search(marked, last) is None
