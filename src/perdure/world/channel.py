"""What the channels of a world share: the header made ready, the people, one tick as it opens."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from perdure.base.errors import PluginError
from perdure.records.presentation import (
    CompletedTurn,
    DroppedExposure,
    Intervention,
    Presentation,
    Stimulus,
    WorldDelta,
)
from perdure.records.reaction import Action
from perdure.records.scenario import Header, Question, Scenario
from perdure.world.neighbours import Acquaintance, Neighbours

# What a view tells of what a message answers: the first message and the latest few.
THREAD_MAX = 10


class Setting:
    """What a header says that all channels go by, and who lives in the world."""

    def __init__(self, header: Header, neighbours: Neighbours) -> None:
        self.header = header
        self.scenario: Scenario = header.scenario
        self.world_seed = header.world_seed
        self.persona_ids = header.persona_ids
        self.claim_texts = {claim.id: claim.text for claim in header.brief.claims}
        self.questions: Mapping[str, Question] = {one.id: one for one in header.questions}
        self.neighbours = neighbours
        self.acquaintance = Acquaintance(neighbours)

    def claims_at(
        self, listed: Mapping[str, tuple[str, ...]], what: str
    ) -> Mapping[int, tuple[str, ...]]:
        """Read which claims are listed under which tick.

        Raises:
            PluginError: something is no tick, or the brief does not have a claim.

        """
        claims_at = {_tick_of(key, what): claims for key, claims in listed.items()}
        self.require_claims(claim for claims in claims_at.values() for claim in claims)
        return claims_at

    def require_claims(self, claims: Iterable[str]) -> None:
        """Refuse claims that the brief does not have.

        Raises:
            PluginError: there are some.

        """
        unknown = dict.fromkeys(claim for claim in claims if claim not in self.claim_texts)
        if unknown:
            raise PluginError(
                f"Scenario {self.scenario.id!r} shows claims that the brief does not have: "
                f"{', '.join(map(repr, unknown))}."
            )

    def require_question(self, question: str, what: str) -> None:
        """Refuse a question that the study does not have.

        Raises:
            PluginError: there is no such question.

        """
        if question not in self.questions:
            raise PluginError(
                f"Scenario {self.scenario.id!r} has {what} question {question!r} is not among the "
                "study's questions."
            )


class Published:
    """All that was published so far, with what each message answers."""

    def __init__(self) -> None:
        self._stimuli: dict[str, Stimulus] = {}
        self._threads: dict[str, tuple[str, ...]] = {}

    def note(self, stimulus: Stimulus) -> None:
        """Take note of a stimulus."""
        self._stimuli[stimulus.id] = stimulus
        if stimulus.reply_to:
            thread = (*self.thread(stimulus.reply_to), stimulus.reply_to)
            if len(thread) > THREAD_MAX:
                thread = (thread[0], *thread[1 - THREAD_MAX :])
            self._threads[stimulus.id] = thread

    def get(self, stimulus: str) -> Stimulus | None:
        """Give a stimulus by its id."""
        return self._stimuli.get(stimulus)

    def thread(self, stimulus: str) -> tuple[str, ...]:
        """List what a message answers, the first one first; of a long thread the latest ones."""
        return self._threads.get(stimulus, ())


@dataclass(frozen=True)
class Opening:
    """A tick that is being opened: the turns of the tick before, and who is active now."""

    tick: int
    turns: Sequence[CompletedTurn]
    active: Sequence[str]


@dataclass
class Draft:
    """What a tick does so far. The channels add to it, one after the other."""

    published: Published
    stimuli: list[Stimulus] = field(default_factory=list)
    interventions: list[Intervention] = field(default_factory=list)
    dropped: list[DroppedExposure] = field(default_factory=list)
    presentations: list[Presentation] = field(default_factory=list)

    def publish(self, stimulus: Stimulus) -> None:
        """Publish a stimulus."""
        self.stimuli.append(stimulus)
        self.published.note(stimulus)

    def delta(self, tick: int) -> WorldDelta:
        """Give the whole as the delta of a tick."""
        return WorldDelta(
            tick=tick,
            stimuli=tuple(self.stimuli),
            interventions=tuple(self.interventions),
            dropped=tuple(self.dropped),
            presentations=tuple(self.presentations),
        )


class Channel(Protocol):
    """One place of a world where people are shown something. Its state is moved by `open` alone."""

    def open(self, opening: Opening, draft: Draft) -> None:
        """Take in the turns of the tick before, and add what is published and shown now."""
        ...


@dataclass(frozen=True)
class Deed:
    """What a turn did on a channel that accepts it: the action, and what it is about, if anything.

    `words` are empty unless the action says something.
    """

    persona: str
    action: Action
    about: Stimulus | None
    words: str
    stance: str

    @property
    def claim(self) -> str:
        """The claim that it is about, by way of the message that it is about."""
        return self.about.claim if self.about is not None else ""

    def message(self, stimulus: str, kind: str) -> Stimulus:
        """Make the message that it says. What is not done to a message answers none."""
        answers = self.about.id if self.action.about and self.about is not None else ""
        return Stimulus(
            id=stimulus,
            kind=kind,
            text=self.words,
            claim=self.claim,
            author=self.persona,
            reply_to=answers,
            stance=self.stance,
        )


def deed_of(
    turn: CompletedTurn, channel: str, actions: Mapping[str, Action], published: Published
) -> Deed | None:
    """Say what a turn did on a channel; None if that is nothing, or nothing that has an effect.

    An action counts if the channel has it, what it is about was shown in that turn, and it says
    something where it has to.
    """
    reaction, impression = turn.reaction, turn.presentation.impression
    if reaction is None or impression.channel != channel:
        return None
    action = actions.get(reaction.done)
    if action is None:
        return None
    about = shown_in(turn, reaction.stimulus, published)
    words = reaction.words.strip() if action.says else ""
    if (action.about and about is None) or (action.says and not words):
        return None
    return Deed(persona=turn.persona, action=action, about=about, words=words, stance=turn.choice)


def shown_in(turn: CompletedTurn, stimulus: str, published: Published) -> Stimulus | None:
    """Give a stimulus if it was shown in a turn."""
    exposures = turn.presentation.impression.exposures
    if any(exposure.stimulus == stimulus for exposure in exposures):
        return published.get(stimulus)
    return None


def _tick_of(key: str, what: str) -> int:
    if not (key.isascii() and key.isdecimal()):
        raise PluginError(f"{key!r} is not a tick: {what} are listed under tick numbers.")
    return int(key)
