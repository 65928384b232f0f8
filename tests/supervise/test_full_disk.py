"""A full disk under the supervisor's own files: it goes on, says so, and begins nothing twice."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from tests.supervise.tool import Tool

MOUNT = ["unshare", "--mount", "--propagation", "private"]
PROGRAM = shlex.join([sys.executable, "-m", "perdure.cli"])


def where_disks_are_mounted(disk: Path) -> list[str]:
    """Make a folder that a disk can be mounted on; give the words before what may mount it."""
    private = MOUNT if os.geteuid() == 0 else [*MOUNT, "--user", "--map-root-user"]
    disk.mkdir()
    if subprocess.run([*private, "mount", "-t", "tmpfs", "tmpfs", disk], check=False).returncode:
        pytest.skip("no disk of its own can be mounted here")
    return private


def test_a_full_disk_keeps_nothing_from_being_supervised(tool: Tool, tmp_path: Path):
    """How it stands and how an attempt ended is still written, into room that was taken before.

    The disk is full from the first attempt on. The run is resumed and comes to its end; only the
    receipt has no room, which is a pause. With room, the same command earns it.
    """
    disk = tmp_path / "sup"
    private = where_disks_are_mounted(disk)
    fill = f"sh -c 'cat /dev/zero > {disk}/filler; true'"
    first = shlex.join(tool.words(on_start=fill))
    again = shlex.join(tool.words())
    script = f"""\
mount -t tmpfs -o size=512k tmpfs {disk}
{PROGRAM} {first} 2> {tmp_path}/errors; echo $? > {tmp_path}/first
cp {disk}/supervisor.json {tmp_path}/standing
rm {disk}/filler
{PROGRAM} {again} 2> {tmp_path}/errors2; echo $? > {tmp_path}/again
cp {disk}/receipt.json {disk}/history.jsonl {tmp_path}
"""
    subprocess.run(
        [*private, "sh", "-c", script],
        env={**os.environ, **tool.environment({"1 committed:1": "kill"})},
        check=True,
    )
    errors = (tmp_path / "errors").read_text()
    assert (tmp_path / "first").read_text() == "75\n", errors
    assert "the receipt cannot be written" in errors
    standing = json.loads((tmp_path / "standing").read_text())
    assert standing["state"] == "paused"
    assert standing["kept"]["judged"] == 2
    assert standing["last_end"] == "exit status 0"
    assert (tmp_path / "again").read_text() == "0\n", (tmp_path / "errors2").read_text()
    assert json.loads((tmp_path / "receipt.json").read_text())["attempt"] == 3
    assert tool.is_whole()


@pytest.mark.parametrize("whose", ["sup", "artifact"])
def test_every_disk_that_is_written_to_has_to_have_room(tool: Tool, tmp_path: Path, whose: str):
    """The supervisor's own and that of an artifact too; nothing is begun, and it is named."""
    disk = tmp_path / whose
    private = where_disks_are_mounted(disk)
    words = tool.words(
        disk_floor="1MB", disk_wait="100ms", artifact_file=f"{tmp_path}/artifact/days.jsonl"
    )
    script = f"mount -t tmpfs -o size=512k tmpfs {disk}; exec {PROGRAM} {shlex.join(words)}"
    ended = subprocess.run(
        [*private, "sh", "-c", script], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 75, ended.stderr
    assert f"bytes are free at {disk}, 1000000 are wanted" in ended.stderr
    assert not tool.out.exists()
