"""Vectors as they are recorded: little-endian 32-bit floats, one vector after another. Pure."""

from __future__ import annotations

import math
import sys
from array import array
from collections.abc import Sequence

Vector = tuple[float, ...]


def rounded(vectors: Sequence[Sequence[float]]) -> tuple[Vector, ...]:
    """Round each number to what a 32-bit float holds."""
    return tuple(tuple(array("f", vector)) for vector in vectors)


def has_direction(vector: Vector) -> bool:
    """Say whether a vector can be compared: as 32-bit floats it is finite, and not all zeros."""
    try:
        kept = array("f", vector)
    except OverflowError:
        return False
    return any(kept) and all(map(math.isfinite, kept))


def pack(vectors: Sequence[Sequence[float]]) -> bytes:
    """Pack vectors into bytes. Their count and the bytes' length give their dimension."""
    numbers = array("f", (number for vector in vectors for number in vector))
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers.tobytes()


def unpack(data: bytes, count: int) -> tuple[Vector, ...]:
    """Unpack `count` vectors of equal dimension.

    Raises:
        ValueError: the bytes do not hold `count` equal vectors.

    """
    numbers = array("f")
    numbers.frombytes(data)
    if sys.byteorder == "big":
        numbers.byteswap()
    if count == 0 or len(numbers) % count:
        raise ValueError(f"{len(data)} bytes do not hold {count} equal vectors")
    width = len(numbers) // count
    return tuple(tuple(numbers[at : at + width]) for at in range(0, len(numbers), width))
