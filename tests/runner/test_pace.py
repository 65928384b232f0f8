"""How far worlds may run apart."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from perdure.runner.pace import Pace, may_open


def pace(*ticks: int, skew: int | None = 4) -> Pace:
    """Make the pace of live worlds that are to open these ticks next."""
    made = Pace(skew)
    for place, tick in enumerate(ticks):
        made.move(str(place), tick)
    return made


def test_a_world_may_be_at_most_skew_ticks_ahead_of_the_slowest():
    """The fastest world waits exactly when it would be more than `skew` ticks ahead."""
    assert may_open(4, 0, skew=4)
    assert not may_open(5, 0, skew=4)
    assert pace(0, 4).allows(4)
    assert not pace(0, 5).allows(5)


def test_the_slowest_world_never_waits():
    """Whatever the others did, the world that is furthest behind may go on: no deadlock."""
    assert pace(0, 100, skew=0).allows(0)


def test_a_world_alone_never_waits():
    """With no other live world there is nobody to wait for."""
    assert pace(50, skew=0).allows(50)
    assert pace(skew=0).allows(50)


def test_in_depth_order_nobody_waits():
    """Without a skew the slowest holds nobody up."""
    assert pace(0, 500, skew=None).allows(500)


@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 12) | st.none()), max_size=60),
    st.integers(0, 12),
)
def test_the_slowest_is_known_however_worlds_come_and_go(
    moves: list[tuple[int, int | None]], tick: int
) -> None:
    """Worlds that join, move on, leave and join again further back: as if all were looked at."""
    made, known = Pace(2), dict[str, int]()
    for world, at in moves:
        if at is None:
            made.leave(str(world))
            known.pop(str(world), None)
        else:
            made.move(str(world), at)
            known[str(world)] = at
        assert made.ticks == known
        assert made.allows(tick) is (not known or tick - min(known.values()) <= 2)
