"""That whoever reads a run while it works is told the truth of that moment, and disturbs nothing.

A real run over a real server, and beside it processes that read it without a pause: with every
command that reads, while it is killed and resumed, and one that stops in the middle of its reading.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.crash.test_run_kills import ROOT, Forks, digests, environment
from tests.crash.watching_server import WatchingServer
from tests.support.gate import gate

from perdure.base.chance import Stream
from perdure.trace.reader import RunReader
from perdure.trace.registry_file import REGISTRY_NAME

READERS = Path(__file__).with_name("run_readers.py")
ALL = (("status", "ledger", "verify"), ("report", "export"))
IS_FULL = os.environ.get("PERDURE_CRASH") == "full"
LIVES, KILLS = (6, 12) if IS_FULL else (1, 4)
SEED = os.environ.get("PERDURE_CRASH_SEED", "0")


class Reader:
    """A process that reads a run again and again, and writes down what it was told."""

    def __init__(self, run: Path, notes: Path, commands: tuple[str, ...]) -> None:
        self._notes = notes
        with notes.open("wb") as out:
            self.process = subprocess.Popen(
                [sys.executable, str(READERS), str(run), *commands],
                cwd=ROOT,
                env=environment(),
                stdin=subprocess.PIPE,
                stdout=out,
                stderr=subprocess.PIPE,
            )

    def has_read(self, command: str, times: int) -> bool:
        """Say whether it has been told so often by a command, or has ended."""
        told = self._notes.read_text().splitlines()
        many = sum(line.startswith(f'["{command}"') for line in told) >= times
        return many or self.process.poll() is not None

    def end(self) -> list[tuple[str, int, dict[str, Any]]]:
        """Have it end after the command it is at; give every command, its status, its document."""
        _, errors = self.process.communicate(timeout=60)
        assert (self.process.returncode, errors) == (0, b"")
        told = [json.loads(line) for line in self._notes.read_text().splitlines()]
        assert not [errors for *_, errors in told if errors]
        return [(command, status, document) for command, status, document, _ in told]


@pytest.fixture(scope="module")
def server() -> Iterator[WatchingServer]:
    """Give a server that takes its time, so that a run lasts some seconds."""
    with WatchingServer(latency_s=(0.02, 0.1)) as running:
        yield running


@pytest.fixture(scope="module")
def forks(server: WatchingServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Forks]:
    """Give the process that forks runs, and see that none of them ever said a word."""
    errors = tmp_path_factory.mktemp("forks") / "stderr"
    started = Forks(server, errors)
    yield started
    started.close()
    assert errors.read_text() == ""


class Whole(NamedTuple):
    """The run that nobody reads: its digests, and how often it asked."""

    digests: list[str]
    asked: int


@pytest.fixture(scope="module")
def whole(server: WatchingServer, forks: Forks, tmp_path_factory: pytest.TempPathFactory) -> Whole:
    """Make the run that nobody reads."""
    out, asked = tmp_path_factory.mktemp("whole") / "run", len(server.asked)
    forks.ask("start", str(out))
    assert forks.ask("wait")[0] == 0
    return Whole(digests(out), len(server.asked) - asked)


@pytest.fixture
def readers() -> Iterator[list[Reader]]:
    """Give a list for readers; whoever is left in it is ended."""
    started: list[Reader] = []
    yield started
    for reader in started:
        reader.process.kill()
        reader.process.communicate()


def begin(forks: Forks, out: Path) -> None:
    """Start a run, and wait until there is something to read."""
    forks.ask("start", str(out))
    while not (out / REGISTRY_NAME).exists():
        time.sleep(0.001)  # noqa: TID251 - a real process is waited for


def closed(document: Mapping[str, Any]) -> dict[str, int]:
    """Read from any document how far each world is."""
    return {world["world_id"]: world.get("tick", -1) for world in document["worlds"]}


def require_truth(told: list[tuple[str, int, dict[str, Any]]], states: set[str]) -> Counter[str]:
    """Require that everything was answered, nothing was called damaged, and nothing went back."""
    # What `status` goes by may be a tick behind the record that `verify` reads.
    furthest: dict[str, dict[str, int]] = {"status": {}, "verify": {}}
    for command, status, document in told:
        assert status == 0, (command, status, document)
        if command == "status":
            assert document["state"] in states
        elif command == "ledger":
            assert document["agrees"]
        elif command == "verify":
            assert document["sound"]
            ticks = [world.get("tick", -1) for world in document["worlds"]]
            assert document["finished"] is all(tick == 5 for tick in ticks)
        if command in furthest:
            before, now = furthest[command], closed(document)
            assert all(now[name] >= before.get(name, -1) for name in now), "a tick was taken back"
            furthest[command] = now
        if command == "export":
            manifest = document["manifest"]
            assert len(manifest["worlds"]) == 3 or not manifest["finished"]
    return Counter(command for command, *_ in told)


@pytest.mark.parametrize("life", range(LIVES))
def test_a_run_that_is_read_without_a_pause(  # noqa: PLR0917 - fixtures
    server: WatchingServer,
    forks: Forks,
    whole: Whole,
    tmp_path: Path,
    readers: list[Reader],
    life: int,
):
    """Every command answers at every moment of a live run, and the run ends as if unread."""
    out, asked = tmp_path / "run", len(server.asked)
    # It does not end before it has been read some times.
    with gate(server, whole.asked // 2, beside=server.arrive):
        begin(forks, out)
        readers += [Reader(out, tmp_path / f"read{place}", some) for place, some in enumerate(ALL)]
        while not all(
            reader.has_read(some[0], 3) for reader, some in zip(readers, ALL, strict=True)
        ):
            time.sleep(0.01)  # noqa: TID251 - real processes are waited for
    assert forks.ask("wait")[0] == 0
    counts = Counter[str]()
    for reader in readers:
        counts += require_truth(reader.end(), {"running", "completed"})
    print(dict(counts))  # noqa: T201 - how much was read
    assert counts["status"] >= 3
    assert digests(out) == whole.digests
    assert len(server.asked) - asked == whole.asked, "reading made the run ask again"


@pytest.mark.parametrize("life", range(LIVES))
def test_a_run_that_is_read_while_it_is_killed_and_resumed(
    forks: Forks, whole: Whole, tmp_path: Path, life: int, readers: list[Reader]
):
    """What a kill leaves is read whole, by readers that a resume comes under meanwhile."""
    out, draws = tmp_path / "run", Stream(SEED, life, "kill a run that is read")
    begin(forks, out)
    readers += [Reader(out, tmp_path / f"read{place}", some) for place, some in enumerate(ALL)]
    for _ in range(KILLS):
        time.sleep(draws.uniform() * 1.2)  # noqa: TID251 - a real process is waited for
        status, _ = forks.ask("kill")
        assert status in {0, signal.SIGKILL}
        forks.ask("start", str(out))
    assert forks.ask("wait")[0] == 0
    counts = Counter[str]()
    for reader in readers:
        counts += require_truth(reader.end(), {"running", "interrupted", "completed"})
    print(dict(counts))  # noqa: T201 - how much was read
    assert digests(out) == whole.digests


def test_a_reader_that_stops_in_the_middle_stops_nobody(forks: Forks, whole: Whole, tmp_path: Path):
    """A reading that is begun and never ended neither blocks the run nor takes part in it."""
    out = tmp_path / "run"
    begin(forks, out)
    held: dict[str, Any] = {}
    with RunReader.open(out) as reader:
        while len(held) < 3:
            for world in reader.worlds:
                head = reader.head(world.world_id)
                if world.world_id not in held and head is not None and head.tick >= 0:
                    held[world.world_id] = reader.events(world.world_id)
                    next(held[world.world_id])
            time.sleep(0.01)  # noqa: TID251 - a real process is waited for
        assert forks.ask("wait")[0] == 0
        for events in held.values():
            assert len(list(events)) > 1, "a reading goes on where it stood"
    assert digests(out) == whole.digests
    forks.ask("start", str(out))
    assert forks.ask("wait")[0] == 0
