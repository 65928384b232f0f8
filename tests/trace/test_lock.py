"""One governor per run: a lock that is held by exactly one process and dies with it."""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from perdure.base.errors import EXIT_HELD, HeldError, StorageError
from perdure.trace import lock
from perdure.trace.lock import LOCK_NAME, GovernorLock, is_held, read_holder


class StoppedClock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.slept = 0

    def wall_s(self) -> float:
        return 1_000.0

    def now_s(self) -> float:
        return 0.0

    async def sleep(self, seconds: float) -> None:
        self.slept += 1


def acquire(folder: Path) -> GovernorLock:
    """Take the lock of a folder."""
    return asyncio.run(GovernorLock.acquire(folder, StoppedClock()))


def test_a_lock_is_held_until_it_is_released(tmp_path: Path) -> None:
    """P7: `is_held` tells what is true now, and asking does not change it."""
    assert not is_held(tmp_path)
    assert read_holder(tmp_path) is None
    held = acquire(tmp_path)
    assert is_held(tmp_path)
    assert is_held(tmp_path)
    held.release()
    held.release()
    assert not is_held(tmp_path)
    acquire(tmp_path).release()


def test_the_loser_is_told_who_holds_it(tmp_path: Path) -> None:
    """P7: a second governor is refused with process, host and time, and exit status 73."""
    held = acquire(tmp_path)
    with pytest.raises(HeldError) as caught:
        acquire(tmp_path)
    said = f"process {os.getpid()} on {socket.gethostname()}, since 1970-01-01 00:16:40 UTC"
    assert said in str(caught.value)
    assert caught.value.exit_status == EXIT_HELD
    (tmp_path / LOCK_NAME).write_bytes(b"")
    with pytest.raises(HeldError, match="left no note"):
        acquire(tmp_path)
    held.release()


def gone_process() -> int:
    """Give the id of a process that was, and is no more."""
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    return process.pid


@pytest.mark.parametrize(
    ("note", "says"),
    [
        ({"pid": None, "host": None, "started_s": 5.0}, "it left no note"),
        ({"pid": None, "host": "elsewhere", "started_s": 5.0}, "on elsewhere, since 1970-01-01"),
        ({"pid": 1, "host": None, "started_s": 1e300}, f"process 1 on {socket.gethostname()})"),
        ({"pid": -1, "host": "a\x1b[2Jb", "started_s": 5.0}, r"process -1 on a\x1b[2Jb"),
        ({"pid": 2**70, "host": None, "started_s": 5.0}, "it left no note"),
    ],
)
def test_a_note_is_believed_only_while_it_can_be_true(
    tmp_path: Path, note: dict[str, object], says: str
) -> None:
    """The note of a killed process of this host, still there under its successor, names nobody."""
    held = acquire(tmp_path)
    if note["pid"] is None:
        note["pid"] = gone_process()
    note["host"] = note["host"] or socket.gethostname()
    (tmp_path / LOCK_NAME).write_text(json.dumps(note))
    with pytest.raises(HeldError) as caught:
        acquire(tmp_path)
    assert says in str(caught.value)
    held.release()


def test_a_lock_that_was_given_back_names_nobody(tmp_path: Path) -> None:
    """The next holder is never mistaken for the one before, who is still alive."""
    acquire(tmp_path).release()
    assert read_holder(tmp_path) is None


def test_a_glance_at_the_lock_does_not_refuse_a_governor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever asks for the state holds the lock for an instant: a governor tries again."""
    real, busy = lock._try, [None, None]
    monkeypatch.setattr(lock, "_try", lambda path: busy.pop() if busy else real(path))
    acquire(tmp_path).release()


def test_a_holder_that_is_killed_holds_nothing(tmp_path: Path) -> None:
    """P7: the system drops the lock with the process, however it ends."""
    code = (
        "import asyncio, sys, time\n"
        "from pathlib import Path\n"
        "from perdure.base.clock import SystemClock\n"
        "from perdure.trace.lock import GovernorLock\n"
        "held = asyncio.run(GovernorLock.acquire(Path(sys.argv[1]), SystemClock()))\n"
        "print('held', flush=True)\n"
        "time.sleep(60)\n"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        assert is_held(tmp_path)
        noted = read_holder(tmp_path)
        assert noted is not None
        assert noted.pid == holder.pid
        holder.kill()
        holder.wait()
    assert not is_held(tmp_path)
    acquire(tmp_path).release()


def test_a_child_does_not_inherit_the_lock(tmp_path: Path) -> None:
    """F12: a process that is started while the lock is held does not keep it."""
    held = acquire(tmp_path)
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        held.release()
        assert not is_held(tmp_path)
        child.communicate(b"\n")


def test_a_replaced_lock_file_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """P7: a lock on a file that has lost its name protects nothing, and is not taken for one."""
    real = fcntl.flock

    def unlinking(descriptor: int, operation: int) -> None:
        (tmp_path / LOCK_NAME).unlink(missing_ok=True)
        real(descriptor, operation)

    monkeypatch.setattr("fcntl.flock", unlinking)
    with pytest.raises(HeldError):
        acquire(tmp_path)


def test_a_lock_file_that_cannot_be_used_is_a_storage_fault(tmp_path: Path) -> None:
    """P9: a link in the lock's place, or no folder at all, is said and not followed."""
    (tmp_path / LOCK_NAME).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StorageError):
        acquire(tmp_path)
    with pytest.raises(StorageError):
        is_held(tmp_path)
    with pytest.raises(StorageError):
        acquire(tmp_path / "missing")
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize("refusing", ["acquire", "ask"])
def test_a_file_system_without_locks_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refusing: str
) -> None:
    """P7: where locks do not work a run is refused, not run without one."""
    (tmp_path / LOCK_NAME).write_bytes(b"")

    def refuse(descriptor: int, operation: int) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr("fcntl.flock", refuse)
    with pytest.raises(StorageError, match="not supported"):
        acquire(tmp_path) if refusing == "acquire" else is_held(tmp_path)


def test_a_note_that_cannot_be_written_does_not_stop_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a full disk a run can still be resumed: the note is for people."""

    def refuse(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.pwrite", refuse)
    held = acquire(tmp_path)
    assert is_held(tmp_path)
    held.release()


def test_one_of_many_racers_wins(tmp_path: Path) -> None:
    """P7: of processes that race for a run, exactly one gets it."""
    code = (
        "import asyncio, sys\n"
        "from pathlib import Path\n"
        "from perdure.base.clock import SystemClock\n"
        "from perdure.base.errors import HeldError\n"
        "from perdure.trace.lock import GovernorLock\n"
        "sys.stdin.readline()\n"
        "try:\n"
        "    held = asyncio.run(GovernorLock.acquire(Path(sys.argv[1]), SystemClock()))\n"
        "    print('won', flush=True)\n"
        "    sys.stdin.readline()\n"
        "except HeldError:\n"
        "    print('lost', flush=True)\n"
    )
    pipe = subprocess.PIPE
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(tmp_path)], stdin=pipe, stdout=pipe, text=True
        )
        for _ in range(4)
    ]
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write("go\n")
        racer.stdin.flush()
    said = []
    for racer in racers:
        assert racer.stdout is not None
        said.append(racer.stdout.readline().strip())
    for racer in racers:
        racer.communicate("done\n")
    assert sorted(said) == ["lost", "lost", "lost", "won"]


def test_a_note_of_one_who_is_gone_names_nobody(tmp_path: Path) -> None:
    """Who holds a run is never said to be one who held it before and is dead, or let it go."""
    acquire(tmp_path).release()
    assert read_holder(tmp_path) is None
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        ended.wait()
    held = acquire(tmp_path)
    note = lock.Holder(pid=ended.pid, host=socket.gethostname(), started_s=0.0)
    (tmp_path / LOCK_NAME).write_bytes(msgspec.json.encode(note))
    with pytest.raises(HeldError, match="left no note"):
        acquire(tmp_path)
    elsewhere = lock.Holder(pid=ended.pid, host="another-machine", started_s=0.0)
    (tmp_path / LOCK_NAME).write_bytes(msgspec.json.encode(elsewhere))
    with pytest.raises(HeldError, match=f"process {ended.pid} on another-machine"):
        acquire(tmp_path)
    held.release()
