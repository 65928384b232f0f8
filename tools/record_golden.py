"""Records a new set of golden runs from the studies in `tests/golden/studies`.

PYTHONPATH=. python tools/record_golden.py [--name NAME] [--only RUN ...]

A set is recorded when a release, the format of a record or the version of the persona agent moves,
and stays for ever: nothing that is there is written over. It holds all runs and drives, or those
that are named (`drives` are all drives). They are made by the real commands, each a process of its
own, against a real server on this machine:

- our own world and agent (`survey`), and a user's own (`hall`; one whose world fails: `fire`); and
  that again paused, killed and resumed, and killed and left;
- `office`: personas with tools, in the world and outside it;
- `interview`: every kind of question, every cause of an answer without a score, and scored again;
- `street`: channels, beliefs and probes, under a budget that takes every rung, and is raised;
- `moved`: a run that lost its call journal, forced on by a world that steps otherwise than before;
- agents that were driven alone. What no command makes of those, a changed policy and a fault of the
  driver's own, is made by the function behind the command.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import platform
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Collection, Sequence
from importlib import metadata
from pathlib import Path

from tests.support.golden import (
    DRIVEN,
    DRIVES,
    EXPECTED,
    MODELS,
    RECORDED,
    RECORDS,
    STUDIES,
    STUDY_OF,
    GoldenServer,
    copy_studies,
    drive_figures,
    drive_folder,
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
from perdure.agent.drive.ports import Interrupt, NewPolicy, Place, SafePoint, Steer
from perdure.records.alone import Asked
from perdure.records.drive import RunPolicy, ToolCalled
from perdure.records.registry import LOG_KIND_OF
from perdure.runner.alone import Company, begin
from perdure.runner.alone_folder import FORMAT as DRIVE_FORMAT
from perdure.runner.attended import Attended
from perdure.study.overrides import Overrides, for_speech
from perdure.testing.exchange import SeenRequest
from perdure.trace.drive_reader import DriveReader
from perdure.trace.reader import RunReader
from perdure.trace.schema import FORMAT

LATENCY_S = 0.03
_TRIES = 20
# What the log of a run has that was killed, and then forced to go on.
_KILLED_KINDS = {"discarded", "lost", "orphaned", "forced", "transport_moved"}
# What moves between two sittings of that run, in a module that only carries bytes.
_MOVED = ("trace/lock.py", "_PAUSE_S = 0.05", "_PAUSE_S = 0.06")
# What the world of the run `moved` said before its code moved; and the tick at which it was killed.
_WAS = ("The bell", "The drum")
_KILLED_AT = "says day 2"
# What the run `street` is let spend when its budget has paused it.
_RAISED = "1"
# The causes that a run of the command ends with.
_DONE, _SOME_FAILED, _STOPPED, _PAUSED = 0, 1, 75, 76


class Recorder:
    """Makes the runs of a set below a folder."""

    def __init__(self, place: Path, server: GoldenServer, wanted: Collection[str]) -> None:
        self.place = place
        self.server = server
        self.wanted = wanted
        self.calls = 0

    def record(self) -> None:
        """Make every run and drive of the set."""
        for study in sorted({STUDY_OF[run] for run in self.wanted if run in STUDY_OF}):
            self.server.serve(self.place / study / "study.yaml")
        made: dict[str, Callable[[], None]] = {
            "survey": lambda: self.end(self.run("survey"), _DONE),
            "fire": lambda: self.end(self.run("fire"), _SOME_FAILED),
            "hall": self.whole,
            "paused": lambda: self.until("paused", self.pause),
            "killed": lambda: self.until("killed", self.kill_and_resume),
            "interrupted": lambda: self.until("interrupted", self.kill_and_leave),
            "office": lambda: self.end(self.run("office"), _DONE),
            "interview": self.score_again,
            "street": self.raise_budget,
            "moved": self.lose_and_force,
            DRIVES: self.drive,
        }
        for run, make in made.items():
            if run in self.wanted:
                make()

    def whole(self) -> None:
        """Make the run that is paused and killed afterwards, and count its calls."""
        before = self.server.calls
        self.end(self.run("hall"), _DONE)
        self.calls = self.server.calls - before

    def ask(self, status: int, *arguments: str | Path) -> None:
        """Give a command, which ends with a status."""
        self.end(start(list(arguments), cwd=self.place), status)

    def score_again(self) -> None:
        """Make a run, score it by another formula, and then those answers that had no vectors."""
        out, study = run_folder(self.place, "interview"), Path("interview")
        for anchors in ("will-1.yaml", "will-2.yaml"):
            self.ask(_DONE, "anchors", "check", study / anchors, "--study", study / "study.yaml")
        self.end(self.run("interview"), _DONE)
        self.server.play({})  # whoever got no vectors then gets them now
        self.ask(_DONE, "score", out, "--question", "will", "--temperature", "0.5")
        self.ask(_DONE, "score", out, "--question", "will", "--anchors", study / "will-2.yaml")
        self.server.play(self.server.fault)

    def raise_budget(self) -> None:
        """Make a run that its budget pauses, give it more, and go on."""
        out = run_folder(self.place, "street")
        self.end(self.run("street"), _PAUSED)
        self.ask(_DONE, "budget", out, "--amount", _RAISED)
        self.end(self.run("street"), _DONE)

    def lose_and_force(self) -> None:
        """Kill a run in a tick, take its call journal away, and force it past its world's code."""
        out, code = run_folder(self.place, "moved"), self.place / "moved" / "moved.py"
        now = code.read_text(encoding="utf-8")
        assert now.count(_WAS[0]) == 1
        code.write_text(now.replace(*_WAS), encoding="utf-8")
        reached: list[int] = []

        def hang(seen: SeenRequest) -> str | None:
            if _KILLED_AT not in str(seen.body):
                return self.server.fault(seen)
            reached.append(seen.index)
            return "stall"

        self.server.play(hang)
        process = self.run("moved")
        wait_until(lambda: bool(reached), process)
        process.kill()
        process.communicate()
        self.server.play(self.server.fault)
        for path in out.glob("calls.db*"):
            path.unlink()
        code.write_text(now, encoding="utf-8")
        self.ask(_DONE, "resume", out, "--quiet", "--force", "plugins")

    def drive(self) -> None:
        """Drive agents alone: to the end, on a branch, cut, watched, and one that drives itself."""
        folder = {drive: drive_folder(self.place, drive) for drive in DRIVEN}
        at = ("--model", "http", "--base-url", self.server.base_url, "--model-name", MODELS[0])
        priced = (*at, "--price", "0.15,0.6", "--quiet")

        def begun(status: int, task: str, drive: str, *more: str | Path) -> None:
            self.ask(status, "drive", task, "--out", folder[drive], *more)

        self.server.play(_Unready())
        begun(_DONE, "Tidy the notes.", "worked", "--hand-down", "--window", "300", *priced)
        self.server.play(self.server.fault)
        with DriveReader.open(folder["worked"]) as reader:
            called = [one.seq for one in reader.lines() if isinstance(one.line, ToolCalled)]
        branch = ("--at", str(called[-1]), "--out", folder["branched"], "--quiet")
        self.ask(_DONE, "drive", "fork", folder["worked"], "Tidy them otherwise.", *branch)
        limited = ("--commands", "--unsandboxed", "--seconds", "2", *priced)
        begun(_PAUSED, "Wait for the bell.", "cut", *limited)
        self.watch(folder["watched"])
        # It is started in its room, and named from there: a record names no folder of a machine.
        program = ("--program", "python3 ../../../clerk.py", "--speaks", "lines", "--quiet")
        begun(_DONE, "Leave a note.", "program", *program)

    def watch(self, folder: Path) -> None:
        """Drive an agent whose policy is changed under way, and whose watcher breaks down."""
        flags = Overrides(
            model="http", base_url=self.server.base_url, model_name=MODELS[0], price="0.15,0.6"
        )
        asked = Asked(
            format=DRIVE_FORMAT, task="Write while you may.", goal="", model=for_speech(flags)
        )
        try:
            asyncio.run(begin(folder, asked, Company(interrupts=_Watcher(folder))))
        except RuntimeError:
            return
        sys.exit("The drive that is watched did not break down.")

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
        self.server.latency_s = LATENCY_S
        for _ in range(_TRIES):
            if make(run):
                self.server.latency_s = 0.0
                return
            for path in sorted(run_folder(self.place, run).rglob("*"), reverse=True):
                path.rmdir() if path.is_dir() else path.unlink()
        sys.exit(f"The run {run!r} did not come out as it is to be in {_TRIES} tries.")

    def pause(self, run: str) -> bool:
        """Pause a run when every world has closed a tick and none has come to its end."""
        process = self.run(run)
        self.after(0.5, process)
        process.send_signal(signal.SIGINT)
        self.end(process, _STOPPED)
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


class _Unready:
    """An endpoint that fails the first time that the notes are to be counted."""

    def __init__(self) -> None:
        self._failed = False

    def __call__(self, seen: SeenRequest) -> str | None:
        asks = isinstance(seen.body, dict) and "Count the notes." in str(seen.body["messages"][-1])
        if self._failed or not asks:
            return None
        self._failed = True
        return "status_503"


class _Watcher(Attended):
    """Forbids to write when a call is asked for, says so, and breaks down two turns later."""

    def at(self, place: Place) -> Sequence[Interrupt]:
        """Say what arrives at a safe point."""
        match place:
            case Place(point=SafePoint.BEFORE_WAVE, turn=0):
                return (NewPolicy(policy=RunPolicy(writes=False), by="user"),)
            case Place(point=SafePoint.BEFORE_ASSEMBLE, turn=1):
                return (Steer(text="You may only look."),)
            case Place(point=SafePoint.BEFORE_ASSEMBLE, turn=2):
                raise RuntimeError("Nobody watches any more.")
        return ()


def record(golden: Path, wanted: Collection[str]) -> None:
    """Record a set of some runs, with what every command says of it."""
    studies = {STUDY_OF.get(run, run) for run in wanted}
    runs = [run for run in STUDY_OF if run in wanted]
    with tempfile.TemporaryDirectory(prefix="perdure-golden-") as folder:
        place = Path(folder) / "made"
        copy_studies(STUDIES, place, studies)
        with GoldenServer(place) as server:
            Recorder(place, server, wanted).record()
        golden.mkdir(parents=True)
        copy_studies(STUDIES, golden, studies)
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
            "runs": {run: figures(again, run) for run in runs},
            "drives": {drive: drive_figures(again, drive) for drive in DRIVEN if DRIVES in wanted},
        }
    text = json.dumps(said, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    (golden / EXPECTED).write_text(text + "\n", encoding="utf-8")


def main() -> None:
    """Record a set under a name that is not taken."""
    parser = argparse.ArgumentParser(description=__doc__)
    name = f"{metadata.version('perdure')}-format{FORMAT}-agent{AGENT_VERSION}"
    parser.add_argument("--name", default=name)
    parser.add_argument("--only", nargs="+", choices=(*STUDY_OF, DRIVES), metavar="RUN")
    asked = parser.parse_args()
    golden = RECORDED / asked.name
    if golden.exists():
        sys.exit(f"{golden} is there already, and a golden set is never written over: --name.")
    record(golden, asked.only or (*STUDY_OF, DRIVES))
    print(golden)


if __name__ == "__main__":
    main()
