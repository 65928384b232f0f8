"""Telling a service manager how it goes, if there is one: the protocol of sd_notify."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from contextlib import suppress


class ServiceManager:
    """The socket of whoever started this process as a service; silent if nobody did."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        address = environment.get("NOTIFY_SOCKET", "")
        self._address = "\0" + address[1:] if address.startswith("@") else address
        self._watchdog_s = _watchdog_s(environment)
        self._said_s = -1.0

    def say(self, *lines: str) -> None:
        """Send some assignments, such as `READY=1`."""
        if not self._address:
            return
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as line:
            line.sendto("\n".join(lines).encode(), self._address)

    def beat(self, now_s: float) -> None:
        """Say that this process lives, as often as was asked for."""
        if self._watchdog_s and (self._said_s < 0 or now_s - self._said_s >= self._watchdog_s / 3):
            self._said_s = now_s
            self.say("WATCHDOG=1")


def _watchdog_s(environment: Mapping[str, str]) -> float:
    text = environment.get("WATCHDOG_USEC", "")
    meant = environment.get("WATCHDOG_PID", "")
    if not text.isdigit() or (meant and meant != str(os.getpid())):
        return 0.0
    return int(text) / 1e6
