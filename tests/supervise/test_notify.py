"""A service manager is told how it goes, on the socket that it gave."""

from __future__ import annotations

import os
import socket
from pathlib import Path

from perdure.supervise.notify import ServiceManager


def test_what_is_said_arrives(tmp_path: Path):
    """Assignments, a line each; the watchdog as often as was asked for."""
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
        for now_s in (0.0, 0.5, 1.0, 1.5, 2.0):
            told.beat(now_s)
        assert [manager.recv(4096) for _ in range(3)] == [b"WATCHDOG=1"] * 3


def test_nobody_is_told_where_nobody_listens(tmp_path: Path):
    """Without a socket, with one that is gone, and with a watchdog that is another process's."""
    for environment in (
        {},
        {"NOTIFY_SOCKET": str(tmp_path / "gone")},
        {"NOTIFY_SOCKET": "@gone", "WATCHDOG_USEC": "1000", "WATCHDOG_PID": "1"},
    ):
        told = ServiceManager(environment)
        told.say("READY=1")
        told.beat(0.0)
