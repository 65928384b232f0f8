"""Holds what people say of the train, at the fare as it was, against how they really went.

perdure export runs/fares --with-held-out
python examples/fares/intention.py runs/fares
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from statistics import fmean

import pyarrow.dataset as ds
import pyarrow.parquet as pq

SCENARIO = "fare--exposures.0-as-now"


def intentions(export: Path) -> dict[str, float]:
    """Give each persona's mean point, from 1 to 5, over the seeds; who has none is left out."""
    asked = (ds.field("question") == "intention") & (ds.field("scenario") == SCENARIO)
    turns = ds.dataset(export / "turns.parquet").to_table(["persona", "masses"], filter=asked)
    points: defaultdict[str, list[float]] = defaultdict(list)
    for turn in turns.to_pylist():
        if turn["masses"] is not None:
            shares = enumerate(turn["masses"], start=1)
            points[turn["persona"]].append(sum(point * share for point, share in shares))
    return {persona: fmean(mine) for persona, mine in points.items()}


def above(some: Sequence[float], others: Sequence[float]) -> float:
    """Say how often one of `some` is above one of `others`; a tie counts as half."""
    return fmean((a > b) + 0.5 * (a == b) for a, b in product(some, others))


def main(run: Path) -> None:
    """Print the mean intention by how people really travelled, and how well it tells them apart."""
    said = intentions(run / "export")
    held_out = pq.read_table(run / "export" / "held_out.parquet").to_pylist()
    by_choice: defaultdict[str, list[float]] = defaultdict(list)
    for row in held_out:
        if row["persona"] in said:
            by_choice[row["value"]].append(said[row["persona"]])
    for choice, points in sorted(by_choice.items()):
        print(f"really went by {choice:<6} {len(points):>4} people, intention {fmean(points):.2f}")
    others = [point for choice, some in by_choice.items() if choice != "train" for point in some]
    if by_choice["train"] and others:
        share = 100 * above(by_choice["train"], others)
        print(f"of a train traveller and another, the former says more in {share:.0f} % of pairs")
        print("(50 % is chance, 100 % tells them apart)")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
