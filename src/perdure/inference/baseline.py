"""The baseline: answers by a rule that the study declares. Offline, free, instant, repeatable.

It is the yardstick that a language model has to beat, and it never passes for one: the words of
every answer end by saying what it is. The rule is data; this room only carries it out.

A closed question over the rule's own choices is answered with the choice of the highest utility,
with all that are above the mean, or with all of them in order, as it asks. One on a scale that the
rule lays to one of its choices is answered with a point: of five points the first where the choice
is less probable than a fifth, the last from four fifths on. One over other choices,
such as whether one agrees, is a reaction to the claims shown now: it turns on whether they speak
for the choice that the persona leans to. An open question is answered with a sentence about what
was seen and where the persona leans. A probe, a question about an attribute of the persona's own,
is answered with what is known of it.

Where something can be done, lines below the words say to which message the persona reacts, what it
does, and how its belief in that claim moves (`baseline_reaction`). A question over other choices
than the rule's own is then answered for that message: whether one agrees with its claim.

As a model for embeddings it needs no rule (`baseline_vectors`).
"""

from __future__ import annotations

from collections.abc import Sequence

from perdure.base.codes import code_of
from perdure.inference.baseline_reaction import Regard, deed, form, moved, regarded, sides
from perdure.inference.baseline_utility import Weighed, agreement, leading, probability, weigh
from perdure.inference.baseline_vectors import vector_of
from perdure.records.baseline_rule import BaselineRule, Reactions
from perdure.records.facts import PersonaFacts
from perdure.records.persona import Choice
from perdure.records.reaction import Change
from perdure.records.request import ChatRequest, EmbedRequest, Failure, FailureCause, Reply, Vectors
from perdure.records.scenario import Question, QuestionType, Scoring
from perdure.records.usage import Usage

SERVED = "baseline"
NOTICE = "(Answered by a rule, not a language model.)"

# What the id of a question about an attribute of the persona's own starts with; its name follows.
PROBE = "probe:"


class BaselineProvider:
    """Answers each request from its facts alone, by one declared rule, and embeds without one."""

    def __init__(self, rule: BaselineRule | None = None) -> None:
        """Take the rule; without one no request for a reply can be answered."""
        self._rule = rule

    @property
    def name(self) -> str:
        """What this provider is called in a study file."""
        return "baseline"

    async def open(self) -> None:
        """Do nothing: there is nothing to get ready."""

    async def close(self) -> None:
        """Do nothing: there is nothing to release."""

    async def chat(self, request: ChatRequest, timeout_s: float) -> Reply | Failure:  # noqa: ARG002
        """Answer by the rule, or fail because the request does not say what the rule needs."""
        if self._rule is None or request.tools:
            return Failure(cause=FailureCause.UNSUPPORTED)
        text = answer(self._rule, request.facts, request.seed)
        if text is None:
            return Failure(cause=FailureCause.FACTS_MISSING)
        return Reply(text=text, served=SERVED, usage=Usage())

    async def embed(self, request: EmbedRequest, timeout_s: float) -> Vectors | Failure:  # noqa: ARG002
        """Give each text a vector of length 1, by its words."""
        vectors = tuple(map(vector_of, request.texts))
        return Vectors(vectors=vectors, served=SERVED, usage=Usage())


def answer(rule: BaselineRule, facts: PersonaFacts | None, seed: int) -> str | None:
    """Answer in words; None if the facts do not hold what the rule needs to answer at all."""
    if facts is None:
        return None
    question = facts.question
    if question is not None and question.id.startswith(PROBE):
        return _probed(facts, question)
    own = rule.choices
    asked = tuple(choice.id for choice in question.choices) if question is not None else ()
    about_own = not set(own).isdisjoint(asked)
    weighed = weigh(rule, facts, asked if about_own else own, seed)
    if weighed.unknown and not weighed.terms:
        return None
    lean = leading(rule, weighed.utilities)
    if facts.actions:
        return _reaction(rule, facts, weighed, lean, seed)
    if question is not None and question.id in rule.scales:
        said = _point_in_words(rule, weighed, question)
    elif question is not None and about_own:
        said = _own_in_words(lean, weighed, question)
    elif question is not None and asked:
        if not facts.shown:
            return None
        strength = 0.0 if lean is None else agreement(rule, facts, lean)
        said = _side_in_words(strength, weighed, question.choices)
    else:
        said = _summary_in_words(facts, weighed, lean)
    return f"{said} {NOTICE}"


def _reaction(
    rule: BaselineRule, facts: PersonaFacts, weighed: Weighed, lean: str | None, seed: int
) -> str:
    """Answer where something can be done: in words on one line, then in the lines of the form."""
    how = rule.reactions or Reactions()
    regard = regarded(rule, facts, lean, seed)
    question = facts.question
    if question is None or not question.choices:
        said = _summary_in_words(facts, weighed, lean)
    elif question.id in rule.scales:
        said = _point_in_words(rule, weighed, question)
    elif not weighed.utilities.keys().isdisjoint(choice.id for choice in question.choices):
        said = _own_in_words(lean, weighed, question)
    else:
        said = _side_in_words(regard.pull if regard else 0.0, weighed, question.choices)
    action, change = _done(how, facts, regard)
    return " ".join(f"{said} {NOTICE}".split()) + form(action, regard, change)


def _done(how: Reactions, facts: PersonaFacts, regard: Regard | None) -> tuple[str, Change]:
    if regard is None:
        return "", Change.SAME
    change = moved(how, regard, facts.beliefs.get(regard.claim, 0))
    return deed(how, facts.actions, regard), change


def _probed(facts: PersonaFacts, question: Question) -> str | None:
    """Answer with the persona's own value; None if it has none, or none among the choices."""
    value = facts.attributes.get(question.id.removeprefix(PROBE))
    known = (
        choice.label
        for choice in question.choices
        if value is not None and choice.id == code_of(value)
    )
    label = next(known, None)
    return None if label is None else f"My answer: {label}. I go by what I know of me. {NOTICE}"


def _own_in_words(lead: str | None, weighed: Weighed, question: Question) -> str:
    """Answer over the rule's own choices: the best one, those above the mean, or all in order."""
    labels = {choice.id: choice.label for choice in question.choices}
    worth = {name: weighed.utilities[name] for name in labels if name in weighed.utilities}
    if question.asks_for is QuestionType.SEVERAL:
        mean = sum(worth.values()) / len(worth)
        said = " and ".join(labels[name] for name in worth if worth[name] > mean)
        return f"My answer: {said or 'none of them'}. {_reasons(weighed)}"
    if question.asks_for is QuestionType.RANKED and len(worth) == len(labels):
        order = sorted(worth, key=lambda name: -worth[name])
        said = " ".join(f"{place}. {labels[name]}" for place, name in enumerate(order, 1))
        return f"My answer: {said}. {_reasons(weighed)}"
    return _choice_in_words(lead, weighed, question.choices)


def _point_in_words(rule: BaselineRule, weighed: Weighed, question: Question) -> str:
    """Answer on a scale, from the first point to the last the more probable its choice is."""
    points = question.choices
    share = probability(weighed.utilities, rule.scales[question.id])
    point = points[min(int(share * len(points)), len(points) - 1)]
    if question.scoring is Scoring.SIMILARITY:
        # All that an answer says is rated, so nothing stands there but the point.
        return f"{point.label.rstrip('.')}."
    return _choice_in_words(point.id, weighed, points)


def _choice_in_words(lead: str | None, weighed: Weighed, choices: Sequence[Choice]) -> str:
    # No label but the chosen one may appear, or a scorer could take it for the answer.
    if lead is None:
        return f"I have not decided. {_reasons(weighed)}"
    label = next(choice.label for choice in choices if choice.id == lead)
    return f"My answer: {label}. {_reasons(weighed)}"


def _side_in_words(strength: float, weighed: Weighed, choices: Sequence[Choice]) -> str:
    """Agree if what was shown pulls, disagree if it puts off."""
    agree, disagree = sides(choices)
    chosen = agree if strength > 0 else disagree
    return _choice_in_words(chosen if strength else None, weighed, choices)


def _summary_in_words(facts: PersonaFacts, weighed: Weighed, lean: str | None) -> str:
    claims = len(dict.fromkeys((*facts.shown, *facts.remembered)))
    met = "no message" if claims == 0 else f"{claims} message{'s' if claims > 1 else ''}"
    leaning = "I have not decided" if lean is None else f"I lean to {lean}"
    return f"I have met {met} so far, and {leaning}. {_beliefs(facts)}{_reasons(weighed)}"


def _beliefs(facts: PersonaFacts) -> str:
    """Say what is believed and what is not, by the ids of claims; nothing where all is unsure."""
    held = sorted(facts.beliefs.items())
    believed = " and ".join(claim for claim, steps in held if steps > 0)
    doubted = " and ".join(claim for claim, steps in held if steps < 0)
    return (f"I believe {believed}. " if believed else "") + (
        f"I doubt {doubted}. " if doubted else ""
    )


def _reasons(weighed: Weighed) -> str:
    reasons = f"I go by {' and '.join(weighed.terms) or 'chance alone'}."
    return f"{reasons} Something about me is unknown." if weighed.unknown else reasons
