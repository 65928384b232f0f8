"""What a world shows: stimuli, presentations (impression + view), and a tick's delta."""

from __future__ import annotations

from perdure.records.persona import Persona, PersonaState
from perdure.records.reaction import Action, Reaction
from perdure.records.record import Record
from perdure.records.request import FailureCause, Message
from perdure.records.scenario import Question
from perdure.records.tools import ToolCall


class Stimulus(Record):
    """Something that can be shown. `id` is unique within its world; `claim` is a claim's id.

    A persona's message answers the stimulus `reply_to`, if any, and has the `stance` that its
    author's turn was scored as: the id of a choice, empty where it was not scored.
    """

    id: str
    kind: str
    text: str
    claim: str = ""
    author: str = ""
    reply_to: str = ""
    stance: str = ""


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
    """The public context of what is shown, by stimulus and from earlier ticks only.

    `counts` says how often what was done with it, `ties` how strong the viewer's tie is to its
    author or teller, `told_by` who told it. `near` lists what comes from the viewer's own
    community, and `threads` the stimuli that it answers, the first one first.
    """

    counts: dict[str, dict[str, int]] = {}
    ties: dict[str, float] = {}
    told_by: dict[str, str] = {}
    near: tuple[str, ...] = ()
    threads: dict[str, tuple[str, ...]] = {}


class Presentation(Record):
    """One persona, one channel, one tick: an impression, its view, and the question asked.

    `actions` is what the persona can do on the channel, beside answering.
    """

    persona: str
    impression: Impression
    question: str
    view: View = View()
    actions: tuple[Action, ...] = ()


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


class Said(Record):
    """A question that was put before this one in the same interview, and what was answered."""

    question: str
    answer: str


class TurnJob(Record):
    """One turn to be taken: who, in which state, what is shown, what is asked.

    `index` is the job's place in its tick, from 0. `shown` holds the stimuli of the impression in
    its order. `earlier` is what was asked and answered before in the same interview: where several
    questions are put one after another, the agent puts it there.
    """

    index: int
    tick: int
    persona: Persona
    state: PersonaState
    presentation: Presentation
    shown: tuple[Stimulus, ...]
    question: Question
    earlier: tuple[Said, ...] = ()


class CompletedTurn(Record):
    """A past turn as the next `step` of a world gets it: what was shown, answered and scored.

    `choice` is the id of the choice that the answer was scored as; empty where it was not scored.
    `reaction` is what the persona did, where it could do something; `did` are the actions that it
    took with tools of the world, in order.
    """

    persona: str
    presentation: Presentation
    answer: str
    choice: str = ""
    reaction: Reaction | None = None
    did: tuple[ToolCall, ...] = ()


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
