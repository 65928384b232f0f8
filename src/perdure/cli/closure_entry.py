"""What `perdure closure` is asked about: a program, a study, or a run with what it loaded."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from msgspec.structs import replace

from perdure.base.errors import InvalidStudyError, UsageError, refuse_all
from perdure.cli.record import REGISTRY_NAME, opened
from perdure.closure.entries import entry_of
from perdure.closure.files import matching
from perdure.closure.program import Program, root_of

T = TypeVar("T")

_STUDIES = (".yaml", ".yml")
# As in `import 'package.module' # <loader ...>`, as Python tells it with `-v`; or a name alone.
_TOLD = re.compile(r"import '?([^\W\d][\w.]*)'? # ")
_ALONE = re.compile(r"\s*([^\W\d][\w.]*)\s*\Z")
_BYTES_MAX = 64 * 1024 * 1024


@dataclass(frozen=True, kw_only=True)
class Options:
    """The options of a question, as they were written."""

    also: Sequence[str] = ()
    src: Sequence[str] = ()
    site: Sequence[str] = ()
    registry: Sequence[str] = ()
    data: Sequence[str] = ()
    loaded: Path | None = None
    study: Path | None = None


def asked(entry: str, options: Options) -> Program:
    """Make the program that is asked about.

    Raises:
        UsageError: an option says nothing, or does not fit the entry; or a run's study is not where
            it was.
        InvalidStudyError: the study file has problems.

    """
    path = Path(entry)
    is_run = (path / REGISTRY_NAME).is_file()
    if not is_run and not (path.suffix in _STUDIES and path.is_file()):
        if options.study is not None:
            raise UsageError("--study is for the folder of a run.", where=entry)
        return _program(entry, options)
    misplaced = [
        UsageError(
            f"--{name} is not for a study, whose folders are known.",
            where=entry,
            remedy=f"Leave out --{name}, or name a program's entry instead of the study.",
        )
        for name in ("also", "src", "site")
        if getattr(options, name)
    ]
    refuse_all(
        [
            *misplaced,
            *_refused(_registry, options.registry),
            *_refused(lambda pattern: matching(Path(), [pattern]), options.data),
            *_refused(_loaded, [options]),
        ]
    )
    loaded = _loaded(options)
    if is_run:
        from perdure.runner.loaded_log import read_loaded  # noqa: PLC0415 - heavy

        loaded |= {name: one.path for name, one in read_loaded(path).items()}
        path = study_of_run(path, options.study)
    return _study(path, options, loaded)


def study_of_run(folder: Path, study: Path | None) -> Path:
    """Find the study file of a run: `study` if it was said, else where the run's record says.

    Raises:
        UsageError: there is no run in the folder, or its study is not where it was.

    """
    from perdure.runner.config import study_file_of  # noqa: PLC0415 - heavy

    with opened(folder) as record:
        entry = record.entry
    path = study or study_file_of(entry, folder)
    if path is None:
        raise UsageError(
            f"The study file of this run is not at {entry.study_path} any more.",
            where=str(folder),
            remedy="Say where it is with --study PATH.",
        )
    return path


def named(names: Iterable[str], program: Program) -> list[str]:
    """Give names as they are asked, a path in full where the program is in another folder."""
    if program.folder == ".":
        return list(names)
    return [os.path.abspath(n) if _is_path(n) else n for n in names]  # noqa: PTH100 - lexical


def _is_path(name: str) -> bool:
    return "/" in name or name.endswith((".py", ".pyw")) or Path(name).is_file()


def _program(entry: str, options: Options) -> Program:
    program = Program(
        entries=(entry, *options.also),
        roots=tuple(options.src),
        sites=tuple(options.site),
        files=tuple(options.data),
    )
    here = Path(program.folder)
    refuse_all(
        [
            *_refused(lambda text: entry_of(text, here), program.entries),
            *_refused(lambda root: root_of(program, root), program.roots),
            *_refused(_registry, options.registry),
            *_refused(lambda pattern: matching(here, [pattern]), program.files),
            *_refused(_loaded, [options]),
        ]
    )
    declared, registries = _registries(options.registry)
    return replace(program, declared=declared, registries=registries, loaded=_loaded(options))


def _refused(look: Callable[[T], object], asked: Iterable[T]) -> Iterator[UsageError]:
    """Look at each thing that is asked, and give what is wrong with it."""
    for one in asked:
        try:
            look(one)
        except UsageError as error:
            yield error


def _study(path: Path, options: Options, loaded: dict[str, str]) -> Program:
    from perdure.runner.history import plugins_of  # noqa: PLC0415 - heavy
    from perdure.study.load import examine  # noqa: PLC0415 - heavy

    examined = examine(path)
    study = examined.parsed.study
    if study is None or examined.found:
        raise InvalidStudyError(examined.found.listed())
    folder = path.parent.resolve()
    graph = study.population.graph
    read = [
        path.name,
        study.population.file,
        graph.file if graph is not None else "",
        *(anchors.value for anchors in examined.parsed.anchors),
        *study.files,
    ]
    declared, registries = _registries(options.registry)
    return Program(
        entries=plugins_of(study),
        declared=declared,
        registries=registries,
        files=(
            *dict.fromkeys(filter(None, read)),
            *(os.path.relpath(pattern, folder) for pattern in options.data),
        ),
        folder=str(folder),
        loaded=loaded,
        engine=True,
    )


def _registries(said: Sequence[str]) -> tuple[dict[str, tuple[str, ...]], tuple[str, ...]]:
    declared: dict[str, tuple[str, ...]] = {}
    registries: list[str] = []
    for module, names in map(_registry, said):
        if names is None:
            registries.append(module)
        else:
            declared[module] = declared.get(module, ()) + names
    return declared, tuple(dict.fromkeys(registries))


def _registry(said: str) -> tuple[str, tuple[str, ...] | None]:
    """Read what is declared of a module; no names if it is itself a table of them."""
    module, mark, names = (part.strip() for part in said.partition("="))
    if not module:
        raise UsageError(
            f"{said!r} declares nothing.",
            remedy="Write `--registry module`, `--registry module=name,name`, or "
            "`--registry module=` for none.",
        )
    found = tuple(name.strip() for name in names.split(",") if name.strip())
    return module, found if mark else None


def _loaded(options: Options) -> dict[str, str]:
    """Read what a process loaded: what `python -v` wrote, or a name on each line."""
    if options.loaded is None:
        return {}
    where = str(options.loaded)
    try:
        with options.loaded.open("rb") as file:
            lines = file.read(_BYTES_MAX).decode("utf-8", errors="replace").splitlines()
    except OSError as error:
        raise UsageError(f"This file cannot be read: {error.strerror}.", where=where) from error
    told = [_TOLD.match(line) or _ALONE.match(line) for line in lines]
    found = {match[1]: "" for match in told if match}
    if not found:
        raise UsageError(
            "No module is named in this file.",
            where=where,
            remedy="Write it with `python -v program.py 2> FILE`, or a name on a line.",
        )
    return found
