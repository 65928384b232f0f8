"""What a persona is shown on a channel where it can do something, and what it can do. Pure.

The messages are numbered, so that an answer can say which of them it is about. Beside each stands
what is public about it: whose it is to the persona, what others did with it, what it answers, and
which claim it is about, so that whoever says how far a message has convinced it knows of what.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from perdure.agent.prompt import quote
from perdure.records.presentation import Stimulus, View
from perdure.records.reaction import Action
from perdure.records.scenario import Question

# From which strength of a tie on somebody is known, and known well.
_KNOWN = 0.33
_KNOWN_WELL = 0.67


def messages_text(
    shown: Sequence[Stimulus], view: View, question: Question, claims: Mapping[str, str]
) -> str:
    """Write the messages that are shown, numbered from 1; empty if there are none.

    `claims` are the texts of all claims, by id.
    """
    if not shown:
        return ""
    places = {stimulus.id: number for number, stimulus in enumerate(shown, 1)}
    subjects = {claim: f"about: {quote(text)}" for claim, text in claims.items()}
    for stimulus in shown:
        if claims.get(stimulus.claim) == stimulus.text:
            subjects[stimulus.claim] = f"about message {places[stimulus.id]}"
    lines = [
        f"{number}. {quote(stimulus.text)}{_about(stimulus, view, question, places, subjects)}"
        for number, stimulus in enumerate(shown, 1)
    ]
    return "\n".join(["What you are shown now:", *lines])


def actions_text(actions: Sequence[Action]) -> str:
    """Write what can be done on the channel."""
    return "\n".join(["What you can do:", *(f"- {_described(action)}" for action in actions)])


def _described(action: Action) -> str:
    told = ["to one of the messages"] if action.about else []
    told += ["in your own words"] if action.says else []
    return f"{action.name} ({', '.join(told)})" if told else action.name


def _about(
    stimulus: Stimulus,
    view: View,
    question: Question,
    places: Mapping[str, int],
    subjects: Mapping[str, str],
) -> str:
    told = [
        *_whose(stimulus, view),
        *_counted(view.counts.get(stimulus.id, {}), question),
        *_answered(stimulus, view, places),
        *_subject(stimulus, places, subjects),
    ]
    return f" ({'; '.join(told)})" if told else ""


def _whose(stimulus: Stimulus, view: View) -> Iterator[str]:
    tie, told = view.ties.get(stimulus.id, 0.0), stimulus.id in view.told_by
    if told:
        yield f"{_relation(tie)} told you"
    elif stimulus.author:
        yield f"from {_relation(tie)}"
    if stimulus.id in view.near:
        yield "from your community"


def _relation(tie: float) -> str:
    if tie >= _KNOWN_WELL:
        return "somebody you know well"
    if tie >= _KNOWN:
        return "somebody you know"
    return "somebody you know a little" if tie > 0 else "somebody you do not know"


def _counted(counts: Mapping[str, int], question: Question) -> Iterator[str]:
    labels = {choice.id: choice.label for choice in question.choices}
    told = [
        f"{count} answered {labels[name]}" if name in labels else f"{count} {_plural(name, count)}"
        for name, count in sorted(counts.items())
        if count
    ]
    if told:
        yield ", ".join(told)


def _plural(name: str, count: int) -> str:
    word = name.replace("_", " ")
    if count == 1:
        return word
    if word.endswith(("s", "x", "ch", "sh")):
        return f"{word}es"
    return f"{word[:-1]}ies" if word.endswith("y") and word[-2:-1] not in "aeiou" else f"{word}s"


def _answered(stimulus: Stimulus, view: View, places: Mapping[str, int]) -> Iterator[str]:
    answered = stimulus.reply_to or next(reversed(view.threads.get(stimulus.id, ())), "")
    if answered in places:
        yield f"in answer to message {places[answered]}"
    elif answered:
        yield "in answer to an earlier message"


def _subject(
    stimulus: Stimulus, places: Mapping[str, int], subjects: Mapping[str, str]
) -> Iterator[str]:
    subject = subjects.get(stimulus.claim, "")
    # Of the message that it is, or that it is told to answer, nobody has to be told.
    known = {f"about message {places.get(one)}" for one in (stimulus.id, stimulus.reply_to)}
    if subject and subject not in known:
        yield subject
