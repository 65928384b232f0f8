"""Cuts the power while a run works: what the disk may hold then, of all its files together.

A run is recorded once, on threads as it really works: every write and sync of every file in order,
and between them all that it promised and asked. From that come states in which whatever was not
synced is there, or lost, or torn, in each file by itself. Each state is written to a folder, the
run in it is taken up, and judged like one that was killed.

    python -m tests.crash.whole.cuts [--bare-stride N] [--drawn N] [--shapes NAME,...]
        [--seed SEED] [--plants]
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from tests.crash.powercut import Change, Recorder, State, bare_states, joint_states
from tests.crash.telling import tell
from tests.crash.whole.facts import Fact, write_facts
from tests.crash.whole.forks import be_parent, fork
from tests.crash.whole.judge import End
from tests.crash.whole.kills import FACTS, RUN, SHARED, Suite, Troupe, rehearse
from tests.crash.whole.plants import CUTS
from tests.crash.whole.shapes import SHAPES, Shape
from tests.crash.whole.sitting import A_WORD, Ears, keep_code, sit

from perdure.base.chance import Stream
from perdure.trace.registry_file import REGISTRY_NAME, WORLDS_NAME

NAMES = (
    "one tick",
    "three worlds",
    "needs",
    "reflections",
    "failing turns",
    "no quorum",
    "orphans",
    "forced",
    "short logs",
)
# Files that are no record: a power cut may do anything to them, from when they are first written.
_FROM_THE_START = ("governor.lock", "reserve")
_WITH_THE_REGISTRY = ("status.json", "status.new", "stop")


class Recorded(NamedTuple):
    """What a run did to the disk and told, in order, and how it ends when nobody cuts its power.

    The changes say how many facts had been told by then.
    """

    shape: Shape
    changes: list[Change]
    facts: list[Fact]
    whole: End


class Cuts:
    """Tries states of recorded runs, and counts what is lost."""

    def __init__(self, folder: Path, seed: str) -> None:
        self._troupe = Troupe(folder)
        self._draws = Stream(seed, 0, "power cuts")
        self.states = 0
        self.losses: list[str] = []

    def record(self, shape: Shape, sow: Callable[[], None] | None = None) -> Recorded:
        """Play all acts of a shape, on threads, with all that it does to the disk recorded."""
        _, whole = Suite(self._troupe).undisturbed(shape)
        place = self._troupe.empty("place")
        on_threads = shape._replace(threads=True)

        def work() -> Any:
            keep_code(A_WORD)
            facts: list[Fact] = []
            with Recorder() as recorder:

                def note(*fact: Any) -> None:
                    facts.append(fact)
                    recorder.ack(len(facts))

                if sow is not None:
                    sow()
                Ears(note).listen()
                for act in range(len(shape.acts)):
                    sit(on_threads, act, place / RUN, note)
            return [one.under(place) for one in recorder.changes], facts

        changes, facts = fork(work).said
        return Recorded(
            shape, [Change(*one) for one in changes], [tuple(one) for one in facts], whole
        )

    def drawn(self, recorded: Recorded, count: int) -> Iterator[State]:
        """Draw so many states of all files together."""
        return joint_states(recorded.changes, self._draws, count)

    def bare(self, recorded: Recorded) -> list[State]:
        """List the states in which nothing is kept but what is durable, in no order."""
        found = list(bare_states(recorded.changes))
        self._draws.shuffle(found)
        return found

    def cut(self, recorded: Recorded, states: Iterable[State]) -> Iterator[None]:
        """Take up the run from each state, and judge it. Stops after each."""
        for state in states:
            self.states += 1
            place = self._troupe.empty("place")
            self._leave(place, state)
            told = recorded.facts[: state.acked or 0]
            write_facts(place / FACTS, told)
            act = max((fact[1] for fact in told if fact[0] == "sat"), default=0)
            _, wrong = self._troupe.finish(recorded.shape, act, place, recorded.whole)
            if wrong:
                self.losses.append(f"{recorded.shape.name}, {state.how}: {'; '.join(wrong)}")
            yield

    def _leave(self, place: Path, state: State) -> None:
        out = place / RUN
        for name, data in state.files.items():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            (place / name).write_bytes(data)
        if not out.exists() and self._draws.below(2):
            return  # not even the folder's name is there
        (out / WORLDS_NAME).mkdir(parents=True, exist_ok=True)
        later = _WITH_THE_REGISTRY if (out / REGISTRY_NAME).exists() else ()
        for name in (*_FROM_THE_START, *later):
            size = self._draws.choice((-1, 0, 100, 4_096))
            if size >= 0:
                (out / name).write_bytes(bytes(size))


def find(sow: Callable[[], None], folder: Path) -> int:
    """Cut the power of a run in which a fault is planted: after how many is it found, -1 if not."""
    cuts = Cuts(folder, "plants")
    recorded = cuts.record(SHAPES[0], sow)
    for count, _ in enumerate(cuts.cut(recorded, cuts.bare(recorded)), start=1):
        if cuts.losses:
            return count
    return -1


def main() -> None:
    """Cut the power of every shape, and print the counts."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--shapes", default=",".join(NAMES))
    parser.add_argument("--bare-stride", type=int, default=1)
    parser.add_argument("--drawn", type=int, default=500)
    parser.add_argument("--seed", default="0")
    parser.add_argument("--plants", action="store_true")
    asked = parser.parse_args()
    by_name = {shape.name: shape for shape in SHAPES}
    shapes = [by_name[name] for name in asked.shapes.split(",")]
    with tempfile.TemporaryDirectory(dir=SHARED) as name:
        folder = Path(name)
        be_parent(lambda: rehearse(shapes))
        if asked.plants:
            tell(json.dumps({name: find(sow, folder) for name, sow in CUTS.items()}))
            return
        cuts, by_shape = Cuts(folder, asked.seed), {}
        for shape in shapes:
            recorded = cuts.record(shape)
            bare = cuts.bare(recorded)[:: asked.bare_stride]
            found = chain(bare, cuts.drawn(recorded, asked.drawn))
            by_shape[shape.name] = sum(1 for _ in cuts.cut(recorded, found))
            sys.stderr.write(f"{shape.name}: {cuts.states} so far, lost: {len(cuts.losses)}\n")
    for loss in cuts.losses[:5]:
        sys.stderr.write(f"lost: {loss}\n")
    counts = {"states": cuts.states, "lost": len(cuts.losses), "by_shape": by_shape}
    tell(json.dumps(counts))


if __name__ == "__main__":
    main()
