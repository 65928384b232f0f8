"""Beliefs move by steps along a scale, add up over the turns of a tick, and are told in words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.agent.beliefs import STEPS_MAX, belief_lines, merged, moved
from perdure.records.reaction import Change

steps = st.integers(-STEPS_MAX, STEPS_MAX)
beliefs = st.dictionaries(st.sampled_from(["c1", "c2", "c3"]), steps)


@given(before=beliefs, changes=st.lists(st.sampled_from(list(Change)), max_size=12))
def test_no_belief_leaves_its_scale(before: dict[str, int], changes: list[Change]) -> None:
    """However often it is moved, a belief stays within its seven steps; the others stay put."""
    now = before
    for change in changes:
        now = moved(now, "c1", change) or now
    assert abs(now.get("c1", 0)) <= STEPS_MAX
    assert {name: now[name] for name in before if name != "c1"} == {
        name: step for name, step in before.items() if name != "c1"
    }


@pytest.mark.parametrize(
    ("before", "change", "after"),
    [
        (0, Change.MUCH_MORE, 2),
        (2, Change.MUCH_MORE, 3),
        (3, Change.MORE, None),
        (1, Change.SAME, None),
        (1, None, None),
        (0, Change.LESS, -1),
        (-3, Change.MUCH_LESS, None),
        (-3, Change.MORE, -2),
    ],
)
def test_a_change_moves_a_belief_by_its_steps(
    before: int, change: Change | None, after: int | None
) -> None:
    """What moves nothing, because it changes nothing or is at the end, is no new belief."""
    found = moved({"c1": before, "c2": 1}, "c1", change)
    assert found == (None if after is None else {"c1": after, "c2": 1})


def test_a_message_about_no_claim_moves_none() -> None:
    """Only a claim can be believed."""
    assert moved({}, "", Change.MUCH_MORE) is None
    assert moved({}, "c1", Change.MORE) == {"c1": 1}


@given(before=beliefs, claim=st.sampled_from(["c1", "c2"]), change=st.sampled_from(list(Change)))
def test_one_turn_leaves_what_it_says(before: dict[str, int], claim: str, change: Change) -> None:
    """The only turn of a tick leaves its own beliefs."""
    after = moved(before, claim, change) or before
    assert merged(before, before, after) == after


def test_the_turns_of_a_tick_add_up() -> None:
    """Two turns that began with the same beliefs leave what both moved, and not the last one's."""
    before = {"c1": 1}
    first, second = {"c1": 2}, {"c1": 1, "c2": -2}
    now = merged(before, before, first)
    assert merged(now, before, second) == {"c1": 2, "c2": -2}
    assert merged({"c1": 3}, {"c1": 1}, {"c1": 3}) == {"c1": 3}


def test_every_step_has_words_of_its_own_and_no_number() -> None:
    """A model is told in seven different ways how far something is believed, and never a number."""
    lines = [
        line
        for step in range(-STEPS_MAX, STEPS_MAX + 1)
        for line in belief_lines({"c1": step}, {"c1": '"Trams."', "c2": '"Buses."'})
    ]
    assert len(set(lines)) == 7
    assert all(line.startswith('- "Trams.": you ') for line in lines)
    assert not any(character.isdigit() for line in lines for character in line)
