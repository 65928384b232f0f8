"""What the baseline does about a message: the model of one person that `Reactions` declares. Pure.

It knows what that person sees: what each message says, what others did with it as far as that is
shown, and how close who says it is. It knows nothing of feeds and forums, of ranking, communities
or spreading: whatever comes about among many comes about in the world.

The parts are long known of single persons. What many approve of convinces more, by ever less for
each one more (social proof: Asch; Latané). Who is close convinces more than a stranger (social
impact: Latané). What suits what one favours is taken over, and what does not is argued against
(motivated reasoning: Kunda; Taber and Lodge). What takes more effort is done by fewer: to approve,
to answer, to pass on, to post.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from perdure.base.chance import Stream
from perdure.inference.baseline_utility import BELIEF_MAX, speaks_for
from perdure.records.baseline_rule import BaselineRule, Reactions
from perdure.records.facts import MessageFacts, PersonaFacts
from perdure.records.persona import Choice
from perdure.records.reaction import Action, Change

# The ids that say which way a reaction points; without them the first and the last choice do.
AGREE = "agree"
DISAGREE = "disagree"


class Deed(NamedTuple):
    """A kind of action: the names that it is known by, and what an action of the kind is like.

    `says` is absent where it makes no difference.
    """

    names: frozenset[str]
    about: bool
    says: bool | None

    def is_kind_of(self, action: Action) -> bool:
        """Say whether an action is of this kind. What has an unknown name is of none."""
        is_alike = action.about == self.about and self.says in {None, action.says}
        return is_alike and action.name in self.names


APPROVE = Deed(frozenset({"like", "up"}), about=True, says=False)
DISAPPROVE = Deed(frozenset({"dislike", "down"}), about=True, says=False)
ANSWER = Deed(frozenset({"comment", "reply", "quote"}), about=True, says=True)
PASS_ON = Deed(frozenset({"repost", "tell"}), about=True, says=None)
FOLLOW = Deed(frozenset({"follow"}), about=True, says=False)
POST = Deed(frozenset({"post"}), about=False, says=True)

_APPROVING = APPROVE.names | PASS_ON.names
_STEPS_MAX = 2


class Regard(NamedTuple):
    """What a persona makes of one message, by its number among those shown, from 1.

    `pull` is how strongly it pulls towards its claim, below 0 away from it; `agrees` says whether
    the persona agrees with the message itself, which may speak against its claim.
    """

    number: int
    claim: str
    pull: float
    agrees: bool
    is_tied: bool


def regarded(rule: BaselineRule, facts: PersonaFacts, lean: str | None, seed: int) -> Regard | None:
    """Choose the message with the strongest pull; None if none is shown. By chance among equals."""
    regards = [_regard(rule, facts, lean, place, seed) for place in range(len(facts.messages))]
    strength = max((abs(regard.pull) for regard in regards), default=0.0)
    strongest = [regard for regard in regards if abs(regard.pull) == strength]
    if len(strongest) > 1:
        return Stream(str(seed), 0, "baseline:order").choice(strongest)
    return strongest[0] if strongest else None


def pull_of(
    rule: BaselineRule, message: MessageFacts, lean: str | None, choices: Sequence[Choice]
) -> float:
    """Say how strongly a message pulls a persona of this lean towards its claim, without noise.

    `choices` are those of the question on its channel.
    """
    how = rule.reactions or Reactions()
    crowd = 1.0 + rule.social_proof * math.log2(1 + max(_approvals(message), 0))
    closeness = 1.0 + how.tie * max(message.tie, 0.0)
    effects = rule.claims.get(message.claim, {})
    liking = 0.0 if lean is None or not effects else speaks_for(rule, effects, lean)
    return _direction(rule, message, choices) * crowd * closeness + how.motivation * liking


def deed(how: Reactions, actions: Sequence[Action], regard: Regard) -> str:
    """Name what is done about a message, of what can be done; empty for nothing."""
    strength = abs(regard.pull)
    done, reached = "", 0.0
    for threshold, kind in _ladder(how, regard):
        offered = next((action.name for action in actions if kind.is_kind_of(action)), "")
        if offered and strength and reached <= threshold <= strength:
            done, reached = offered, threshold
    return done


def moved(how: Reactions, regard: Regard, belief: int) -> Change:
    """Say how a message moves the belief in its claim: never beyond the end of the scale."""
    if not regard.claim:
        return Change.SAME
    held = max(-BELIEF_MAX, min(BELIEF_MAX, belief))
    steps = how.persuasion * regard.pull
    room = min(max(steps, -BELIEF_MAX - held), BELIEF_MAX - held)
    return list(Change)[_STEPS_MAX + int(max(-_STEPS_MAX, min(_STEPS_MAX, room)))]


def sides(choices: Sequence[Choice]) -> tuple[str, str]:
    """Say which choice agrees, and which disagrees."""
    ids = [choice.id for choice in choices]
    agree = AGREE if AGREE in ids or not ids else ids[0]
    disagree = DISAGREE if DISAGREE in ids or not ids else ids[-1]
    return agree, disagree


def form(action: str, regard: Regard | None, change: Change) -> str:
    """Write the lines that say what a persona does, below its words."""
    is_same = change is Change.SAME
    belief = "unchanged" if is_same else f"{change.value.replace('_', ' ')} convinced"
    number = "none" if regard is None else regard.number
    return f"\nMessage: {number}\nAction: {action or 'none'}\nBelief: {belief}"


def _regard(
    rule: BaselineRule, facts: PersonaFacts, lean: str | None, place: int, seed: int
) -> Regard:
    message, number = facts.messages[place], place + 1
    choices = facts.question.choices if facts.question is not None else ()
    pull = pull_of(rule, message, lean, choices)
    noise = rule.reactions.noise if rule.reactions is not None else 0.0
    if noise:
        pull += noise * Stream(str(seed), 0, "baseline:message", number).normal()
    against = _direction(rule, message, choices) < 0
    return Regard(
        number=number,
        claim=message.claim,
        pull=pull,
        agrees=pull < 0 if against else pull > 0,
        is_tied=message.tie > 0,
    )


def _approvals(message: MessageFacts) -> int:
    """Count who approved of a message, less who disapproved, as far as that is seen."""
    return sum(
        count * ((name in _APPROVING) - (name in DISAPPROVE.names))
        for name, count in message.counts.items()
    )


def _direction(rule: BaselineRule, message: MessageFacts, choices: Sequence[Choice]) -> int:
    """Say whether a message speaks for its claim (1), against it (-1) or for neither (0).

    A claim itself speaks for itself. A stance among the rule's own choices speaks for the claim if
    the claim speaks for that choice.
    """
    stance = message.stance
    if not stance:
        return 1
    if stance in rule.choices:
        favour = speaks_for(rule, rule.claims.get(message.claim, {}), stance)
        return (favour > 0) - (favour < 0)
    agree, disagree = sides(choices)
    return (stance in {AGREE, agree}) - (stance in {DISAGREE, disagree})


def _ladder(how: Reactions, regard: Regard) -> Iterator[tuple[float, Deed]]:
    """List what may be done about a message, each from its strength on, the least effort first."""
    yield how.approve, APPROVE if regard.agrees else DISAPPROVE
    yield how.answer, ANSWER
    if regard.agrees:
        yield how.pass_on, PASS_ON
        if not regard.is_tied:
            yield how.follow, FOLLOW
    yield how.post, POST
