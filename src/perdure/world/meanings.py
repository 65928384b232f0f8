"""What texts mean to an embedding model, and how alike they are: the same on every machine.

Vectors are made one unit long and kept in whole steps of a millionth, about. Products and sums of
such numbers are exact in 64-bit floats, in whatever order a machine's library adds them up, so that
a ranking never depends on the machine.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

# A unit vector in these steps times another is below 2**41 in every partial sum: exact in a float.
_STEPS = float(1 << 20)
ONE = _STEPS * _STEPS

Rows = NDArray[np.float64]
_Kept = NDArray[np.float32]


class Meanings:
    """Vectors by text. All are of one length; one that is not, or is zero, has no meaning here."""

    def __init__(self) -> None:
        self._place: dict[str, int] = {}
        self._meaningless: set[str] = set()
        self._rows: _Kept = np.zeros((0, 0), dtype=np.float32)

    def __contains__(self, text: str) -> bool:
        return text in self._place

    def is_answered(self, text: str) -> bool:
        """Say whether a text has got its vector, one that means nothing included."""
        return text in self._place or text in self._meaningless

    def learn(self, text: str, vector: Sequence[float]) -> None:
        """Take note of the vector of a text, unless it has one already."""
        row, count = _row(vector), len(self._place)
        if self.is_answered(text):
            return
        if row is None or (count and len(row) != self._rows.shape[1]):
            self._meaningless.add(text)
            return
        if not count:
            self._rows = np.zeros((64, len(row)), dtype=np.float32)
        elif count == len(self._rows):
            self._rows = np.concatenate([self._rows, np.zeros_like(self._rows)])
        self._rows[count] = row
        self._place[text] = count

    def rows(self, texts: Sequence[str]) -> Rows:
        """Give the vectors of some texts, all of them known, for `likeness`."""
        return self._rows[[self._place[text] for text in texts]].astype(np.float64)

    @staticmethod
    def likeness(ones: Rows, others: Rows) -> Rows:
        """Give the cosine of each of some vectors to each of some others, in whole steps, exact.

        A cosine of 1 is `ONE` steps. The shape is (ones, others).
        """
        likeness: Rows = ones @ others.T
        return likeness

    @staticmethod
    def best(scores: Rows, count: int) -> list[int]:
        """Give the places of the highest scores, highest first, the first of equals first.

        Those of minus infinity are left out.
        """
        if count < len(scores):
            least = np.partition(scores, len(scores) - count)[len(scores) - count]
            places = np.flatnonzero((scores >= least) & (scores > -np.inf))
        else:
            places = np.flatnonzero(scores > -np.inf)
        order = np.argsort(-scores[places], kind="stable")
        found: list[int] = places[order][:count].tolist()
        return found


def _row(vector: Sequence[float]) -> _Kept | None:
    length = math.sqrt(math.fsum(number * number for number in vector))
    if not 0.0 < length < math.inf:
        return None
    whole: _Kept = np.rint(np.asarray(vector, dtype=np.float64) / length * _STEPS).astype(
        np.float32
    )
    return whole
