"""Worlds that may not all be live at once are let in by groups, or one as another ends."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.records.registry import LogPayload, RunOpened, WorldsLive
from perdure.records.study import Order
from perdure.runner.door import Door, Groups, groups_of

WORLDS = tuple("abcdefg")


def test_breadth_first_a_group_is_let_in_when_nobody_is_live() -> None:
    """Not before, whatever room there is: they are to keep step."""
    door = Door(WORLDS, cap=3, order=Order.BREADTH)
    assert door.next == "a"
    assert door.let_in(0) == ("a", "b", "c")
    assert door.let_in(2) == ()
    assert door.let_in(0) == ("d", "e", "f")
    assert door.let_in(0) == ("g",)
    assert door.let_in(0) == ()
    assert [Door((), cap=3, order=Order.BREADTH).next] == [None]


def test_in_depth_order_a_world_is_let_in_as_another_ends() -> None:
    """As many as there is room for."""
    door = Door(WORLDS, cap=3, order=Order.DEPTH)
    assert door.let_in(0) == ("a", "b", "c")
    assert door.let_in(3) == ()
    assert door.let_in(2) == ("d",)
    assert door.let_in(1) == ("e", "f")


@pytest.mark.parametrize("order", Order)
def test_those_that_were_live_go_on_first(order: Order) -> None:
    """Never more than may be live now: that may be fewer than it was."""
    door = Door(WORLDS, cap=2, order=order, first={"e", "c", "g", "gone"})
    assert door.let_in(0) == ("c", "e")
    assert door.let_in(2) == ()
    assert door.let_in(0) == (("g",) if order is Order.BREADTH else ("g", "a"))
    assert door.let_in(2) == ()
    assert door.let_in(0) == (("a", "b") if order is Order.BREADTH else ("b", "d"))


@pytest.mark.parametrize("order", Order)
def test_a_world_that_ended_at_the_door_is_not_let_in(order: Order) -> None:
    """Nobody would drive it, and the others would wait for it for ever."""
    door = Door(WORLDS, cap=2, order=order, first={"c", "e"})
    for world in ("e", "a", "a", "gone"):
        door.leave(world)
    assert door.let_in(0) == (("c",) if order is Order.BREADTH else ("c", "b"))
    assert door.next == ("b" if order is Order.BREADTH else "d")


def test_a_group_that_goes_on_is_not_filled_up() -> None:
    """Others would begin where it has come far."""
    door = Door(WORLDS, cap=5, order=Order.BREADTH, first={"f"})
    assert door.let_in(0) == ("f",)
    assert door.let_in(0) == ("a", "b", "c", "d", "e")


@given(st.lists(st.integers(0, 6), max_size=30), st.integers(1, 5), st.sampled_from(Order))
def test_every_world_is_let_in_once_and_never_more_than_may_be_live(
    ended: list[int], cap: int, order: Order
) -> None:
    """Whenever how many of them end."""
    door, live, seen = Door(WORLDS, cap=cap, order=order), 0, list[str]()
    for number in [*ended, *[7] * len(WORLDS)]:
        group = door.let_in(live)
        seen += group
        live += len(group)
        assert live <= cap
        live -= min(live, number)
    assert tuple(seen) == WORLDS


def test_groups_are_gathered_from_the_run_log() -> None:
    """The last one, and all that were ever let in."""
    log: list[LogPayload] = [
        RunOpened(epoch=1),
        WorldsLive(worlds=("a", "b")),
        WorldsLive(worlds=("c",)),
    ]
    assert groups_of(log) == Groups(last=frozenset("c"), let_in=frozenset("abc"))
    assert groups_of(log[:1]) == Groups()
