"""The campaign: at scheduled ticks each active persona is shown a claim and asked about it.

Of several claims of a tick, each persona is shown one, drawn by a stream of its own, with the
counts of how people answered about that claim before. All turns of a tick see the state that the
tick opened with.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from perdure.base.chance import Stream
from perdure.records.presentation import (
    CompletedTurn,
    Exposure,
    Impression,
    Presentation,
    Stimulus,
    View,
)
from perdure.records.scenario import Question
from perdure.world.channel import Draft, Opening, Setting
from perdure.world.tally import Tally

CAMPAIGN = "campaign"


class Campaign:
    """The exposures that a scenario schedules, and what was answered about each claim so far."""

    def __init__(self, setting: Setting) -> None:
        """Make the campaign.

        Raises:
            PluginError: the scenario names a claim or a question that the header does not have, or
                an exposure at something that is not a tick.

        """
        scenario = setting.scenario
        self._setting = setting
        if scenario.exposures:
            setting.require_question(scenario.exposure_question, "exposures, but its exposure")
        self._claims_at = setting.claims_at(scenario.exposures, "exposures")
        self._tally = Tally()
        self._claim_of: dict[str, str] = {}

    def shows_at(self, tick: int) -> bool:
        """Say whether anything is scheduled for a tick."""
        return bool(self._claims_at.get(tick))

    def open(self, opening: Opening, draft: Draft) -> None:
        """Count what was answered about each claim, then show what this tick schedules."""
        self._take_in(opening.turns)
        claims = self._claims_at.get(opening.tick, ())
        shown = _Shown(opening.tick, claims, self._setting, self._tally)
        if claims:
            draft.presentations.extend(shown.to(opening.active))
        stimuli = shown.stimuli()
        for stimulus in stimuli:
            draft.publish(stimulus)
        self._claim_of = {stimulus.id: stimulus.claim for stimulus in stimuli}

    def _take_in(self, turns: Sequence[CompletedTurn]) -> None:
        question = self._setting.scenario.exposure_question
        for turn in turns:
            presentation = turn.presentation
            if not turn.choice or presentation.question != question:
                continue
            for exposure in presentation.impression.exposures:
                claim = self._claim_of.get(exposure.stimulus)
                if claim is not None:
                    self._tally.note(claim=claim, persona=turn.persona, choice=turn.choice)


class _Shown:
    """What one tick shows. Impression and view are made once per claim and shared by its viewers.

    Sharing is safe because records are frozen, and it keeps a tick of 100,000 personas small.
    """

    def __init__(self, tick: int, claims: tuple[str, ...], setting: Setting, tally: Tally) -> None:
        self._tick = tick
        self._setting = setting
        self._claims = claims
        self._seen: set[str] = set()
        self._impressions = {claim: self._impression(claim) for claim in claims}
        self._views = {claim: self._view(claim, tally) for claim in claims}

    def to(self, active: Sequence[str]) -> Iterator[Presentation]:
        """Show each active persona one of the tick's claims."""
        seed, tick, claims = self._setting.world_seed, self._tick, self._claims
        question = self._setting.scenario.exposure_question
        for persona in active:
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

    def _impression(self, claim: str) -> Impression:
        exposure = Exposure(stimulus=_stimulus_id(self._tick, claim), reason="scheduled")
        return Impression(channel=CAMPAIGN, exposures=(exposure,))

    def _view(self, claim: str, tally: Tally) -> View:
        question: Question = self._setting.questions[self._setting.scenario.exposure_question]
        counts = tally.counts(claim, tuple(choice.id for choice in question.choices))
        return View(counts={_stimulus_id(self._tick, claim): counts} if counts else {})


def _draw(seed: str, tick: int, persona: str, claims: tuple[str, ...]) -> str:
    return Stream(seed, tick, "claim", persona).choice(claims)


def _stimulus_id(tick: int, claim: str) -> str:
    return f"t{tick}-{claim}"
