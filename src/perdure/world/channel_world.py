"""The world: survey waves, scheduled exposures and the channels of a scenario, in one.

Within a tick the campaign comes first, then the feed, the forum, word of mouth and the survey. All
turns of a tick see the state that the tick opened with.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from perdure.base.errors import PluginError
from perdure.records.channels import Channels, Ranking
from perdure.records.people import People
from perdure.records.presentation import CompletedTurn, Need, NeedAnswer, Plan, WorldDelta
from perdure.records.scenario import Header
from perdure.world.activation import active, factors
from perdure.world.board import Board
from perdure.world.campaign import Campaign
from perdure.world.channel import Channel, Draft, Opening, Published, Setting
from perdure.world.feed import FEED, FeedChannel
from perdure.world.forum import FORUM, ForumChannel
from perdure.world.interest import Interest
from perdure.world.interventions import WORD_OF_MOUTH, require_sound, told_at
from perdure.world.neighbours import Neighbours
from perdure.world.port import BaseWorld
from perdure.world.survey_room import SurveyRoom
from perdure.world.word_of_mouth import WordOfMouthChannel


class ChannelWorld(BaseWorld):
    """What the scenario schedules, and the channels that it has."""

    def __init__(self) -> None:
        self._neighbours = Neighbours(People())
        self._lived: _Lived | None = None

    def meet(self, people: People) -> None:
        """Keep the people of the world, and whom they know."""
        super().meet(people)
        self._neighbours = Neighbours(people)

    def reset(self, header: Header) -> None:
        """Start before tick 0 of the header's scenario.

        Raises:
            PluginError: the scenario names a claim, a question, a channel or a tick that there is
                not, or something that its channels need is lacking, such as a graph.

        """
        self._lived = _Lived(Setting(header, self._neighbours))

    def needs(
        self,
        tick: int,
        turns: Sequence[CompletedTurn],
        plan: Plan,  # noqa: ARG002 - what is asked for does not depend on it
    ) -> Sequence[Need]:
        """Ask for the vectors that a ranking by interest lacks.

        Raises:
            PluginError: the world was not reset.

        """
        return self._state.needs(tick, turns)

    def step(
        self,
        tick: int,
        turns: Sequence[CompletedTurn],
        plan: Plan,
        answers: Sequence[NeedAnswer],
    ) -> WorldDelta:
        """Take in what was done and said, then show and ask what is due now, channel by channel.

        Raises:
            PluginError: the world was not reset.

        """
        return self._state.step(tick, turns, plan, answers)

    @property
    def _state(self) -> _Lived:
        if self._lived is None:
            raise PluginError("A world was stepped before it was reset.")
        return self._lived


class _Lived:
    """The state of a world since its reset."""

    def __init__(self, setting: Setting) -> None:
        scenario, people = setting.scenario, setting.neighbours.people
        self._setting = setting
        self._published = Published()
        self._interest = (
            Interest(setting.header.ontology, people.personas) if _by_interest(setting) else None
        )
        self._factors = factors(scenario.involvement, people.personas)
        self._boards = tuple(self._made_boards())
        self._campaign = Campaign(setting)
        self._has_channels = scenario.channels != Channels()
        self._channels: tuple[Channel, ...] = (
            self._campaign,
            *self._boards,
            *self._made_word_of_mouth(),
            SurveyRoom(setting),
        )
        named = (FEED, FORUM, WORD_OF_MOUTH)
        require_sound(setting, [one for one in named if getattr(scenario.channels, one)])

    def _made_boards(self) -> Iterator[Board]:
        asked, made = self._setting.scenario.channels, (self._published, self._interest)
        if asked.feed is not None:
            yield FeedChannel(asked.feed, self._setting, *made)
        if asked.forum is not None:
            yield ForumChannel(asked.forum, self._setting, *made)

    def _made_word_of_mouth(self) -> Iterator[WordOfMouthChannel]:
        asked = self._setting.scenario.channels.word_of_mouth
        if asked is not None:
            yield WordOfMouthChannel(asked, self._setting, self._published)

    def needs(self, tick: int, turns: Sequence[CompletedTurn]) -> tuple[Need, ...]:
        """Ask for the vectors that are lacking, and change nothing."""
        if self._interest is None:
            return ()
        return self._interest.needs(
            text for board in self._boards for text in board.texts(tick, turns)
        )

    def step(
        self, tick: int, turns: Sequence[CompletedTurn], plan: Plan, answers: Sequence[NeedAnswer]
    ) -> WorldDelta:
        """Open a tick."""
        if self._interest is not None:
            self._interest.learn(self.needs(tick, turns), answers)
        scenario = self._setting.scenario
        opening = Opening(tick=tick, turns=turns, active=self._active(tick, plan.activation))
        draft = Draft(self._published)
        draft.interventions.extend(told_at(scenario.interventions, tick))
        for channel in self._channels:
            channel.open(opening, draft)
        return draft.delta(tick)

    def _active(self, tick: int, share: float) -> Sequence[str]:
        if not self._has_channels and not self._campaign.shows_at(tick):
            return ()
        return active(
            self._setting.scenario,
            self._setting.world_seed,
            tick,
            personas=self._setting.persona_ids,
            factor_of=self._factors,
            share=share,
        )


def _by_interest(setting: Setting) -> bool:
    channels = setting.scenario.channels
    planned: Iterable[Ranking | None] = (one.ranking for one in setting.scenario.interventions)
    boards = (one.ranking for one in (channels.feed, channels.forum) if one is not None)
    return Ranking.INTEREST in (*boards, *planned)
