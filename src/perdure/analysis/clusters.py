"""Texts that say alike, by their words: weighted words, average linkage. Pure and deterministic.

A word counts the more the fewer texts have it. All weights are whole numbers, so that sums are
exact, and the same on every machine; of equals, the first merges first.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# The mean similarity (0 to 1) of two clusters at which they are one.
ALIKE = 0.25

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")  # noqa: RUF001 - as it is written
_UNIT = 1 << 14
_WORDS_NAMED = 5


class Cluster(NamedTuple):
    """Texts that say alike, by place: the most typical first. `size` counts each as often as given.

    `words` are those that tell it from the rest, the most telling first.
    """

    places: tuple[int, ...]
    size: int
    words: tuple[str, ...]


def words_of(text: str) -> list[str]:
    """Cut a text into its words, without regard to case."""
    return _WORD.findall(text.casefold())


def clusters(texts: Sequence[str], counts: Sequence[int], *, floor: int) -> tuple[Cluster, ...]:
    """Find the clusters of at least `floor` texts, the largest first.

    `counts` says how often each text is given. A text of words that no other has is in none.
    """
    import numpy as np  # noqa: PLC0415 - heavy

    vectors, vocabulary = _vectors(texts, counts)
    if not vocabulary:
        return ()
    alike = vectors @ vectors.T  # whole numbers well below 2 ** 53: exact
    found = []
    for members in _linked(alike, np.array(counts, dtype=np.float64)):
        size = sum(counts[place] for place in members)
        if size >= floor:
            found.append(
                _cluster(
                    members,
                    size,
                    alike,
                    vectors=vectors,
                    counts=counts,
                    vocabulary=vocabulary,
                )
            )
    return tuple(sorted(found, key=lambda one: (-one.size, one.places)))


def _vectors(
    texts: Sequence[str], counts: Sequence[int]
) -> tuple[NDArray[np.float64], tuple[str, ...]]:
    """Weigh the words of each text: how often it has them, and how few others do."""
    import numpy as np  # noqa: PLC0415 - heavy

    said = [Counter(words_of(text)) for text in texts]
    having: Counter[str] = Counter()
    for words, count in zip(said, counts, strict=True):
        for word in words:
            having[word] += count
    whole = sum(counts)
    vocabulary = tuple(sorted(having))
    place = {word: number for number, word in enumerate(vocabulary)}
    vectors = np.zeros((len(texts), len(vocabulary)))
    for row, words in enumerate(said):
        weights = {
            word: (1.0 + math.log(count)) * (1.0 + math.log((1 + whole) / (1 + having[word])))
            for word, count in sorted(words.items())
        }
        length = math.sqrt(math.fsum(weight * weight for weight in weights.values()))
        for word, weight in weights.items():
            vectors[row, place[word]] = round(_UNIT * weight / length) if length else 0
    return vectors, vocabulary


def _linked(alike: NDArray[np.float64], counts: NDArray[np.float64]) -> list[list[int]]:
    """Merge the two most alike, by the mean over all pairs of their texts, until none are."""
    import numpy as np  # noqa: PLC0415 - heavy

    members = [[place] for place in range(len(counts))]
    sizes = counts.copy()
    sums = alike * np.outer(counts, counts)
    live = np.ones(len(counts), dtype=bool)
    least = ALIKE * _UNIT * _UNIT
    while True:
        means = sums / np.outer(sizes, sizes)
        means[~live] = means[:, ~live] = -1.0
        np.fill_diagonal(means, -1.0)
        one, other = sorted(divmod(int(means.argmax()), len(counts)))
        if one == other or means[one, other] < least:
            return [members[place] for place in range(len(counts)) if live[place]]
        members[one] = sorted(members[one] + members[other])
        sums[one] += sums[other]
        sums[:, one] += sums[:, other]
        sizes[one] += sizes[other]
        live[other] = False


def _cluster(
    members: Sequence[int],
    size: int,
    alike: NDArray[np.float64],
    *,
    vectors: NDArray[np.float64],
    counts: Sequence[int],
    vocabulary: Sequence[str],
) -> Cluster:
    import numpy as np  # noqa: PLC0415 - heavy

    times = np.array([counts[place] for place in members], dtype=np.float64)
    near = alike[np.ix_(members, members)] @ times
    typical = sorted(range(len(members)), key=lambda row: (-near[row], members[row]))
    whole, mine = np.array(counts, dtype=np.float64) @ vectors, times @ vectors[list(members)]
    # How far its mean is above that of the rest, in whole numbers; of all texts, the mean itself.
    rest = sum(counts) - size
    weights = mine * rest - (whole - mine) * size if rest else mine
    telling = sorted(range(len(vocabulary)), key=lambda word: (-weights[word], vocabulary[word]))
    return Cluster(
        places=tuple(members[row] for row in typical),
        size=size,
        words=tuple(vocabulary[word] for word in telling[:_WORDS_NAMED] if weights[word] > 0),
    )
