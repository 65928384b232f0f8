"""What a world shows: stimuli, presentations (impression + view), and a tick's delta."""

from __future__ import annotations

from perdure.records.persona import Persona, PersonaState
from perdure.records.record import Record
from perdure.records.request import FailureCause, Message
from perdure.records.scenario import Question


class Stimulus(Record):
    """Something that can be shown. `id` is unique within its world; `claim` is a claim's id."""

    id: str
    kind: str
    text: str
    claim: str = ""
    author: str = ""


class Exposure(Record):
    """One stimulus in front of one persona: why, and how much attention it gets (0 to 1)."""

    stimulus: str
    reason: str
    attention: float = 1.0


class Impression(Record):
    """All that one persona is shown on one channel in one tick, together."""

    channel: str
    exposures: tuple[Exposure, ...] = ()


class View(Record):
    """The public context of what is shown: counts by stimulus, from earlier ticks only."""

    counts: dict[str, dict[str, int]] = {}


class Presentation(Record):
    """One persona, one channel, one tick: an impression, its view, and the question asked."""

    persona: str
    impression: Impression
    question: str
    view: View = View()


class DroppedExposure(Record):
    """A stimulus that a persona would have been shown and was not, with the reason."""

    persona: str
    stimulus: str
    channel: str
    reason: str


class Intervention(Record):
    """A scheduled change to the world that took effect."""

    kind: str
    detail: str = ""


class WorldDelta(Record):
    """What a world does in one tick, in the record's own terms. It numbers nothing."""

    tick: int
    stimuli: tuple[Stimulus, ...] = ()
    interventions: tuple[Intervention, ...] = ()
    dropped: tuple[DroppedExposure, ...] = ()
    presentations: tuple[Presentation, ...] = ()


class TurnJob(Record):
    """One turn to be taken: who, in which state, what is shown, what is asked.

    `index` is the job's place in its tick, from 0. `shown` holds the stimuli of the impression in
    its order.
    """

    index: int
    tick: int
    persona: Persona
    state: PersonaState
    presentation: Presentation
    shown: tuple[Stimulus, ...]
    question: Question


class CompletedTurn(Record):
    """A past turn as the next `step` of a world gets it: what was shown, answered and scored.

    `choice` is the id of the choice that the answer was scored as; empty where it was not scored.
    """

    persona: str
    presentation: Presentation
    answer: str
    choice: str = ""


class Plan(Record):
    """What a tick may do. World and agent get plans and never learn why a plan is what it is.

    `activation` multiplies each persona's chance to be active (a nested subset of the full one).
    `optional_work` says whether reflections and probes are done. `routing` maps a purpose to the
    model role that serves it, where it differs from the agent's own.
    """

    activation: float = 1.0
    optional_work: bool = True
    routing: dict[str, str] = {}


class Need(Record):
    """A model call that a world itself asks for before a step. Exactly one of the two is given."""

    purpose: str
    messages: tuple[Message, ...] = ()
    texts: tuple[str, ...] = ()
    role: str = "tier_a"
    tokens_max: int = 256
    temperature: float = 0.0


class NeedAnswer(Record):
    """The answer to a need, in order of the needs: text, or one vector per text; or a cause."""

    purpose: str
    text: str = ""
    vectors: tuple[tuple[float, ...], ...] = ()
    failed: FailureCause | None = None
