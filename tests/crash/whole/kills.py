"""Kills runs at every boundary that they meet, and their resumes too, and judges how they end.

Run as a program, in a process that never opens a database: every sitting is a fork of it. Prints
its counts as one line of JSON.

    python -m tests.crash.whole.kills [--shapes NAME,...] [--stride N] [--points N]
        [--doubles NAME,...] [--first-stride N] [--second-stride N] [--plants]
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
from tests.crash.telling import tell
from tests.crash.whole.facts import Teller, read_facts
from tests.crash.whole.forks import ForkFailedError, Left, be_parent, fork
from tests.crash.whole.judge import End, judge
from tests.crash.whole.plants import KILLS, Plant
from tests.crash.whole.shapes import SHAPES, Shape
from tests.crash.whole.sitting import A_WORD, Ears, keep_code, sit
from tests.crash.whole.watch import POINT, Watch
from tests.support.town import run_in_memory

from perdure.base.crashpoints import POINTS
from perdure.records.fingerprint import Fingerprint
from perdure.runner import history
from perdure.trace.registry_file import REGISTRY_NAME
from perdure.trace.verify import verify

RUN, FACTS = "run", "facts"
SHARED = Path("/dev/shm") if Path("/dev/shm").is_dir() else None

# Chooses boundaries of what is met, numbered from 1; for a resume, by where the first kill was.
Choose = Callable[[Sequence[str]], Sequence[int]]
ChooseAgain = Callable[[Sequence[str], int], Sequence[int]]


class WrongFromTheStartError(Exception):
    """A run that nobody killed is not as it must be."""


class Troupe:
    """Plays the acts of shapes in forks, in folders of its own."""

    def __init__(self, folder: Path, sow: Callable[[], None] | None = None) -> None:
        self.folder = folder
        self._sow = sow
        self._whole_code: Fingerprint | None = None

    def take_code(self) -> None:
        """Take the code that decides a run, as every run of ours does, once for all of these."""
        shape = SHAPES[0]
        self._whole_code = history.code_of(shape.config(shape.acts[0], self.folder / RUN))

    def play(self, shape: Shape, act: int, place: Path, kill_at: int = 0) -> Left:
        """Play one act, and die before a boundary of it; give what it met, if it did not."""

        def work() -> list[str]:
            ears, watch = self._listen(shape, place), Watch(place, kill_at)
            ears.expect(shape.acts[act], place / RUN)
            watch.begin()
            sit(shape, act, place / RUN, ears.tell)
            watch.end()
            return watch.met

        return fork(work)

    def finish(
        self, shape: Shape, first: int, place: Path, whole: End | None, *, look: bool = False
    ) -> tuple[End | None, list[str]]:
        """Play from an act to the end; give what it came to, and what is wrong with it.

        With a look, somebody reads what is left before anybody mends it.
        """

        def work() -> tuple[End, list[str]]:
            ears = self._listen(shape, place)
            if look and (place / RUN / REGISTRY_NAME).exists():
                findings = verify(place / RUN).every_finding
                assert not findings, findings
            for act in range(first, len(shape.acts)):
                ears.expect(shape.acts[act], place / RUN)
                sit(shape, act, place / RUN, ears.tell)
            return judge(place / RUN, read_facts(place / FACTS), whole)

        try:
            return msgspec.convert(fork(work).said, tuple[End, list[str]])
        except ForkFailedError as error:
            return None, [str(error)]

    def copied(self, name: str, to: str) -> Path:
        """Copy a place."""
        target = self.folder / to
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(self.folder / name, target)
        return target

    def empty(self, name: str) -> Path:
        """Make a place with nothing in it."""
        place = self.folder / name
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        return place

    def _listen(self, shape: Shape, place: Path) -> Ears:
        if self._sow is not None:
            self._sow()
        keep_code(self._whole_code if shape.whole_code and self._whole_code else A_WORD)
        ears = Ears(Teller(place / FACTS))
        ears.listen()
        return ears


class Suite:
    """Kills shapes, takes them up again, and counts what is lost."""

    def __init__(self, troupe: Troupe) -> None:
        self._troupe = troupe
        self.counts: Counter[str] = Counter()
        self.points: Counter[str] = Counter()
        self.rows: Counter[str] = Counter()
        self.losses: list[str] = []

    def undisturbed(self, shape: Shape) -> tuple[list[list[str]], End]:
        """Play a shape as it is: what each act meets, and its end. Keeps where each act began."""
        place = self._troupe.empty("place")
        acts = []
        for act in range(len(shape.acts)):
            self._troupe.copied("place", f"before{act}")
            met: list[str] = self._troupe.play(shape, act, place).said
            self.points.update(one for one in met if one.startswith(POINT))
            acts.append(met)
        end, wrong = self._troupe.finish(shape, len(shape.acts), place, None)
        if end is None or wrong:
            raise WrongFromTheStartError(f"{shape.name}: {'; '.join(wrong)}")
        return acts, end

    def kill(self, shape: Shape, choose: Choose, *, first: int = 0) -> Iterator[None]:
        """Kill a shape at chosen boundaries of every act from the first on; stop after each."""
        acts, whole = self.undisturbed(shape)
        for act, met in list(enumerate(acts))[first:]:
            for number in choose(met):
                self._killed(shape, act, number, met)
                where = f"{shape.name}, act {act}, killed at {number} ({met[number - 1]})"
                self._finish(shape, act, "place", whole, where, look=number % 3 == 0)
                yield

    def kill_twice(self, shape: Shape, choose: Choose, again: ChooseAgain) -> Iterator[None]:
        """Kill a shape at chosen boundaries, and its resume at others; stop after each."""
        acts, whole = self.undisturbed(shape)
        for act, met in enumerate(acts):
            for number in choose(met):
                place = self._killed(shape, act, number, met)
                self._troupe.copied("place", "kept")
                left: list[str] = self._troupe.play(shape, act, place).said
                for second in again(left, number):
                    tried = self._troupe.copied("kept", "tried")
                    if self._troupe.play(shape, act, tried, second).killed:
                        self.counts["second_kills"] += 1
                    where = f"{shape.name}, act {act}, killed at {number}, and at {second}"
                    self._finish(shape, act, "tried", whole, f"{where} ({left[second - 1]})")
                    yield

    def _killed(self, shape: Shape, act: int, number: int, met: list[str]) -> Path:
        place = self._troupe.copied(f"before{act}", "place")
        if self._troupe.play(shape, act, place, number).killed:
            what = "point_kills" if met[number - 1].startswith(POINT) else "kills"
            self.counts[what] += 1
        elif not shape.threads:
            raise AssertionError(f"{shape.name}: the boundary {number} is not met again")
        return place

    def _finish(
        self, shape: Shape, act: int, name: str, whole: End, where: str, *, look: bool = False
    ) -> None:
        place = self._troupe.folder / name
        end, wrong = self._troupe.finish(shape, act, place, whole, look=look)
        if end is not None:
            self.rows.update(end.rows)
        if wrong:
            self.losses.append(f"{where}: {'; '.join(wrong)}")


def rehearse(shapes: Sequence[Shape]) -> None:
    """Run each shape in memory, where nothing is opened."""
    for shape in shapes:
        config = shape.config(shape.acts[0], Path("none"))
        run_in_memory(config, after=run_in_memory(config))


def every(stride: int, points: int = 1, turn: int = 0) -> Choose:
    """Choose one boundary in `stride`, and the first of one crash point in `points`."""

    def choose(met: Sequence[str]) -> list[int]:
        named = [POINT + name for place, name in enumerate(POINTS) if place % points == turn]
        firsts = {met.index(what) + 1 for what in named if what in met}
        return sorted(firsts | set(range(stride, len(met) + 1, stride)))

    return choose


def strided(stride: int) -> Choose:
    """Choose one boundary in `stride`."""
    return lambda met: range(stride, len(met) + 1, stride)


def shifted(stride: int) -> ChooseAgain:
    """Choose one boundary in `stride`, others after each first kill: all have their turn."""
    return lambda met, first: range(1 + first % stride, len(met) + 1, stride)


def telling_first(met: Sequence[str]) -> list[int]:
    """Choose every boundary after the births, those first that are most likely to tell."""
    begun = met.index(f"{POINT}tick.opened") if f"{POINT}run.created" in met else 0
    kinds: dict[int, list[int]] = defaultdict(list)
    for number, what in enumerate(met[begun:], start=begun + 1):
        kinds[0 if what.startswith(POINT) else 1 if what.startswith("sync") else 2].append(number)
    return kinds[0] + kinds[1] + kinds[2]


def resuming(met: Sequence[str], _first: int) -> range:
    """Choose every boundary of a resume before its first call."""
    first = next(place for place, what in enumerate(met) if what.startswith(f"{POINT}call"))
    return range(1, first + 1)


def find(plant: Plant, folder: Path) -> int:
    """Kill a shape in which a fault is planted until it is found: how often, or -1 if never.

    Some faults show in a run that is not killed at all.
    """
    suite = Suite(Troupe(folder, plant.sow))
    shape = {shape.name: shape for shape in SHAPES}[plant.shape]
    if plant.twice:
        kills = suite.kill_twice(shape, lambda met: telling_first(met)[2:6], resuming)
    else:
        kills = suite.kill(shape, telling_first, first=plant.act)
    try:
        for count, _ in enumerate(kills, start=1):
            if suite.losses:
                return count
    except WrongFromTheStartError:
        return 0
    return -1


def main() -> None:
    """Run the suite and print its counts."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--shapes", default="")
    parser.add_argument("--stride", type=int, default=1)
    parser.add_argument("--points", type=int, default=1)
    parser.add_argument("--doubles", default="")
    parser.add_argument("--first-stride", type=int, default=1)
    parser.add_argument("--second-stride", type=int, default=1)
    parser.add_argument("--plants", action="store_true")
    asked = parser.parse_args()
    by_name = {shape.name: shape for shape in SHAPES}
    with tempfile.TemporaryDirectory(dir=SHARED) as name:
        folder = Path(name)
        if asked.plants:
            be_parent(lambda: rehearse(SHAPES[:1]))
            tell(json.dumps({name: find(plant, folder) for name, plant in KILLS.items()}))
            return
        shapes = [by_name[name] for name in asked.shapes.split(",") if name]
        doubles = [by_name[name] for name in asked.doubles.split(",") if name]
        troupe = Troupe(folder)
        if any(shape.whole_code for shape in shapes):
            troupe.take_code()
        be_parent(lambda: rehearse(shapes + doubles))
        suite = Suite(troupe)
        by_shape = {}
        for number, shape in enumerate(shapes):
            choose = every(asked.stride, asked.points, number % asked.points)
            by_shape[shape.name] = sum(1 for _ in suite.kill(shape, choose))
            _note(suite, shape.name)
        for shape in doubles:
            first, second = strided(asked.first_stride), shifted(asked.second_stride)
            twice = sum(1 for _ in suite.kill_twice(shape, first, second))
            by_shape[f"{shape.name}, twice"] = twice
            _note(suite, f"{shape.name}, twice")
    for loss in suite.losses[:5]:
        sys.stderr.write(f"lost: {loss}\n")
    found: dict[str, Any] = {
        "kills": suite.counts["kills"],
        "point_kills": suite.counts["point_kills"],
        "second_kills": suite.counts["second_kills"],
        "lost": len(suite.losses),
        "points": {name.removeprefix(POINT): n for name, n in suite.points.items()},
        "rows": dict(suite.rows),
        "by_shape": by_shape,
    }
    tell(json.dumps(found))


def _note(suite: Suite, what: str) -> None:
    sys.stderr.write(f"{what}: {dict(suite.counts)} so far, lost: {len(suite.losses)}\n")


if __name__ == "__main__":
    main()
