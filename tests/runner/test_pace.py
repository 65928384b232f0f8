"""How far worlds may run apart."""

from perdure.runner.pace import may_open


def test_a_world_may_be_at_most_skew_ticks_ahead_of_the_slowest():
    """The fastest world waits exactly when it would be more than `skew` ticks ahead."""
    assert may_open(4, [0, 4], skew=4)
    assert not may_open(5, [0, 5], skew=4)


def test_the_slowest_world_never_waits():
    """Whatever the others did, the world that is furthest behind may go on: no deadlock."""
    assert may_open(0, [0, 100], skew=0)


def test_a_world_alone_never_waits():
    """With no other live world there is nobody to wait for."""
    assert may_open(50, [50], skew=0)
    assert may_open(50, [], skew=0)
