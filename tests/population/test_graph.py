"""Proves that a made graph has the shape that is asked for, by mechanisms that can be left out."""

from __future__ import annotations

import hashlib
import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perdure.base import canonical
from perdure.base.chance import Stream
from perdure.population.gates import refusals
from perdure.population.graph import build_graph
from perdure.population.likeness import Likeness
from perdure.population.shape import measure, strengths
from perdure.population.ties import Tie, make_ties
from perdure.records.persona import AttributeSpec, Ontology, Persona
from perdure.records.population import GateState, PopulationManifest
from perdure.records.study import GraphSpec

PARTY = AttributeSpec(name="party", label="Party", scale={str(n): str(n) for n in range(5)})
AGE = AttributeSpec(name="age", label="Age")
TOWN = AttributeSpec(name="town", label="Town", text=True)
ONTOLOGY = Ontology(attributes=(PARTY, AGE, TOWN))


def crowd(count: int) -> list[Persona]:
    """Give people with a party, an age and a town, each by chance."""
    chance = Stream("1", 0, "crowd")
    return [
        Persona(
            id=f"p{number}",
            attributes={
                "party": chance.below(5),
                "age": 18 + chance.below(60),
                "town": chance.choice(("Ulm", "Jena")),
            },
        )
        for number in range(count)
    ]


CROWD = crowd(600)
ALIKE = Likeness(CROWD, [PARTY, AGE])


def ties_of(**changes: object) -> list[Tie]:
    """Make the ties of the crowd."""
    return make_ties(len(CROWD), ALIKE, GraphSpec(alike=("party", "age"), **changes))  # type: ignore[arg-type]


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 60), st.integers(2, 12), st.floats(0, 1), st.floats(0, 1))
def test_every_tie_is_there_once_and_the_mean_is_what_is_asked(
    count: int, degree: int, far: float, homophily: float
) -> None:
    """Ties have two different ends and are there once; there are as many as people can have."""
    people = CROWD[:count]
    spec = GraphSpec(degree=degree, far=far, homophily=homophily, alike=("party",))
    ties = make_ties(count, Likeness(people, [PARTY]), spec)
    assert ties == sorted(set(ties))
    assert all(0 <= one < other < count for one, other in ties)
    wanted = round(count * degree / 2)
    assert len(ties) <= wanted
    # Who is tied to everybody already has nobody left: among very few people there may be fewer.
    if 4 * degree <= count:
        assert len(ties) >= 0.9 * wanted
    if degree == 2 and far == 0 and count > 2:
        assert len(ties) == wanted


def test_the_ties_are_pinned() -> None:
    """The same people and seed have the same ties on every machine and in every version."""
    text = repr(ties_of(seed=3)).encode()
    assert hashlib.sha256(text).hexdigest()[:16] == "a0a44c3c5351062c"
    assert ties_of(seed=4) != ties_of(seed=3)


def test_without_far_ties_there_are_no_hubs_and_without_near_ones_no_triangles() -> None:
    """Neighbourhoods make the clustering, and far ties to the popular make the hubs."""
    near = measure(600, ties_of(far=0.0), ALIKE, 0)
    mixed = measure(600, ties_of(far=0.3), ALIKE, 0)
    far = measure(600, ties_of(far=1.0, homophily=0.0), ALIKE, 0)
    assert near.clustering > 0.6
    assert 0.2 < mixed.clustering < 0.5
    assert far.clustering < 0.08
    assert max(near.degrees) == 10
    assert max(mixed.degrees) > 20
    # By lot alone degrees would spread as Poisson's: variance 5 beside the 5 ties of one's own.
    spread = sum((degree - 10) ** 2 for degree in far.degrees) / 600
    assert spread > 3 * 5


def test_homophily_is_what_makes_friends_alike() -> None:
    """Without it tied people are as alike as any two; with it much more so."""
    found = [measure(600, ties_of(homophily=one), ALIKE, 0).homophily for one in (0.0, 0.5, 1.0)]
    none, half, full = found
    assert none is not None
    assert half is not None
    assert full is not None
    assert abs(none) < 0.04
    assert none + 0.1 < half < full - 0.1
    assert full > 0.6
    assert measure(600, ties_of(), Likeness(CROWD, []), 0).homophily is None


@settings(max_examples=60, deadline=None)
@given(st.sets(st.tuples(st.integers(0, 8), st.integers(0, 8)).filter(lambda t: t[0] < t[1])))
def test_clustering_and_components_are_what_they_are_by_definition(pairs: set[Tie]) -> None:
    """What is measured fast is what counting every pair and every path gives."""
    ties = sorted(pairs)
    shape = measure(9, ties, Likeness(CROWD[:9], []), 0)
    known = {
        one: {b for a, b in ties if a == one} | {a for a, b in ties if b == one} for one in range(9)
    }
    local = []
    for mine in known.values():
        of = list(itertools.combinations(sorted(mine), 2))
        local.append(sum(pair in pairs for pair in of) / len(of) if of else 0.0)
    assert shape.clustering == pytest.approx(sum(local) / 9, abs=1e-6)
    reach = {one: {one} for one in known}
    for _ in known:
        reach = {one: seen.union(*(known[who] for who in seen)) for one, seen in reach.items()}
    assert shape.connected == pytest.approx(max(map(len, reach.values())) / 9, abs=1e-6)
    assert shape.degrees == [len(known[one]) for one in range(9)]


def test_a_tie_is_as_strong_as_its_ends_are_alike_and_share_friends() -> None:
    """Twins among the same friends have the full strength; strangers by lot the least."""
    people = [
        *(Persona(id=f"t{n}", attributes={"age": 20}) for n in range(4)),
        Persona(id="far", attributes={"age": 80}),
    ]
    ties = [*itertools.combinations(range(4), 2), (3, 4)]
    likeness = Likeness(people, [AGE])
    found = dict(zip(ties, strengths(ties, measure(5, ties, likeness, 0), likeness), strict=True))
    assert found[0, 1] == 100
    assert found[3, 4] == 1


def test_likeness_goes_by_places_distances_and_sameness() -> None:
    """Codes are near by their places, numbers by distance; what one lacks does not count."""
    people = [
        Persona(id="a", attributes={"party": 0, "age": 20, "town": "Ulm"}),
        Persona(id="b", attributes={"party": 1, "age": 60, "town": "Ulm"}),
        Persona(id="c", attributes={"party": 4, "town": "Jena"}),
        Persona(id="d", attributes={}),
    ]
    every = Likeness(people, [PARTY, AGE, TOWN])
    assert every.between(0, 0) == 1.0
    assert every.between(0, 1) == pytest.approx((0.75 + 0.0 + 1.0) / 3)
    assert every.between(0, 2) == 0.0
    assert every.between(0, 3) == 0.5
    assert Likeness(people, []).between(0, 3) == 1.0


def test_the_graph_is_a_node_for_each_persona_with_a_hash_of_its_own() -> None:
    """Ties stand with the earlier of their ends, by id, and the hash is over all of it."""
    graph = build_graph(CROWD, ONTOLOGY, GraphSpec(alike=("party",), degree=6), None)
    assert len(graph.nodes) == len(CROWD)
    places = {one.id: place for place, one in enumerate(CROWD)}
    for place, node in enumerate(graph.nodes):
        assert all(places[other] > place for other in node.ties)
        assert all(round(100 * one) == pytest.approx(100 * one) for one in node.ties.values())
    assert sum(len(node.ties) for node in graph.nodes) == graph.report.ties == 1_800
    assert graph.graph_hash == canonical.hash_hex(graph.nodes)
    again = build_graph(CROWD, ONTOLOGY, GraphSpec(alike=("party",), degree=6), None)
    other = build_graph(CROWD, ONTOLOGY, GraphSpec(alike=("party",), degree=6, seed=1), None)
    assert again == graph
    assert other.graph_hash != graph.graph_hash
    assert {gate.state for gate in graph.gates} == {GateState.PASSED}
    assert [gate.name for gate in graph.gates] == [
        "graph.degree",
        "graph.clustering",
        "graph.homophily",
        "graph.connected",
    ]


def test_a_graph_that_falls_apart_fails_its_gate() -> None:
    """Two ties each, all of them far, leave many without the rest: refused with the figure."""
    graph = build_graph(CROWD, ONTOLOGY, GraphSpec(degree=2, far=1.0, homophily=0.0), None)
    states = {gate.name: gate.state for gate in graph.gates}
    assert states["graph.connected"] is GateState.FAILED
    assert states["graph.degree"] is GateState.PASSED
    manifest = PopulationManifest(
        file="f", file_sha256="", rows_read=600, rows_drawn=600, gates=graph.gates
    )
    (problem,) = refusals(manifest, "study.yaml")
    assert (
        f"the largest component is {graph.report.connected:.4g}, and 0.98 or more" in problem.wrong
    )
    assert "Change what `graph` asks for, or write" in problem.remedy


@pytest.mark.parametrize("count", [1, 2, 3])
def test_few_people_have_what_few_people_can(count: int) -> None:
    """One persona has no ties, three at most three; nothing is divided by what is not there."""
    graph = build_graph(CROWD[:count], ONTOLOGY, GraphSpec(alike=("party",)), None)
    assert graph.report.ties == count * (count - 1) // 2
    assert all(node.community is None for node in graph.nodes)
