"""A board: messages in an order, of which each active persona sees the best that are new to it.

Feed and forum are boards. They differ in what can be done, in what counts as a vote, and in who
sees whose messages.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import ClassVar

from perdure.base.chance import Stream
from perdure.base.errors import PluginError
from perdure.records.channels import Feed, Forum, Ranking
from perdure.records.presentation import (
    CompletedTurn,
    DroppedExposure,
    Exposure,
    Impression,
    Presentation,
    Stimulus,
    View,
)
from perdure.records.reaction import Action
from perdure.world.channel import Deed, Draft, Opening, Published, Setting, deed_of
from perdure.world.interest import Interest
from perdure.world.interventions import Rules, rules_at
from perdure.world.orders import Ground, Orders, Ranked
from perdure.world.posts import Post, Posts

NO_ROOM = "no room"


class Board(ABC):
    """The messages of one channel, who saw which, and what was done with them."""

    name: ClassVar[str]
    actions: ClassVar[tuple[Action, ...]]

    def __init__(
        self, asked: Feed | Forum, setting: Setting, published: Published, interest: Interest | None
    ) -> None:
        """Make the board. `interest` is there if the board ever ranks by it.

        Raises:
            PluginError: the scenario names a claim, a question or a tick that there is not, or a
                ranking for which something is lacking.

        """
        setting.require_question(asked.question, f"a channel {self.name!r}, but its")
        self._action_of = {action.name: action for action in self.actions}
        self._asked = asked
        self._setting = setting
        self._published = published
        self._claims_at = setting.claims_at(asked.posts, f"the posts of {self.name!r}")
        self._posts = Posts()
        self._ground = Ground(
            channel=self.name,
            seed=setting.world_seed,
            posts=self._posts,
            group_of=self.group_of,
            votes=self.votes,
            decay=asked.decay,
            room=asked.exposures_max + asked.drops_max,
            acquaintance=setting.acquaintance,
            interest=interest,
        )
        self._require_ties()

    def group_of(self, persona: str) -> int:  # noqa: ARG002 - one for everybody, unless overridden
        """Name the group of a persona: it sees the messages and the votes of its group alone."""
        return 0

    @abstractmethod
    def votes(self, done: Mapping[str, int]) -> int:
        """Say how many votes a message has, by what was done with it."""

    @abstractmethod
    def follow_up(self, deed: Deed, post: Post) -> None:
        """Do what an action about a message does, beside being counted."""

    def texts(self, tick: int, turns: Sequence[CompletedTurn]) -> Iterator[str]:
        """Give the texts that are ranked by interest at a tick, those not yet published included.

        It changes nothing.
        """
        if self._rules(tick).ranking is Ranking.INTEREST:
            for post in self._posts:
                yield post.stimulus.text
            for stimulus in self._new(tick, turns):
                yield stimulus.text

    def open(self, opening: Opening, draft: Draft) -> None:
        """Take in what was done, publish what is new, and show each active persona its best."""
        tick = opening.tick
        new = list(self._new(tick, opening.turns))
        for turn in opening.turns:
            self._take_in(turn)
        for stimulus in new:
            self._publish(stimulus, tick, draft)
        rules = self._rules(tick)
        orders = Orders(
            self._ground, tick, rules.ranking, removed=rules.removed, promoted=rules.promoted
        )
        for persona, order in zip(opening.active, orders.of(opening.active), strict=True):
            self._show(persona, order, orders, rules, draft)

    def _rules(self, tick: int) -> Rules:
        asked, planned = self._asked, self._setting.scenario.interventions
        return rules_at(planned, tick, self.name, ranking=asked.ranking, counts=asked.counts)

    def _new(self, tick: int, turns: Sequence[CompletedTurn]) -> Iterator[Stimulus]:
        """Give what is published at a tick: scheduled claims, then what people said before it."""
        scheduled = (*self._claims_at.get(tick, ()), *self._rules(tick).published)
        for claim in dict.fromkeys(scheduled):
            text = self._setting.claim_texts[claim]
            yield Stimulus(id=f"{self.name}-t{tick}-{claim}", kind="claim", text=text, claim=claim)
        for number, turn in enumerate(turns):
            deed = self._deed(turn)
            if deed is not None and deed.action.says:
                yield deed.message(f"{self.name}-p{tick}-{number}", deed.action.name)

    def _deed(self, turn: CompletedTurn) -> Deed | None:
        return deed_of(turn, self.name, self._action_of, self._published)

    def _take_in(self, turn: CompletedTurn) -> None:
        deed = self._deed(turn)
        if deed is None or not deed.action.about or deed.about is None:
            return
        post = self._posts[deed.about.id]
        post.count(self.group_of(deed.persona), deed.action.name)
        self.follow_up(deed, post)

    def _publish(self, stimulus: Stimulus, tick: int, draft: Draft) -> None:
        self._posts.publish(
            stimulus,
            tick=tick,
            lot=Stream(self._setting.world_seed, tick, "lot", stimulus.id).uint64(),
            group=self.group_of(stimulus.author) if stimulus.author else None,
        )
        draft.publish(stimulus)

    def _show(
        self, persona: str, order: Iterable[Ranked], orders: Orders, rules: Rules, draft: Draft
    ) -> None:
        room, spare = self._asked.exposures_max, self._asked.drops_max
        known = self._posts.known_to(persona)
        best = list(islice(_new_to(known, order), room + spare))
        for one in best[room:]:
            draft.dropped.append(self._dropped(persona, one.post, NO_ROOM))
        why, unranked = orders.unranked(persona)
        if why:
            taken = {one.post.place for one in best}
            left = (p for p in unranked if p.place not in taken and p.place not in known)
            for post in islice(left, spare):
                draft.dropped.append(self._dropped(persona, post, why))
        if shown := best[:room]:
            draft.presentations.append(self._presentation(persona, shown, rules))
            for one in shown:
                self._posts.show(persona, one.post)

    def _dropped(self, persona: str, post: Post, reason: str) -> DroppedExposure:
        return DroppedExposure(
            persona=persona, stimulus=post.stimulus.id, channel=self.name, reason=reason
        )

    def _presentation(self, persona: str, shown: Sequence[Ranked], rules: Rules) -> Presentation:
        shares = attentions(len(shown), self._asked.attention_last)
        exposures = tuple(
            Exposure(stimulus=one.post.stimulus.id, reason=one.reason, attention=share)
            for one, share in zip(shown, shares, strict=True)
        )
        return Presentation(
            persona=persona,
            impression=Impression(channel=self.name, exposures=exposures),
            question=self._asked.question,
            view=self._view(persona, shown, rules),
            actions=self.actions,
        )

    def _view(self, persona: str, shown: Sequence[Ranked], rules: Rules) -> View:
        setting, group = self._setting, self.group_of(persona)
        ties: dict[str, float] = {}
        told_by: dict[str, str] = {}
        near: list[str] = []
        threads: dict[str, tuple[str, ...]] = {}
        for one in shown:
            stimulus = one.post.stimulus
            source = one.teller or stimulus.author
            if source and (tie := setting.acquaintance.tie(persona, source)):
                ties[stimulus.id] = tie
            if one.teller:
                told_by[stimulus.id] = one.teller
            if stimulus.author and setting.neighbours.are_near(persona, stimulus.author):
                near.append(stimulus.id)
            if stimulus.reply_to:
                threads[stimulus.id] = self._published.thread(stimulus.id)
        # Kept by value: what is done with a message later is not seen now.
        counts = {one.post.stimulus.id: dict(one.post.done_by(group)) for one in shown}
        return View(
            counts=counts if rules.counts else {},
            ties=ties,
            told_by=told_by,
            near=tuple(near),
            threads=threads,
        )

    def _require_ties(self) -> None:
        planned = self._setting.scenario.interventions
        rankings = [one.ranking for one in planned if one.channel == self.name]
        if Ranking.NETWORK not in (self._asked.ranking, *rankings):
            return
        if not self._setting.neighbours.has_graph:
            raise PluginError(
                f"The channel {self.name!r} ranks by `network`, and the population has no graph. "
                "Write `graph:` in `population`, or choose another ranking."
            )


def attentions(count: int, last: float) -> tuple[float, ...]:
    """Give the attention of each of so many messages: 1 for the first, falling evenly to `last`."""
    step = (1.0 - last) / (count - 1) if count > 1 else 0.0
    return tuple(round(1.0 - step * place, 6) for place in range(count))


def _new_to(known: Collection[int], order: Iterable[Ranked]) -> Iterator[Ranked]:
    met = set[int]()
    for one in order:
        place = one.post.place
        if place not in known and place not in met:
            met.add(place)
            yield one
