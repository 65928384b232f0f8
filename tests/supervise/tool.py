"""The foreign runner under a real supervisor, in this process or in one of its own."""

from __future__ import annotations

import contextlib
import io
import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

from perdure.cli.entry import execute
from perdure.supervise import processes
from perdure.supervise.assembly import tag_of

HERE = Path(__file__).parent
PYTHON = shlex.quote(sys.executable)
WITHIN_S = 60.0
# Small intervals instead of long waits; no time is asserted anywhere.
QUICK: Mapping[str, str] = {
    "--poll": "50ms",
    "--pause": "1ms",
    "--pause-max": "5ms",
    "--patience-time": "0",
    "--grace": "400ms",
    "--stop-grace": "20s",
    "--predicate-time": "20s",
    "--disk-floor": "0",
}


@dataclass
class Ended:
    """How a supervisor ended, and what it said."""

    status: int
    err: str


@dataclass
class Tool:
    """One run of the foreign runner, with its supervisor's folder and options."""

    folder: Path
    days: int = 4
    options: dict[str, str | None] = field(default_factory=dict)
    flags: list[str] = field(default_factory=list)

    @property
    def out(self) -> Path:
        """Where the runner writes."""
        return self.folder / "out"

    @property
    def home(self) -> Path:
        """Where the supervisor writes."""
        return self.folder / "sup"

    def words(self, **changed: str | None) -> list[str]:
        """Give the command line; an option that is None is left out."""
        runner = f"{PYTHON} {HERE / 'foreign.py'}"
        options: dict[str, str | None] = {
            "--start": f"{runner} start {self.out} {self.days}",
            "--resume": f"{runner} resume {self.out} {self.days}",
            "--exists": str(self.out / "store.txt"),
            "--progress": f"grep -c day {self.out}/telemetry.jsonl",
            "--artifact": f"grep -c day.ended {self.out}/world.jsonl",
            "--target": str(self.days),
            "--dir": str(self.home),
            **QUICK,
            **self.options,
            **{f"--{name.replace('_', '-')}": value for name, value in changed.items()},
        }
        given = [
            word for name, value in options.items() if value is not None for word in (name, value)
        ]
        return ["supervise", *given, *self.flags]

    def run(self, mischief: Mapping[str, str] | None = None, /, **changed: Any) -> Ended:
        """Supervise it in this process, to the end."""
        err = io.StringIO()
        with (
            mock.patch.dict(os.environ, self.environment(mischief)),
            contextlib.redirect_stderr(err),
            contextlib.redirect_stdout(io.StringIO()),
        ):
            status = execute(self.words(**changed))
        assert self.left() == [], "something of it is left"
        return Ended(status, err.getvalue())

    @contextlib.contextmanager
    def begun(
        self, mischief: Mapping[str, str] | None = None, /, **changed: Any
    ) -> Iterator[subprocess.Popen[str]]:
        """Supervise it in a process of its own, which is in a group of its own."""
        process = subprocess.Popen(
            [sys.executable, "-m", "perdure.cli", *self.words(**changed)],
            env={**os.environ, **self.environment(mischief)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        try:
            yield process
        finally:
            process.kill()
            process.communicate()
            processes.send(self.left(), signal.SIGKILL)

    @staticmethod
    def environment(mischief: Mapping[str, str] | None) -> dict[str, str]:
        """Give the variables of a run with some mischief."""
        return {"MISCHIEF": json.dumps(mischief or {}), "PYTHONUNBUFFERED": "1"}

    def events(self, *names: str) -> list[dict[str, Any]]:
        """Read the history, or the events of these names."""
        try:
            text = (self.home / "history.jsonl").read_text()
        except FileNotFoundError:
            return []
        found = [json.loads(line) for line in text.splitlines() if line]
        return [event for event in found if not names or event["event"] in names]

    def verbs(self) -> list[str]:
        """Say which attempts were starts and which resumes."""
        return [event["verb"] for event in self.events("attempt-began")]

    def ends(self) -> list[str]:
        """Say how the attempts ended."""
        return [event["told"] for event in self.events("attempt-ended")]

    def steps(self, attempt: int) -> list[str]:
        """List the steps that were taken to end an attempt."""
        found = self.events("signal")
        return [event["step"] for event in found if event["attempt"] == attempt]

    def receipt(self) -> dict[str, Any]:
        """Read the receipt; empty if there is none."""
        path = self.home / "receipt.json"
        found: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
        return found

    def standing(self) -> dict[str, Any]:
        """Read how the supervisor stands."""
        found: dict[str, Any] = json.loads((self.home / "supervisor.json").read_text())
        return found

    def log(self, attempt: int) -> str:
        """Read an attempt's log."""
        return (self.home / "attempts" / f"{attempt:04d}.log").read_text()

    def left(self) -> list[int]:
        """List the processes that a supervisor of this run started and that still live."""
        tag = tag_of(self.home)
        return [*processes.tagged(tag), *processes.tagged(f"{tag}_ASKED")]

    def store(self) -> list[str]:
        """Read the runner's store."""
        return (self.out / "store.txt").read_text().split()

    def is_whole(self) -> bool:
        """Say whether store and artifact hold every day once."""
        days = [str(day) for day in range(self.days)]
        rows = [json.loads(row) for row in (self.out / "world.jsonl").read_text().splitlines()]
        return self.store() == days and [str(row["day"]) for row in rows] == days


def until(is_so: Callable[[], Any]) -> Any:
    """Wait for something that other processes do; give what it was."""
    until_s = time.monotonic() + WITHIN_S
    while True:
        if found := is_so():
            return found
        assert time.monotonic() < until_s, "it never came"
        time.sleep(0.02)  # noqa: TID251 - a real process is waited for
