"""What holds source files: a disk, or the texts that were once read from one."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from perdure.closure.source import Source, parse, read_source
from perdure.records.fingerprint import Code

# Plain paths, not `Path`: these are asked many thousand times.
TOP = "recorded"


class Files(Protocol):
    """Folders and source files, by their paths."""

    def names(self, folder: str) -> frozenset[str]:
        """List what is in a folder; nothing if it is none, or cannot be read."""
        ...

    def is_folder(self, path: str) -> bool:
        """Say whether a folder is there."""
        ...

    def is_file(self, path: str) -> bool:
        """Say whether a file is there."""
        ...

    def source(self, path: str) -> Source:
        """Read and parse a file.

        Raises:
            SourceError: it cannot be read as Python.

        """
        ...


class Disk:
    """The files of this machine."""

    def names(self, folder: str) -> frozenset[str]:
        """List what is in a folder; nothing if it is none, or cannot be read."""
        try:
            return frozenset(os.listdir(folder))  # noqa: PTH208
        except OSError:
            return frozenset()

    def is_folder(self, path: str) -> bool:
        """Say whether a folder is there."""
        return os.path.isdir(path)  # noqa: PTH112

    def is_file(self, path: str) -> bool:
        """Say whether a file is there."""
        return os.path.isfile(path)  # noqa: PTH113

    def source(self, path: str) -> Source:
        """Read and parse a file.

        Raises:
            SourceError: it cannot be read as Python.

        """
        return read_source(Path(path))


class Recorded:
    """The modules of a fingerprint, laid out under `TOP` as they lay on disk."""

    def __init__(self, codes: Mapping[str, Code]) -> None:
        self._texts: dict[str, str] = {}
        self._folders: dict[str, set[str]] = defaultdict(set)
        for name, code in codes.items():
            path = f"{TOP}/{name.replace('.', '/')}{'/__init__' if code.is_package else ''}.py"
            self._texts[path] = code.text
            while path != TOP:
                path, _, last = path.rpartition("/")
                self._folders[path].add(last)

    def names(self, folder: str) -> frozenset[str]:
        """List what is in a folder; nothing if it is none."""
        return frozenset(self._folders.get(folder, ()))

    def is_folder(self, path: str) -> bool:
        """Say whether a folder is there."""
        return path in self._folders

    def is_file(self, path: str) -> bool:
        """Say whether a file is there."""
        return path in self._texts

    def source(self, path: str) -> Source:
        """Parse a text.

        Raises:
            SourceError: the running interpreter does not understand it.

        """
        text = self._texts[path]
        return Source(text, parse(text, path))
