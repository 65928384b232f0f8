"""The process between a drive and a command: it confines it, and ends all that it started.

It is run as a program of its own, with the standard library alone, so that it starts in moments:
`python -I -S warden.py ORDER`. Orphans of the command become its children, whatever session they
are in. When the command is over, or the drive lets go of the control pipe (it is dead, or wants
the command gone), everything below is killed, and one line on the status pipe tells the end.

A command is confined with what any process may do to itself on Linux: Landlock (no write outside
of some folders, no signal to anybody outside), seccomp (no socket), no new privileges, and as root
next to no capabilities. Where the system lets it have mounts of its own, all else is mounted for
reading only besides, which covers the modes and times of files: Landlock does not.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import platform
import resource
import select
import signal
import sys
from typing import Any, NoReturn

# Truncating is covered from the third version on; before, a file outside could be emptied.
LANDLOCK_MIN = 3

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_READ = 1 << 0 | 1 << 2 | 1 << 3  # execute, read a file, list a folder
_WRITE_FILE, _TRUNCATE, _IOCTL_DEVICE = 1 << 1, 1 << 14, 1 << 15
_RIGHTS_BITS = {1: 13, 2: 14, 3: 15, 4: 15}  # from version 5 on: 16
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty")

_SET_NO_NEW_PRIVILEGES, _SET_SECCOMP, _SET_SUBREAPER, _DROP_BOUND = 38, 22, 36, 24
_KEPT_CAPABILITIES = frozenset({0, 1, 3, 4})  # owner and mode of files, which a build needs
_LAST_CAPABILITY = 63

_NEW_MOUNTS, _NEW_USER = 0x00020000, 0x10000000
_READ_ONLY, _BIND, _RECURSIVE, _PRIVATE = 1, 4096, 16384, 1 << 18
_MOUNT_SETATTR, _AT_WORKING_FOLDER, _ALL_BELOW = 442, -100, 0x8000

# By machine: its number for seccomp, and the calls socket and io_uring_setup.
_MACHINES = {"x86_64": (0xC000003E, (41, 425)), "aarch64": (0xC00000B7, (198, 425))}
_X32 = 0x40000000

_KILL_ROUNDS_MAX = 3000
_ROUND_S = 0.001


def missing() -> str:
    """Say what this system lacks to confine a command; nothing if it can."""
    if sys.platform != "linux":
        return "only Linux is known to offer what is needed"
    if platform.machine() not in _MACHINES:
        return f"no filter of system calls is known for {platform.machine()}"
    version = _landlock_version()
    if version < LANDLOCK_MIN:
        return f"Landlock is at version {max(version, 0)}, and {LANDLOCK_MIN} is needed"
    return ""


def confine(writable: list[str], *, egress: bool) -> None:
    """Confine this process and all that it starts, for good.

    Raises:
        OSError: the system does not do it.

    """
    _read_only_elsewhere(writable)
    # exec gives root what is in the bound, so to be root means little afterwards.
    if os.geteuid() == 0:
        for capability in set(range(_LAST_CAPABILITY)) - _KEPT_CAPABILITIES:
            _libc().prctl(_DROP_BOUND, capability, 0, 0, 0)
    _must(_libc().prctl(_SET_NO_NEW_PRIVILEGES, 1, 0, 0, 0))
    _landlock(writable, egress=egress)
    if not egress:
        _no_sockets()


def _read_only_elsewhere(writable: list[str]) -> bool:
    """Take mounts of its own, and make all but some folders read-only; say whether it could."""
    user, group = os.geteuid(), os.getegid()
    if user != 0 or _libc().unshare(_NEW_MOUNTS) < 0:
        if _libc().unshare(_NEW_MOUNTS | _NEW_USER) < 0:
            return False
        _write("/proc/self/setgroups", "deny")
        _write("/proc/self/uid_map", f"{user} {user} 1")
        _write("/proc/self/gid_map", f"{group} {group} 1")
    paths = [os.fsencode(path) for path in writable]
    done = _libc().mount(b"none", b"/", None, _PRIVATE | _RECURSIVE, None) >= 0
    for path in paths:
        done = done and _libc().mount(path, path, None, _BIND | _RECURSIVE, None) >= 0
    done = done and _set_mount(b"/", sets=_READ_ONLY) >= 0
    return done and all(_set_mount(path, clears=_READ_ONLY) >= 0 for path in paths)


def _set_mount(path: bytes, *, sets: int = 0, clears: int = 0) -> int:
    attributes = (ctypes.c_uint64 * 4)(sets, clears, 0, 0)
    size = ctypes.c_size_t(ctypes.sizeof(attributes))
    return int(
        _libc().syscall(
            _MOUNT_SETATTR, _AT_WORKING_FOLDER, path, _ALL_BELOW, ctypes.byref(attributes), size
        )
    )


def _write(path: str, text: str) -> None:
    try:
        with open(path, "w", encoding="ascii") as file:  # noqa: PTH123 - fast
            file.write(text)
    except OSError:
        return


def _libc() -> Any:
    return ctypes.CDLL(None, use_errno=True)


def _must(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def _landlock_version() -> int:
    return int(_libc().syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(1)))


class _Ruleset(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("net", ctypes.c_uint64), ("scoped", ctypes.c_uint64))


class _Beneath(ctypes.Structure):
    _pack_ = 1
    _layout_ = "ms"
    _fields_ = (("allowed", ctypes.c_uint64), ("folder", ctypes.c_int32))


def _landlock(writable: list[str], *, egress: bool) -> None:
    version = _landlock_version()
    bits = _RIGHTS_BITS.get(version, 16)
    writes = ((1 << bits) - 1) & ~_READ
    net = 0b11 if version >= 4 and not egress else 0  # noqa: PLR2004 - from this version on
    scoped = 0b11 if version >= 6 else 0  # noqa: PLR2004 - from this version on
    attributes = _Ruleset(writes, net, scoped)
    size = 24 if version >= 6 else 16 if version >= 4 else 8  # noqa: PLR2004 - it grew
    ruleset = _must(
        _libc().syscall(
            _CREATE_RULESET, ctypes.byref(attributes), ctypes.c_size_t(size), ctypes.c_uint32(0)
        )
    )
    single = writes & (_WRITE_FILE | _TRUNCATE | _IOCTL_DEVICE)
    for path in writable:
        _allow(ruleset, path, writes if os.path.isdir(path) else single)  # noqa: PTH112 - fast
    for path in filter(os.path.exists, _DEVICES):
        _allow(ruleset, path, single)
    _must(_libc().syscall(_RESTRICT_SELF, ruleset, ctypes.c_uint32(0)))
    os.close(ruleset)


def _allow(ruleset: int, path: str, rights: int) -> None:
    folder = os.open(path, os.O_PATH | os.O_CLOEXEC)
    rule = _Beneath(rights, folder)
    _must(_libc().syscall(_ADD_RULE, ruleset, 1, ctypes.byref(rule), ctypes.c_uint32(0)))
    os.close(folder)


class _Instruction(ctypes.Structure):
    _fields_ = (
        ("code", ctypes.c_uint16),
        ("then", ctypes.c_uint8),
        ("otherwise", ctypes.c_uint8),
        ("value", ctypes.c_uint32),
    )


class _Filter(ctypes.Structure):
    _fields_ = (("length", ctypes.c_uint16), ("start", ctypes.POINTER(_Instruction)))


def _no_sockets() -> None:
    machine, denied = _MACHINES[platform.machine()]
    load, equal, above, give = 0x20, 0x15, 0x35, 0x06
    refuse = 0x00050000 | errno.EACCES
    refusal = 5 + len(denied)
    program = [
        _Instruction(load, 0, 0, 4),  # the machine
        _Instruction(equal, 0, refusal - 2, machine),
        _Instruction(load, 0, 0, 0),  # the call
        _Instruction(above, refusal - 4, 0, _X32),
        *(_Instruction(equal, refusal - at - 1, 0, call) for at, call in enumerate(denied, 4)),
        _Instruction(give, 0, 0, 0x7FFF0000),
        _Instruction(give, 0, 0, refuse),
    ]
    array = (_Instruction * len(program))(*program)
    whole = _Filter(len(program), array)
    _must(_libc().prctl(_SET_SECCOMP, 2, ctypes.byref(whole), 0, 0))


def _start(order: dict[str, Any], status: int) -> int:
    # One thread, no database open: a fork is safe here, and only a fork can be confined by itself.
    child = os.fork()  # noqa: TID251 - see above
    if child:
        return child
    try:
        os.setsid()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGPIPE):
            signal.signal(number, signal.SIG_DFL)
        signal.set_wakeup_fd(-1)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if order["writable"] is not None:
            confine(order["writable"], egress=order["egress"])
        os.chdir(order["folder"])  # only now, because mounts may have moved
        os.execvpe(order["command"][0], order["command"], os.environ)  # noqa: S606 - it is asked for
    except BaseException as error:  # noqa: BLE001 - told, whatever it is
        wrong = getattr(error, "strerror", None) or repr(error)
        os.write(status, json.dumps({"failed": str(wrong)}).encode() + b"\n")
    os._exit(127)


def descendants(of: int) -> list[int]:
    """List the processes below one, zombies left out, by /proc; none where there is no such."""
    below: dict[int, list[int]] = {}
    alive: set[int] = set()
    try:
        entries = os.listdir("/proc")  # noqa: PTH208 - one call per round
    except OSError:
        return []
    for entry in entries:
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/stat", "rb") as file:  # noqa: PTH123 - one call per process
                state, parent = file.read().rpartition(b")")[2].split()[:2]
        except (OSError, ValueError):
            continue
        below.setdefault(int(parent), []).append(int(entry))
        if state != b"Z":
            alive.add(int(entry))
    found: list[int] = []
    waiting = [of]
    while waiting:
        children = below.get(waiting.pop(), [])
        waiting += children
        found += children
    return [one for one in found if one in alive]


def _reap(child: int) -> int | None:
    """Take every process that is over; give the status of the command, if it is among them."""
    mine = None
    while True:
        try:
            number, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return mine
        if number == 0:
            return mine
        if number == child:
            mine = status


def _kill_all(child: int) -> int | None:
    """Kill everything below until nothing is left; give the status of the command, if it ends."""
    status = None
    is_seen = os.path.exists(f"/proc/{os.getpid()}/stat")  # noqa: PTH110 - fast
    for _ in range(_KILL_ROUNDS_MAX):
        if not is_seen:
            _kill(-child)
        left = descendants(os.getpid())
        for one in left:
            _kill(one)
        reaped = _reap(child)
        status = status if reaped is None else reaped
        if not left:
            break
        select.select([], [], [], _ROUND_S)
    return status


def _kill(number: int) -> None:
    try:
        os.kill(number, signal.SIGKILL)
    except OSError:
        return


def main(order: dict[str, Any]) -> NoReturn:
    """Run one command to its end, or to the end of the drive's interest in it."""
    control, told = order["control"], order["status"]
    for end in (control, told):
        os.set_inheritable(end, False)
    if sys.platform == "linux":
        _libc().prctl(_SET_SUBREAPER, 1, 0, 0, 0)
    woken, wakes = os.pipe()
    for end in (woken, wakes):
        os.set_blocking(end, False)
    signal.set_wakeup_fd(wakes, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    child = _start(order, told)
    # What the command holds, its input and output, is its own alone.
    nowhere = os.open(os.devnull, os.O_RDWR)
    for end in (0, 1, 2):
        os.dup2(nowhere, end)
    status = None
    while status is None:
        ready, _, _ = select.select([control, woken], [], [])
        if control in ready:
            break
        os.read(woken, 4096)
        status = _reap(child)
    after = _kill_all(child)
    status = after if status is None else status
    code = None if status is None else os.waitstatus_to_exitcode(status)
    os.write(told, json.dumps({"ended": code}).encode() + b"\n")
    os._exit(0)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
