"""Seeded chance: a stream of its own for every purpose, so that adding a draw never shifts another.

Streams are counter-based SHA-256. Every drawing method below is pinned by tests and never changes:
a study drawn today is drawn the same in ten years, on any machine and any Python.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import MutableSequence, Sequence
from typing import TypeVar

T = TypeVar("T")

_WORD_BYTES = 8
_WORDS_PER_BLOCK = 4
_TWO_53 = float(1 << 53)


class Stream:
    """Draws for one (seed, tick, purpose, index). Equal arguments give equal draws."""

    __slots__ = ("_block", "_counter", "_key", "_spare", "_word")

    def __init__(self, seed: str, tick: int, purpose: str, index: int | str = 0) -> None:
        label = f"{seed}\x1f{tick}\x1f{purpose}\x1f{index}".encode()
        self._key = hashlib.sha256(b"perdure-stream-1\x00" + label).digest()
        self._counter = 0
        self._block = b""
        self._word = _WORDS_PER_BLOCK
        self._spare: float | None = None

    def uint64(self) -> int:
        """Draw an integer, uniform over 0 .. 2**64 - 1."""
        if self._word == _WORDS_PER_BLOCK:
            counter = self._counter.to_bytes(_WORD_BYTES, "big")
            self._block = hashlib.sha256(self._key + counter).digest()
            self._counter += 1
            self._word = 0
        start = self._word * _WORD_BYTES
        self._word += 1
        return int.from_bytes(self._block[start : start + _WORD_BYTES], "big")

    def many(self, count: int) -> bytes:
        """Draw `count` uniform 64-bit words at once, as little-endian bytes.

        They come from SHAKE-256 of the next word: for draws by the million.
        """
        seed = self.uint64().to_bytes(_WORD_BYTES, "big")
        return hashlib.shake_256(b"perdure-many-1\x00" + seed).digest(count * _WORD_BYTES)

    def uniform(self) -> float:
        """Draw a float, uniform over [0, 1), from the top 53 bits of one word."""
        return (self.uint64() >> 11) / _TWO_53

    def below(self, bound: int) -> int:
        """Draw an integer, uniform over 0 .. bound - 1, without bias. `bound` is at least 1."""
        if bound < 1:
            raise ValueError(f"bound must be at least 1, not {bound}")
        limit = (1 << 64) - (1 << 64) % bound
        while (word := self.uint64()) >= limit:
            pass
        return word % bound

    def normal(self) -> float:
        """Draw from the standard normal distribution (Marsaglia's polar method)."""
        if self._spare is not None:
            spare, self._spare = self._spare, None
            return spare
        while True:
            left, right = 2.0 * self.uniform() - 1.0, 2.0 * self.uniform() - 1.0
            square = left * left + right * right
            if 0.0 < square < 1.0:
                break
        scale = math.sqrt(-2.0 * math.log(square) / square)
        self._spare = right * scale
        return left * scale

    def choice(self, items: Sequence[T]) -> T:
        """Draw one of the items, each with the same chance."""
        return items[self.below(len(items))]

    def shuffle(self, items: MutableSequence[T]) -> None:
        """Put the items in a random order, in place (Fisher and Yates)."""
        for last in range(len(items) - 1, 0, -1):
            other = self.below(last + 1)
            items[last], items[other] = items[other], items[last]

    def sample(self, items: Sequence[T], count: int) -> list[T]:
        """Draw `count` different items; a smaller count gives a prefix of a larger one."""
        pool = list(items)
        self.shuffle(pool)
        return pool[:count]
