"""A world with a feed, a forum and word of mouth: time, events, bytes per activation, memory.

    python -m benchmarks.channels [--personas 2000] [--ticks 30] [--embed]

A real run of one world, from its study file: people with attributes and a made graph of ten ties
each, the three channels, survey waves at both ends, the persona agent with memory, beliefs and
reflections, the baseline model, every call journaled and every tick committed. With `--embed` the
feed ranks by interest, and memories are recalled by what is shown. Prints the seconds, the events,
the record's bytes per activation (a turn on a channel), the process's most memory, and where the
time goes with `--profile`.
"""

from __future__ import annotations

import argparse
import cProfile
import json
import os
import pstats
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks.population import write_people
from benchmarks.resume import config

SPARE = 1.3
EMBED = """\
  words: {provider: baseline}
roles: {tier_a: baseline, embed: words}
"""
CHANNELS = ("feed", "forum", "word_of_mouth")
STUDY = """\
perdure: 1
name: street
brief:
  title: A street and its trams
  text: The town may build a tram. People talk about it.
  claims:
CLAIMS
ontology:
  attributes:
    party: {column: party, label: Party, required: true,
            scale: {0: a, 1: b, 2: c, 3: d, 4: e, 5: f, 6: g}}
    region: {column: region, label: Region, required: true,
             scale: {0: north, 1: south, 2: east, 3: west}}
    sex: {column: sex, label: Sex, required: true, scale: {1: male, 2: female}}
    age: {column: age, label: Age, unit: years, required: true}
population:
  file: people.csv
  id: id
  draw: {n: PERSONAS}
  gates: {accept: [party, region, sex, age]}
  graph: {degree: 10, alike: [party, region, age]}
questions:
  tram: {text: "Should the tram be built?", choices: {build: build it, leave: leave it}}
  react: {text: "Do you agree?", choices: {agree: agree, disagree: disagree}}
variants: {v: The only one.}
timeline:
  horizon: TICKS
  waves: [0, LAST]
  wave_question: tram
  activation: 0.5
  channels:
    feed: {question: react, posts: {0: [c0, c1, c2]}, ranking: RANKING}
    forum: {question: react, posts: {0: [c3, c4]}, scope: community}
    word_of_mouth: {question: react, starts: {0: [c5]}, reach: 0.05, moved_min: 1}
scenarios: {s: {}}
seeds: [1]
models:
  baseline:
    provider: baseline
    rule:
      identification: {attribute: party, midpoint: 3, low: leave, high: build}
      social_proof: 0.2
      noise: 0.5
      reactions: {answer: 0.9, noise: 0.5}
      claims:
        c0: {build: 1}
        c1: {leave: 1}
        c2: {build: 0.5}
        c3: {leave: 1}
        c4: {build: 1}
        c5: {leave: 0.5}
EMBED"""


def write_study(folder: Path, personas: int, ticks: int, *, embed: bool) -> Path:
    """Write the study and its people; give the path of the study."""
    write_people(folder, int(SPARE * personas))
    claims = "\n".join(
        f"    c{number}: Reason number {number} about the tram." for number in range(6)
    )
    text = STUDY
    for name, value in (
        ("CLAIMS", claims),
        ("PERSONAS", str(personas)),
        ("TICKS", str(ticks)),
        ("LAST", str(ticks - 1)),
        ("RANKING", "interest" if embed else "hot"),
        ("EMBED", EMBED if embed else ""),
    ):
        text = text.replace(name, value)
    path = folder / "study.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def measure(study: Path, profile: str) -> dict[str, Any]:
    """Run the study; give what it took and what its record holds."""
    from perdure import run  # noqa: PLC0415 - only this part pays for it
    from perdure.records.events import Turn  # noqa: PLC0415 - as above
    from perdure.trace.reader import RunReader  # noqa: PLC0415 - as above

    out = study.parent / "run"
    asked = config(study.parent)
    profiler = cProfile.Profile() if profile else None
    began, busy = time.perf_counter(), time.process_time()
    if profiler is not None:
        profiler.enable()
    result = run(asked)
    if profiler is not None:
        profiler.disable()
        pstats.Stats(profiler, stream=sys.stderr).sort_stats("tottime").print_stats(40)
    seconds, cpu = time.perf_counter() - began, time.process_time() - busy
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    assert result.exit_status == 0, result.cause
    turns: Counter[str] = Counter()
    events = 0
    with RunReader.open(out) as reader:
        for event in reader.events(result.worlds[0].world_id):
            events += 1
            if isinstance(event.payload, Turn):
                turns[event.payload.presentation.impression.channel] += 1
    return {
        "seconds": seconds,
        "cpu": cpu,
        "memory": memory,
        "events": events,
        "turns": turns,
        "failed": result.worlds[0].turns_failed,
        "bytes": sum(path.stat().st_size for path in (out / "worlds").iterdir()),
    }


def main() -> None:
    """Run the study in a process of its own and print what it took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--personas", type=int, default=2_000)
    parser.add_argument("--ticks", type=int, default=30)
    parser.add_argument("--embed", action="store_true")
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--part", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.part:
        print(json.dumps(measure(asked.part, "on" if asked.profile else "")))
        return
    with tempfile.TemporaryDirectory(dir=os.environ.get("BENCH_DIR")) as name:
        study = write_study(Path(name), asked.personas, asked.ticks, embed=asked.embed)
        command = [sys.executable, "-m", "benchmarks.channels", "--part", str(study)]
        command += ["--profile"] if asked.profile else []
        shown = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    found = json.loads(shown.stdout.splitlines()[-1])
    turns = found["turns"]
    activations = sum(turns.get(channel, 0) for channel in CHANNELS)
    told = ", ".join(f"{channel} {turns.get(channel, 0):,}" for channel in (*CHANNELS, "survey"))
    print(
        f"  {asked.personas:,} personas x {asked.ticks} ticks x {len(CHANNELS)} channels: "
        f"{found['seconds']:.1f} s, {found['cpu']:.1f} s of CPU, {found['events']:,} events\n"
        f"  turns: {told}; {found['failed']:,} failed\n"
        f"  per activation: {1e6 * found['cpu'] / activations:,.0f} us of CPU, "
        f"{found['bytes'] / activations:,.0f} bytes of record "
        f"({found['bytes'] / 1e6:,.0f} MB in all)\n"
        f"  most memory: {found['memory'] / (1 << 20):,.0f} MiB"
    )


if __name__ == "__main__":
    main()
