"""A run of very many small cells: what a cell costs beside its bare work, and what grows.

    python -m benchmarks.cells [--cells 10000] [--rounds 1]

Real runs (the persona agent, waves and exposures, the baseline model, every call journaled, every
tick committed) of so many cells, and of a tenth of them, each part in a process of its own:

- `bare` drives the same worlds in their partitions with a governor that gives leave at once: no
  registry, no run log, no witness, no pace, no ladder, no status;
- `run` is the whole run: its time and CPU per cell beside that of the bare work, the most memory
  of its process, and the most files that it had open;
- `status` is `perdure status RUN --json` of the finished run;
- `resume` takes up a run that died when half of its ticks were closed: until it may open its first
  tick, and to its end.

What a cell costs must not grow with their number: the last column is the larger run's figure per
cell over the smaller one's.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

HORIZON = 2
SEEDS = 10
PERSONAS = 2

_STUDY = """\
perdure: 1
name: many
brief:
  title: Two colours
  text: People in a town choose a colour for the new bridge. They hear what others think of it.
  claims:
    blue: Blue is the colour of the river, and it hides the dirt.
ontology:
  attributes:
    age: {{column: age, label: Age, unit: years}}
    side: {{column: side, label: Side of the river, scale: {{1: north, 2: south}}}}
population: {{file: people.csv, id: id}}
questions:
  colour:
    text: Which colour should the bridge have? Answer in your own words.
    choices: {{blue: the blue one, red: the red one}}
variants: {{bridge: ""}}
timeline: {{horizon: {horizon}, waves: [0, 1], wave_question: colour}}
scenarios:
{scenarios}
seeds: {seeds}
models:
  rule:
    provider: baseline
    rule:
      identification: {{attribute: side, midpoint: 1.5, low: blue, high: red}}
      claims: {{blue: {{blue: 0.5}}}}
      noise: 1
agent: {{reflect_every: 0}}
budget: {{calls: 100000000}}
"""


def write_study(folder: Path, cells: int) -> None:
    """Write a study of so many cells, ten seeds to a scenario."""
    rows = "".join(f"{index},{20 + index},{1 + index % 2}\n" for index in range(PERSONAS))
    (folder / "people.csv").write_text("id,age,side\n" + rows, encoding="utf-8")
    scenarios = "".join(
        f"  s{place}: {{variant: bridge, settings: {{price: {place}}}}}\n"
        for place in range(cells // SEEDS)
    )
    text = _STUDY.format(horizon=HORIZON, scenarios=scenarios, seeds=list(range(SEEDS)))
    (folder / "study.yaml").write_text(text, encoding="utf-8")


def config(folder: Path, out: str) -> Any:
    """Load the study in a folder, for a run beside it."""
    from perdure import RunConfig, load_study  # noqa: PLC0415 - only some parts pay for it

    path = folder / "study.yaml"
    loaded = load_study(path)
    return RunConfig(
        study=loaded.study,
        population=loaded.population,
        held_out=loaded.held_out,
        study_path=str(path),
        out=str(folder / out),
    )


class Watch:
    """What a part of this process took since it was made: seconds, CPU, memory, files."""

    def __init__(self) -> None:
        self._began, self._cpu = time.perf_counter(), time.process_time()
        self.files = 0

    def look(self) -> None:
        """Count the files that are open now."""
        self.files = max(self.files, len(os.listdir("/proc/self/fd")))  # noqa: PTH208 - it is fast

    def told(self) -> dict[str, float]:
        """Give the figures so far."""
        return {
            "wall_s": time.perf_counter() - self._began,
            "cpu_s": time.process_time() - self._cpu,
            "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
            "files": float(self.files),
        }


def bare(folder: Path, _: int) -> dict[str, float]:
    """Drive every world of the study, and do nothing for the run as a whole."""
    from perdure.base.clock import SystemClock  # noqa: PLC0415 - as above
    from perdure.inference.journaled import JournaledHost  # noqa: PLC0415 - as above
    from perdure.records.presentation import Plan  # noqa: PLC0415 - as above
    from perdure.records.registry import LogHead  # noqa: PLC0415 - as above
    from perdure.runner.assembly import parts_of  # noqa: PLC0415 - as above
    from perdure.runner.live import LIVE_MAX, allow_files, files_for  # noqa: PLC0415 - as above
    from perdure.runner.port import TickOpened  # noqa: PLC0415 - as above
    from perdure.runner.respondents import host_for  # noqa: PLC0415 - as above
    from perdure.runner.world_run import WorldRun  # noqa: PLC0415 - as above
    from perdure.study.identity import expand  # noqa: PLC0415 - as above
    from perdure.trace.journal import Journal  # noqa: PLC0415 - as above
    from perdure.trace.partitions import FolderPartitions  # noqa: PLC0415 - as above

    asked = config(folder, "bare")
    out = Path(asked.out)
    (out / "worlds").mkdir(parents=True)
    watch = Watch()
    live = LIVE_MAX[asked.study.order]
    allow_files(files_for(live))
    leave = TickOpened(plan=Plan(), log_head=LogHead(seq=-1, chain=""), epoch=1)

    async def work() -> None:
        inner = host_for(asked.study.models, asked.study.currency)
        await inner.open()
        journal = await Journal.create(out, 1, run="0123456789ab")
        host = JournaledHost(inner, journal)
        parts, partitions = parts_of(asked), FolderPartitions(out)
        personas = {persona.id: persona for persona in asked.population.personas}
        places = asyncio.Semaphore(live)

        async def one(header: Any) -> None:
            async with places:
                world = WorldRun(
                    header=header,
                    personas=personas,
                    people=asked.population.people,
                    world=parts.world(header),
                    agent=parts.agent(header),
                    partition=await partitions.create(header, 1),
                    host=host,
                )
                await world.begin()
                for tick in range(header.scenario.horizon):
                    await world.run_tick(tick, leave)
                    await world.give_up(tick)
                await world.partition.finish()
                await world.partition.close()

        cells = expand(asked.study, asked.population)
        async with asyncio.TaskGroup() as group:
            for cell in cells:
                group.create_task(one(cell.header))
        await journal.close()
        await inner.close()

    SystemClock()
    asyncio.run(work())
    return watch.told()


def at_every_tick(then: Callable[[int], None]) -> None:
    """Have something done whenever a tick was closed, given how many were."""
    from perdure.runner.governor import Governor  # noqa: PLC0415 - as above

    close_tick: Callable[[Any, Any], Awaitable[None]] = Governor.tick_closed
    closed = [0]

    async def counting(self: Governor, report: Any) -> None:
        await close_tick(self, report)
        closed[0] += 1
        then(closed[0])

    Governor.tick_closed = counting  # type: ignore[method-assign]


def whole(folder: Path, _: int) -> dict[str, float]:
    """Run the study."""
    from perdure import run  # noqa: PLC0415 - as above

    asked, watch = config(folder, "run"), Watch()
    at_every_tick(lambda closed: None if closed % 50 else watch.look())
    result = run(asked)
    assert result.exit_status == 0, result.cause
    return watch.told()


def killed(folder: Path, cells: int) -> dict[str, float]:
    """Run the study, and die when half of its ticks are closed."""
    from perdure import run  # noqa: PLC0415 - as above

    asked = config(folder, "killed")

    def die(closed: int) -> None:
        if closed >= cells * HORIZON // 2:
            os._exit(0)

    at_every_tick(die)
    run(asked)
    raise AssertionError("it should have died")


def resumed(folder: Path, _: int) -> dict[str, float]:
    """Take the run up that died, and bring it to its end."""
    from perdure import run  # noqa: PLC0415 - as above
    from perdure.runner.governor import Governor  # noqa: PLC0415 - as above

    asked, watch = config(folder, "killed"), Watch()
    open_tick = Governor.open_tick
    first: list[float] = []

    async def opening(self: Governor, world_id: str, tick: int) -> Any:
        opened = await open_tick(self, world_id, tick)
        if not first:
            first.append(watch.told()["wall_s"])
        return opened

    Governor.open_tick = opening  # type: ignore[method-assign]
    result = run(asked)
    assert result.exit_status == 0, result.cause
    return {**watch.told(), "first_s": first[0]}


PARTS: dict[str, Callable[[Path, int], dict[str, float]]] = {
    "bare": bare,
    "run": whole,
    "killed": killed,
    "resumed": resumed,
}


def measured(part: str, folder: Path, cells: int) -> dict[str, float]:
    """Do one part in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.cells", "--part", part, "--folder", str(folder)]
    shown = subprocess.run(
        [*command, "--cells", str(cells)], check=True, stdout=subprocess.PIPE, text=True
    )
    lines = shown.stdout.splitlines()
    return dict(json.loads(lines[-1])) if lines else {}


def status_of(folder: Path, run: str = "run") -> dict[str, float]:
    """Time `perdure status`."""
    began = time.perf_counter()
    command = [sys.executable, "-m", "perdure.cli", "status", str(folder / run), "--json"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return {"wall_s": time.perf_counter() - began}


def every_part(cells: int) -> dict[str, float]:
    """Measure everything for one number of cells; give the figures by name."""
    with tempfile.TemporaryDirectory(dir=os.environ.get("BENCH_DIR")) as name:
        folder = Path(name)
        write_study(folder, cells)
        floor, ran = measured("bare", folder, cells), measured("run", folder, cells)
        status = status_of(folder)
        measured("killed", folder, cells)
        half = status_of(folder, "killed")
        again = measured("resumed", folder, cells)
    return {
        "bare work, seconds": floor["wall_s"],
        "whole run, seconds": ran["wall_s"],
        "bare work, CPU s": floor["cpu_s"],
        "whole run, CPU s": ran["cpu_s"],
        "whole run, peak MiB": ran["peak_mib"],
        "whole run, open files": ran["files"],
        "status, finished, s": status["wall_s"],
        "status, died halfway, s": half["wall_s"],
        "resume to first tick, s": again["first_s"],
        "resume to the end, s": again["wall_s"],
        "resume, peak MiB": again["peak_mib"],
    }


def main() -> None:
    """Measure a run and one of a tenth of its cells, and print both."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cells", type=int, default=10_000)
    parser.add_argument("--part", choices=sorted(PARTS), help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.part:
        print(json.dumps(PARTS[asked.part](asked.folder, asked.cells)))
        return
    few, many = asked.cells // 10, asked.cells
    small, large = every_part(few), every_part(many)
    print(f"  {'':<26}{few:>9,} cells{many:>9,} cells   per cell, large / small")
    for name, figure in large.items():
        growth = figure / many / (small[name] / few)
        print(f"  {name:<26}{small[name]:>15,.2f}{figure:>15,.2f}   {growth:>6.2f}")
    for what in ("seconds", "CPU s"):
        over = large[f"whole run, {what}"] / large[f"bare work, {what}"]
        print(f"  whole run / bare work, {what}: {over:.2f}")


if __name__ == "__main__":
    main()
