"""A real OpenAI-compatible server over the packaged weights, in a process of its own.

Run as a program it serves until its standard input ends, so that it never outlives who started it.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from perdure.base.errors import UsageError
from perdure.inference.local.settings import LocalSettings
from perdure.inference.local.weights import check_local

MODEL = "smollm2-135m-instruct"

_END_S = 20


@functools.cache
def why_not() -> str:
    """Say why the server cannot run here; empty if it can."""
    if importlib.util.find_spec("xllamacpp") is None:
        return "xllamacpp is not installed; it is in the dev dependency group"
    # Tried in a process of its own: a bare system may lack a library that it is linked to.
    tried = subprocess.run(
        [sys.executable, "-c", "import xllamacpp"], capture_output=True, text=True, check=False
    )
    if tried.returncode:
        return f"xllamacpp does not load here: {tried.stderr.strip().splitlines()[-1]}"
    return why_not_local()


def why_not_local() -> str:
    """Say why the local model cannot run here; empty if it can."""
    try:
        check_local(LocalSettings())
    except UsageError as fault:
        return str(fault)
    return ""


@contextlib.contextmanager
def real_server() -> Iterator[str]:
    """Serve on a free port of 127.0.0.1; give the base URL that ends in /v1."""
    with subprocess.Popen(
        [sys.executable, str(Path(__file__)), check_local(LocalSettings()).path],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            # Ends with the process if it cannot start, so this does not wait for ever.
            address = process.stdout.readline().strip()
            if not address:
                pytest.fail(f"the real server ended with status {process.wait(_END_S)}")
            yield f"{address}/v1"
        finally:
            process.stdin.close()
            try:
                process.wait(_END_S)
            except subprocess.TimeoutExpired:
                process.kill()


def serve(weights: str) -> None:
    """Serve these weights, print the address, and end with standard input."""
    # Untyped, and needed by the server's own process alone.
    xllamacpp: Any = importlib.import_module("xllamacpp")
    params = xllamacpp.CommonParams()
    params.model.path = weights
    params.model_alias = {MODEL}
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.n_ctx = 8_192
    params.n_parallel = 4
    # More threads than idle cores make it spin instead of work.
    params.cpuparams.n_threads = 1
    params.cpuparams_batch.n_threads = 1
    params.ui = False
    params.offline = True
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)  # noqa: T201 - how the parent learns the port
    sys.stdin.read()


if __name__ == "__main__":
    serve(sys.argv[1])
