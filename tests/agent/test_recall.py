"""What comes to mind: by importance and recency, and by meaning where a study embeds."""

from __future__ import annotations

import math

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.agent.recall import (
    embeds,
    kept_max,
    must_compare,
    query_text,
    relevance,
    vectorless,
)
from perdure.agent.state import keep
from perdure.base.vectors import pack, rounded
from perdure.records.persona import Memory
from perdure.records.presentation import Stimulus
from perdure.records.scenario import ModelPin, Question, Scenario
from perdure.study.schedule import MEMORIES, Schedule
from perdure.testing.contracts import example_header

PLAIN = example_header()
EMBEDS = msgspec.structs.replace(PLAIN, pins={"embed": ModelPin(provider="p", model="m")})

floats = st.floats(-100, 100, width=32)
vectors = st.lists(floats, min_size=3, max_size=3).map(tuple)


def memory(text: str, *vector: float, importance: float = 0.5, tick: int = 1) -> Memory:
    """Make a memory with a vector, or without one."""
    packed = pack([vector]) if vector else b""
    return Memory(tick=tick, text=text, importance=importance, vector=packed)


@given(query=vectors, own=vectors)
def test_relevance_is_the_cosine_of_the_two(
    query: tuple[float, ...], own: tuple[float, ...]
) -> None:
    """It is within 0 and 1, to six decimals, and what an exact sum gives."""
    (found,) = relevance([memory("a", *own)], [query])
    sizes = math.sqrt(math.fsum(x * x for x in query)) * math.sqrt(math.fsum(x * x for x in own))
    exact = math.fsum(x * y for x, y in zip(query, own, strict=True)) / sizes if sizes else 0.0
    assert found == round(found, 6)
    assert 0.0 <= found <= 1.0
    assert found == pytest.approx(min(1.0, max(0.0, exact)), abs=2e-6)


def test_what_has_no_vector_of_its_own_gets_one_with_the_query() -> None:
    """Vectors that came with the query go to the memories without one, in order."""
    mind = [memory("a"), memory("b", 1.0, 0.0), memory("c")]
    assert vectorless(mind) == ("a", "c")
    found = relevance(mind, rounded([(1.0, 0.0), (0.0, 1.0), (1.0, 1.0)]))
    assert found == (0.0, 1.0, round(math.sqrt(0.5), 6))


def test_opposites_and_strangers_are_not_relevant() -> None:
    """A meaning that is contrary, empty or of another model counts as none."""
    mind = [memory("a", -1.0, 0.0), memory("b", 0.0, 0.0), memory("c", 1.0, 0.0, 0.0)]
    assert relevance(mind, [(1.0, 0.0)]) == (0.0, 0.0, 0.0)
    assert relevance([memory("a", 1.0, 0.0)], [(0.0, 0.0)]) == (0.0,)


def test_the_relevant_outweighs_the_recent() -> None:
    """Importance, recency and relevance weigh together, and what is chosen stays in its order."""
    old, new, newest = (
        memory(name, tick=tick) for name, tick in (("old", 1), ("new", 2), ("newest", 3))
    )
    mind = (old, new, newest)
    assert keep(mind, 2) == (new, newest)
    assert keep(mind, 2, (1.0, 0.1, 0.9)) == (old, newest)
    assert keep(mind, 2, (1.0, 1.0, 1.0)) == keep(mind, 2)
    assert keep(mind, 2, (0.0, 0.0, 0.0)) == (new, newest)


def test_more_is_kept_only_where_it_can_come_to_mind() -> None:
    """Without a model that embeds, exactly those are kept that a prompt would tell."""
    assert kept_max(PLAIN) == PLAIN.agent.memories_max == 5
    assert kept_max(EMBEDS) == 50
    few = msgspec.structs.replace(EMBEDS.agent, memories_kept=3)
    assert kept_max(msgspec.structs.replace(EMBEDS, agent=few)) == 5


@pytest.mark.parametrize(("told", "kept", "wanted"), [(5, 6, True), (5, 5, False), (0, 50, False)])
def test_memories_have_vectors_only_where_more_is_kept_than_told(
    told: int, kept: int, *, wanted: bool
) -> None:
    """Vectors that can decide nothing are not paid for, and the plan counts none."""
    agent = msgspec.structs.replace(EMBEDS.agent, memories_max=told, memories_kept=kept)
    assert embeds(msgspec.structs.replace(EMBEDS, agent=agent)) is wanted
    schedule = Schedule(Scenario(id="s", variant="v", horizon=1, waves=(0,)), agent, embeds=True)
    assert (MEMORIES in schedule.most(0, 10)) is wanted


def test_nothing_is_compared_where_all_is_told() -> None:
    """A call for vectors is made only where it can make a difference."""
    mind = [memory(str(number), 1.0) for number in range(6)]
    assert must_compare(EMBEDS, mind)
    assert not must_compare(EMBEDS, mind[:5])
    assert not must_compare(PLAIN, mind)
    none = msgspec.structs.replace(EMBEDS.agent, memories_max=0)
    assert not must_compare(msgspec.structs.replace(EMBEDS, agent=none), mind)


def test_memories_are_compared_with_what_is_shown_and_asked() -> None:
    """The query is what is shown, in order, and the question."""
    shown = [Stimulus(id=name, kind="k", text=f"{name} is so.") for name in ("a", "b")]
    assert query_text(shown, Question(id="q", text="Well?")) == "a is so.\nb is so.\nWell?"
