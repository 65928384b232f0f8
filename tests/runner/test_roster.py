"""Which world goes on where when a worker process dies, and when a world has failed. No process."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.runner.roster import STRIKES_MAX, Roster, overdue


def begun(roster: Roster) -> Roster:
    """Have every world begin where it is."""
    for process in roster.processes:
        roster.came(process)
        for world in roster.worlds(process):
            roster.began(world)
    return roster


def test_worlds_get_a_process_each_as_long_as_there_are_processes():
    """Then several share one, as evenly as can be."""
    assert Roster(4).deal(["a", "b"]) == {0: ("a",), 1: ("b",)}
    assert Roster(2).deal(["a", "b", "c"]) == {0: ("a", "c"), 1: ("b",)}
    assert Roster(3).deal([]) == {}


def test_worlds_of_a_dead_process_go_on_one_in_a_process_and_have_no_strike():
    """Nobody knows which of them it was."""
    roster = Roster(1)
    roster.deal(["a", "b", "c"])
    fall = begun(roster).died(0)
    assert [world for _, world in fall.again] == [("a",), ("b",), ("c",)]
    assert len({process for process, _ in fall.again}) == 3
    assert fall.failed == ()
    assert [roster.strikes(world) for world in "abc"] == [0, 0, 0]


def test_a_world_that_dies_alone_three_times_has_failed():
    """Without a closed tick in between."""
    roster = Roster(2)
    roster.deal(["a", "b"])
    process = 0
    for _ in range(STRIKES_MAX - 1):
        fall = begun(roster).died(process)
        ((process, worlds),) = fall.again
        assert worlds == ("a",)
    assert begun(roster).died(process).failed == ("a",)
    assert [roster.worlds(one) for one in roster.processes] == [{"b"}]


def test_a_closed_tick_takes_the_strikes_back():
    """A world that gets on is never given up, however often its process dies."""
    roster = Roster(1)
    roster.deal(["a"])
    process = 0
    for _ in range(3 * STRIKES_MAX):
        ((process, _),) = begun(roster).died(process).again
        roster.closed("a")
    assert roster.strikes("a") == 0


def test_a_world_that_was_alone_moves_in_with_others_when_it_has_closed_a_tick():
    """So that there are no more processes than were asked for in the end."""
    roster = Roster(2)
    roster.deal(["a", "b", "c", "d"])
    (first, a), (second, c) = begun(roster).died(0).again
    assert (a, c) == (("a",), ("c",))
    roster.closed("a")
    assert roster.is_moving("a")
    assert roster.move("a") == (1, False)
    assert roster.worlds(1) == {"a", "b", "d"}
    assert not roster.worlds(first)
    roster.closed("c")
    assert not roster.is_moving("c")
    assert roster.processes == (1, second)


def test_a_world_has_nowhere_to_move_while_all_others_are_alone_for_a_while():
    """A process on probation takes nobody in; the first that is done with it does."""
    roster = Roster(1)
    roster.deal(["a", "b"])
    (first, _), (second, _) = begun(roster).died(0).again
    roster.closed("a")
    assert not roster.is_moving("a")
    roster.closed("b")
    assert roster.move("b") == (first, False)
    assert roster.worlds(first) == {"a", "b"}
    assert second not in roster.processes


def test_a_world_that_is_to_move_gets_a_new_process_if_the_others_died_meanwhile():
    """It is never left without one."""
    roster = Roster(1)
    roster.deal(["a", "b"])
    (first, _), _ = begun(roster).died(0).again
    roster.closed("a")
    roster.closed("b")
    assert roster.is_moving("b")
    ((again, _),) = begun(roster).died(first).again
    process, is_new = roster.move("b")
    assert is_new
    assert roster.worlds(process) == {"b"}
    assert roster.worlds(again) == {"a"}


def test_a_known_culprit_fails_at_once_and_the_others_go_on():
    """A world that hangs is named by its silence."""
    roster = Roster(1)
    roster.deal(["a", "b"])
    fall = begun(roster).died(0, "b")
    assert fall.failed == ("b",)
    assert [worlds for _, worlds in fall.again] == [("a",)]


def test_worlds_that_had_not_begun_go_on_together_and_are_not_suspected():
    """However many wait, there is one process for them; the one that had begun gets the strike."""
    roster = Roster(1)
    roster.deal(["a", "b", "c"])
    roster.came(0)
    roster.began("b")
    fall = roster.died(0)
    assert [worlds for _, worlds in fall.again] == [("b",), ("a", "c")]
    assert roster.strikes("b") == 1
    (_, (number, _)) = fall.again
    for _ in range(2 * STRIKES_MAX):
        roster.came(number)
        ((number, worlds),) = roster.died(number).again
        assert worlds == ("a", "c"), "however often: they wait to be let in, and harm nobody"


def test_a_world_that_has_ended_may_be_told_to_have_ended_again():
    """Two processes may have asked for leave for it, one after the other."""
    roster = Roster(1)
    roster.deal(["a", "b"])
    for _ in range(2):
        roster.ended("a")
    assert roster.worlds(0) == {"b"}


def test_processes_that_die_before_any_world_begins_are_tried_three_times():
    """Then it is the worlds' end, and no loop without one."""
    stillborn = Roster(1)
    stillborn.deal(["a", "b"])
    process = 0
    for _ in range(STRIKES_MAX - 1):
        ((process, worlds),) = stillborn.died(process).again
        assert worlds == ("a", "b")
    assert stillborn.died(process).failed == ("a", "b")


def test_a_process_hangs_when_a_world_gives_no_word_for_too_long():
    """The only one that was silent for long is to blame; of several, nobody knows which."""
    assert overdue({}, 5.0) == (None, False)
    assert overdue({"a": 4.9, "b": 1.0}, 5.0) == (None, False)
    assert overdue({"a": 5.1}, 5.0) == ("a", True)
    assert overdue({"a": 5.1, "b": 0.1}, 5.0) == ("a", True)
    assert overdue({"a": 5.1, "b": 4.0}, 5.0) == (None, True)


@given(
    size=st.integers(1, 4),
    count=st.integers(1, 6),
    steps=st.lists(st.tuples(st.sampled_from("bbbdcemk"), st.integers(0, 5)), max_size=60),
)
def test_no_world_is_ever_lost_or_twice_somewhere(
    size: int, count: int, steps: list[tuple[str, int]]
):
    """Whatever happens in whatever order, a world that has not ended is in exactly one process."""
    roster, live = Roster(size), {f"w{number}" for number in range(count)}
    roster.deal(sorted(live))
    for kind, number in steps:
        if not live:
            break
        world = sorted(live)[number % len(live)]
        process = next(one for one in roster.processes if world in roster.worlds(one))
        if kind in "dk":
            fall = roster.died(process, world if kind == "k" else None)
            live -= set(fall.failed)
            for new, some in fall.again:
                assert roster.worlds(new) == set(some)
        elif kind == "b":
            roster.began(world)
        elif kind == "c":
            roster.closed(world)
        elif kind == "e":
            roster.ended(world)
            live.discard(world)
        elif roster.is_moving(world):
            roster.move(world)
        placed = [one for process in roster.processes for one in roster.worlds(process)]
        assert sorted(placed) == sorted(live)
        assert all(roster.worlds(process) for process in roster.processes)


def test_with_no_deaths_there_are_as_many_processes_as_were_asked_for():
    """Closing ticks moves nobody."""
    roster = Roster(2)
    roster.deal(["a", "b", "c"])
    for world in "abc":
        roster.closed(world)
        assert not roster.is_moving(world)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_after_all_have_closed_a_tick_the_processes_are_as_many_as_before(size: int):
    """Whatever died before, when each has closed a tick and moved, there are no more than asked."""
    roster = Roster(size)
    worlds = list("abcdef")
    roster.deal(worlds)
    for process in begun(roster).processes:
        roster.died(process)
    for world in worlds:
        roster.closed(world)
        if roster.is_moving(world):
            roster.move(world)
    assert len(roster.processes) <= size
