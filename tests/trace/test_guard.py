"""F4: in a process that writes a record, nothing but SQLite opens its files."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from tests.support.runs import NO_LOG, WORLDS, header, small_batch

from perdure.base.errors import InternalError
from perdure.trace.partition_file import PartitionFile

NAME = f"{WORLDS[0]}.db"


def test_writer_never_opens_its_own_file(tmp_path: Path) -> None:
    """P7: opening, copying and linking ways to a file that is being written are refused."""
    path = tmp_path / NAME
    partition = PartitionFile.create(path, header(), 1)
    link = tmp_path / NAME.upper()
    link.symlink_to(path)
    (tmp_path / "sub").mkdir()
    for name in (path, path.with_name(f"{NAME}-wal"), tmp_path / "sub" / ".." / NAME):
        with pytest.raises(InternalError, match="nothing else here may open"):
            name.open("rb")
        with pytest.raises(InternalError):
            os.open(os.fsencode(name), os.O_RDONLY)
    with pytest.raises(InternalError):
        shutil.copyfile(path, tmp_path / "copy.db")
    (tmp_path / "sub" / NAME).write_bytes(b"another file of this name")
    partition.append(small_batch(partition.head), epoch=1, log_head=NO_LOG)
    partition.close()
    assert path.read_bytes()


def test_two_writers_in_one_process_are_both_guarded(tmp_path: Path) -> None:
    """A file stays guarded until its last writer has closed it."""
    path = tmp_path / NAME
    one = PartitionFile.create(path, header(), 1)
    other = PartitionFile.open(path, 1)
    one.close()
    with pytest.raises(InternalError):
        path.open("rb")
    other.close()
    path.open("rb").close()


def test_descriptors_and_other_files_pass(tmp_path: Path) -> None:
    """The guard is in nobody's way."""
    partition = PartitionFile.create(tmp_path / NAME, header(), 1)
    descriptor = os.open(tmp_path, os.O_RDONLY)
    os.close(descriptor)
    (tmp_path / "notes.txt").write_text("free", encoding="utf-8")
    read, write = os.pipe()
    os.fdopen(read).close()
    os.close(write)
    partition.close()
