"""How far apart communities are: Jensen and Shannon's divergence, beside what chance alone gives.

Each community counts by its size. The divergence in bits is what an opinion tells of the community
that it comes from (their mutual information); divided by the entropy of the communities' sizes it
is 0 if all of them think alike, and 1 if an opinion gives its community away. With few people it is
above 0 by chance alone, so it stands beside its mean over random relabellings: the same opinions
and the same sizes, the people shuffled. One relabelling is the same in every world of a run, since
the people of its worlds are the same.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from perdure.base.chance import Stream
from perdure.records.record import Record

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

RELABELLINGS = 199
COMMUNITIES_MIN = 2
NONE = -1  # in no community, or without an opinion

# So many people are shuffled in all; a larger population has less chance in it.
_SHUFFLED_MAX = 4_000_000
_KEPT_MAX = 8_000_000  # so many figures are kept in all
_RELABELLINGS_MIN = 39
_UNIT = 1 << 32  # logarithms are counted in these parts, as whole numbers


class Divergence(Record):
    """One comparison of communities. `why` says why there is none; then all else is nothing.

    `personas` have an opinion and a community, of `communities`. `bits` is the divergence to base
    2, `value` the same between 0 and 1, `chance` the mean of that over the relabellings.
    """

    personas: int = 0
    communities: int = 0
    bits: float = 0.0
    value: float = 0.0
    chance: float = 0.0
    why: str = ""


class Shuffler:
    """The relabellings of a population, drawn once."""

    def __init__(self, communities: Sequence[int | None], *, places: int = 1) -> None:
        """Take each persona's community, in their order; they are compared at so many places.

        Where people or places are very many, the relabellings are fewer.
        """
        import numpy as np  # noqa: PLC0415 - heavy

        self.labels: NDArray[np.int64] = np.array(
            [NONE if one is None else one for one in communities], dtype=np.int64
        )
        count = len(communities)
        most = min(_SHUFFLED_MAX // max(1, count), _KEPT_MAX // max(1, places))
        number = min(RELABELLINGS, max(_RELABELLINGS_MIN, most))
        orders = np.empty((number, count), dtype=np.int32)
        for row in range(number):
            words = Stream("perdure", 0, "relabelling", row).many(count)
            orders[row] = np.argsort(np.frombuffer(words, dtype="<u8"), kind="stable")
        self._orders = orders
        self._table = np.array([_part(n) for n in range(count + 1)], dtype=np.int64)

    def divergence(
        self, opinions: NDArray[np.int64], kinds: int
    ) -> tuple[Divergence, NDArray[np.float64]]:
        """Compare communities by their people's opinions, 0 to `kinds` - 1, -1 for none.

        Gives the comparison and the value under each relabelling (none if there is none). Sums are
        of whole numbers, so that they are the same on every machine.
        """
        import numpy as np  # noqa: PLC0415 - heavy

        nothing = np.empty(0)
        there = (self.labels != NONE) & (opinions != NONE)
        labels = self.labels[there]
        _, labels = np.unique(labels, return_inverse=True)
        people, groups = len(labels), int(labels.max(initial=-1)) + 1
        if groups < COMMUNITIES_MIN:
            why = (
                "nobody in a community has one"
                if not people
                else "only one community has anybody with one"
            )
            return Divergence(personas=people, communities=groups, why=why), nothing
        held = opinions[there]
        table = self._table
        cells = _cells(labels[None, :], held[None, :], groups, kinds)
        whole, kept = int(table[people]), int(table[np.bincount(labels)].sum())
        spread = whole - kept
        told = table[cells].sum(axis=1) - kept - int(table[np.bincount(held)].sum()) + whole
        # Where all think alike, rounding may leave a last bit of the logarithms.
        found = max(0, int(told[0]))
        order = self._orders[there[self._orders]].reshape(len(self._orders), people)
        mixed = _cells(np.broadcast_to(labels, order.shape), opinions[order], groups, kinds)
        shuffled = table[mixed].sum(axis=1) - kept - int(table[np.bincount(held)].sum()) + whole
        shuffled = np.maximum(0, shuffled)
        return (
            Divergence(
                personas=people,
                communities=groups,
                bits=found / _UNIT / people,
                value=found / spread,
                chance=int(shuffled.sum()) / (len(order) * spread),
            ),
            shuffled / spread,
        )


def _cells(
    labels: NDArray[np.int64], opinions: NDArray[np.int64], groups: int, kinds: int
) -> NDArray[np.int64]:
    """Count how many of each group have each opinion, a row of counts for each row."""
    import numpy as np  # noqa: PLC0415 - heavy

    size = groups * kinds
    codes = labels * kinds + opinions + size * np.arange(len(labels))[:, None]
    counts = np.bincount(codes.ravel(), minlength=size * len(labels))
    return counts.reshape(len(labels), size)


def _part(n: int) -> int:
    """Give n * log2(n) in whole parts, of which `_UNIT` are 1."""
    return round(n * math.log2(n) * _UNIT) if n else 0
