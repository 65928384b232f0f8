"""Taking a long run up again, against a raw scan and decode of the same file; and `status` of it.

    python benchmarks/resume.py [--events 500000] [--personas 1000] [--rounds 3]

A real run (the persona agent, waves and exposures, the baseline model, its calls journaled) is made
in a folder of its own and paused where its one partition holds so many events. Then, in turn, each
in a process of its own:

- `floor` opens the partition with apsw, reads every row in order and decodes its payload;
- `resume` continues the run with `perdure.runner.run`, and is timed until it may open its next
  tick: registry, journal and code compared, every event checked against chain, digest and witness,
  the world stepped through every tick again and each delta compared with the record.

The world's own steps are left out of the ratio, and are printed beside it. Memory is the peak of
the process. Prints the medians of the rounds.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

RATIO_MAX, SECONDS_MAX = 6.0, 10.0
EVENTS_PER_TURN = 4  # the turn, its memory, its score, its cost

_STUDY = """\
perdure: 1
name: long
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
scenarios:
  shown:
    variant: bridge
    horizon: {horizon}
    waves: [0]
    wave_question: colour
    exposure_question: colour
    exposures: {exposures}
seeds: [1]
models:
  rule:
    provider: baseline
    rule:
      identification: {{attribute: side, midpoint: 1.5, low: blue, high: red}}
      claims: {{blue: {{blue: 0.5}}}}
      noise: 1
agent: {{reflect_every: 0}}
"""


def write_study(folder: Path, personas: int, horizon: int) -> Path:
    """Write a study in which every persona takes a turn, and is shown something, at every tick."""
    rows = "".join(f"{index},{20 + index % 60},{1 + index % 2}\n" for index in range(personas))
    (folder / "people.csv").write_text("id,age,side\n" + rows, encoding="utf-8")
    shown = {tick: ["blue"] for tick in range(1, horizon)}
    text = _STUDY.format(horizon=horizon, exposures=shown)
    study = folder / "study.yaml"
    study.write_text(text.replace("'", ""), encoding="utf-8")
    return study


def peak_bytes() -> int:
    """Give the most memory that this process ever had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def config(folder: Path) -> Any:
    """Load the study in a folder, for a run beside it."""
    from perdure import RunConfig, load_study  # noqa: PLC0415 - only some parts pay for it

    path = folder / "study.yaml"
    loaded = load_study(path)
    return RunConfig(
        study=loaded.study,
        population=loaded.population,
        held_out=loaded.held_out,
        study_path=str(path),
        out=str(folder / "run"),
    )


def build(folder: Path, ticks: int) -> dict[str, float]:
    """Run until so many ticks are closed, and pause."""
    from perdure import run  # noqa: PLC0415 - as above
    from perdure.base.errors import EXIT_STOPPED  # noqa: PLC0415 - as above
    from perdure.runner.governor import Governor  # noqa: PLC0415 - as above

    close_tick = Governor.tick_closed

    async def counting(self: Governor, report: Any) -> None:
        await close_tick(self, report)
        if report.tick + 1 == ticks:
            await self.request_stop("It is as long as the benchmark wants it.", EXIT_STOPPED)

    Governor.tick_closed = counting  # type: ignore[method-assign]
    began = time.perf_counter()
    result = run(config(folder))
    assert result.worlds[0].tick + 1 == ticks, result.cause
    return {"wall_s": time.perf_counter() - began, "turns": float(result.worlds[0].turns)}


def floor(folder: Path, _: int) -> dict[str, float]:
    """Read and decode every event, and nothing else."""
    import apsw  # noqa: PLC0415 - as above
    import msgspec  # noqa: PLC0415 - as above

    from perdure.records.events import TYPE_OF  # noqa: PLC0415 - as above

    decoders = {kind: msgspec.json.Decoder(cls).decode for kind, cls in TYPE_OF.items()}
    (partition,) = (folder / "run" / "worlds").glob("*.db")
    began, events = time.perf_counter(), 0
    connection = apsw.Connection(str(partition), flags=apsw.SQLITE_OPEN_READONLY)
    rows = "SELECT seq, tick, kind, persona, content, payload, hash FROM events ORDER BY seq"
    for _seq, _tick, kind, _persona, _content, payload, _hash in connection.execute(rows):
        decoders[kind](payload)
        events += 1
    took = time.perf_counter() - began
    return {"wall_s": took, "events": float(events), "bytes": float(partition.stat().st_size)}


def take_up(folder: Path, _: int) -> dict[str, float]:
    """Continue the run to where it would open its next tick, and end the process there."""
    from perdure import run  # noqa: PLC0415 - as above
    from perdure.runner.governor import Governor  # noqa: PLC0415 - as above
    from perdure.world import ChannelWorld  # noqa: PLC0415 - as above

    steps = [0.0]

    def timed(method: Callable[..., Any]) -> Callable[..., Any]:
        def inner(*args: Any) -> Any:
            began = time.perf_counter()
            try:
                return method(*args)
            finally:
                steps[0] += time.perf_counter() - began

        return inner

    async def opened(_governor: Governor, _world_id: str, _tick: int) -> None:
        figures = {"wall_s": time.perf_counter() - began, "steps_s": steps[0]}
        sys.stdout.write(json.dumps(figures | {"peak": peak_bytes()}) + "\n")
        sys.stdout.flush()
        os._exit(0)

    asked = config(folder)
    Governor.open_tick = opened  # type: ignore[method-assign, assignment]
    ChannelWorld.step = timed(ChannelWorld.step)  # type: ignore[method-assign]
    ChannelWorld.needs = timed(ChannelWorld.needs)  # type: ignore[method-assign]
    began = time.perf_counter()
    run(asked)
    raise AssertionError("the run had nothing left to do")


def idle(folder: Path, _: int) -> dict[str, float]:
    """Load what a resume loads, and do nothing: what its memory is measured from."""
    import perdure.runner  # noqa: PLC0415 - as above

    assert perdure.runner.run is not None
    config(folder)
    return {}


PARTS: dict[str, Callable[[Path, int], dict[str, float]]] = {
    "build": build,
    "floor": floor,
    "resume": take_up,
    "idle": idle,
}


def part(name: str, folder: Path, ticks: int) -> dict[str, float]:
    """Do one part in a process of its own."""
    command = [sys.executable, __file__, "--part", name, str(folder), str(ticks)]
    shown = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    figures: dict[str, float] = json.loads(shown.stdout.splitlines()[-1])
    return figures


def status_s(folder: Path) -> float:
    """Time `perdure status` of the run, from the start of its process."""
    began = time.perf_counter()
    command = [sys.executable, "-m", "perdure.cli", "status", str(folder / "run")]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


def show(folder: Path, rounds: int) -> None:
    """Race the parts and print their medians."""
    found: dict[str, list[dict[str, float]]] = {"floor": [], "resume": [], "idle": []}
    for _ in range(rounds):
        for name, figures in found.items():
            figures.append(part(name, folder, 0))
    status = statistics.median(status_s(folder) for _ in range(rounds))

    def median(name: str, key: str) -> float:
        return statistics.median(one[key] for one in found[name])

    base, took, steps = median("floor", "wall_s"), median("resume", "wall_s"), 0.0
    steps = median("resume", "steps_s")
    events, mib = median("floor", "events"), 1024.0 * 1024.0
    print(f"{events:,.0f} events, {median('floor', 'bytes') / mib:,.0f} MiB")
    print(f"  {'':<34}{'seconds':>9}{'/ floor':>9}{'peak MiB':>10}")
    for what, seconds, peak in (
        ("floor: raw scan and decode", base, median("floor", "peak")),
        ("resume", took, median("resume", "peak")),
        ("  of that, the world's own steps", steps, 0.0),
        ("  without them", took - steps, 0.0),
    ):
        told = f"{peak / mib:>10,.0f}" if peak else ""
        print(f"  {what:<34}{seconds:>9.2f}{seconds / base:>9.2f}{told}")
    print(f"  resume / floor, without steps  {(took - steps) / base:>6.2f}   target <= {RATIO_MAX}")
    print(f"  resume, seconds                {took:>6.2f}   target <= {SECONDS_MAX} for 500,000")
    more = (median("resume", "peak") - median("idle", "peak")) / mib
    print(f"  resume's memory above an idle start {more:,.0f} MiB")
    print(f"  `perdure status`, process start included {status:.2f} s")


def main() -> None:
    """Make the run and print how it is taken up."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=500_000)
    parser.add_argument("--personas", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--keep", type=Path, help="make the run here, or use what is here")
    parser.add_argument("--part", nargs=3, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.part:
        name, folder, ticks = asked.part
        print(json.dumps(PARTS[name](Path(folder), int(ticks)) | {"peak": peak_bytes()}))
        return
    ticks = asked.events // (EVENTS_PER_TURN * asked.personas)
    with tempfile.TemporaryDirectory(dir=os.environ.get("BENCH_DIR")) as name:
        folder = asked.keep or Path(name)
        if not (folder / "run").exists():
            folder.mkdir(exist_ok=True)
            write_study(folder, asked.personas, ticks + 1)
            made = part("build", folder, ticks)
            print(f"made in {made['wall_s']:.0f} s: {made['turns']:,.0f} turns")
        show(folder, asked.rounds)


if __name__ == "__main__":
    main()
