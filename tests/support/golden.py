"""Golden records: runs that were recorded once and are read and driven again for ever.

`tests/golden/studies` holds the studies that the next set is recorded from. A set in
`tests/golden/recorded` holds the runs as they were left, packed; the studies, frozen as they were
then; and `expected.json`, what every command said of the runs on the day they were recorded. A set
holds some runs or all of them, and may hold drives: agents that were driven alone, in folders of
their own.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable, Collection, Sequence
from itertools import islice
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow.parquet as pq  # type: ignore[import-untyped]

import perdure
from perdure.base.canonical import hash_hex
from perdure.cli.entry import execute
from perdure.records.tools import ToolCall
from perdure.testing import MisbehavingServer
from perdure.testing.exchange import SeenRequest
from perdure.trace.reader import RunReader
from perdure.trace.scores import score_ids

ROOT = Path(__file__).resolve().parents[2]
SOURCE = Path(perdure.__file__).parent
STUDIES = ROOT / "tests" / "golden" / "studies"
RECORDED = ROOT / "tests" / "golden" / "recorded"
RECORDS = "records.tar.xz"
EXPECTED = "expected.json"
# Where the studies say that their endpoint is: nowhere.
NOWHERE = "http://127.0.0.1:9/v1"
MODELS = ("golden-model-1", "golden-model-2", "golden-model-3")

# Every command that reads a record and drives nothing.
READING = ("verify", "status", "ledger", "report", "export")
# Of which events `show` is asked, the first of each kind in a run.
SHOWN = ("guardrail_violation", "probe", "watchdog_fired", "provider_failed")

# Which study each run of a set is of, in the order in which they are made.
STUDY_OF = {
    "survey": "survey",
    "fire": "fire",
    "hall": "hall",
    "paused": "hall",
    "killed": "hall",
    "interrupted": "hall",
    "office": "office",
    "interview": "interview",
    "street": "street",
    "moved": "moved",
}
# The folder of the drives, and which there are.
DRIVES = "drives"
DRIVEN = ("worked", "branched", "cut", "watched", "program")
# What a run leaves in its folder that says nothing of the run.
_LEFT_OUT = {"governor.lock", "reserve", "logs", "history.git", "room"}


def sets() -> list[Path]:
    """List the recorded sets, oldest first."""

    def age(golden: Path) -> tuple[list[int], int, int, str]:
        said = expected(golden)
        release = [int(part) for part in re.findall(r"\d+", said["perdure"])]
        return release, said["format"], said["agent"], golden.name

    return sorted((path.parent for path in RECORDED.glob(f"*/{EXPECTED}")), key=age)


def expected(golden: Path) -> Any:
    """Read what was said of a set's runs when they were recorded."""
    return json.loads((golden / EXPECTED).read_text(encoding="utf-8"))


def sha256(path: Path) -> str:
    """Hash a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def run_folder(place: Path, run: str) -> Path:
    """Say where a run of a set is below the folder into which the set was unpacked."""
    return place / STUDY_OF[run] / "runs" / run


def drive_folder(place: Path, drive: str) -> Path:
    """Say where a drive of a set is below the folder into which the set was unpacked."""
    return place / DRIVES / "runs" / drive


def pack(place: Path, archive: Path) -> None:
    """Pack the runs and drives below a folder, always in the same way."""

    def plain(member: tarfile.TarInfo) -> tarfile.TarInfo:
        member.mtime = member.uid = member.gid = 0
        member.uname = member.gname = ""
        member.mode = 0o644 if member.isreg() else 0o755
        return member

    with tarfile.open(archive, "w:xz", preset=9) as packed:
        runs = [run_folder(place, run) for run in STUDY_OF]
        for folder in (*runs, *(drive_folder(place, drive) for drive in DRIVEN)):
            for path in sorted(folder.rglob("*")):
                inside = path.relative_to(place)
                if path.is_file() and not _LEFT_OUT & set(inside.parts):
                    packed.add(path, str(inside), filter=plain)


def unpack(golden: Path, place: Path) -> None:
    """Lay a set out as it was recorded: its studies, and their runs below them."""
    with tarfile.open(golden / RECORDS) as packed:
        packed.extractall(place, filter="data")
    copy_studies(golden, place)


def copy_studies(source: Path, place: Path, studies: Collection[str] = ()) -> None:
    """Copy the studies of a set, or those that the next set is recorded from; all, or some."""
    for path in sorted(source.rglob("*")):
        inside = path.relative_to(source)
        if studies and len(inside.parts) > 1 and inside.parts[0] not in studies:
            continue
        if path.is_file() and path.suffix in {".py", ".yaml", ".csv"}:
            target = place / inside
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(path.read_bytes())


class GoldenServer(MisbehavingServer):
    """An endpoint that says what the replies of a set say, to the words of a request alone."""

    def __init__(self, folder: Path, latency_s: float = 0.0) -> None:
        """Take the replies of a folder into which a set was unpacked."""
        replies = _load(folder / "replies.py")
        stumbled: set[str] = set()

        def fault(seen: SeenRequest) -> str | None:
            name = str(seen.body)
            if replies.stumble(seen.body) and name not in stumbled:
                stumbled.add(name)
                return "status_503"
            found: str | None = replies.fault(seen.body)
            return found

        def answer(request: dict[str, Any]) -> str | tuple[ToolCall, ...]:
            said = replies.answer(request)
            return said if isinstance(said, str) else _calls(request, said)

        super().__init__(responder=answer, models=MODELS, latency_s=latency_s)
        self.fault = fault
        self.play(fault)

    def serve(self, study: Path) -> None:
        """Make the models of a study file those of this server."""
        text = study.read_text(encoding="utf-8")
        assert NOWHERE in text
        study.write_text(text.replace(NOWHERE, self.base_url), encoding="utf-8")


def _calls(request: dict[str, Any], said: Sequence[tuple[str, Any]]) -> tuple[ToolCall, ...]:
    """Make calls of tools, each with an id of its own in the conversation."""
    turn = sum(message["role"] == "assistant" for message in request["messages"])
    return tuple(
        ToolCall(
            id=f"call-{turn}-{place}",
            name=name,
            arguments=given if isinstance(given, str) else json.dumps(given),
        )
        for place, (name, given) in enumerate(said)
    )


def _load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("golden_replies", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def moved_src(place: Path, *changes: tuple[str, str, str]) -> Path:
    """Copy the package into a folder with changes: a file, what it says, and what it says then."""
    target = place / "perdure"
    shutil.copytree(SOURCE, target)  # and what is compiled of it
    for file, old, new in changes:
        path = target / file
        text = path.read_text(encoding="utf-8")
        assert text.count(old) == 1, f"{file} says {text.count(old)} times {old}"
        path.write_text(text.replace(old, new), encoding="utf-8")
    return place


def start(
    arguments: list[str | Path], *, cwd: Path, src: Path | None = None
) -> subprocess.Popen[str]:
    """Start a command, of the package that is tested, or of the one in the folder `src`."""
    return subprocess.Popen(
        [sys.executable, "-m", "perdure.cli", *map(str, arguments)],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(src or SOURCE.parent)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def said_by(place: Path, *arguments: str) -> tuple[int, Any]:
    """Call a command in this process, in a folder; give its exit status and its JSON document."""
    said = io.StringIO()
    with contextlib.chdir(place), contextlib.redirect_stdout(said):
        status = execute([*arguments, "--json"])
    return status, json.loads(said.getvalue())


def figures(
    place: Path, run: str, commands: tuple[str, ...] = (*READING, "replay")
) -> dict[str, Any]:
    """Ask commands that read for what they say of an unpacked run."""
    found: dict[str, Any] = {}
    folder = str(run_folder(place, run).relative_to(place))
    for command in commands:
        status, document = said_by(place, command, folder)
        found[command] = {"exit": status, "says": document}
    found["export"] = {"exit": found["export"]["exit"], "says": _exported(place, run)}
    found["show"] = {event: _said(place, "show", folder, event) for event in _shown(place, run)}
    found["scores"] = [_by(place, folder, name) for name in score_ids(run_folder(place, run))]
    return found


def drive_figures(place: Path, drive: str) -> dict[str, Any]:
    """Ask commands that read for what they say of an unpacked drive."""
    folder = str(drive_folder(place, drive).relative_to(place))
    asked = {"verify": ("verify",), "status": ("status",), "show": ("drive", "show")}
    return {name: _said(place, *command, folder) for name, command in asked.items()}


def _by(place: Path, folder: str, scores: str) -> dict[str, Any]:
    """Report what is another figure by scores that were given after the run."""
    status, document = said_by(place, "report", folder, "--scores", scores)
    return {"exit": status, "says": {key: document[key] for key in ("scored_by", "questions")}}


def _said(place: Path, *arguments: str) -> dict[str, Any]:
    status, document = said_by(place, *arguments)
    return {"exit": status, "says": document}


def _shown(place: Path, run: str) -> list[str]:
    """Name the first event of some kinds in a run."""
    found = []
    with RunReader.open(run_folder(place, run)) as reader:
        for kind in SHOWN:
            events = (
                f"{world.world_id}:{event.seq}"
                for world in reader.worlds
                for event in reader.events(world.world_id, (kind,))
            )
            found += list(islice(events, 1))
    return found


def _exported(place: Path, run: str) -> dict[str, Any]:
    """Say of every exported table how many rows it has and what its columns hold."""
    folder = run_folder(place, run) / "export"
    tables: dict[str, Any] = {}
    for name in ("turns", "events", "personas", "tools", "ties"):
        paths = sorted(folder.glob(f"{name}*/**/*.parquet")) or [folder / f"{name}.parquet"]
        if not paths[0].exists():
            continue
        tables_read = [pq.read_table(path) for path in paths]
        rows = [row for table in tables_read for row in table.to_pylist()]
        columns = tables_read[0].column_names
        tables[name] = {
            "rows": len(rows),
            "columns": {one: hash_hex([_plain(row[one]) for row in rows]) for one in columns},
        }
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    return {"tables": tables, "worlds": manifest["worlds"], "hashes": manifest["hashes"]}


def _plain(value: Any) -> Any:
    return value.hex() if isinstance(value, bytes) else value


def missing(pinned: Any, now: Any, path: str = "") -> list[str]:
    """List what of pinned figures is not there any more, or is not what it was.

    What is new beside it is no difference: a later version may say more.
    """
    if isinstance(pinned, dict) and isinstance(now, dict):
        return [
            wrong
            for key, value in pinned.items()
            for wrong in (
                missing(value, now[key], f"{path}.{key}") if key in now else [f"{path}.{key}: gone"]
            )
        ]
    if isinstance(pinned, list) and isinstance(now, list) and len(pinned) == len(now):
        pairs = enumerate(zip(pinned, now, strict=True))
        return [wrong for n, pair in pairs for wrong in missing(*pair, f"{path}[{n}]")]
    return [] if pinned == now else [f"{path}: {pinned!r} is now {now!r}"]


def wait_until(is_so: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    """Wait for something that a process does; give up when it ends."""
    while not is_so() and process.poll() is None:
        time.sleep(0.002)  # noqa: TID251 - a real process is waited for
