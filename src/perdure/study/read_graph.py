"""Reads where the ties of a population come from, and what counts as communities."""

from __future__ import annotations

from collections.abc import Mapping

from perdure.records.study import CommunitySpec, GraphSpec
from perdure.study import schema
from perdure.study.findings import quoted, suggestion
from perdure.study.section import Section

# The gates of a graph that is made; `accept` may name them beside those of the attributes.
DEGREE = "graph.degree"
CLUSTERING = "graph.clustering"
HOMOPHILY = "graph.homophily"
CONNECTED = "graph.connected"
GATES = (DEGREE, CLUSTERING, HOMOPHILY, CONNECTED)

_OF_A_FILE = (schema.GRAPH_FROM, schema.GRAPH_TO, schema.GRAPH_STRENGTH)
_OF_ATTRIBUTES = (schema.DEGREE, schema.FAR, schema.HOMOPHILY, schema.GRAPH_SEED)


def read_graph(population: Section, attributes: Mapping[str, Section]) -> GraphSpec | None:
    """Read the graph, if the study has one, checked against the attributes."""
    if not population.has(schema.GRAPH):
        return None
    graph = population.get(schema.GRAPH)
    if graph.present(schema.GRAPH_FILE):
        _check_file(graph)
    else:
        for field in _OF_A_FILE:
            if graph.present(field):
                wrong = f"`{field.key}` names a column of a file of ties, and there is no `file`."
                graph.wrong(field, wrong, "Write `file:`, or remove it.")
    alike = graph.get(schema.ALIKE)
    seen: set[str] = set()
    for spot in alike:
        if spot.value not in attributes:
            wrong = f"{quoted(spot.value)} is not among the attributes of the ontology."
            graph.found.add(spot.line, wrong, suggestion(spot.value, attributes))
        elif spot.value in seen:
            wrong = f"The attribute {quoted(spot.value)} is there twice."
            graph.found.add(spot.line, wrong, "Name it once.")
        seen.add(spot.value)
    if graph.present(schema.HOMOPHILY) and not graph.present(schema.ALIKE):
        wrong = "There is `homophily`, and no attribute in which people are alike."
        graph.wrong(schema.HOMOPHILY, wrong, "Write `alike:` and a list of attributes.")
    return GraphSpec(
        file=graph.get(schema.GRAPH_FILE),
        from_column=graph.get(schema.GRAPH_FROM),
        to_column=graph.get(schema.GRAPH_TO),
        strength_column=graph.get(schema.GRAPH_STRENGTH),
        degree=graph.get(schema.DEGREE),
        far=graph.get(schema.FAR),
        homophily=graph.get(schema.HOMOPHILY) if alike else 0.0,
        alike=tuple(dict.fromkeys(spot.value for spot in alike)),
        seed=graph.get(schema.GRAPH_SEED),
        communities=_communities(graph.get(schema.COMMUNITIES_FIELD)),
    )


def _check_file(graph: Section) -> None:
    for field in (schema.GRAPH_FROM, schema.GRAPH_TO):
        if not graph.present(field):
            wrong = f"`{graph.trail}` has a file of ties, and no `{field.key}`."
            graph.wrong(schema.GRAPH_FILE, wrong, f"Name the column: `{field.key}:`.")
    for made in _OF_ATTRIBUTES:
        if graph.present(made):
            wrong = f"The ties are those of a file, and `{made.key}` is of ties that are made."
            graph.wrong(made, wrong, "Remove one of the two.")
    columns = [graph.get(field) for field in _OF_A_FILE if graph.has(field)]
    if len(set(columns)) < len(columns):
        wrong = "Two of `from`, `to` and `strength` are one column."
        graph.wrong(schema.GRAPH_FROM, wrong, "Name another column.")


def _communities(section: Section) -> CommunitySpec:
    least, most = section.get(schema.COMMUNITIES_LEAST), section.get(schema.COMMUNITIES_MOST)
    if least > most:
        wrong = f"No number of communities is from {least} to {most}."
        section.wrong(schema.COMMUNITIES_LEAST, wrong, "Write the lesser number under `least`.")
    return CommunitySpec(
        least=least,
        most=most,
        share=section.get(schema.COMMUNITIES_SHARE),
        modularity=section.get(schema.MODULARITY),
        seed=section.get(schema.COMMUNITIES_SEED),
    )
