"""Memory over the ticks of a long survey study: what tick 1,000 takes beside tick 100.

    python -m benchmarks.memory [--ticks 1000] [--personas 100] [--step 100]

A real run (the persona agent, waves and exposures, the baseline model, its calls journaled) of one
world. After a tick is closed its process's resident memory is read from the system. Prints it every
`--step` ticks, and the last as a ratio to that of the first step.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.resume import config, write_study

GROWTH_MAX = 1.10


def resident_bytes() -> int:
    """Read how much memory this process has now."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def measure(folder: Path, step: int) -> dict[int, int]:
    """Run the study in a folder; give the resident bytes after every `step` ticks."""
    from perdure import run  # noqa: PLC0415 - only this part pays for it
    from perdure.runner.governor import Governor  # noqa: PLC0415 - as above

    close_tick = Governor.tick_closed
    found: dict[int, int] = {}

    async def reading(self: Governor, report: Any) -> None:
        await close_tick(self, report)
        if (report.tick + 1) % step == 0:
            found[report.tick + 1] = resident_bytes()

    Governor.tick_closed = reading  # type: ignore[method-assign]
    result = run(config(folder))
    assert result.exit_status == 0, result.cause
    return found


def main() -> None:
    """Run the study in a process of its own and print its memory."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ticks", type=int, default=1_000)
    parser.add_argument("--personas", type=int, default=100)
    parser.add_argument("--step", type=int, default=100)
    parser.add_argument("--part", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.part:
        print(json.dumps(measure(asked.part, asked.step)))
        return
    with tempfile.TemporaryDirectory(dir=os.environ.get("BENCH_DIR")) as name:
        write_study(Path(name), asked.personas, asked.ticks)
        command = [
            sys.executable,
            "-m",
            "benchmarks.memory",
            "--part",
            name,
            "--step",
            str(asked.step),
        ]
        shown = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    found = {int(tick): size for tick, size in json.loads(shown.stdout.splitlines()[-1]).items()}
    for tick, size in found.items():
        print(f"  after tick {tick:>6,}: {size / 1024 / 1024:>7.1f} MiB")
    growth = found[max(found)] / found[min(found)]
    print(f"  tick {max(found):,} / tick {min(found):,}: {growth:.3f}   target <= {GROWTH_MAX}")


if __name__ == "__main__":
    main()
