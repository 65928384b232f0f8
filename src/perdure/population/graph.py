"""Builds the graph of a population: its ties, their strengths, its communities, and its gates."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from perdure.base import canonical
from perdure.population.communities import communities
from perdure.population.edge_list import EdgeList
from perdure.population.likeness import Likeness
from perdure.population.shape import HUNDREDTHS, Shape, measure, strengths
from perdure.population.ties import make_ties
from perdure.records.graph import GraphReport, Node
from perdure.records.persona import Ontology, Persona
from perdure.records.population import Gate, GateState
from perdure.records.study import GraphSpec
from perdure.study.read_graph import CLUSTERING, CONNECTED, DEGREE, HOMOPHILY

DEGREE_TOLERANCE = 0.1
CLUSTERING_MIN = 0.1
HOMOPHILY_MIN = 0.05
CONNECTED_MIN = 0.98
_DIGITS = 6


@dataclass(frozen=True)
class Graph:
    """The nodes of a graph in the order of the personas, what it is like, and its gates."""

    nodes: tuple[Node, ...]
    report: GraphReport
    gates: tuple[Gate, ...]

    @property
    def graph_hash(self) -> str:
        """The hash over the nodes alone."""
        return canonical.hash_each(self.nodes)


def build_graph(
    personas: Sequence[Persona], ontology: Ontology, spec: GraphSpec, edges: EdgeList | None
) -> Graph:
    """Tie the personas, by the edge list if there is one, and find their communities.

    A graph that is made is judged by its gates; one that the study has is what it is.

    Raises:
        UsageError: the library that finds communities is not installed.

    """
    attributes = {one.name: one for one in ontology.attributes}
    likeness = Likeness(personas, [attributes[name] for name in spec.alike])
    count = len(personas)
    outside = 0
    if edges is None:
        ties = make_ties(count, likeness, spec)
        shape = measure(count, ties, likeness, spec.seed)
        strong = strengths(ties, shape, likeness)
    else:
        ties, strong, outside = edges.among({one.id: place for place, one in enumerate(personas)})
        shape = measure(count, ties, likeness, spec.seed)
    found, members = communities(count, ties, strong, spec.communities)
    report = GraphReport(
        ties=len(ties),
        degree_mean=round(2 * len(ties) / count, _DIGITS),
        degree_max=max(shape.degrees),
        isolated=shape.degrees.count(0),
        clustering=shape.clustering,
        connected=shape.connected,
        homophily=shape.homophily,
        file=spec.file,
        file_sha256=edges.digest if edges is not None else "",
        outside=outside,
        communities=found,
    )
    later: list[dict[str, float]] = [{} for _ in personas]
    for (one, other), strength in zip(ties, strong, strict=True):
        later[one][personas[other].id] = strength / HUNDREDTHS
    nodes = tuple(
        Node(ties=mine, community=community) for mine, community in zip(later, members, strict=True)
    )
    gates = () if edges is not None else tuple(_gates(report, shape, count, spec))
    return Graph(nodes=nodes, report=report, gates=gates)


def _gates(report: GraphReport, shape: Shape, count: int, spec: GraphSpec) -> Iterable[Gate]:
    # Among few people nobody can have as many ties as are asked for.
    degree = min(spec.degree, count - 1)
    low, high = degree * (1 - DEGREE_TOLERANCE), degree * (1 + DEGREE_TOLERANCE)
    yield _gate(DEGREE, "mean degree", report.degree_mean, count, least=low, most=high)
    # Ties that all lead far close no triangles, and were asked for.
    closed = CLUSTERING_MIN * (1 - spec.far)
    yield _gate(CLUSTERING, "mean clustering", report.clustering, count, least=closed)
    if spec.homophily and spec.alike:
        least = HOMOPHILY_MIN * spec.homophily
        if shape.homophily is None:
            why = "everybody is alike"
            gate = Gate(name=HOMOPHILY, test="likeness", state=GateState.UNMEASURED, why=why)
            yield gate
        else:
            yield _gate(HOMOPHILY, "likeness", shape.homophily, count, least=least)
    yield _gate(CONNECTED, "largest component", report.connected, count, least=CONNECTED_MIN)


def _gate(
    name: str,
    test: str,
    value: float,
    count: int,
    *,
    least: float,
    most: float | None = None,
) -> Gate:
    holds = least <= value and (most is None or value <= most)
    return Gate(
        name=name,
        test=test,
        state=GateState.PASSED if holds else GateState.FAILED,
        compared=count,
        statistic=value,
        least=round(least, _DIGITS),
        most=None if most is None else round(most, _DIGITS),
    )
