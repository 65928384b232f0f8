"""That a supervised sweep reaches its target whatever happens to run, supervisor and endpoint.

Real processes: an endpoint that fails, stalls and closes at random, and SIGKILLs at random instants
of the run, of its supervisor, of the keeper between them, and of all at once. A supervisor that was
killed is started again with the same words, as a service manager would. In the end the digests are
those of the run that nobody disturbed, there is one receipt, and no process is left.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from tests.crash.test_run_kills import FULL, SEED, digests, environment
from tests.support.sample_study import PEOPLE, SAMPLE

from perdure.base.chance import Stream
from perdure.supervise import processes
from perdure.supervise.assembly import tag_of
from perdure.supervise.keeper import ATTEMPT_NAME
from perdure.supervise.slot import read
from perdure.supervise.stored import Attempt
from perdure.testing import MisbehavingServer, SeenRequest

PARTS, KILLS = (6, 25) if FULL else (1, 3)
WITHIN_S = 900.0 if FULL else 100.0
VICTIMS = ("run", "supervisor", "keeper", "all")
# Each ends an attempt at a call, which is then made again and answered.
FAULTS = (
    "status_500",
    "status_503",
    "close_before",
    "reset_mid_body",
    "truncated_with_length",
    "stall",
)
FAULTY = 0.3
LIMITS = "limits: {concurrency: 4, attempt_timeout_s: 1.0, deadline_s: 60}"
PROGRAM = (sys.executable, "-m", "perdure.cli")


class Endpoint(MisbehavingServer):
    """Answers by what is asked alone; the first time that something is asked, it may misbehave."""

    def __init__(self) -> None:
        super().__init__(responder=self._say, latency_s=0.03, models=("model-2025-01-01",))
        self._seen: Counter[str] = Counter()
        self.is_calm = True
        self.play(self._fault)

    def _say(self, request: dict[str, Any]) -> str:
        said = ("Ann.", "Bob.", "I agree.", "I disagree.", "I cannot say.")
        return said[sha256(_key(request).encode()).digest()[0] % len(said)]

    def _fault(self, seen: SeenRequest) -> str | None:
        key = _key(seen.body)
        self._seen[key] += 1
        draws = Stream(SEED, 0, "fault", key)
        if self.is_calm or self._seen[key] > 1 or draws.uniform() >= FAULTY:
            return None
        return draws.choice(FAULTS)


def _key(request: dict[str, Any]) -> str:
    return json.dumps(request, sort_keys=True)


@pytest.fixture(scope="module")
def endpoint() -> Iterator[Endpoint]:
    """Give one endpoint to all runs."""
    with Endpoint() as running:
        yield running


@pytest.fixture(scope="module")
def study(endpoint: Endpoint, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the study: two scenarios, two seeds, four ticks, twelve people."""
    folder = tmp_path_factory.mktemp("study")
    text = SAMPLE.replace("https://example.org/v1", endpoint.base_url)
    text = text.replace("limits: {requests_per_minute: 60}", LIMITS)
    assert LIMITS in text
    (folder / "study.yaml").write_text(text)
    (folder / "people.csv").write_text(PEOPLE)
    return folder / "study.yaml"


@pytest.fixture(scope="module")
def whole(study: Path, endpoint: Endpoint, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Make the run that nobody disturbs; give its digests."""
    out = tmp_path_factory.mktemp("whole") / "run"
    endpoint.is_calm = True
    subprocess.run(
        [*PROGRAM, "run", study, "--out", out, "--model", "api", "--quiet"],
        env=variables(),
        stdout=subprocess.DEVNULL,
        check=True,
    )
    return digests(out)


def variables() -> dict[str, str]:
    """Give the environment of a program that runs this tree, with a key."""
    return {**environment(), "EXAMPLE_API_KEY": "a-key-of-no-worth"}


class Campaign:
    """One supervised sweep, and the kills that fall on it."""

    def __init__(self, study: Path, out: Path, endpoint: Endpoint, draws: Stream) -> None:
        self.out = out
        self.home = out / "supervise"
        self.endpoint = endpoint
        self.draws = draws
        self.kills: Counter[str] = Counter()
        self._next: list[str] = []
        self.until_s = time.monotonic() + WITHIN_S
        self._words = [
            *PROGRAM, "supervise", str(study), "--out", str(out), "--poll", "100ms",
            "--pause", "50ms", "--pause-max", "500ms", "--", "--model", "api",
            # A campaign that has the time for it has workers, too.
            *(("--workers", "2") if FULL else ()),
        ]  # fmt: skip
        self.supervisor = self._begin()

    def _begin(self) -> subprocess.Popen[str]:
        return subprocess.Popen(
            self._words,
            env=variables(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def live(self) -> int:
        """Kill again and again, then let it come to its end; give its exit status."""
        while self.kills.total() < KILLS and self.supervisor.poll() is None:
            self._wait()
            if not self._next:
                self._next = list(VICTIMS)
                self.draws.shuffle(self._next)
            self._kill(self._next.pop())
            if self.supervisor.poll() not in (None, 0):
                self._require_killed()
                self.supervisor = self._begin()
        _, errors = self.supervisor.communicate(timeout=self.until_s - time.monotonic())
        assert "Traceback" not in errors, errors
        return self.supervisor.returncode

    def _require_killed(self) -> None:
        _, errors = self.supervisor.communicate()
        assert self.supervisor.returncode == -signal.SIGKILL, errors

    def _wait(self) -> None:
        """Wait for some calls, or for some time: a start or an end may be hit as well."""
        calls = self.endpoint.calls + 1 + self.draws.below(40)
        until_s = time.monotonic() + 1.0 + 5.0 * self.draws.uniform()
        while self.endpoint.calls < calls and time.monotonic() < min(until_s, self.until_s):
            if self.supervisor.poll() is not None:
                return
            time.sleep(0.01)  # noqa: TID251 - real processes are waited for

    def _kill(self, victim: str) -> None:
        told = read(self.home / ATTEMPT_NAME, Attempt)
        run = told.run if told is not None and told.end is None else None
        if victim in {"supervisor", "all"}:
            self.supervisor.kill()
            self.supervisor.wait()
        if told is not None and victim in {"keeper", "all"} and processes.lives(told.keeper):
            os.kill(told.keeper.pid, signal.SIGKILL)
        if run is not None and victim in {"run", "all"} and processes.lives(run):
            with contextlib.suppress(ProcessLookupError):
                os.kill(run.pid, signal.SIGKILL)
        self.kills[victim] += 1

    def end(self) -> None:
        """End what is left of it, whatever became of the test."""
        if self.supervisor.poll() is None:
            self.supervisor.kill()
            self.supervisor.communicate()
        processes.send(self.left(), signal.SIGKILL)

    def left(self) -> list[int]:
        """List the processes of it that live."""
        tag = tag_of(self.home)
        return [*processes.tagged(tag), *processes.tagged(f"{tag}_ASKED")]

    def events(self, name: str) -> list[dict[str, Any]]:
        """Read the events of a kind, as far as a kill left them whole."""
        found = []
        for line in (self.home / "history.jsonl").read_text().splitlines():
            with contextlib.suppress(json.JSONDecodeError):
                found.append(json.loads(line))
        return [event for event in found if event["event"] == name]


@pytest.mark.timeout(1000 if FULL else 240)
@pytest.mark.parametrize("part", range(PARTS))
def test_a_supervised_sweep_ends_as_if_nothing_had_been(
    study: Path, whole: list[str], endpoint: Endpoint, tmp_path: Path, part: int
):
    """Right digests, one receipt, one acceptance, nobody left; and it is done the next time."""
    endpoint.is_calm = False
    draws = Stream(SEED, part, "kill a supervised sweep")
    campaign = Campaign(study, tmp_path / "run", endpoint, draws)
    try:
        assert campaign.live() == 0
        attempts = len(campaign.events("attempt-began"))
        print(dict(campaign.kills), attempts, len(campaign.events("attached")))  # noqa: T201
        assert digests(campaign.out) == whole
        assert len(campaign.events("accepted")) == 1
        receipt = json.loads((campaign.home / "receipt.json").read_text())
        proofs = [value for name, value in receipt["proof"].items() if name.startswith("digest")]
        assert sorted(proofs) == sorted(whole)
        assert list((tmp_path / "run").glob("**/receipt*")) == [campaign.home / "receipt.json"]
        assert campaign.left() == []
        again = subprocess.run(campaign._words, env=variables(), capture_output=True, check=False)
        assert again.returncode == 0
        assert b"the receipt holds" in again.stderr
        assert len(campaign.events("attempt-began")) == attempts
    finally:
        campaign.end()
