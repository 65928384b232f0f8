"""A watch over what a process loads refuses what is in no fingerprint, as often as it is asked."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest
from tests.closure.conftest import write

from perdure.base.clock import SystemClock
from perdure.base.errors import MovedError
from perdure.closure.loaded import Watch
from perdure.closure.source import hash_file
from perdure.records.fingerprint import Code, Fingerprint

CLOCK = SystemClock()
TEXT = "SHIFT = 1\n"

Load = Callable[[str], ModuleType]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Give a study's folder with modules and a data file."""
    inner = ".venv/lib/python3/site-packages"
    files = {"watched_one.py": TEXT, "watched_two.py": TEXT, f"{inner}/watched_lib.py": TEXT}
    return write(tmp_path / "study", {**files, "shocks.csv": "rain\n"})


@pytest.fixture
def load(folder: Path) -> Iterator[Load]:
    """Give a function that imports a file of the folder as a module, until the test ends."""
    loaded = []

    def load_module(place: str) -> ModuleType:
        name = Path(place).stem
        spec = importlib.util.spec_from_file_location(name, folder / place)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        loaded.append(name)
        spec.loader.exec_module(module)
        return module

    yield load_module
    for name in loaded:
        sys.modules.pop(name, None)


def listing(*names: str, text: str = TEXT, files: dict[str, str] | None = None) -> Fingerprint:
    """Make a fingerprint in which these plug-ins have this text."""
    return Fingerprint(
        python="3", plugins={name: Code(text=text) for name in names}, files=files or {}
    )


def begun(folder: Path, found: Fingerprint, files: tuple[str, ...] = ()) -> Watch:
    """Begin a watch."""
    watch = Watch(folder, files)
    watch.begin(found, CLOCK)
    watch.look()
    return watch


def test_what_is_listed_is_let_pass(folder: Path, load: Load) -> None:
    """A module of the fingerprint, as it is there, may be loaded at any time."""
    watch = begun(folder, listing("watched_one"))
    load("watched_one.py")
    watch.look()
    watch.look()


def test_what_is_not_listed_is_refused_every_time(folder: Path, load: Load) -> None:
    """It is refused to everybody who asks, and to the next watch in the same process too."""
    watch = begun(folder, listing("watched_one"))
    load("watched_two.py")
    for _ in range(3):
        with pytest.raises(MovedError, match="watched_two was loaded"):
            watch.look()
    again = Watch(folder)
    again.begin(listing("watched_one"), CLOCK)
    with pytest.raises(MovedError, match="watched_two was loaded"):
        again.look()


def test_what_was_loaded_before_is_the_programs_own(folder: Path, load: Load) -> None:
    """A script beside the study has modules of its own, which are no part of the run."""
    load("watched_two.py")
    begun(folder, listing("watched_one"))


def test_an_installed_package_below_the_study_is_no_part_of_it(folder: Path, load: Load) -> None:
    """An environment in the study's folder holds libraries, not plug-ins."""
    watch = begun(folder, listing())
    load(".venv/lib/python3/site-packages/watched_lib.py")
    watch.look()


def test_another_text_than_the_listed_one_is_refused_with_its_diff(
    folder: Path, load: Load
) -> None:
    """What was edited before it was loaded is named, and shown; a comment is nothing."""
    watch = begun(folder, listing("watched_one", "watched_two"))
    write(folder, {"watched_one.py": "SHIFT = 1  # as ever\n", "watched_two.py": "SHIFT = 2\n"})
    load("watched_one.py")
    watch.look()
    load("watched_two.py")
    for _ in range(2):
        with pytest.raises(MovedError, match="changed while the run worked: watched_two") as told:
            watch.look()
        assert "-SHIFT = 1\n+SHIFT = 2" in told.value.diffs[0]


def test_what_is_gone_after_it_was_loaded_is_refused(folder: Path, load: Load) -> None:
    """A file that was taken away can be compared with nothing."""
    watch = begun(folder, listing("watched_one"))
    load("watched_one.py")
    (folder / "watched_one.py").unlink()
    with pytest.raises(MovedError, match="watched_one"):
        watch.look()


def test_a_file_that_is_declared_may_be_imported(folder: Path, load: Load) -> None:
    """A module whose file is a data file of the study is compared as one."""
    found = listing(files={"watched_two.py": hash_file(folder / "watched_two.py")})
    watch = begun(folder, found, ("watched_two.py",))
    load("watched_two.py")
    watch.look()
    write(folder, {"watched_two.py": "SHIFT = 3\n"})
    with pytest.raises(MovedError, match=r"data file of this run changed.*: watched_two\.py"):
        watch.look()


def test_a_module_without_source_is_held_to_its_hash(folder: Path, load: Load) -> None:
    """A compiled module is listed by the hash of its file."""
    path = folder / "watched_one.py"
    watch = begun(folder, listing(files={"module watched_one": hash_file(path)}))
    load("watched_one.py")
    watch.look()
    watch = Watch(folder)
    watch.begin(listing(files={"module watched_two": "0" * 64}), CLOCK)
    load("watched_two.py")
    with pytest.raises(MovedError, match="watched_two"):
        watch.look()


def test_a_data_file_is_compared_by_what_is_in_it(folder: Path) -> None:
    """Touched it is the same; changed or gone it is refused, as often as anybody asks."""
    path = folder / "shocks.csv"
    watch = begun(folder, listing(files={"shocks.csv": hash_file(path)}), ("shocks.csv",))
    path.write_text("rain\n")
    watch.look()
    path.write_text("snow\n")
    for _ in range(2):
        with pytest.raises(MovedError, match=r"shocks\.csv"):
            watch.look()
    path.write_text("rain\n")
    watch.look()
    path.unlink()
    with pytest.raises(MovedError, match=r"shocks\.csv"):
        watch.look()


def test_a_module_that_loads_when_it_is_asked_is_not_asked(folder: Path) -> None:
    """To look at what is loaded loads nothing."""
    spec = importlib.util.spec_from_file_location("watched_one", folder / "watched_one.py")
    assert spec is not None
    assert spec.loader is not None
    write(folder, {"watched_one.py": "raise SystemExit\n"})
    spec.loader = importlib.util.LazyLoader(spec.loader)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    watch = begun(folder, listing())
    sys.modules["watched_lazy"] = module
    sys.modules["watched_odd"] = object()  # type: ignore[assignment]
    try:
        with pytest.raises(MovedError, match="watched_lazy"):
            watch.look()
    finally:
        del sys.modules["watched_lazy"], sys.modules["watched_odd"]
