"""What a large population takes: drawn, tied, its communities found, from a file to its hashes.

    python -m benchmarks.population [--rows 130000] [--n 100000]

A study draws `--n` people of `--rows`, with weights, quotas, two audiences and gates, and makes a
graph of ten ties each. It is loaded in a process of its own, once without the graph and once with
it, from a Parquet and from a CSV file. Prints seconds, the process's CPU and its most memory, and
how long the standard library takes only to read the same CSV file.
"""

from __future__ import annotations

import argparse
import csv
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from perdure.base.chance import Stream

SECONDS_MAX = 60
BYTES_MAX = 4 << 30
STUDY = """\
perdure: 1
name: crowd
brief: {title: A crowd, text: There are many.}
ontology:
  attributes:
    party: {column: party, label: Party, required: true,
            scale: {0: a, 1: b, 2: c, 3: d, 4: e, 5: f, 6: g}}
    region: {column: region, label: Region, required: true,
             scale: {0: north, 1: south, 2: east, 3: west}}
    sex: {column: sex, label: Sex, required: true, scale: {1: male, 2: female}}
    age: {column: age, label: Age, unit: years, required: true}
    income: {column: income, label: Income}
    town: {column: town, label: Town, type: text}
population:
  file: people.EXTENSION
  id: id
  weight: weight
  draw: {n: NUMBER, by: weight, quotas: [sex, region]}
  audiences:
    young: {share: 0.3, where: {age: {to: 40}}, relax: [age]}
    others: {share: 0.7}
  gates: {accept: [party, region, sex, age, income]}
GRAPH
questions:
  vote: {text: Ann or Bob, choices: {a: Ann, b: Bob}}
variants: {v: The only one.}
timeline: {horizon: 1, waves: [0], wave_question: vote}
scenarios: {s: {}}
seeds: [1]
models:
  baseline: {provider: baseline, rule: {noise: 1}}
"""
GRAPH = "  graph: {degree: 10, alike: [party, region, age]}"


def write_people(folder: Path, rows: int) -> None:
    """Write the same people as CSV and as Parquet."""
    import pyarrow.parquet as pq  # type: ignore[import-untyped]  # noqa: PLC0415 - heavy
    from pyarrow import csv as arrow_csv  # noqa: PLC0415 - heavy

    chance = Stream("1", 0, "crowd")
    with (folder / "people.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "party", "region", "sex", "age", "income", "town", "weight"])
        for number in range(rows):
            age = 18 + chance.below(70)
            party = min(6, max(0, round(age / 14 + 1.5 * chance.normal())))
            weight = round(0.9 + 0.2 * chance.uniform(), 3)
            town = f"Town {chance.below(500)}"
            income = 500 + chance.below(6_000)
            region, sex = chance.below(4), 1 + chance.below(2)
            writer.writerow([f"r{number}", party, region, sex, age, income, town, weight])
    pq.write_table(arrow_csv.read_csv(folder / "people.csv"), folder / "people.parquet")


def measure(study: Path) -> dict[str, Any]:
    """Load a study; give its seconds, the process's most memory, and what was made."""
    from perdure.population import load_study  # noqa: PLC0415 - only this part pays for it

    began = time.perf_counter()
    population = load_study(study).population
    seconds = time.perf_counter() - began
    busy = time.process_time()
    graph = population.manifest.graph
    return {
        "seconds": seconds,
        "cpu": busy,
        "bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "personas": len(population.personas),
        "relaxations": len(population.manifest.relaxations),
        "gates": [f"{gate.name} {gate.state}" for gate in population.manifest.gates],
        "ties": graph.ties if graph else 0,
        "communities": graph.communities.sizes if graph and graph.communities else (),
        "hash": f"{population.population_hash[:12]} {population.graph_hash[:12]}",
    }


def main() -> None:
    """Load every kind of the study in a process of its own, and print what it took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=130_000)
    parser.add_argument("--n", type=int, default=100_000)
    parser.add_argument("--part", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.part:
        print(json.dumps(measure(asked.part)))
        return
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        write_people(folder, asked.rows)
        began = time.perf_counter()
        with (folder / "people.csv").open(newline="", encoding="utf-8") as file:
            read = sum(1 for _ in csv.reader(file)) - 1
        print(f"reading {read:,} rows of CSV alone: {time.perf_counter() - began:.2f} s")
        for extension in ("parquet", "csv"):
            for graph in ("", GRAPH):
                text = STUDY.replace("EXTENSION", extension).replace("NUMBER", str(asked.n))
                study = folder / "study.yaml"
                study.write_text(text.replace("GRAPH", graph), encoding="utf-8")
                command = [sys.executable, "-m", "benchmarks.population", "--part", str(study)]
                shown = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
                _print(extension, json.loads(shown.stdout))


def _print(extension: str, found: dict[str, Any]) -> None:
    what = f"{found['ties']:,} ties, communities {found['communities']}" if found["ties"] else "-"
    print(
        f"{extension}: {found['personas']:,} personas, {what}: {found['seconds']:.1f} s "
        f"(target <= {SECONDS_MAX}), {found['cpu']:.1f} s of CPU, "
        f"{found['bytes'] / (1 << 20):,.0f} MiB (target <= {BYTES_MAX >> 20:,}); {found['hash']}"
    )
    print(f"  {found['relaxations']} relaxations; gates: {', '.join(found['gates'])}")


if __name__ == "__main__":
    main()
