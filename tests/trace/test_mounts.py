"""Which file system a folder is on is read from the table of mounts, as the system walks to it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from perdure.base.errors import EXIT_USAGE, UsageError
from perdure.trace import mounts
from perdure.trace.mounts import kind_at, network_kind, require_local

# A laptop: local disks, shares by NFS and SMB, a folder joined by FUSE, odd names.
LAPTOP = r"""
27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,discard
22 27 0:21 / /proc rw,relatime - proc proc rw
30 27 8:17 / /data rw - xfs /dev/sdb1 rw
31 27 0:40 / /mnt/share rw,relatime shared:5 master:2 - nfs4 server:/export rw,vers=4.2
32 31 8:33 / /mnt/share/local rw - ext4 /dev/sdc1 rw
33 27 0:41 / /mnt/with\040space rw - cifs //server/share rw
34 27 0:42 / /mnt/tab\011and\134slash rw - smb3 //server/share rw
35 27 0:43 / /home/ada/remote rw,nosuid - fuse.sshfs ada@server:/home rw
36 27 0:44 / /home/ada/vault rw,nosuid - fuse.gocryptfs /home/ada/.vault rw
37 27 8:49 / /media/usb rw - fuseblk /dev/sdd1 rw
38 27 0:40 /projects/town /srv/town rw,relatime - nfs4 server:/export rw
39 27 254:0 /home/ada/study /srv/study rw,relatime - ext4 /dev/vda rw
40 27 0:50 / /mnt/newkind rw - warpfs warp rw
41 27 0:51 / /auto rw - autofs /etc/auto.misc rw
42 41 0:52 / /auto/home rw - nfs server:/home rw
""".strip()

SHARES = (
    "nfs nfs4 cifs smb3 9p ceph glusterfs lustre beegfs gpfs afs virtiofs fuse.sshfs fuse.rclone "
    "fuse.s3fs fuse.glusterfs fuse.gvfsd-fuse fuse.juicefs fuse.SSHFS"
)
DISKS = (
    "ext4 xfs btrfs zfs tmpfs overlay ntfs3 vfat fuseblk fuse fuse.fuse-overlayfs fuse.mergerfs "
    "fuse. nfsd rpc_pipefs"
)


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/", "ext4"),
        ("/runs/first", "ext4"),
        ("/database", "ext4"),  # begins like /data, and is not below it
        ("/data", "xfs"),
        ("/data/runs/first", "xfs"),
        ("/mnt/share", "nfs4"),
        ("/mnt/share/runs", "nfs4"),
        ("/mnt/shared", "ext4"),
        ("/mnt/share/local/runs", "ext4"),  # a disk that is mounted within a share
        ("/mnt/with space/run", "cifs"),
        ("/mnt/tab\tand\\slash/run", "smb3"),
        ("/home/ada/remote/run", "fuse.sshfs"),
        ("/srv/town/run", "nfs4"),  # a folder of a share, bound to another place
        ("/srv/study/run", "ext4"),
        ("/auto/other", "autofs"),
        ("/auto/home/run", "nfs"),
        ("/proc/self", "proc"),
    ],
)
def test_the_innermost_mount_decides(path: str, kind: str) -> None:
    """The mount that is nearest to the folder says what it is on; names are unescaped."""
    assert kind_at(LAPTOP, path) == kind


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/mnt/share/run", "nfs4"),
        ("/mnt/with space/run", "cifs"),
        ("/mnt/tab\tand\\slash/run", "smb3"),
        ("/home/ada/remote/run", "fuse.sshfs"),
        ("/srv/town/run", "nfs4"),
        ("/auto/home/run", "nfs"),
        ("/runs", ""),
        ("/data/run", ""),
        ("/mnt/share/local/run", ""),
        ("/home/ada/vault/run", ""),
        ("/media/usb/run", ""),
        ("/mnt/newkind/run", ""),
        ("/auto/other", ""),
    ],
)
def test_networks_are_told_from_disks(path: str, kind: str) -> None:
    """Shares are refused by their kind; disks, local FUSE and kinds nobody knows are not."""
    assert network_kind(LAPTOP, path) == kind


@pytest.mark.parametrize("kind", SHARES.split())
def test_each_known_network_is_one(kind: str) -> None:
    """Every kind of network that is known by name is seen as one."""
    assert network_kind(f"1 0 0:1 / / rw - {kind} x rw", "/run") == kind


@pytest.mark.parametrize("kind", DISKS.split())
def test_each_known_disk_is_one(kind: str) -> None:
    """Disks, memory, containers' layers and local FUSE are no networks."""
    assert network_kind(f"1 0 0:1 / / rw - {kind} x rw", "/run") == ""


def test_what_is_mounted_last_lies_on_top() -> None:
    """Of two mounts on one place the later counts; one that lies hidden is not walked into."""
    stacked = "1 0 0:1 / / rw - ext4 a rw\n2 1 0:2 / /mnt rw - nfs b rw\n3 2 0:3 / /mnt rw - xfs c"
    assert kind_at(stacked, "/mnt/run") == "xfs"
    assert kind_at(stacked.replace("3 2", "3 1"), "/mnt/run") == "xfs"
    # /mnt/share was mounted first; then a disk was mounted over all of /mnt.
    hidden = "1 0 0:1 / / rw - ext4 a\n2 1 0:2 / /mnt/share rw - nfs b\n3 1 0:3 / /mnt rw - xfs c"
    assert kind_at(hidden, "/mnt/share/run") == "xfs"
    rootfs = "1 1 0:1 / / rw - rootfs rootfs rw\n2 1 0:2 / / rw - nfs4 s:/root rw"
    assert kind_at(rootfs, "/run") == "nfs4"


def test_a_part_of_the_tree_is_enough() -> None:
    """In a container or a changed root the table lacks what is above; what it has still counts."""
    assert kind_at("50 49 0:9 / /data rw - nfs s:/data rw", "/data/run") == "nfs"
    assert kind_at("50 49 0:9 / /data rw - nfs s:/data rw", "/other") == ""
    orphan = "10 9 0:1 / / rw - overlay o rw\n20 19 0:2 / /data rw - 9p host rw"
    assert kind_at(orphan, "/data/run") == "9p"


@pytest.mark.parametrize(
    "table",
    [
        "",
        "nonsense",
        "1 2 3 - nfs",
        "x 1 0:1 / / rw - nfs s rw",
        "1 1 0:1 / / rw nfs s rw",
        "\x00\xff - - -",
        "5 6 0:1 / / rw - ext4 a\n6 5 0:2 / / rw - nfs b",  # each mounted on the other
    ],
)
def test_a_table_that_says_nothing_is_local(table: str) -> None:
    """What cannot be read names no network, and is never followed for ever."""
    assert network_kind(table, "/run") == ""


def on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, kind: str) -> Path:
    """Let the table say that a folder of the test is on a file system of this kind."""
    share = tmp_path / "a share"
    share.mkdir()
    place = str(share).replace(" ", r"\040")
    table = tmp_path / "mountinfo"
    table.write_text(f"1 0 0:1 / / rw - ext4 a rw\n2 1 0:2 / {place} rw - {kind} s:/x rw\n")
    monkeypatch.setattr(mounts, "TABLE", table)
    return share


def test_a_folder_on_a_network_is_refused_by_name(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """P7: the refusal names the file system, the folder and the flag; links do not hide it."""
    share = on(monkeypatch, tmp_path, "nfs4")
    (tmp_path / "link").symlink_to(share)
    for folder in (share, share / "not" / "there" / "yet", tmp_path / "link" / "run"):
        with pytest.raises(UsageError, match=r"network file system \(nfs4\)") as refused:
            require_local(folder)
        assert refused.value.exit_status == EXIT_USAGE
        assert "--network-fs" in refused.value.remedy
        assert refused.value.where == str(folder)
    require_local(tmp_path / "run")


def test_where_nothing_is_told_a_folder_is_local(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A system without the table, as all but Linux, refuses nothing."""
    monkeypatch.setattr(mounts, "TABLE", tmp_path / "missing")
    require_local(tmp_path)
    monkeypatch.setattr(mounts, "TABLE", tmp_path)
    require_local(tmp_path)


def test_this_machine_is_read() -> None:
    """The table of the machine that the tests run on names what its root is on."""
    if not mounts.TABLE.exists():
        pytest.skip("there is no such table here")
    table = os.fsdecode(mounts.TABLE.read_bytes())
    assert kind_at(table, "/")
    assert kind_at(table, "/proc/self") == "proc"
