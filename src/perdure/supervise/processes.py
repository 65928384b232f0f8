"""Processes of this machine: who one is, which ones carry a tag, and how all of them are ended.

A process is told from a later one of its number by when it began. What a run started, however it
went into a session or to another parent, is found by a variable of its environment. Where there is
no `/proc`, only the group of a run is known.
"""

from __future__ import annotations

import ctypes
import os
import signal
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from perdure.supervise.stored import Process

_PROC = Path("/proc")
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
# Fields of /proc/PID/stat after the name: state, ppid, pgrp, session; and when it began.
_STATE, _PARENT, _GROUP, _SESSION, _STARTED = 0, 1, 2, 3, 19
_GONE = frozenset({"Z", "X"})


def myself() -> Process:
    """Say who this process is."""
    return identified(os.getpid())


def identified(pid: int) -> Process:
    """Say who the process of a number is now."""
    fields = _stat(pid)
    return Process(
        pid=pid,
        started=fields[_STARTED] if fields else "",
        boot=_boot(),
        host=os.uname().nodename,
    )


def lives(process: Process) -> bool:
    """Say whether this very process is still there, and no other one of its number."""
    if process.host != os.uname().nodename or process.boot != _boot() or process.pid <= 0:
        return False
    fields = _stat(process.pid)
    if fields:
        return fields[_STARTED] == process.started and fields[_STATE] not in _GONE
    if _PROC.joinpath("self").exists():
        return False
    try:
        os.kill(process.pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def tagged(name: str, value: str = "") -> list[int]:
    """List the living processes whose environment has this variable (with this value)."""
    wanted = f"{name}={value}".encode()
    found = []
    for pid in _pids():
        with suppress(OSError):
            variables = (_PROC / str(pid) / "environ").read_bytes().split(b"\0")
            if any(one == wanted if value else one.startswith(wanted) for one in variables):
                found.append(pid)
    return found


def grouped(leader: int) -> list[int]:
    """List the living processes of a leader's group or session."""
    number = str(leader)
    return [
        pid
        for pid in _pids()
        if (fields := _stat(pid))
        and number in {fields[_GROUP], fields[_SESSION]}
        and fields[_STATE] not in _GONE
    ]


def children_of(parent: int) -> list[int]:
    """List the living children of a process."""
    number = str(parent)
    return [
        pid
        for pid in _pids()
        if (fields := _stat(pid)) and fields[_PARENT] == number and fields[_STATE] not in _GONE
    ]


def holders_of_name(name: str) -> list[int]:
    """List the processes that hold a name of the system's, as far as that may be seen."""
    try:
        lines = (_PROC / "net/unix").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
    sockets = {f"socket:[{line.split()[6]}]" for line in lines if line.endswith(f" @{name}")}
    return [pid for pid in _pids() if not sockets.isdisjoint(_open_files(pid))]


def send(pids: Iterable[int], number: int) -> None:
    """Send a signal to processes, those that are gone left out."""
    for pid in pids:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def catches(pid: int, number: int) -> bool:
    """Say whether a process has a handler for a signal, so that it does not end it."""
    with suppress(OSError, ValueError):
        for line in (_PROC / str(pid) / "status").read_text(encoding="ascii").splitlines():
            if line.startswith("SigCgt:"):
                return bool(int(line.split()[1], 16) >> (number - 1) & 1)
    return False


def adopt_orphans() -> None:
    """Become the parent of what loses its own below this process, where the system can do that."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)


def death_of_parent(library: ctypes.CDLL | None, parent: int) -> None:
    """Let this process, which is just being started, be killed when its parent dies."""
    if library is not None:
        library.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)


def system_library() -> ctypes.CDLL | None:
    """Load the library that `death_of_parent` calls; None where it cannot do that."""
    try:
        library = ctypes.CDLL(None)
        return library if hasattr(library, "prctl") else None
    except OSError:
        return None


def oom_kills() -> int | None:
    """Count the processes that were ended for want of memory, in this group or on this machine."""
    with suppress(OSError, ValueError, IndexError):
        for line in Path("/proc/self/cgroup").read_text(encoding="ascii").splitlines():
            if line.startswith("0::"):
                group = Path("/sys/fs/cgroup") / line[3:].lstrip("/")
                return _counted(group / "memory.events")
    with suppress(OSError, ValueError, IndexError):
        return _counted(_PROC / "vmstat")
    return None


def _counted(path: Path) -> int:
    for line in path.read_text(encoding="ascii").splitlines():
        if line.startswith("oom_kill "):
            return int(line.split()[1])
    raise ValueError(path)


def _pids() -> list[int]:
    try:
        return [int(name) for name in os.listdir(_PROC) if name.isdigit()]  # noqa: PTH208 - names
    except OSError:
        return []


def _open_files(pid: int) -> list[str]:
    folder = _PROC / str(pid) / "fd"
    found = []
    with suppress(OSError):
        for name in os.listdir(folder):  # noqa: PTH208 - names
            with suppress(OSError):
                found.append(os.readlink(folder / name))  # noqa: PTH115 - a name, and no path
    return found


def _stat(pid: int) -> list[str]:
    try:
        text = (_PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    # The name may hold anything, spaces and brackets too.
    return text.rpartition(")")[2].split()


def _boot() -> str:
    try:
        return (_PROC / "sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""
