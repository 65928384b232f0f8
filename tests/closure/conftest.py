"""Small programs on disk, and a stand-in for what is installed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

import pytest

from perdure.closure.installed import Distribution
from perdure.closure.program import Program, Walked, closure_of


class Shelf:
    """Installed distributions that a test makes up."""

    def __init__(
        self,
        modules: Mapping[str, str] | None = None,
        strays: Mapping[str, str] | None = None,
        points: Mapping[str, tuple[str, ...]] | None = None,
        startup: tuple[str, ...] = (),
    ) -> None:
        self._modules = dict(modules or {})
        self._strays = dict(strays or {})
        self._points = dict(points or {})
        self._startup = startup

    def providers(self, module: str) -> tuple[Distribution, ...]:
        """Find the distribution of a top-level module."""
        version = self._modules.get(module.partition(".")[0])
        top = module.partition(".")[0]
        return (Distribution(name=top, version=version),) if version else ()

    def stray(self, module: str) -> str:
        """Give the place of a module that no distribution has."""
        return self._strays.get(module.partition(".")[0], "")

    def entry_points(self, group: str, own: Sequence[str] = ()) -> tuple[str, ...]:
        """List the entry points of a group."""
        return self._points.get(group, ())

    def siblings(self, module: str) -> frozenset[str]:
        """Give the module alone."""
        return frozenset({module.partition(".")[0]})

    def home(self, module: str) -> str:
        """Give no folder: nothing here has files."""
        return ""

    def startup(self) -> tuple[str, ...]:
        """Name what Python imports when it starts."""
        return self._startup


def write(folder: Path, files: Mapping[str, str]) -> Path:
    """Write files, by their paths below a folder."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


class Walks(Protocol):
    """Writes a program and walks it."""

    def __call__(
        self,
        files: Mapping[str, str],
        *,
        entry: str = ...,
        roots: tuple[str, ...] = ...,
        installed: Shelf | None = ...,
        declared: dict[str, tuple[str, ...]] | None = ...,
        patterns: tuple[str, ...] = ...,
        registries: tuple[str, ...] = ...,
        loaded: dict[str, str] | None = ...,
    ) -> Walked:
        """Write the files and find what the entry reaches."""
        ...


@pytest.fixture
def walked(tmp_path: Path) -> Walks:
    """Write a program below `src` and find what its entry reaches."""

    def make(
        files: Mapping[str, str],
        *,
        entry: str = "start",
        roots: tuple[str, ...] = ("src",),
        installed: Shelf | None = None,
        declared: dict[str, tuple[str, ...]] | None = None,
        patterns: tuple[str, ...] = (),
        registries: tuple[str, ...] = (),
        loaded: dict[str, str] | None = None,
    ) -> Walked:
        write(tmp_path, {f"src/{name}": text for name, text in files.items()})
        program = Program(
            entries=(entry,),
            roots=roots,
            declared=declared or {},
            files=patterns,
            folder=str(tmp_path),
            registries=registries,
            loaded=loaded or {},
        )
        return closure_of(program, installed=installed or Shelf())

    return make


@pytest.fixture
def reached(walked: Walks) -> Callable[..., set[str]]:
    """Write a program and give the names of what its entry reaches."""

    def names(files: Mapping[str, str], **options: object) -> set[str]:
        return set(walked(files, **options).closure.modules)  # type: ignore[arg-type]

    return names
