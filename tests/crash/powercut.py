"""A model of power cuts: what the disk may hold after one, given what was written and synced.

Kept is what was synced: contents by a sync of their file, names by a sync of their folder, and a
new file's name by a sync of the file. Of what was not, there may be any beginning, any beginning
whose last write is torn at a sector, or all but one change. This is stricter than POSIX, where the
sync of a folder that SQLite makes for a new journal keeps every name in it, and than most disks.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, Self, TypeAlias

from tests.crash.tap import Tap

from perdure.base.chance import Stream
from perdure.trace import files

_SECTOR = 512
_NAMES = frozenset({"create", "delete", "rename"})


class Change(NamedTuple):
    """One change: to a file's contents, or to the names of a folder."""

    kind: str
    path: str
    detail: dict[str, Any]

    def under(self, root: Path) -> Change:
        """Give the same change with paths relative to a folder."""
        detail = dict(self.detail)
        if "new" in detail:
            detail["new"] = str(Path(detail["new"]).relative_to(root))
        path = str(Path(self.path).relative_to(root)) if self.path else ""
        return Change(self.kind, path, detail)


# What was done to the disk and is not durable, each change with the inode that it concerns.
Pending: TypeAlias = list[tuple[Change, int]]


class State(NamedTuple):
    """What a disk may hold: file contents by path, and what had been acknowledged by then."""

    files: dict[str, bytes]
    acked: Any
    how: str


class Recorder:
    """Hears everything that the store does to the disk, in order."""

    def __init__(self) -> None:
        self.changes: list[Change] = []
        self._tap: Tap | None = None
        self._replaced: list[tuple[Any, str, Any]] = []

    def __enter__(self) -> Self:
        self._tap = Tap(lambda kind, path, detail: self.changes.append(Change(kind, path, detail)))
        self._wrap("rename", lambda old, new: ("rename", str(old), {"new": str(new)}))
        self._wrap("remove", lambda path: ("delete", str(path), {"folder": False}))
        self._wrap("sync_folder", lambda folder: ("sync_folder", str(folder), {}))
        return self

    def __exit__(self, *_: object) -> None:
        for module, name, real in self._replaced:
            setattr(module, name, real)
        assert self._tap is not None
        self._tap.unregister()

    def ack(self, what: Any) -> None:
        """Note that something was acknowledged at this point."""
        self.changes.append(Change("ack", "", {"what": what}))

    def _wrap(self, name: str, describe: Any) -> None:
        real = getattr(files, name)

        def heard(*arguments: Path) -> None:
            change = Change(*describe(*arguments))
            if change.kind != "delete" or Path(change.path).exists():
                self.changes.append(change)
            real(*arguments)

        self._replaced.append((files, name, real))
        setattr(files, name, heard)


class Disk:
    """Contents by inode and names by path. Changes are told with the inode that they concern."""

    def __init__(self) -> None:
        self.names: dict[str, int] = {}
        self.contents: dict[int, bytearray] = {}

    def copy(self) -> Disk:
        """Copy what is kept, to try a future on it."""
        other = Disk()
        other.names = dict(self.names)
        other.contents = {inode: bytearray(data) for inode, data in self.contents.items()}
        return other

    def apply(self, change: Change, inode: int, cut: int | None = None) -> None:
        """Make one change, or the first `cut` bytes of a write."""
        kind, path, detail = change
        if kind == "create":
            self.names[path] = inode
        elif kind == "delete":
            # A name that was given to a new file since, durably, cannot come back to the old one.
            if self.names.get(path) == inode:
                del self.names[path]
        elif kind == "rename":
            self.names.pop(path, None)
            self.names[detail["new"]] = inode
        elif kind == "truncate":
            data = self.contents.setdefault(inode, bytearray())
            del data[detail["size"] :]
        else:
            data = self.contents.setdefault(inode, bytearray())
            piece, offset = detail["data"][:cut], detail["offset"]
            data.extend(bytes(max(0, offset - len(data))))
            data[offset : offset + len(piece)] = piece

    def files(self) -> dict[str, bytes]:
        """Give what a reader would find."""
        return {path: bytes(self.contents.get(inode, b"")) for path, inode in self.names.items()}


class Moment(NamedTuple):
    """The disk between two changes: what it keeps, what may be lost, what was acknowledged."""

    place: int
    after: str
    kept: Disk
    pending: Pending
    acked: Any


def states(changes: list[Change]) -> Iterator[State]:
    """Give every different state that a power cut at any moment may leave."""
    return _different(
        _state(moment, disk, how)
        for moment in _moments(changes)
        for disk, how in _futures(moment.kept, moment.pending)
    )


def bare_states(changes: list[Change]) -> Iterator[State]:
    """Give every different state in which nothing is kept but what is durable."""
    return _different(_state(moment, moment.kept, "nothing more") for moment in _moments(changes))


def joint_states(changes: list[Change], draws: Stream, count: int) -> Iterator[State]:
    """Draw so many states of several files at moments of a whole record; give the different ones.

    What is not synced of one file, or of the names of one folder, is lost or kept whatever becomes
    of the others.
    """
    wanted = Counter(draws.below(len(changes)) for _ in range(count))
    return _different(
        _state(moment, *_joint_future(moment.kept, moment.pending, draws))
        for moment in _moments(changes)
        for _ in range(wanted[moment.place])
    )


def _different(found: Iterable[State]) -> Iterator[State]:
    seen: set[bytes] = set()
    for state in found:
        mark = _mark(state.files, state.acked)
        if mark not in seen:
            seen.add(mark)
            yield state


def _state(moment: Moment, disk: Disk, how: str) -> State:
    where = f"after change {moment.place} ({moment.after}), {how}"
    return State(disk.files(), moment.acked, where)


def _moments(changes: list[Change]) -> Iterator[Moment]:
    kept, pending = Disk(), Pending()
    live: dict[str, int] = {}
    acked: Any = None
    for place, change in enumerate(changes):
        if change.kind == "ack":
            acked = change.detail["what"]
        elif change.kind in {"sync", "sync_folder"}:
            pending = _sync(kept, pending, change, live)
        else:
            pending.append((change, _inode(change, live, place)))
            if change.detail.get("folder"):
                parent = str(Path(change.path).parent)
                pending = _sync(kept, pending, Change("sync_folder", parent, {}), live)
        yield Moment(place, change.kind, kept, pending, acked)


def _inode(change: Change, live: dict[str, int], place: int) -> int:
    if change.kind == "create":
        live[change.path] = place
    inode = live[change.path]
    if change.kind == "delete":
        del live[change.path]
    elif change.kind == "rename":
        live[change.detail["new"]] = live.pop(change.path)
    return inode


def _sync(kept: Disk, pending: Pending, sync: Change, live: dict[str, int]) -> Pending:
    left = []
    target = live.get(sync.path, -1)
    for change, inode in pending:
        is_name = change.kind in _NAMES
        if sync.kind == "sync_folder":
            is_kept = is_name and str(Path(change.path).parent) == sync.path
        else:
            # A new journal's own name is kept with it, and no other name of its folder.
            is_kept = inode == target and (change.kind == "create" or not is_name)
        if is_kept:
            kept.apply(change, inode)
        else:
            left.append((change, inode))
    return left


def _futures(kept: Disk, pending: Pending) -> Iterator[tuple[Disk, str]]:
    so_far = kept.copy()
    yield so_far, "nothing more"
    for count, (change, inode) in enumerate(pending, start=1):
        if change.kind == "write":
            size = len(change.detail["data"])
            for cut in _tears(size):
                torn = so_far.copy()
                torn.apply(change, inode, cut)
                yield torn, f"{count} more, the last torn at {cut}"
        so_far.apply(change, inode)
        yield so_far, f"{count} more"
    for dropped in range(len(pending) - 1):
        disk = kept.copy()
        for place, (change, inode) in enumerate(pending):
            if place != dropped:
                disk.apply(change, inode)
        yield disk, f"all but {dropped}"


def _joint_future(kept: Disk, pending: Pending, draws: Stream) -> tuple[Disk, str]:
    """Draw a future of every file and every folder by itself."""
    parts: dict[object, Pending] = defaultdict(list)
    for change, inode in pending:
        is_name = change.kind in _NAMES
        parts[str(Path(change.path).parent) if is_name else inode].append((change, inode))
    disk, told = kept.copy(), []
    for part in parts.values():
        name = Path(part[0][0].path).name
        told.append(f"{name}: {_draw_part(disk, part, draws)}")
    return disk, "; ".join(told) or "nothing more"


def _draw_part(disk: Disk, part: Pending, draws: Stream) -> str:
    way = draws.below(4)
    if way == 0:
        return f"none of {len(part)}"
    if way == 1:
        lost = {place for place in range(len(part)) if draws.below(2)}
        for place, (change, inode) in enumerate(part):
            if place not in lost:
                disk.apply(change, inode)
        return f"{len(part)} without {sorted(lost)}"
    kept = len(part) if way == 2 else draws.below(len(part))
    for change, inode in part[:kept]:
        disk.apply(change, inode)
    if kept == len(part) or part[kept][0].kind != "write":
        return f"{kept} of {len(part)}"
    change, inode = part[kept]
    tears = _tears(len(change.detail["data"]))
    if not tears:
        return f"{kept} of {len(part)}"
    cut = draws.choice(tears)
    disk.apply(change, inode, cut)
    return f"{kept} of {len(part)}, the next torn at {cut}"


def _tears(size: int) -> list[int]:
    """List where a write of so many bytes may be torn."""
    cuts = {_SECTOR, size // 2 // _SECTOR * _SECTOR, size - _SECTOR}
    return sorted(cut for cut in cuts if 0 < cut < size)


def _mark(found: dict[str, bytes], acked: Any) -> bytes:
    digest = hashlib.sha256(repr(acked).encode())
    for path in sorted(found):
        digest.update(f"{path}:{len(found[path])}:".encode())
        digest.update(found[path])
    return digest.digest()
