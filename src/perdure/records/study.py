"""A study as asked: the frozen form of a study file, with the flags that change its inputs."""

from __future__ import annotations

from enum import StrEnum

from perdure.records.anchors import Anchors
from perdure.records.budget import Budget
from perdure.records.persona import Ontology
from perdure.records.record import Record
from perdure.records.scenario import AgentSettings, Brief, ModelPin, Question, Scenario, Variant
from perdure.records.usage import Price, PriceSource


class Order(StrEnum):
    """In which order the worlds of a run go on: all together, tick by tick, or one by one."""

    BREADTH = "breadth"
    DEPTH = "depth"


class CsvForm(Record):
    """How the CSV files of a population are written: what is between fields, bytes, and decimals.

    `separator` is one character, `encoding` a name that Python knows, `decimal` what stands before
    the decimals of a number.
    """

    separator: str = ","
    encoding: str = "utf-8"
    decimal: str = "."


class Filter(Record):
    """What an audience asks of one attribute: one of these values, or a number within bounds.

    `values` are codes of the attribute's scale, or texts. `least` and `most` belong to the range.
    """

    attribute: str
    values: tuple[str, ...] = ()
    least: float | None = None
    most: float | None = None


class Audience(Record):
    """A declared slice of the population: those who pass every filter, and their share of a draw.

    A row is of the first audience whose filters it passes. `relax` names the attributes whose
    filters may be dropped, in this order, if too few pass them.
    """

    id: str
    share: float
    where: tuple[Filter, ...] = ()
    relax: tuple[str, ...] = ()


class CommunitySpec(Record):
    """What a partition of the graph has to be like to qualify as communities.

    `least` and `most` bound how many there are, `share` is what each has of all personas at least.
    """

    least: int = 4
    most: int = 8
    share: float = 0.05
    modularity: float = 0.4
    seed: int = 0


class GraphSpec(Record):
    """Where ties come from: an edge list with its columns, or attributes.

    Made from attributes, `degree` is the mean number of ties, `far` the share of ties that reach
    beyond the neighbourhood, to people who have many ties already. `homophily` is how strongly
    likeness in the attributes `alike` decides, from 0 to 1.
    """

    file: str = ""
    from_column: str = ""
    to_column: str = ""
    strength_column: str = ""
    degree: float = 10.0
    far: float = 0.2
    homophily: float = 0.6
    alike: tuple[str, ...] = ()
    seed: int = 0
    communities: CommunitySpec = CommunitySpec()


class PopulationSpec(Record):
    """Where personas come from: a CSV or Parquet file in the study's folder, one row a respondent.

    `columns` maps each attribute to its column, `id_column` names the stable id of a row,
    `outcome_column` the held-out value and `outcome_values` its code for each choice. `draw` is
    how many rows are drawn, 0 for all, by the stream of `draw_seed`. `incomplete` says what becomes
    of a row without a required attribute: `refuse` the study, or `leave_out` the row.

    `weight_column` holds how many people a row stands for; with `draw_by` `weight` rows are drawn
    in proportion to it. `quotas` names the attributes whose shares a draw has to meet, the most
    important first. `targets` has the share of each code, where it is known from elsewhere. `alpha`
    is the chance at which the gates refuse a sound draw; those of `accept` may fail. `csv` is how
    this file and that of the ties are written, where they are CSV and not in the usual way.
    """

    file: str
    id_column: str
    columns: dict[str, str]
    outcome_column: str = ""
    outcome_values: dict[str, str] = {}
    missing: tuple[str, ...] = ("",)
    draw: int = 0
    draw_seed: int = 0
    incomplete: str = "refuse"
    weight_column: str = ""
    draw_by: str = "chance"
    quotas: tuple[str, ...] = ()
    audiences: tuple[Audience, ...] = ()
    targets: dict[str, dict[str, float]] = {}
    alpha: float = 0.01
    accept: tuple[str, ...] = ()
    graph: GraphSpec | None = None
    csv: CsvForm | None = None


class Endpoint(Record):
    """How a model is reached: nothing here decides what it answers, and none of it is compared.

    The key itself is never here: it is read from the environment variable `key_env` or from the
    file `key_file` when a connection is made.
    """

    base_url: str = ""
    key_env: str = ""
    key_file: str = ""
    concurrency_max: int = 32
    requests_per_minute: int = 0
    tokens_per_minute: int = 0
    attempt_timeout_s: float = 60.0
    deadline_s: float = 300.0
    retries_max: int = 5
    weights_file: str = ""


class ModelSpec(Record):
    """A model that a role may use: its pin, how it is reached, and its price if it has one.

    `price_as` names the entry of a price table whose prices hold (`openai/gpt-4o-mini`), and
    `price_bound` the most that the model may cost. A price with a `price_source` was looked up
    there when the run began; one without is the study's own.
    """

    pin: ModelPin
    endpoint: Endpoint = Endpoint()
    price: Price | None = None
    price_as: str = ""
    price_bound: Price | None = None
    price_source: PriceSource | None = None


class Study(Record):
    """One investigation: who is asked, what they live through, which model speaks for them.

    At most `live` worlds are live at once, side by side; 0 leaves that to their order. `files` are
    the data files that its own worlds and agents read, relative to its folder. `anchors` are those
    that answers are scored by, each by its construct.
    """

    format: int
    name: str
    brief: Brief
    ontology: Ontology
    questions: tuple[Question, ...]
    population: PopulationSpec
    variants: tuple[Variant, ...]
    scenarios: tuple[Scenario, ...]
    seeds: tuple[int, ...]
    models: dict[str, ModelSpec]
    agent: AgentSettings = AgentSettings()
    currency: str = "USD"
    quorum: float = 0.9
    skew: int = 4
    order: Order = Order.BREADTH
    live: int = 0
    budget: Budget = Budget()
    files: tuple[str, ...] = ()
    anchors: dict[str, Anchors] = {}
