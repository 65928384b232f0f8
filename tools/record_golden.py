"""Records a new set of golden runs from the studies in `tests/golden/studies`.

PYTHONPATH=. python tools/record_golden.py [--name NAME]

A set is recorded when a release, the format of a record or the version of the persona agent moves,
and stays for ever: nothing that is there is written over. Every run is made by the real commands,
each a process of its own, against a real server on this machine: one run of our own world and
agent, and one of a user's own; and that again paused, killed and resumed, and killed and left.
"""

from __future__ import annotations

import argparse
import json
import platform
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

from tests.support.golden import (
    EXPECTED,
    RECORDED,
    RECORDS,
    STUDIES,
    STUDY_OF,
    GoldenServer,
    copy_studies,
    figures,
    moved_src,
    pack,
    run_folder,
    sha256,
    start,
    unpack,
    wait_until,
)

from perdure.agent import AGENT_VERSION
from perdure.records.registry import LOG_KIND_OF
from perdure.trace.reader import RunReader
from perdure.trace.schema import FORMAT

LATENCY_S = 0.03
_TRIES = 20
# What the log of a run has that was killed, and then forced to go on.
_KILLED_KINDS = {"discarded", "lost", "orphaned", "forced", "transport_moved"}
# What moves between two sittings of that run, in a module that only carries bytes.
_MOVED = ("trace/lock.py", "_PAUSE_S = 0.05", "_PAUSE_S = 0.06")


class Recorder:
    """Makes the runs of a set below a folder."""

    def __init__(self, place: Path, server: GoldenServer) -> None:
        self.place = place
        self.server = server
        self.calls = 0

    def record(self) -> None:
        """Make every run of the set."""
        for study in sorted(set(STUDY_OF.values())):
            self.server.serve(self.place / study / "study.yaml")
        self.end(self.run("survey"), 0)
        self.end(self.run("fire"), 1)
        before = self.server.calls
        self.end(self.run("hall"), 0)
        self.calls = self.server.calls - before
        self.server.latency_s = LATENCY_S
        self.until("paused", self.pause)
        self.until("killed", self.kill_and_resume)
        self.until("interrupted", self.kill_and_leave)

    def run(self, run: str) -> subprocess.Popen[str]:
        """Start a run, or go on with it."""
        out = run_folder(self.place, run)
        study = Path(STUDY_OF[run]) / "study.yaml"
        return start(["run", study, "--out", out, "--quiet"], cwd=self.place)

    def end(self, process: subprocess.Popen[str], status: int) -> None:
        """Wait for the end of a run."""
        said, errors = process.communicate(timeout=100)
        if process.returncode != status:
            sys.exit(f"A run ended with {process.returncode}, not {status}:\n{errors}{said}")

    def after(self, share: float, process: subprocess.Popen[str]) -> None:
        """Wait until a run has made a share of the calls that the whole one made."""
        target = self.server.calls + int(share * self.calls)
        wait_until(lambda: self.server.calls >= target, process)

    def until(self, run: str, make: Callable[[str], bool]) -> None:
        """Make a run until it is one that has what it is to have: where a kill falls is chance."""
        for _ in range(_TRIES):
            if make(run):
                return
            for path in sorted(run_folder(self.place, run).rglob("*"), reverse=True):
                path.rmdir() if path.is_dir() else path.unlink()
        sys.exit(f"The run {run!r} did not come out as it is to be in {_TRIES} tries.")

    def pause(self, run: str) -> bool:
        """Pause a run when every world has closed a tick and none has come to its end."""
        process = self.run(run)
        self.after(0.5, process)
        process.send_signal(signal.SIGINT)
        self.end(process, 75)
        return self.is_midway(run)

    def kill(self, run: str, share: float) -> None:
        """Kill a run when it has made a share of its calls."""
        process = self.run(run)
        self.after(share, process)
        process.kill()
        process.communicate()

    def kill_and_leave(self, run: str) -> bool:
        """Kill a run and leave it as it lies, with finished calls in its journal."""
        self.kill(run, 0.5)
        with RunReader.open(run_folder(self.place, run)) as reader:
            open_ticks = reader.journal or ()
            settled = [call.settled is not None for tick in open_ticks for call in tick.calls]
        return self.is_midway(run) and {True, False} <= set(settled)

    def kill_and_resume(self, run: str) -> bool:
        """Kill a run twice, then force it to its end past a setting that moved.

        It ends under code of ours that moved too, in a module that only carries bytes.
        """
        self.kill(run, 0.3)
        self.kill(run, 0.3)
        study = self.place / STUDY_OF[run] / "study.yaml"
        asked = study.read_text(encoding="utf-8")
        study.write_text(asked.replace("skew: 2", "skew: 3"), encoding="utf-8")
        out = run_folder(self.place, run)
        command: list[str | Path] = ["resume", out, "--quiet", "--force", "settings"]
        with tempfile.TemporaryDirectory(prefix="perdure-golden-") as folder:
            src = moved_src(Path(folder), _MOVED)
            self.end(start(command, cwd=self.place, src=src), 0)
        study.write_text(asked, encoding="utf-8")
        with RunReader.open(out) as reader:
            kinds = {LOG_KIND_OF[type(row)] for row in reader.log}
        return kinds >= _KILLED_KINDS

    def is_midway(self, run: str) -> bool:
        """Say whether every world of a run has begun and none has ended."""
        with RunReader.open(run_folder(self.place, run)) as reader:
            heads = [(reader.head(world.world_id), world.horizon) for world in reader.worlds]
        return all(head is not None and 0 <= head.tick < last - 1 for head, last in heads)


def record(golden: Path) -> None:
    """Record a set, with what every command says of it."""
    with tempfile.TemporaryDirectory(prefix="perdure-golden-") as folder:
        place = Path(folder) / "made"
        copy_studies(STUDIES, place)
        with GoldenServer(place) as server:
            Recorder(place, server).record()
        golden.mkdir(parents=True)
        copy_studies(STUDIES, golden)
        pack(place, golden / RECORDS)
        again = Path(folder) / "read"
        unpack(golden, again)
        said = {
            "perdure": metadata.version("perdure"),
            "format": FORMAT,
            "agent": AGENT_VERSION,
            "python": platform.python_version(),
            "files": {
                str(path.relative_to(golden)): sha256(path)
                for path in sorted(golden.rglob("*"))
                if path.is_file()
            },
            "runs": {run: figures(again, run) for run in STUDY_OF},
        }
    text = json.dumps(said, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    (golden / EXPECTED).write_text(text + "\n", encoding="utf-8")


def main() -> None:
    """Record a set under a name that is not taken."""
    parser = argparse.ArgumentParser(description=__doc__)
    name = f"{metadata.version('perdure')}-format{FORMAT}-agent{AGENT_VERSION}"
    parser.add_argument("--name", default=name)
    golden = RECORDED / parser.parse_args().name
    if golden.exists():
        sys.exit(f"{golden} is there already, and a golden set is never written over: --name.")
    record(golden)
    print(golden)


if __name__ == "__main__":
    main()
