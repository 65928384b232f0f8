"""The survey world: waves that ask everyone, and ticks on which some see a claim and react to it.

At a tick in `scenario.waves` the wave question is put to every persona; no plan thins a wave. At a
tick in `scenario.exposures` each active persona is shown one of that tick's claims, drawn by a
stream of its own, with the exposure question about it and with the counts of how people answered
about that claim before. All turns of a tick see the state that the tick opened with.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from perdure.base.chance import Stream
from perdure.base.errors import PluginError
from perdure.records.presentation import (
    CompletedTurn,
    Exposure,
    Impression,
    NeedAnswer,
    Plan,
    Presentation,
    Stimulus,
    View,
    WorldDelta,
)
from perdure.records.scenario import Header, Question, Scenario
from perdure.world.port import BaseWorld
from perdure.world.tally import Tally

SURVEY = "survey"
CAMPAIGN = "campaign"


class SurveyWorld(BaseWorld):
    """Survey waves before and after exposures to claims, as the scenario schedules them."""

    def __init__(self) -> None:
        self._setting: _Setting | None = None
        self._tally = Tally()
        self._claim_of: dict[str, str] = {}

    def reset(self, header: Header) -> None:
        """Start before tick 0 of the header's scenario.

        Raises:
            PluginError: the scenario names a claim or a question that the header does not have, or
                an exposure at something that is not a tick.

        """
        self._setting = _Setting(header)
        self._tally = Tally()
        self._claim_of = {}

    def step(
        self,
        tick: int,
        turns: Sequence[CompletedTurn],
        plan: Plan,
        answers: Sequence[NeedAnswer],  # noqa: ARG002 - this world asks for none
    ) -> WorldDelta:
        """Count what was answered about each claim, then show and ask what this tick schedules.

        Raises:
            PluginError: the world was not reset.

        """
        if self._setting is None:
            raise PluginError("A survey world was stepped before it was reset.")
        self._take_in(turns, self._setting)
        shown = _Shown(tick, self._setting, self._tally)
        presentations = [
            *shown.campaign(plan.activation),
            *_wave(tick, self._setting),
        ]
        self._claim_of = shown.claim_of()
        return WorldDelta(tick=tick, stimuli=shown.stimuli(), presentations=tuple(presentations))

    def _take_in(self, turns: Sequence[CompletedTurn], setting: _Setting) -> None:
        question = setting.scenario.exposure_question
        for turn in turns:
            presentation = turn.presentation
            if not turn.choice or presentation.question != question:
                continue
            for exposure in presentation.impression.exposures:
                claim = self._claim_of.get(exposure.stimulus)
                if claim is not None:
                    self._tally.note(claim=claim, persona=turn.persona, choice=turn.choice)


class _Setting:
    """What the header says about this world, checked and ready to be looked up."""

    def __init__(self, header: Header) -> None:
        self.scenario: Scenario = header.scenario
        self.world_seed = header.world_seed
        self.persona_ids = header.persona_ids
        self.claim_texts = {claim.id: claim.text for claim in header.brief.claims}
        self.questions = {question.id: question for question in header.questions}
        self.waves = frozenset(header.scenario.waves)
        self.claims_at = {
            _tick_of(key): claims for key, claims in header.scenario.exposures.items()
        }
        self._check()

    @property
    def exposure_question(self) -> Question:
        """The question that is asked about a claim."""
        return self.questions[self.scenario.exposure_question]

    def _check(self) -> None:
        scenario = self.scenario
        if scenario.waves and scenario.wave_question not in self.questions:
            raise PluginError(
                f"Scenario {scenario.id!r} has waves, but its wave question "
                f"{scenario.wave_question!r} is not among the study's questions."
            )
        if scenario.exposures and scenario.exposure_question not in self.questions:
            raise PluginError(
                f"Scenario {scenario.id!r} has exposures, but its exposure question "
                f"{scenario.exposure_question!r} is not among the study's questions."
            )
        for claims in self.claims_at.values():
            unknown = [claim for claim in claims if claim not in self.claim_texts]
            if unknown:
                raise PluginError(
                    f"Scenario {scenario.id!r} shows claims that the brief does not have: "
                    f"{', '.join(map(repr, unknown))}."
                )


class _Shown:
    """What one tick shows. Impression and view are made once per claim and shared by its viewers.

    Sharing is safe because records are frozen, and it keeps a tick of 100,000 personas small.
    """

    def __init__(self, tick: int, setting: _Setting, tally: Tally) -> None:
        self._tick = tick
        self._setting = setting
        self._claims = setting.claims_at.get(tick, ())
        self._seen: set[str] = set()
        self._impressions = {claim: self._impression(claim) for claim in self._claims}
        self._views = {claim: self._view(claim, tally) for claim in self._claims}

    def campaign(self, activation: float) -> Iterator[Presentation]:
        """Show each active persona one of the tick's claims."""
        if not self._claims:
            return
        setting = self._setting
        seed, tick, claims = setting.world_seed, self._tick, self._claims
        chance = setting.scenario.activation * activation
        question = setting.scenario.exposure_question
        for persona in setting.persona_ids:
            # The draw does not depend on the chance, so a lower one gives a nested subset.
            if Stream(seed, tick, "activation", persona).uniform() >= chance:
                continue
            claim = claims[0] if len(claims) == 1 else _draw(seed, tick, persona, claims)
            self._seen.add(claim)
            yield Presentation(
                persona=persona,
                impression=self._impressions[claim],
                question=question,
                view=self._views[claim],
            )

    def stimuli(self) -> tuple[Stimulus, ...]:
        """Publish what somebody was shown, in the order in which the scenario lists it."""
        return tuple(
            Stimulus(
                id=_stimulus_id(self._tick, claim),
                kind="claim",
                text=self._setting.claim_texts[claim],
                claim=claim,
            )
            for claim in dict.fromkeys(self._claims)
            if claim in self._seen
        )

    def claim_of(self) -> dict[str, str]:
        """Map each published stimulus to its claim, for reading the answers in the next step."""
        return {stimulus.id: stimulus.claim for stimulus in self.stimuli()}

    def _impression(self, claim: str) -> Impression:
        exposure = Exposure(stimulus=_stimulus_id(self._tick, claim), reason="scheduled")
        return Impression(channel=CAMPAIGN, exposures=(exposure,))

    def _view(self, claim: str, tally: Tally) -> View:
        choices = self._setting.exposure_question.choices
        counts = tally.counts(claim, tuple(choice.id for choice in choices))
        return View(counts={_stimulus_id(self._tick, claim): counts} if counts else {})


def _wave(tick: int, setting: _Setting) -> Iterator[Presentation]:
    """Ask everyone the wave question, whatever the plan's activation."""
    if tick not in setting.waves:
        return
    impression = Impression(channel=SURVEY)
    question = setting.scenario.wave_question
    for persona in setting.persona_ids:
        yield Presentation(persona=persona, impression=impression, question=question)


def _draw(seed: str, tick: int, persona: str, claims: tuple[str, ...]) -> str:
    return Stream(seed, tick, "claim", persona).choice(claims)


def _stimulus_id(tick: int, claim: str) -> str:
    return f"t{tick}-{claim}"


def _tick_of(key: str) -> int:
    if not (key.isascii() and key.isdecimal()):
        raise PluginError(f"{key!r} is not a tick: exposures are listed under tick numbers.")
    return int(key)
