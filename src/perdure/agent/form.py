"""The form that a persona answers in on a channel: what is asked for, and how it is read. Pure.

Its own words come first; then lines of their own say which message the answer is about, what the
persona does, and how that message changed how far it believes the claim that it is about:

    I do not trust them with the money.
    Message: 2
    Action: reply
    Belief: less convinced

Reading is lenient about how it is written and strict about what it says: an answer whose lines
cannot be read, or that is about something that was not shown, breaks a rule.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from perdure.agent.prompt import quote
from perdure.base.text import normalise, one_line
from perdure.records.outcome import Rule
from perdure.records.presentation import Stimulus
from perdure.records.reaction import Action, Change, Reaction
from perdure.records.scenario import Claim

_NONE = "none"
_CHANGES = {
    Change.MUCH_LESS: "much less convinced",
    Change.LESS: "less convinced",
    Change.SAME: "unchanged",
    Change.MORE: "more convinced",
    Change.MUCH_MORE: "much more convinced",
}
_ASKED = (
    "Answer in your own words first, in one or two sentences. Then write these lines, each on a "
    "line of its own:"
)
_BROKEN = {
    Rule.UNREADABLE: "its lines cannot be read",
    Rule.NOT_SHOWN: "it is about a message that you were not shown",
}

# What a model puts around labels and values: lists, quotations, emphasis, brackets.
_AROUND = " \t*_`#>|-–•·\"'“”‘’«»<>[](){}"  # noqa: RUF001 - marks as they are written
_PLACE = re.compile(r"\d{1,2}[.)]")
_LABEL = re.compile(r"(message|action|belief)[\s*_`]*[:=：]", re.IGNORECASE)  # noqa: RUF001
_NUMBER = re.compile(r"(?:message |number |no\.? |nr\.? )?#?(\d{1,9})(?![.,]?\d)\D*")
_STRONG = re.compile(r"\b(much|far|lot|strongly)\b")
_NO_CHANGE = re.compile(r"\b(unchanged|same|not changed|no change|as before)\b")
# A message that is named by its number; "a message 5 minutes ago" is none.
_CITED = re.compile(
    r"\bmessages? (?:number |no\.? |nr\.? )?#?(\d{1,9})\b"
    r"(?! (?:second|minute|hour|day|week|month|time)s?\b)"
)
_NOT_MORE = re.compile(r"\b(no|not|not any|neither) (more|less)\b")
_NOTHING = re.compile(r"|none|nothing|no|no action|n/?a|null|not applicable")
_TO_MESSAGE = re.compile(r"(.*?)(?: to| on| with| about)? (?:the )?(?:message )?#?\d+")
_VALUE_WIDTH_MAX = 600
_ACTION_WIDTH_MAX = 60


def form_text(actions: Sequence[Action], shown: int) -> str:
    """Say in which form to answer, where `shown` messages are shown."""
    names = " / ".join([*(action.name for action in actions), _NONE])
    lines = [_ASKED]
    if shown:
        lines.append(f"Message: the number of the message that it is about, or {_NONE}")
    lines.append(f"Action: {names}")
    if shown:
        lines.append(
            "Belief: how that message changed how far you believe the claim that it makes or is "
            "about: " + " / ".join(_CHANGES.values())
        )
    return "\n".join(lines)


def correction_text(rule: Rule, answer: str) -> str:
    """Say which rule an answer broke, and that another one in the form is wanted."""
    return (
        f"You answered: {quote(answer)}\n"
        f"That answer cannot be used: {_BROKEN[rule]}. Answer again, exactly in this form and only "
        "about what you are shown above."
    )


def read_form(
    answer: str, shown: Sequence[Stimulus], actions: Sequence[Action], claims: Sequence[Claim] = ()
) -> Reaction | Rule:
    """Read an answer; give what it says that the persona does, or the rule that it breaks.

    An action that is not among `actions` breaks no rule: it is given as it was written. `claims`
    are all there are, shown or not.
    """
    words, lines = _parted(answer)
    values = {label: _one_of(given) for label, given in lines.items()}
    action = values.get("action")
    if not action or None in values.values():
        return Rule.UNREADABLE
    stimulus = _message(values.get("message"), shown, claims)
    if isinstance(stimulus, Rule):
        return stimulus
    if any(not 1 <= int(number) <= len(shown) for number in _CITED.findall(_folded(words))):
        return Rule.NOT_SHOWN
    change = _change(values.get("belief"))
    if isinstance(change, Rule):
        return change
    return Reaction(action=_action(action, actions), stimulus=stimulus, words=words, change=change)


def _parted(answer: str) -> tuple[str, dict[str, list[str]]]:
    """Part an answer into the words before its first line with a label, and the labels' values."""
    words: list[str] = []
    found: dict[str, list[str]] = {}
    for line in answer.splitlines():
        bare = line.lstrip(_AROUND)
        place = _PLACE.match(bare)
        bare = bare[place.end() :].lstrip(_AROUND) if place else bare
        label = _LABEL.match(bare)
        if label is not None:
            value = bare[label.end() : label.end() + _VALUE_WIDTH_MAX].strip(_AROUND)
            found.setdefault(label.group(1).lower(), []).append(value)
        elif not found:
            words.append(line)
    # A form in a code block, or under a rule, leaves its fence behind.
    while words and not words[-1].strip(" \t`*-_="):
        words.pop()
    return "\n".join(words).strip(), found


def _one_of(values: Sequence[str]) -> str | None:
    """Give the value of a label; None if it has several that differ."""
    return values[0] if len({_folded(value) for value in values}) == 1 else None


def _message(value: str | None, shown: Sequence[Stimulus], claims: Sequence[Claim]) -> str | Rule:
    """Find the message that is meant, by its number or by what it says; empty for none."""
    if value is None:
        return shown[0].id if len(shown) == 1 else ""
    folded = _folded(value)
    if _NOTHING.fullmatch(folded):
        return ""
    number = _NUMBER.fullmatch(folded)
    if number is not None:
        place = int(number.group(1))
        return shown[place - 1].id if 1 <= place <= len(shown) else Rule.NOT_SHOWN
    said = [one.id for one in shown if folded in _names(one.claim, one.text)]
    if len(said) == 1:
        return said[0]
    known = any(folded in _names(claim.id, claim.text) for claim in claims)
    return Rule.NOT_SHOWN if known and not said else Rule.UNREADABLE


def _names(claim: str, text: str) -> set[str]:
    """Give what a message can be called by, beside its number: its claim, and what it says."""
    return {_folded(claim), _folded(text), _folded(quote(text).strip('"'))}


def _action(value: str, actions: Sequence[Action]) -> str:
    """Give the action's own name; as it was written if it is none of them, empty for nothing."""
    folded = _folded(value)
    if _NOTHING.fullmatch(folded):
        return ""
    names = {_plain(action.name): action.name for action in actions}
    head = re.split(r"[(\[,.;:–—]| - ", folded, maxsplit=1)[0].strip()  # noqa: RUF001
    to_message = _TO_MESSAGE.fullmatch(head)
    for said in (folded, head, to_message.group(1) if to_message else ""):
        if _plain(said) in names:
            return names[_plain(said)]
    return one_line(value, _ACTION_WIDTH_MAX)


def _plain(name: str) -> str:
    return re.sub(r"[\W_]+", "", normalise(name))


def _change(value: str | None) -> Change | Rule | None:
    """Read a change of belief; None if none is told."""
    if value is None or _NOTHING.fullmatch(folded := _folded(value)):
        return None
    more, less = (re.search(rf"\b{word}\b", folded) is not None for word in ("more", "less"))
    if _NOT_MORE.search(folded) or (_NO_CHANGE.search(folded) and not more and not less):
        return Change.SAME
    if more is less:
        return Rule.UNREADABLE
    strong = _STRONG.search(folded) is not None
    if more:
        return Change.MUCH_MORE if strong else Change.MORE
    return Change.MUCH_LESS if strong else Change.LESS


def _folded(value: str) -> str:
    return normalise(value).strip(" .,;:!")
