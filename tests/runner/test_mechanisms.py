"""That channels bring about what theory says of them, and not without the feature that does it.

The same people answer by the same declared rule in every arm. The rule knows of one person and of
the messages before it, and of no channel, ranking, community or tie: what differs between two arms
is one setting of the world alone. Five seeds each; an effect has to be there in every one.
"""

from __future__ import annotations

from collections.abc import Iterable
from statistics import mean, pvariance
from typing import Any

import msgspec
from tests.support.street import (
    CLAIMS,
    COMMUNITIES,
    RULE,
    Street,
    channels,
    gini,
    lived,
    street,
)

from perdure.records.baseline_rule import BaselineRule, Reactions
from perdure.records.channels import Feed, Forum, Ranking, Scope, WordOfMouth

SEEDS = (1, 2, 3, 4, 5)
SIZE = 12
ALL_AT_ONCE = {"0": CLAIMS}
# No pull is as strong.
NEVER = 99.0


def arms(*scenarios: dict[str, Any], rule: BaselineRule = RULE, **made: Any) -> list[list[Street]]:
    """Run each scenario with every seed; give the worlds of each."""
    ran = lived(street(*scenarios, seeds=SEEDS, size=SIZE, rule=rule, **made), rule)
    count = len(SEEDS)
    return [
        [Street(ran, arm * count + place) for place in range(count)]
        for arm in range(len(scenarios))
    ]


def of_claims(counts: dict[str, int]) -> list[int]:
    """Give the counts of the claims in the feed, those that have none included."""
    return [counts[f"feed-t0-{claim}"] for claim in CLAIMS]


def shy(social_proof: float, approve: float = 0.5) -> BaselineRule:
    """Make a rule of people who only ever like: nothing enters the feed but the claims."""
    reactions = Reactions(
        noise=1.0,
        motivation=0.0,
        approve=approve,
        answer=NEVER,
        pass_on=NEVER,
        follow=NEVER,
        post=NEVER,
    )
    return msgspec.structs.replace(RULE, social_proof=social_proof, reactions=reactions)


def test_hot_ranking_concentrates_exposure_and_random_ranking_does_not():
    """Twelve claims posted at once, one seen at a time: by votes, few have most of the attention.

    Where nobody votes, nothing is hot: everybody sees to the last what a random ranking shows.
    """
    feed = Feed(question="react", posts=ALL_AT_ONCE, exposures_max=1)
    ranked = [
        channels(feed=msgspec.structs.replace(feed, ranking=ranking))
        for ranking in (Ranking.HOT, Ranking.RANDOM)
    ]

    def exposures(rule: BaselineRule) -> list[list[list[int]]]:
        return [[of_claims(one.shown("feed")) for one in arm] for arm in arms(*ranked, rule=rule)]

    hot, random = ([gini(counts) for counts in arm] for arm in exposures(shy(0.5)))
    assert min(hot) > 0.4, hot
    assert max(random) < 0.25, random
    unvoted_hot, unvoted_random = exposures(shy(0.5, approve=NEVER))
    assert unvoted_hot == unvoted_random


def test_social_proof_makes_a_herd_and_without_it_there_is_none():
    """Where it is seen what others like, likes gather on a few claims.

    With counts hidden, people who would go by them do to the last like what people do who would
    not: so it is what the world shows that makes the herd.
    """

    def likes(worlds: Iterable[Street]) -> list[list[int]]:
        return [of_claims(world.done("feed", "like")) for world in worlds]

    feed = Feed(question="react", posts=ALL_AT_ONCE, ranking=Ranking.RANDOM, exposures_max=6)
    seen = channels(feed=feed)
    hidden = channels(feed=msgspec.structs.replace(feed, counts=False))
    with_counts, without = map(likes, arms(seen, hidden, rule=shy(2.0)))
    gathered, level = list(map(gini, with_counts)), list(map(gini, without))
    assert all(one > other + 0.15 for one, other in zip(gathered, level, strict=True))
    _, unmoved = map(likes, arms(seen, hidden, rule=shy(0.0)))
    assert without == unmoved


def between(world: Street, community_of: dict[str, int]) -> float:
    """Give the share of the variance of what people believe that lies between communities."""
    beliefs = world.beliefs()
    groups: list[list[int]] = [[] for _ in range(COMMUNITIES)]
    for persona, community in community_of.items():
        held = beliefs.get(persona, {})
        groups[community].append(held.get("c0", 0) - held.get("c1", 0))
    whole = pvariance([one for group in groups for one in group])
    return pvariance([mean(group) for group in groups]) / whole if whole else 0.0


def test_a_forum_for_each_community_polarises_more_than_one_for_all():
    """Who reads only its own people comes to believe what they lean to; in one forum it does not.

    Nor does it where communities are drawn without regard to how people lean: then what lies
    between them is far less than where like is with like.
    """
    rule = msgspec.structs.replace(RULE, reactions=Reactions(noise=1.0, motivation=0.6, answer=1.0))
    posts: dict[str, tuple[str, ...]] = {"0": ("c0", "c1")}
    scoped = channels(forum=Forum(question="react", posts=posts, scope=Scope.COMMUNITY))
    common = channels(forum=Forum(question="react", posts=posts, scope=Scope.GLOBAL))
    apart = {f"p{number}": number // SIZE for number in range(COMMUNITIES * SIZE)}
    split, whole = (
        [between(world, apart) for world in arm] for arm in arms(scoped, common, rule=rule)
    )
    assert all(one > other + 0.3 for one, other in zip(split, whole, strict=True)), (split, whole)
    (mixed,) = arms(scoped, rule=rule, mixed=True)
    drawn = {f"p{number}": number % COMMUNITIES for number in range(COMMUNITIES * SIZE)}
    assert mean(split) > mean(between(world, drawn) for world in mixed) + 0.2


def test_word_of_mouth_spreads_along_ties_and_stops_without_them():
    """From few who hear it first-hand it goes to those they know; untied, it stays with them."""
    spoken = channels(
        word_of_mouth=WordOfMouth(
            question="react", starts={"0": ("c0",)}, reach=0.1, moved_min=1, targets_max=2
        )
    )
    config = street(spoken, size=SIZE)
    known = {
        frozenset((persona.id, other))
        for persona, node in zip(config.population.personas, config.population.graph, strict=True)
        for other in node.ties
    }
    (tied,), (untied,) = arms(spoken), arms(spoken, tied=False)
    for spread, stopped in zip(tied, untied, strict=True):
        heard = {persona for persona, _ in spread.turns("word_of_mouth")}
        first = {
            persona
            for persona, turn in spread.turns("word_of_mouth")
            if any(one.reason == "launch" for one in turn.presentation.impression.exposures)
        }
        assert len(heard) >= 2 * len(first) > 0
        told = {
            frozenset((persona, teller))
            for persona, turn in spread.turns("word_of_mouth")
            for teller in turn.presentation.view.told_by.values()
        }
        assert told
        assert told <= known
        alone = [persona for persona, _ in stopped.turns("word_of_mouth")]
        assert sorted(alone) == sorted(first)
