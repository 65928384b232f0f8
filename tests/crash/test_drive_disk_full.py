"""A drive on a disk that becomes full says so with the code for it, and goes on with more room."""

from __future__ import annotations

import hashlib
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.crash.telling import tell
from tests.crash.test_disk_full import _own_mounts, why_no_mounts
from tests.support.alone import MODEL, called, turn_of

from perdure.base.errors import EXIT_DONE, EXIT_STOPPED
from perdure.testing import MisbehavingServer

ROOT = Path(__file__).resolve().parents[2]
SIZES = (4, 8, 16, 32, 64, 96, 128, 200, 300, 450, 700)
WRITES = 10

SCRIPT = """
mount -t tmpfs -o size={size}k tmpfs {place} || exit 1
{begin} 2>{place}.wrong; echo first $?
mount -o remount,size=64m {place}
test -f {place}/d/drive.db && begun=yes || begun=no; echo begun $begun
if [ $begun = yes ]; then {resume}; else {begin}; fi; echo second $?
{verify}; echo verify $?
cat {place}/d/room/f*.txt | wc -c
"""


def writes(body: dict[str, Any]) -> Any:
    """Write a file a turn, until there are enough."""
    turn = turn_of(body)
    if turn == WRITES:
        return "They are written."
    # What is compressed takes no room.
    text = "".join(hashlib.sha256(f"{turn} {n}".encode()).hexdigest() for n in range(250))
    return (called("write_file", path=f"f{turn}.txt", text=text, tag=str(turn)),)


@pytest.mark.parametrize("size", SIZES)
def test_a_full_disk_is_said_and_gone_on_from(tmp_path: Path, size: int) -> None:
    """Before its ledger is there the same command begins it, and afterwards `resume` goes on."""
    if why_no_mounts():
        pytest.skip(f"no disk of its own can be mounted: {why_no_mounts()}")
    place = tmp_path / "disk"
    place.mkdir()
    cli = [sys.executable, "-m", "perdure.cli"]
    with MisbehavingServer(responder=writes) as server:
        at = ["--model", "http", "--base-url", server.base_url, "--model-name", MODEL]
        script = SCRIPT.format(
            size=size,
            place=place,
            begin=shlex.join([*cli, "drive", "Fill it.", "--out", f"{place}/d", "--quiet", *at]),
            resume=shlex.join([*cli, "drive", "resume", f"{place}/d", "--quiet"]),
            verify=shlex.join([*cli, "verify", f"{place}/d"]),
        )
        ended = subprocess.run(
            [*_own_mounts(), "sh", "-c", script],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
            timeout=200,
        )
    told = dict(line.split() for line in ended.stdout.splitlines() if len(line.split()) == 2)
    wrong = Path(f"{place}.wrong").read_text()
    tell(f"{size} KiB: begun {told.get('begun')}, {wrong.strip()}")
    if told["first"] == str(EXIT_DONE):
        pytest.skip("there was room for all of it")
    assert told["first"] == str(EXIT_STOPPED), wrong
    assert "is full" in wrong
    assert "git init" not in wrong
    resumes = f"Free some space, then give: perdure drive resume {place}/d"
    again = "Free some space, then give the same command again."
    assert (resumes if told["begun"] == "yes" else again) in wrong
    assert (told["second"], told["verify"]) == (str(EXIT_DONE), str(EXIT_DONE)), ended.stderr
    assert int(ended.stdout.splitlines()[-1]) == WRITES * 16_000
