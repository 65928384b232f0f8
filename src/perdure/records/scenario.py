"""What a world is made of: claims, questions, a scenario, and the header of its record."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from perdure.base.dates import Moment
from perdure.records.anchors import Anchors
from perdure.records.baseline_rule import BaselineRule
from perdure.records.calendar import Calendar
from perdure.records.channels import Channels, Involvement, PlannedIntervention
from perdure.records.persona import Choice, Ontology
from perdure.records.record import Record


class Claim(Record):
    """One assertion of the brief, shown as a short message."""

    id: str
    text: str


class Brief(Record):
    """What the study is about, in words that every persona is told, and its claims in order."""

    title: str
    text: str
    claims: tuple[Claim, ...] = ()


class QuestionType(StrEnum):
    """What a question asks for: one choice, several, all of them ranked, a point of a scale...

    The choices of a Likert question are the points of its scale, from one end to the other.
    """

    ONE = "one"
    SEVERAL = "several"
    RANKED = "ranked"
    LIKERT = "likert"
    NUMBER = "number"
    OPEN = "open"


# By which choices are named where the chances of a letter are what is scored. Without the letter
# with which an answer in words begins more often than not.
LETTERS = "ABCDEFGHJKLMNOPQRSTU"


class Scoring(StrEnum):
    """How an answer gets its score: by its words, its likeness to anchors, or its chances."""

    TEXT = "text"
    SIMILARITY = "similarity"
    LOGPROBS = "logprobs"


class Similarity(Record):
    """How likeness to anchors becomes a distribution: whose anchors, and the formula's two numbers.

    `anchors` names a set of anchors of the study. `epsilon` is what the least alike point gets,
    `temperature` sharpens below 1 and flattens above it.
    """

    anchors: str
    epsilon: float | None = None
    temperature: float | None = None

    @property
    def numbers(self) -> tuple[float, float]:
        """Epsilon and temperature: as said, else what changes nothing, which is 0 and 1."""
        return self.epsilon or 0.0, 1.0 if self.temperature is None else self.temperature


class Question(Record):
    """A question put to a persona, who answers in its own words.

    Without a `type`, one with choices asks for one of them, and one without is open. A number is
    asked for in a `unit`, which may go by other names, and counts within `least` and `most`.
    `shuffle` lists the choices in a random order for everybody, and a scale from either end.
    `similarity` belongs to that way of scoring.
    """

    id: str
    text: str
    choices: tuple[Choice, ...] = ()
    type: QuestionType | None = None
    scoring: Scoring | None = None
    shuffle: bool = False
    unit: str = ""
    unit_aliases: tuple[str, ...] = ()
    least: float | None = None
    most: float | None = None
    similarity: Similarity | None = None

    @property
    def asks_for(self) -> QuestionType:
        """What it asks for, where its type is not written down too."""
        if self.type is not None:
            return self.type
        return QuestionType.ONE if self.choices else QuestionType.OPEN

    @property
    def gives_chances(self) -> bool:
        """Whether an answer is scored as a probability of each choice."""
        return self.scoring in (Scoring.SIMILARITY, Scoring.LOGPROBS)

    @property
    def is_scored(self) -> bool:
        """Whether an answer gets a score: all but open questions."""
        return self.asks_for is not QuestionType.OPEN


class Variant(Record):
    """A version of the concept. Scenarios of one variant share their random draws."""

    id: str
    description: str = ""


class Scenario(Record):
    """The conditions of a world, without seed or repeat count.

    Ticks number from 0 to `horizon` - 1, each one `tick_unit` long. At the ticks in `waves` the
    survey question `wave_question` is put to everyone, and `more_questions` after it, each with the
    answers before it in mind; with `shuffle_questions` in an order that is drawn for everybody. At
    the ticks in `exposures`, the listed claims are shown to the personas who are active, who answer
    `exposure_question`. On its `channels` people meet messages and each other, and its
    `interventions` change what they see there. `activation` is the chance that a persona is active
    at a tick, times its `involvement` if there is one, times the factor of the tick in `rhythm`,
    which begins anew when it is over. `settings` are for the user's own world and are not read by
    ours. `world` names the world's class as `module:Class`. With a `calendar`, each tick is a date.
    """

    id: str
    variant: str
    horizon: int
    tick_unit: str = "day"
    waves: tuple[int, ...] = ()
    wave_question: str = ""
    exposures: dict[str, tuple[str, ...]] = {}
    exposure_question: str = ""
    activation: float = 1.0
    world: str = "perdure.world:SurveyWorld"
    settings: dict[str, Any] = {}
    channels: Channels = Channels()
    interventions: tuple[PlannedIntervention, ...] = ()
    involvement: Involvement | None = None
    rhythm: tuple[float, ...] = ()
    more_questions: tuple[str, ...] = ()
    shuffle_questions: bool = False
    calendar: Calendar | None = None

    def moment(self, tick: int) -> Moment | None:
        """Say when a tick begins; None without a calendar."""
        return None if self.calendar is None else self.calendar.moment(tick, self.tick_unit)

    @property
    def wave_questions(self) -> tuple[str, ...]:
        """All questions of a wave, as they are written."""
        return (self.wave_question, *self.more_questions) if self.wave_question else ()


class ModelPin(Record):
    """Which model answers a role: the part of a model's configuration that decides its answers.

    `provider` is one of `baseline`, `http`, `local`, `scripted`. `accepts` lists the served names
    that count as this model. `file_sha256` pins local weights.
    """

    provider: str
    model: str
    accepts: tuple[str, ...] = ()
    file_sha256: str = ""
    rule: BaselineRule | None = None


AGENT_WITH_TOOLS = "perdure.agent:ToolAgent"


class AgentSettings(Record):
    """How the agent works: its class, its sampling, how often it reflects, what it recalls.

    A prompt tells at most `memories_max` memories, of the `memories_kept` that a persona has. At
    every tick that is a multiple of `probe_every`, each turn is followed by a probe with the chance
    `probe_share`; 0 is never. `context_tokens_max` is how long a prompt may be, by model role.
    A turn with tools ends after `turn_calls_max` calls, and once they cost `turn_money_max`, in
    nano-units; a cost of 0 is no limit. `outside_tools` are functions, as
    `module:function`, that such a turn may call beside the tools of its world; with
    `outside_egress` they may reach beyond this machine.
    """

    agent: str = "perdure.agent:PersonaAgent"
    temperature: float = 0.7
    answer_tokens_max: int = 120
    reflect_every: int = 3
    memories_max: int = 5
    settings: dict[str, Any] = {}
    memories_kept: int = 50
    probe_every: int = 10
    probe_share: float = 0.0
    context_tokens_max: dict[str, int] = {}
    turn_calls_max: int = 0
    turn_money_max: int = 0
    outside_tools: tuple[str, ...] = ()
    outside_egress: bool = False

    @property
    def has_tools(self) -> bool:
        """Whether it is our agent with tools."""
        return self.agent == AGENT_WITH_TOOLS

    @property
    def code(self) -> tuple[str, ...]:
        """What the agent is made of, as `module:name`: its class, and its tools outside."""
        return (self.agent, *self.outside_tools)

    @property
    def chooses(self) -> bool:
        """Whether more is kept than a prompt tells, so that what a memory means can decide."""
        return 0 < self.memories_max < self.memories_kept


class Header(Record):
    """Written once per world: everything that decides what the world's record may hold.

    `world_seed` is 16 hex digits, `world_id` 12, the hashes 64. `persona_ids` are in the order of
    the population. `graph_hash` is empty if there is no graph. `anchors` are by construct.
    """

    format: int
    world_id: str
    world_seed: str
    replicate_seed: int
    study: str
    scenario: Scenario
    variant: Variant
    brief: Brief
    ontology: Ontology
    questions: tuple[Question, ...]
    population_hash: str
    persona_ids: tuple[str, ...]
    pins: dict[str, ModelPin]
    agent: AgentSettings
    quorum: float
    graph_hash: str = ""
    anchors: dict[str, Anchors] = {}
