"""Proves that communities that are there are found, alike in every process, and others are not."""

from __future__ import annotations

import itertools
import subprocess
import sys

import pytest

from perdure.base.chance import Stream
from perdure.base.errors import UsageError
from perdure.population.communities import communities
from perdure.population.likeness import Likeness
from perdure.population.ties import Tie, make_ties
from perdure.records.study import CommunitySpec, GraphSpec

SPEC = CommunitySpec()
IN_A_PROCESS = """
from tests.population.test_communities import *
ties = make_ties(1_500, Likeness([], []), GraphSpec(homophily=0.0))
print(communities(1_500, ties, [1 + one % 7 for one, _ in ties], SPEC))
"""


def villages(number: int, size: int) -> list[Tie]:
    """Tie the people of each village to most others of it, and each village to the next."""
    chance = Stream("5", 0, "villages")
    inside = [
        (village * size + one, village * size + other)
        for village in range(number)
        for one, other in itertools.combinations(range(size), 2)
        if chance.uniform() < 0.4
    ]
    roads = [(village * size, (village + 1) % number * size + 1) for village in range(number)]
    return sorted((min(tie), max(tie)) for tie in [*inside, *roads])


def test_villages_are_found_as_they_are() -> None:
    """Six villages are six communities, each with its own people, the largest first."""
    ties = villages(6, 30)
    found, members = communities(180, ties, [100] * len(ties), SPEC)
    assert found is not None
    assert found.why == ""
    assert found.sizes == (30,) * 6
    assert found.resolution == 1.0
    assert found.modularity > 0.75
    for village in range(6):
        assert len({members[village * 30 + one] for one in range(30)}) == 1
    # Of equal sizes the one with the first persona comes first.
    assert [members[village * 30] for village in range(6)] == list(range(6))


def test_communities_are_numbered_by_their_size() -> None:
    """Whoever comes first in the file, community 0 is the largest."""
    sizes = (20, 40, 30, 25)
    starts = [sum(sizes[:place]) for place in range(4)]
    ties = [
        (start + one, start + other)
        for start, size in zip(starts, sizes, strict=True)
        for one, other in itertools.combinations(range(size), 2)
    ]
    found, members = communities(115, ties, [100] * len(ties), SPEC)
    assert found is not None
    assert found.sizes == (40, 30, 25, 20)
    assert [members[start] for start in starts] == [3, 0, 1, 2]


def test_another_process_finds_the_same() -> None:
    """Nothing of a process (the seed of its hashes, its addresses) is in the communities."""
    said = {
        subprocess.run(
            [sys.executable, "-c", IN_A_PROCESS], capture_output=True, text=True, check=True
        ).stdout
        for _ in range(3)
    }
    assert len(said) == 1


def test_fewer_and_larger_communities_are_looked_for_at_lower_resolutions() -> None:
    """Forty hamlets in a ring make no eight communities at once; they do at a lower resolution."""
    ties = make_ties(3_000, Likeness([], []), GraphSpec(homophily=0.0, far=0.05))
    strengths = [50] * len(ties)
    found, members = communities(3_000, ties, strengths, SPEC)
    assert found is not None
    assert found.why == ""
    assert 4 <= len(found.sizes) <= 8
    assert found.resolution < 1.0
    assert min(found.sizes) >= 150
    assert set(members) == set(range(len(found.sizes)))


def test_where_there_are_none_nobody_is_in_one() -> None:
    """Ties by lot alone have no partition that qualifies; what is nearest says what it lacks."""
    ties = make_ties(400, Likeness([], []), GraphSpec(homophily=0.0, far=1.0, degree=20))
    found, members = communities(400, ties, [100] * len(ties), SPEC)
    assert found is not None
    assert "modularity" in found.why
    assert members == [None] * 400


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        (CommunitySpec(least=7, most=9), "it has 6 communities, and 7 to 9 are asked for"),
        (CommunitySpec(share=0.2), "has 16.7% of all personas, less than 20.0%"),
        (CommunitySpec(modularity=0.95), "less than 0.95"),
    ],
)
def test_what_qualifies_is_what_the_study_says(spec: CommunitySpec, why: str) -> None:
    """Each of the study's conditions can refuse a partition, and is named."""
    ties = villages(6, 30)
    found, members = communities(180, ties, [100] * len(ties), spec)
    assert found is not None
    assert why in found.why
    assert set(members) == {None}


def test_the_strength_of_ties_decides() -> None:
    """Two halves of one village that hardly speak are two communities, by strength alone."""
    ties = villages(1, 40)[1:]
    ties = [tie for tie in ties if tie[0] != tie[1]]
    halves = [100 if (one < 20) == (other < 20) else 1 for one, other in ties]
    spec = CommunitySpec(least=2, most=2)
    found, members = communities(40, ties, halves, spec)
    assert found is not None
    assert found.sizes == (20, 20)
    assert [members[place] for place in (0, 19, 20, 39)] == [0, 0, 1, 1]


def test_nobody_tied_is_nothing_to_find() -> None:
    """Without ties there is no partition, and no search."""
    assert communities(3, [], [], SPEC) == (None, [None] * 3)


def test_without_the_library_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """A study with a graph is refused in a sentence where the extra is not installed."""
    monkeypatch.setitem(sys.modules, "graspologic_native", None)
    with pytest.raises(UsageError, match=r"graspologic-native.*is not installed") as refused:
        communities(2, [(0, 1)], [1], SPEC)
    assert "pip install 'perdure[graph]'" in refused.value.remedy
