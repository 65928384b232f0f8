"""While a run works the interpreter looks for garbage seldom, and afterwards as often as before."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from perdure.runner.garbage import collecting_seldom


@pytest.fixture(autouse=True)
def threshold() -> Iterator[None]:
    """Leave the interpreter as it was."""
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)


def test_it_looks_less_often_inside_and_as_before_outside() -> None:
    """Inside, more objects may be new; an error that leaves the block puts everything back."""
    inside: list[tuple[int, int, int]] = []

    def work() -> None:
        with collecting_seldom():
            inside.append(gc.get_threshold())
            raise ZeroDivisionError

    gc.set_threshold(700, 11, 12)
    with pytest.raises(ZeroDivisionError):
        work()
    assert inside[0][0] > 10_000
    assert inside[0][1:] == (11, 12)
    assert gc.get_threshold() == (700, 11, 12)


@pytest.mark.parametrize("young", [0, 10**9])
def test_it_never_looks_more_often_than_it_was_told(young: int) -> None:
    """Where somebody turned the search off, or made it rarer still, that stays."""
    gc.set_threshold(young, 11, 12)
    with collecting_seldom():
        assert gc.get_threshold() == (young, 11, 12)
