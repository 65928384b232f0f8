"""Reading a long record: `report`, `report --to x.html` and `export` of it, and both on the export.

    python -m benchmarks.report [--events 500000] [--personas 500] [--parts 10] [--channels]

Two real runs (the persona agent, waves and exposures, the baseline model, its calls journaled) of
the same people are made, one with about so many events and one with a tenth of them: it has fewer
ticks. With `--channels` they meet in a feed, a forum and by word of mouth, and publish what others
then see. Each command is run on both, in a process of its own. Prints its seconds, the most memory
that it ever had, and the memory of the long record as a ratio to that of the short one.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from benchmarks import channels
from benchmarks.resume import EVENTS_PER_TURN, config, write_study

GROWTH_MAX = 1.25
_CHANNEL_EVENTS = 13.5  # for each persona and tick, in a world with all channels
MIB = 1024 * 1024

_IDLE = ("nothing: the program started", ("--version",))
_COMMANDS: tuple[tuple[str, tuple[str, ...]], ...] = (
    _IDLE,
    ("report", ("report", "run")),
    ("report --to page.html", ("report", "run", "--to", "page.html")),
    ("ledger", ("ledger", "run")),
    ("verify", ("verify", "run")),
    ("export", ("export", "run", "--with-held-out")),
    ("report, of the export", ("report", "run/export")),
    ("report --to page.html, of the export", ("report", "run/export", "--to", "page.html")),
    ("verify, of the export", ("verify", "run/export")),
    ("show, of the run", ("show", "run", "{last}")),
    ("show, of the export", ("show", "run/export", "{last}")),
)


class Took(NamedTuple):
    """What a command took: seconds, and the most bytes that its process ever had."""

    seconds: float
    peak: int


def make(folder: Path) -> None:
    """Run the study in a folder to its end."""
    from perdure import run  # noqa: PLC0415 - only this part pays for it

    result = run(config(folder))
    assert result.exit_status == 0, result.cause


def command(folder: Path, *words: str) -> Took:
    """Run a command of the program in a folder, in a process of its own."""
    began = time.perf_counter()
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(
            [sys.executable, "-m", "perdure.cli", *words], cwd=folder, stdout=said, stderr=said
        )
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        assert process.returncode == 0, said.read().decode()
    return Took(time.perf_counter() - began, usage.ru_maxrss * 1024)


def measure(folder: Path, personas: int, events: int, *, social: bool) -> dict[str, Took]:
    """Make a run of about so many events in a folder, and run every command on it."""
    folder.mkdir()
    if social:
        ticks = max(2, int(events / (_CHANNEL_EVENTS * personas)))
        channels.write_study(folder, personas, ticks, embed=False)
    else:
        write_study(folder, personas, max(2, events // (EVENTS_PER_TURN * personas)))
    words = [sys.executable, "-m", "benchmarks.report", "--make", str(folder)]
    began = time.perf_counter()
    subprocess.run(words, check=True)
    (partition,) = (folder / "run" / "worlds").glob("*.db")
    exact = _events_of(partition)
    last = f"{partition.stem}:{exact // 2}"
    made = time.perf_counter() - began
    found = {
        name: command(folder, *(word.format(last=last) for word in told))
        for name, told in _COMMANDS
    }
    size = sum(path.stat().st_size for path in (folder / "run/export").rglob("*") if path.is_file())
    print(
        f"{exact:,} events: made in {made:.0f} s, {partition.stat().st_size / MIB:,.0f} MiB,"
        f" exported {size / MIB:,.0f} MiB"
    )
    return found


def _events_of(partition: Path) -> int:
    import apsw  # noqa: PLC0415 - only this part pays for it

    connection = apsw.Connection(str(partition), flags=apsw.SQLITE_OPEN_READONLY)
    count = sum(1 for _ in connection.execute("SELECT seq FROM events"))
    connection.close()
    return count


def main() -> None:
    """Make both runs, and print what the commands took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=500_000)
    parser.add_argument("--personas", type=int, default=500)
    parser.add_argument("--parts", type=int, default=10)
    parser.add_argument("--channels", action="store_true")
    parser.add_argument("--make", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.make:
        make(asked.make)
        return
    with tempfile.TemporaryDirectory(dir=os.environ.get("BENCH_DIR")) as name:
        few, social = asked.events // asked.parts, asked.channels
        short = measure(Path(name) / "short", asked.personas, few, social=social)
        long = measure(Path(name) / "long", asked.personas, asked.events, social=social)
    print(f"  {'':<38}{'seconds':>16}{'peak MiB':>18}{'long / short':>14}")
    for what, one in short.items():
        other = long[what]
        seconds = f"{one.seconds:.1f} -> {other.seconds:.1f}"
        peaks = f"{one.peak / MIB:.0f} -> {other.peak / MIB:.0f}"
        print(f"  {what:<38}{seconds:>16}{peaks:>18}{other.peak / one.peak:>14.2f}")
    print(f"  memory, long / short   target <= {GROWTH_MAX}")


if __name__ == "__main__":
    main()
