"""Which file system a folder is on, and whether another machine may work on it too.

A record relies on locks and on shared memory between the processes that open it. Over a network
neither is sure: two machines could both believe that they write a run alone. So such a folder is
refused, unless its owner says that one machine alone uses it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from perdure.base.errors import UsageError
from perdure.base.text import one_line
from perdure.records.record import Record

TABLE = Path("/proc/self/mountinfo")
FLAG = "--network-fs"
_TABLE_BYTES_MAX = 16 * 1024 * 1024

# Network and cluster file systems, and folders that a virtual machine shares with its host.
_NETWORK = """
    9p afs beegfs ceph cifs coda davfs fakeowner gfs gfs2 glusterfs gpfs kafs lustre ncp ncpfs nfs
    nfs4 ocfs2 orangefs panfs prl_fs pvfs2 smb2 smb3 smbfs vboxsf virtiofs vmhgfs wekafs
"""
# Programs that reach other machines through FUSE, as in `fuse.sshfs`. Others are taken as local:
# most of them encrypt, join or unpack folders of this machine.
_NETWORK_FUSE = """
    afpfs beegfs blobfuse blobfuse2 ceph ceph-fuse cephfs curlftpfs cvmfs cvmfs2 davfs davfs2
    fuse_dfs gcsfuse geesefs glusterfs google-drive-ocamlfuse goofys grpcfuse gvfsd-fuse hdfs
    httpfs juicefs kbfs lizardfs lustre mfs moosefs mount-s3 objectivefs onedriver osxfs ossfs
    prl_fsd rclone s3backer s3fs s3ql saunafs seaweedfs smbnetfs sshfs vmhgfs-fuse weed
"""
NETWORK = frozenset(_NETWORK.split())
NETWORK_FUSE = frozenset(_NETWORK_FUSE.split())

_ESCAPE = re.compile(r"\\([0-7]{3})")


class Mount(Record):
    """One line of the table of mounts."""

    number: int
    parent: int
    place: str
    kind: str


def mounts_of(table: str) -> Iterator[Mount]:
    """Read a table of mounts in the form of `/proc/self/mountinfo`. Other lines are passed over."""
    for line in table.split("\n"):
        before, separator, after = line.partition(" - ")
        fields, kinds = before.split(" "), after.split(" ")
        # Number, parent, device, root, place, options; then kind, source, options.
        if separator and len(fields) > 5 and kinds[0] and fields[0].isdigit():  # noqa: PLR2004
            parent = int(fields[1]) if fields[1].isdigit() else -1
            yield Mount(
                number=int(fields[0]), parent=parent, place=_plain(fields[4]), kind=kinds[0]
            )


def kind_at(table: str, path: str) -> str:
    """Name the kind of file system that an absolute path is on; empty if the table does not say.

    `path` has no links in it. The way is walked from the root down, so that a mount that lies
    hidden under another one is not taken for it.
    """
    mounts = list(mounts_of(table))
    numbers = {mount.number for mount in mounts}
    here: Mount | None = None
    parts = [part for part in path.split("/") if part]
    for count in range(len(parts) + 1):
        place = "/" + "/".join(parts[:count])
        # Of a process that is kept in a part of the tree, the table lacks what is above that.
        waiting = [mount for mount in mounts if mount.place == place]
        rooted = [one for one in waiting if one.parent not in numbers or one.parent == one.number]
        entered = rooted
        while waiting:
            if here is not None:
                entered = [one for one in waiting if one.parent == here.number] or entered
            if not entered:
                break
            # What was mounted last lies on top, and may have something on top of it in turn.
            here, waiting, entered = entered[-1], [m for m in waiting if m not in entered], []
    return "" if here is None else here.kind


def is_network(kind: str) -> bool:
    """Say whether a kind of file system reaches other machines."""
    family, _, program = kind.partition(".")
    if family == "fuse" and program:
        return program.lower() in NETWORK_FUSE
    return kind.lower() in NETWORK


def network_kind(table: str, path: str) -> str:
    """Name the network file system that a path is on; empty if it is on none."""
    kind = kind_at(table, path)
    return kind if is_network(kind) else ""


def require_local(folder: Path) -> None:
    """Refuse a folder, there already or not, on a file system that other machines may reach.

    Where the system does not tell what is mounted, the folder is taken as local.

    Raises:
        UsageError: it is on one; names it.

    """
    kind = network_kind(_table(), _real(folder))
    if kind:
        raise UsageError(
            f"The run's folder is on a network file system ({one_line(kind, 40)}), where two "
            "machines could write one run.",
            where=str(folder),
            remedy=f"Give a folder on a disk of this machine, or {FLAG} if no other machine works "
            "on this folder.",
        )


def _table() -> str:
    try:
        with TABLE.open("rb") as file:
            return os.fsdecode(file.read(_TABLE_BYTES_MAX))
    except OSError:
        return ""


def _real(folder: Path) -> str:
    real = os.path.realpath(folder)
    # A folder that is mounted when somebody enters it has to be entered.
    os.path.exists(f"{real}/.")  # noqa: PTH110 - a Path would drop the dot
    return real


def _plain(escaped: str) -> str:
    r"""Undo the table's escapes: a space is written as `\040`."""
    return _ESCAPE.sub(lambda found: chr(int(found[1], 8)), escaped)
