"""Vectors as recorded."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.base.vectors import pack, rounded, unpack

floats = st.floats(width=32, allow_nan=False, allow_infinity=False)


@given(
    st.integers(1, 5).flatmap(
        lambda width: st.lists(st.lists(floats, min_size=width, max_size=width), min_size=1)
    )
)
def test_what_is_packed_is_unpacked(vectors: list[list[float]]):
    """A world that is rebuilt from its record sees the very numbers it saw at first."""
    assert unpack(pack(vectors), len(vectors)) == rounded(vectors)


def test_rounding_is_to_32_bits_and_once():
    """A number that a 32-bit float cannot hold is rounded before anybody sees it."""
    once = rounded([[0.1]])
    assert once != ((0.1,),)
    assert rounded(once) == once


def test_bytes_that_hold_no_equal_vectors_are_refused():
    """A count that does not fit the bytes is an error, not a guess."""
    with pytest.raises(ValueError, match="do not hold 2"):
        unpack(pack([[1.0, 2.0, 3.0]]), 2)
