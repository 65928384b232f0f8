"""A service manager is told how it goes, on the socket that it gave, and that nobody else gets."""

from __future__ import annotations

import asyncio
import os
import shlex
import socket
from pathlib import Path

import pytest
from tests.supervise.tool import Tool, until

from perdure.supervise.notify import ServiceManager
from perdure.testing.clock import SkippingClock


async def living(told: ServiceManager, clock: SkippingClock, until_s: float) -> None:
    """Live so long, on a clock that passes by waiting."""
    async with told.told_of_life(clock):
        while clock.now_s() < until_s:  # noqa: ASYNC110 - a clock is waited for
            await asyncio.sleep(0)


def test_what_is_said_arrives(tmp_path: Path):
    """Assignments, a line each; the watchdog as often as was asked for, three times to its time."""
    clock = SkippingClock()
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "socket"))
        manager.settimeout(10)
        told = ServiceManager(
            {
                "NOTIFY_SOCKET": str(tmp_path / "socket"),
                "WATCHDOG_USEC": "3000000",
                "WATCHDOG_PID": str(os.getpid()),
            }
        )
        told.say("READY=1", "STATUS=It runs.")
        assert manager.recv(4096) == b"READY=1\nSTATUS=It runs."
        asyncio.run(living(told, clock, 2.0))
        assert [manager.recv(4096) for _ in range(3)] == [b"WATCHDOG=1"] * 3
        assert set(clock.slept) == {1.0}


def test_nobody_is_told_where_nobody_listens(tmp_path: Path):
    """Without a socket, with one that is gone, and with a watchdog that is another process's."""
    for environment in (
        {},
        {"NOTIFY_SOCKET": str(tmp_path / "gone")},
        {"NOTIFY_SOCKET": "@gone", "WATCHDOG_USEC": "1000", "WATCHDOG_PID": "1"},
    ):
        told = ServiceManager(environment)
        told.say("READY=1")
        asyncio.run(living(told, SkippingClock(), 0.0))


@pytest.mark.parametrize("phase", ["artifact", "guard", "on_done"])
def test_a_supervisor_that_waits_for_a_command_lives(tool: Tool, phase: str):
    """However long a check or a hook takes, within its deadline: the watchdog hears of life.

    What is started, the run as well, is not given the socket: its words would be the supervisor's.
    """
    asked, heard, seen = (tool.folder / name for name in ("asked", "heard", "seen"))
    count = f"grep -c day.ended {tool.out}/world.jsonl"
    waits = (
        f"env >> {seen}; touch {asked}; until test -e {heard}; do sleep 0.02; done; {count}; true"
    )
    runner = tool.words()[tool.words().index("--start") + 1]
    changed = {
        phase: f"sh -c {shlex.quote(waits)}",
        "start": f"sh -c {shlex.quote(f'env >> {seen}; exec {runner}')}",
    }
    mischief = {"1 logged:1": "exit 1"} if phase == "guard" else {}
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tool.folder / "socket"))
        manager.settimeout(60)
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("NOTIFY_SOCKET", str(tool.folder / "socket"))
            patch.setenv("WATCHDOG_USEC", "200000")
            with tool.begun(mischief, **changed) as supervisor:
                beats = 0
                while beats < 4:
                    beats += b"WATCHDOG=1" in manager.recv(4096) and asked.exists()
                heard.touch()
                until(lambda: _drained(manager) and supervisor.poll() is not None)
    assert supervisor.returncode == 0
    names = {line.partition("=")[0] for line in seen.read_text().splitlines()}
    assert {"PERDURE_ATTEMPT", "LC_ALL"} & names
    assert not {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"} & names


def _drained(manager: socket.socket) -> bool:
    """Read all that has come, so that nobody waits for room."""
    manager.setblocking(False)
    while True:
        try:
            manager.recv(4096)
        except BlockingIOError:
            return True
