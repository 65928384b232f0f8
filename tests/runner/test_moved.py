"""What moved, and what may be forced."""

import pytest

from perdure.base.errors import MovedError, UsageError
from perdure.runner.moved import FORCEABLE, compare, require_leave

WAS = dict.fromkeys(FORCEABLE, "a" * 64)


def test_nothing_moved_is_nothing_to_say():
    """Equal inputs may always go on."""
    assert compare(WAS, dict(WAS)) == ()
    require_leave((), (), "run")


@pytest.mark.parametrize("name", sorted(FORCEABLE))
def test_each_thing_that_moved_is_named_with_both_values(name: str):
    """Whatever moves alone is named alone, with what it was and is."""
    moved = compare(WAS, {**WAS, name: "b" * 64})
    assert [one.name for one in moved] == [name]
    with pytest.raises(MovedError, match=f"{name} .a{{12}} then, b{{12}} now") as refused:
        require_leave(moved, (), "run")
    assert refused.value.moved == (name,)
    assert refused.value.exit_status == 78


def test_everything_that_moved_is_named_at_once():
    """All differences stand in one refusal."""
    moved = compare(WAS, dict.fromkeys(FORCEABLE, "b" * 64))
    with pytest.raises(MovedError) as refused:
        require_leave(moved, (), "run")
    assert set(refused.value.moved) == set(FORCEABLE)


def test_a_force_covers_only_what_it_names():
    """What is forced by name goes on; what moved beside it is still refused."""
    moved = compare(WAS, {**WAS, "brief": "b" * 64, "pins": "b" * 64})
    require_leave(moved, ("brief", "pins"), "run")
    with pytest.raises(MovedError) as refused:
        require_leave(moved, ("brief",), "run")
    assert refused.value.moved == ("pins",)


@pytest.mark.parametrize("name", ["population", "scenarios", "seeds", "held_out", "nonsense"])
def test_what_makes_other_worlds_cannot_be_forced(name: str):
    """To force what is never forceable, or does not exist, is a usage error."""
    with pytest.raises(UsageError, match=name):
        require_leave((), (name,), "run")
