"""Lives of the command line on a disk of its own: small, full, without inodes, read-only, failing.

    python -m tests.crash.small_disk STUDY PLACE

Run as a program it takes orders as lines of JSON and answers each with one. Every life is a fork of
it, which is safe because nothing is open here to inherit, and cheap because everything is imported
already; the fingerprint of the code, which cannot move meanwhile, is taken once for all of them.
"""

from __future__ import annotations

import contextlib
import faulthandler
import hashlib
import importlib
import json
import os
import shutil
import subprocess
import sys
import threading
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import apsw
from tests.crash.full_disk import command
from tests.crash.tap import Tap
from tests.crash.telling import tell
from tests.crash.test_disk_full import _own_mounts, why_no_mounts
from tests.crash.test_io_errors import Failing

from perdure.base import crashpoints
from perdure.cli.entry import execute
from perdure.closure.fingerprint import fingerprint
from perdure.runner import history

ROOT = Path(__file__).resolve().parents[2]
PAGE = 4_096
# No life lasts longer: it ends by saying where it was, which no test takes for an end.
LIFE_S = 60
# What commands import when they are called, so that no life does it again.
MODULES = (
    "genai_prices",
    "graspologic_native",
    "numpy",
    "perdure.analysis.ledger",
    "perdure.analysis.report",
    "perdure.analysis.standing",
    "perdure.cli.cost_view",
    "perdure.cli.report_view",
    "perdure.inference.http",
    "perdure.population",
    "perdure.runner.assembly",
    "perdure.trace.export",
    "perdure.trace.verify",
    "perdure.world.meanings",
    "uvloop",
)
MOUNT, QUOTA, FOLDER = "mount", "quota", "folder"
_FILLER = "filler"


class Said(NamedTuple):
    """What a life said, and how it ended (minus the signal, if it was killed)."""

    status: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """The one JSON document on stdout."""
        return json.loads(self.out)


class Disk:
    """A disk of its own, and a process that lives on it.

    It is a mount; a folder with a quota, where nothing can be mounted; or a folder, which others
    can look into and change.
    """

    def __init__(self, process: subprocess.Popen[str], place: Path, kind: str) -> None:
        self._process = process
        self.run = place / "disk" / "run"
        self._kind = kind
        self.failed = 0
        self._quota: int | None = None

    def new(self, size: int, *, inodes: int = 0) -> None:
        """Put an empty disk of so many bytes (and so many inodes) in the place of the last."""
        self._quota = size if self._kind == QUOTA else None
        self._order(do="new", size=size, inodes=inodes, mount=self._kind == MOUNT)

    def room(self, size: int = 1 << 26, *, inodes: int = 0) -> None:
        """Make the disk larger or smaller, and writable."""
        self._quota = size if self._kind == QUOTA else None
        if self._kind == MOUNT:
            self._order(do="room", size=size, inodes=inodes)

    def read_only(self) -> None:
        """Allow no writing any more."""
        self._order(do="read-only")

    def put_away(self, name: str) -> Path:
        """Keep a copy of the run elsewhere, in the place of any of that name; give where."""
        self._order(do="put-away", name=name)
        return self.run.parents[1] / name

    def take_out(self, name: str) -> None:
        """Put on the disk, which is empty, what was put away."""
        self._order(do="take-out", name=name)

    def leave(self, free: int) -> None:
        """Fill the disk up to so many free bytes, or give that much of it back."""
        told = self._order(do="leave", free=free, mount=self._kind == MOUNT)
        if self._kind == QUOTA:
            self._quota = told["used"] + free

    def live(self, *arguments: str, fails: Sequence[Any] = (), crash_at: str = "") -> Said:
        """Live once, with these words on the command line.

        `fails` is a kind of call between SQLite and the disk, which of them fails, and whether all
        later ones do too; `failed` is how many did. `crash_at` is where the life is to be killed.
        """
        told = self._order(
            do="live", arguments=arguments, quota=self._quota, fails=fails, crash_at=crash_at
        )
        self.failed = told["failed"]
        return Said(told["status"], told["out"], told["err"])

    def files(self) -> dict[str, tuple[int, str]]:
        """Name the files of the run, each with its size and a hash of what it holds."""
        return {name: (size, found) for name, (size, found) in self._order(do="files").items()}

    def _order(self, **order: Any) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, "the process that lives on the disk is gone"
        told: dict[str, Any] = json.loads(line)
        assert "broken" not in told, told["broken"]
        return told


@contextlib.contextmanager
def small_disk(study: Path, place: Path, kind: str = MOUNT) -> Iterator[Disk]:
    """Start a process that has a disk of its own under `place`, and end it."""
    if kind == MOUNT and why_no_mounts():
        tell(f"no disk can be mounted ({why_no_mounts()}): a quota in SQLite stands in for one")
        kind = QUOTA
    words = [sys.executable, "-m", "tests.crash.small_disk", str(study), str(place)]
    with subprocess.Popen(
        [*_own_mounts(), *words] if kind == MOUNT else words,
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield Disk(process, place, kind)
        finally:
            assert process.stdin is not None
            process.stdin.close()
            process.wait(LIFE_S)


class _Lives:
    """What takes the orders."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self._disk = place / "disk"
        self._disk.mkdir()
        self._is_mounted = False

    def obey(self, order: dict[str, Any]) -> dict[str, Any]:
        """Do what is asked, and tell what came of it."""
        told: dict[str, Any] = {}
        match order["do"]:
            case "new":
                self._new(order["size"], order["inodes"], mount=order["mount"])
            case "room":
                self._mount("remount,rw", order["size"], order["inodes"])
            case "read-only":
                command("mount", "-o", "remount,ro", str(self._disk))
            case "put-away":
                shutil.rmtree(self._place / order["name"], ignore_errors=True)
                shutil.copytree(self._disk / "run", self._place / order["name"])
            case "take-out":
                shutil.copytree(self._place / order["name"], self._disk / "run")
            case "leave":
                told["used"] = self._leave(order["free"], mount=order["mount"])
            case "files":
                run = self._disk / "run"
                told = {
                    str(path.relative_to(run)): [path.stat().st_size, _hash(path)]
                    for path in sorted(run.rglob("*"))
                }
            case "live":
                told = self._live(order)
        return told

    def _new(self, size: int, inodes: int, *, mount: bool) -> None:
        if self._is_mounted:
            command("umount", str(self._disk))
            self._is_mounted = False
        shutil.rmtree(self._disk)
        self._disk.mkdir()
        if mount:
            self._mount("rw", size, inodes)
            self._is_mounted = True

    def _mount(self, how: str, size: int, inodes: int) -> None:
        options = f"{how},size={size},nr_inodes={inodes}"
        command("mount", "-t", "tmpfs", "-o", options, "tmpfs", str(self._disk))

    def _leave(self, free: int, *, mount: bool) -> int:
        if not mount:
            return _used(self._disk)
        filler = self._disk / _FILLER
        filler.unlink(missing_ok=True)
        # The folder itself, and the file that fills it, take no room on such a disk.
        more = os.statvfs(self._disk).f_bavail * PAGE - free
        with filler.open("wb") as file:
            while more > 0:
                more -= file.write(bytes(min(more, 1 << 20)))
        assert os.statvfs(self._disk).f_bavail * PAGE == free
        return 0

    def _live(self, order: dict[str, Any]) -> dict[str, Any]:
        paths = [self._place / name for name in ("out", "err", "failed")]
        for path in paths:
            path.write_bytes(b"")
        child = os.fork()  # noqa: TID251 - nothing is open in this process: see the top
        if child == 0:
            _be_child(order, self._disk, *paths)
        _, ended = os.waitpid(child, 0)
        out, err, failed = (path.read_text(encoding="utf-8") for path in paths)
        return {
            "status": os.waitstatus_to_exitcode(ended),
            "out": out,
            "err": err,
            "failed": int(failed or "0"),
        }


def _be_child(order: dict[str, Any], disk: Path, out: Path, err: Path, failed: Path) -> None:
    status, failing, tap = 1, None, None
    try:
        for descriptor, path in ((1, out), (2, err)):
            os.dup2(os.open(path, os.O_WRONLY | os.O_TRUNC), descriptor)
        faulthandler.dump_traceback_later(LIFE_S, exit=True)
        crashpoints._armed = order["crash_at"]
        if order["fails"]:
            kind, place, for_good = order["fails"]
            failing = Failing(kind, place, for_good=for_good)
            tap = Tap(failing)
        elif order["quota"] is not None:
            tap = Tap(Quota(disk, order["quota"]))
        status = execute(order["arguments"])
        sys.stdout.flush()
        if failing is not None:
            failed.write_text(str(failing.failed), encoding="utf-8")
        del tap  # whoever drops it takes it out of SQLite
    except BaseException:  # noqa: BLE001 - a fork must never return into its parent's code
        traceback.print_exc()
    finally:
        os._exit(status)


class Quota:
    """Stands in for a disk: what SQLite writes to make a file longer fails beyond a total."""

    def __init__(self, disk: Path, quota: int) -> None:
        self._disk = disk
        self._quota = quota

    def __call__(self, kind: str, path: str, detail: dict[str, Any]) -> None:
        if kind != "write":
            return
        file = Path(path)
        size = file.stat().st_size if file.exists() else 0
        grows = detail["offset"] + len(detail["data"]) - size
        if grows > 0 and _used(self._disk) + grows > self._quota:
            raise apsw.FullError


def _hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""


def _used(disk: Path) -> int:
    return sum(path.stat().st_size for path in disk.rglob("*") if path.is_file())


def main() -> None:
    """Get ready, and obey."""
    study, place = Path(sys.argv[1]), Path(sys.argv[2])
    os.chdir("/")
    warm_up(study)
    lives = _Lives(place)
    assert threading.active_count() == 1, "a fork would inherit locks that nobody gives back"
    for line in sys.stdin:
        try:
            told = lives.obey(json.loads(line))
        except Exception:  # noqa: BLE001 - whoever gave the order says what it was for
            told = {"broken": traceback.format_exc()}
        tell(json.dumps(told))
        sys.stdout.flush()


def warm_up(study: Path) -> None:
    """Import what the lives need, and take the fingerprint of the code once for all of them."""
    for name in MODULES:
        importlib.import_module(name)
    found = fingerprint(study.parent, [])
    vars(history)["fingerprint"] = lambda *_: found


if __name__ == "__main__":
    main()
