"""Who is in a study, and, strictly apart from it, what is held out about them."""

from __future__ import annotations

from enum import StrEnum

from perdure.records.graph import GraphReport, Node
from perdure.records.people import People
from perdure.records.persona import Persona
from perdure.records.record import Record


class Relaxation(Record):
    """One step that a draw took because too few fitted: what it no longer asks for.

    `dropped` is a quota or a filter by its attribute; `audience` is whose filter it is, empty for a
    quota. `lacking` is how many people were lacking before the step, `gained` how many it gave.
    """

    dropped: str
    lacking: int
    gained: int
    audience: str = ""


class Level(Record):
    """One code of an attribute: the share that is due, and how many personas have it."""

    code: str
    target: float
    drawn: int


class GateState(StrEnum):
    """What a gate says. An unmeasured one could not be asked, and says why."""

    PASSED = "passed"
    FAILED = "failed"
    UNMEASURED = "unmeasured"


class Gate(Record):
    """One comparison of what was drawn with its target, and the evidence.

    `declared` says that the target is the study's own; else it is that of the rows who can take
    part, by weight and by the shares of the audiences. `compared` counts the personas that have the
    attribute. `statistic` is chi-squared with `freedom` degrees of freedom, or the largest
    distance of the two distributions (Kolmogorov and Smirnov); `p` is the chance of one as large in
    a sound draw. Numbers have means in place of `levels`. A gate of the graph has in `statistic`
    what was measured, and in `least` and `most` between what it has to be. `accepted`: the study
    lets it fail.
    """

    name: str
    test: str
    state: GateState
    declared: bool = False
    compared: int = 0
    statistic: float | None = None
    freedom: int = 0
    p: float | None = None
    why: str = ""
    accepted: bool = False
    levels: tuple[Level, ...] = ()
    target_mean: float | None = None
    drawn_mean: float | None = None
    least: float | None = None
    most: float | None = None


class PopulationManifest(Record):
    """What became of the rows of the source: read, drawn, and left out by cause.

    `file_sha256` is of the file's bytes, for people: nothing is compared by it. `audiences` counts
    the personas of each audience, `relaxations` says what the draw gave up, in order, and `gates`
    how it compares with its target. `graph` says what the graph is like, if there is one.
    """

    file: str
    file_sha256: str
    rows_read: int
    rows_drawn: int
    left_out: dict[str, int] = {}
    audiences: dict[str, int] = {}
    relaxations: tuple[Relaxation, ...] = ()
    gates: tuple[Gate, ...] = ()
    graph: GraphReport | None = None


class Population(Record):
    """The personas of a study in the order of the source, and their graph if the study has one.

    The population's hash is over the personas alone. The graph has a node for each persona, in the
    same order, and a hash of its own; it is empty if there is no graph. `weights` has how many
    people each persona stands for, where the draw did not go by that already.
    """

    personas: tuple[Persona, ...]
    population_hash: str
    manifest: PopulationManifest
    graph: tuple[Node, ...] = ()
    graph_hash: str = ""
    weights: tuple[float, ...] = ()

    @property
    def people(self) -> People:
        """The personas with their graph, as a world may know them."""
        return People(personas=self.personas, graph=self.graph)

    @property
    def persona_ids(self) -> tuple[str, ...]:
        """The ids of the personas, in order."""
        return tuple(persona.id for persona in self.personas)


class HeldOut(Record):
    """The held-out outcome by row id, as the id of a choice. For the registry, and nobody else.

    A drawn row whose outcome is missing has no entry and is counted in `missing`.
    """

    values: dict[str, str]
    held_out_hash: str
    missing: int = 0
