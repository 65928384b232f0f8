"""Word of mouth: people tell those they know, and what they tell waits for who is not active."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from perdure.base.chance import Stream
from perdure.base.errors import PluginError
from perdure.records.channels import WordOfMouth
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
from perdure.world.board import attentions
from perdure.world.channel import Deed, Draft, Opening, Published, Setting, deed_of, shown_in
from perdure.world.interventions import WORD_OF_MOUTH, rules_at

TELL = Action(name="tell", says=True)
TOLD = "told"
# Why something is heard, beside being told, and why it is not.
FIRST_HAND = "launch"
PUSHED_OUT = "pushed out"
REMOVED = "removed"

# Whom a persona tells is drawn by whole parts of a tie, so that no rounding decides it.
_PARTS = 10_000


@dataclass(frozen=True, slots=True)
class _Message:
    """A message that waits for somebody. Without a teller it is heard first-hand."""

    stimulus: Stimulus
    teller: str = ""
    strength: float = 0.0

    @property
    def words(self) -> tuple[str, str]:
        """What makes it the same message, whoever tells it."""
        return self.stimulus.claim, self.stimulus.text


class WordOfMouthChannel:
    """What people tell each other along their ties. Without ties nothing spreads."""

    def __init__(self, asked: WordOfMouth, setting: Setting, published: Published) -> None:
        """Make the channel.

        Raises:
            PluginError: the scenario names a claim, a question or a tick that there is not, or
                nothing is known of who knows whom.

        """
        setting.require_question(asked.question, f"a channel {WORD_OF_MOUTH!r}, but its")
        if not setting.neighbours.has_graph:
            raise PluginError(
                f"Scenario {setting.scenario.id!r} has word of mouth, and the population has no "
                "graph, so nobody knows anybody. Write `graph:` in `population`."
            )
        self._asked = asked
        self._setting = setting
        self._published = published
        self._starts_at = setting.claims_at(asked.starts, f"the starts of {WORD_OF_MOUTH!r}")
        self._waiting: dict[str, list[_Message]] = {}
        self._told: dict[str, set[tuple[str, str, str]]] = {}

    def open(self, opening: Opening, draft: Draft) -> None:
        """Pass on what was told, then let each active persona hear what waits for it."""
        tick = opening.tick
        rules = rules_at(self._setting.scenario.interventions, tick, WORD_OF_MOUTH)
        for claim in dict.fromkeys((*self._starts_at.get(tick, ()), *rules.published)):
            self._start(tick, claim, draft)
        for number, turn in enumerate(opening.turns):
            if (told := self._telling(turn)) is not None:
                self._tell(told, turn, f"{WORD_OF_MOUTH}-p{tick}-{number}", tick, draft)
        if rules.removed:
            self._remove(rules.removed, draft)
        for persona in opening.active:
            if persona in self._waiting:
                draft.presentations.append(self._heard(persona))

    def _start(self, tick: int, claim: str, draft: Draft) -> None:
        text = self._setting.claim_texts[claim]
        stimulus = Stimulus(
            id=f"{WORD_OF_MOUTH}-t{tick}-{claim}", kind="claim", text=text, claim=claim
        )
        seed, purpose = self._setting.world_seed, f"first_hand:{claim}"
        hearing = [
            persona
            for persona in self._setting.persona_ids
            if Stream(seed, tick, purpose, persona).uniform() < self._asked.reach
        ]
        if hearing:
            draft.publish(stimulus)
        for persona in hearing:
            self._wait(persona, _Message(stimulus), draft)

    def _telling(self, turn: CompletedTurn) -> Deed | None:
        """Say what a turn makes its persona tell: what it wants to tell, or what moved it."""
        deed = deed_of(turn, WORD_OF_MOUTH, {TELL.name: TELL}, self._published)
        reaction = turn.reaction
        if deed is not None or reaction is None or reaction.change is None:
            return deed
        about = shown_in(turn, reaction.stimulus, self._published)
        words = reaction.words.strip()
        if abs(reaction.change.steps) < self._asked.moved_min or about is None or not words:
            return None
        return Deed(persona=turn.persona, action=TELL, about=about, words=words, stance=turn.choice)

    def _tell(
        self, told: Deed, turn: CompletedTurn, stimulus_id: str, tick: int, draft: Draft
    ) -> None:
        stimulus = told.message(stimulus_id, TOLD)
        # One is told of a claim by many, but by nobody the same thing twice, in whatever words.
        what = (stimulus.claim, stimulus.stance) if stimulus.claim else ("", stimulus.text)
        already = self._told.setdefault(told.persona, set())
        ties = self._setting.neighbours.of(told.persona)
        heard_from = told.about.author if told.about is not None else ""
        known = {
            other: strength
            for other, strength in ties.items()
            if strength >= self._asked.tie_min
            and other != heard_from
            and (other, *what) not in already
        }
        channel = turn.presentation.impression.channel
        stream = Stream(self._setting.world_seed, tick, f"tell:{channel}", told.persona)
        targets = list(drawn(known, self._asked.targets_max, stream))
        if targets:
            draft.publish(stimulus)
        already.update((target, *what) for target in targets)
        for target in targets:
            self._wait(target, _Message(stimulus, told.persona, known[target]), draft)

    def _wait(self, persona: str, message: _Message, draft: Draft) -> None:
        """Let a message wait for somebody; of the same from several tellers, the nearest's."""
        waiting = self._waiting.setdefault(persona, [])
        for place, other in enumerate(waiting):
            if other.words == message.words:
                if message.strength > other.strength:
                    waiting[place] = message
                return
        waiting.append(message)
        if len(waiting) > self._asked.waiting_max:
            draft.dropped.append(_dropped(persona, waiting.pop(0), PUSHED_OUT))

    def _remove(self, removed: frozenset[str], draft: Draft) -> None:
        """Take away what is about some claims, whoever it waits for."""
        for persona, waiting in list(self._waiting.items()):
            kept = [one for one in waiting if one.stimulus.claim not in removed]
            draft.dropped.extend(
                _dropped(persona, one, REMOVED) for one in waiting if one.stimulus.claim in removed
            )
            self._keep(persona, kept)

    def _keep(self, persona: str, waiting: list[_Message]) -> None:
        if waiting:
            self._waiting[persona] = waiting
        else:
            del self._waiting[persona]

    def _heard(self, persona: str) -> Presentation:
        """Let somebody hear what waited longest."""
        waiting = self._waiting[persona]
        heard = waiting[: self._asked.exposures_max]
        self._keep(persona, waiting[len(heard) :])
        shares = attentions(len(heard), 1.0)
        exposures = tuple(
            Exposure(
                stimulus=one.stimulus.id,
                reason=TOLD if one.teller else FIRST_HAND,
                attention=share,
            )
            for one, share in zip(heard, shares, strict=True)
        )
        return Presentation(
            persona=persona,
            impression=Impression(channel=WORD_OF_MOUTH, exposures=exposures),
            question=self._asked.question,
            view=self._view(persona, heard),
            actions=(TELL,),
        )

    def _view(self, persona: str, heard: Sequence[_Message]) -> View:
        told = [one for one in heard if one.teller]
        are_near = self._setting.neighbours.are_near
        return View(
            ties={one.stimulus.id: one.strength for one in told if one.strength},
            told_by={one.stimulus.id: one.teller for one in told},
            near=tuple(one.stimulus.id for one in told if are_near(persona, one.teller)),
            threads={
                one.stimulus.id: self._published.thread(one.stimulus.id)
                for one in told
                if one.stimulus.reply_to
            },
        )


def drawn(ties: Mapping[str, float], count: int, stream: Stream) -> Iterator[str]:
    """Draw up to so many of those who are known, each in proportion to the strength of the tie."""
    left = {other: max(1, round(strength * _PARTS)) for other, strength in ties.items()}
    total = sum(left.values())
    for _ in range(min(count, len(left))):
        place = stream.below(total)
        for other, parts in left.items():  # noqa: B007 - the one where the loop ends is drawn
            place -= parts
            if place < 0:
                break
        total -= left.pop(other)
        yield other


def _dropped(persona: str, message: _Message, reason: str) -> DroppedExposure:
    return DroppedExposure(
        persona=persona, stimulus=message.stimulus.id, channel=WORD_OF_MOUTH, reason=reason
    )
