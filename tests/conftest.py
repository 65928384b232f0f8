"""What holds for every test: no connection leaves this machine, and the header says on what it ran.

Two guards, because neither sees everything. An audit hook sees what Python connects, and fails the
test that did it. Where the system allows it, the whole process also moves into a network of its own
that has nothing but loopback; that binds native code, threads and child processes too.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import ipaddress
import os
import signal
import socket
import struct
import sys
import threading
from collections.abc import Generator
from pathlib import Path

import apsw
import pytest

_CLONE_NEWUSER = 0x10000000
_CLONE_NEWNET = 0x40000000
_SIOCGIFFLAGS = 0x8913
_SIOCSIFFLAGS = 0x8914
_IFF_UP = 1
_LEAVING = frozenset({"socket.connect", "socket.sendto", "socket.sendmsg"})

_seen = pytest.StashKey[list[str]]()
_network = pytest.StashKey[str]()


def is_loopback(address: object) -> bool:
    """Say whether a socket address stays on this machine."""
    if not isinstance(address, tuple):
        return True  # a path: a Unix socket
    host = str(address[0]).partition("%")[0]
    if host in {"localhost", ""}:
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def own_network() -> bool:
    """Move this process into a network that has loopback alone; False where that is not allowed."""
    if sys.platform != "linux":
        return False
    user, group = os.getuid(), os.getgid()
    libc = ctypes.CDLL(None, use_errno=True)
    wanted = _CLONE_NEWNET if user == 0 else _CLONE_NEWNET | _CLONE_NEWUSER
    entered = bool(libc.unshare(wanted) == 0)
    if entered:
        if user != 0:
            Path("/proc/self/setgroups").write_text("deny", encoding="ascii")
            Path("/proc/self/uid_map").write_text(f"{user} {user} 1", encoding="ascii")
            Path("/proc/self/gid_map").write_text(f"{group} {group} 1", encoding="ascii")
        _loopback_up()
    return entered


def _loopback_up() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        asked = struct.pack("16sH14s", b"lo", 0, b"")
        _, flags, _ = struct.unpack("16sH14s", fcntl.ioctl(probe, _SIOCGIFFLAGS, asked))
        fcntl.ioctl(probe, _SIOCSIFFLAGS, struct.pack("16sH14s", b"lo", flags | _IFF_UP, b""))


def pytest_configure(config: pytest.Config) -> None:
    """Put up both guards before anything is collected."""
    seen: list[str] = []
    config.stash[_seen] = seen

    def audit(event: str, arguments: tuple[object, ...]) -> None:
        if event in _LEAVING and not is_loopback(arguments[1]):
            seen.append(str(arguments[1]))
            raise ConnectionRefusedError(f"tests connect to loopback only, not to {arguments[1]}")

    sys.addaudithook(audit)
    # What a script begins in its background is begun with these ignored, and so would be all that
    # the tests begin and stop by them.
    if threading.current_thread() is threading.main_thread():
        for number, handler in (
            (signal.SIGINT, signal.default_int_handler),
            (signal.SIGQUIT, signal.SIG_DFL),
        ):
            if signal.getsignal(number) is signal.SIG_IGN:
                signal.signal(number, handler)
    config.stash[_network] = "seen by Python"
    with contextlib.suppress(OSError):
        if own_network():
            config.stash[_network] = "a network of its own"


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Say which SQLite the suite ran on, and how loopback-only is enforced."""
    return [
        f"sqlite: {apsw.sqlite_lib_version()} (apsw {apsw.apsw_version()})",
        f"connections: loopback only ({config.stash[_network]})",
    ]


@pytest.fixture
def connections_refused(request: pytest.FixtureRequest) -> list[str]:
    """Give the connections that the guard refused; a test that empties the list has answered."""
    return request.config.stash[_seen]


def _fail_if_seen(config: pytest.Config) -> None:
    seen = config.stash[_seen]
    if seen:
        named = ", ".join(seen)
        seen.clear()
        pytest.fail(f"connections that are not loopback: {named}", pytrace=False)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    """Fail the test during which a connection left loopback, whatever became of the connection."""
    yield
    _fail_if_seen(item.config)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, None, None]:
    """Fail likewise for what a fixture did afterwards."""
    yield
    _fail_if_seen(item.config)
