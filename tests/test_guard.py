"""The suite's own guards hold."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

import pytest

ELSEWHERE = ("192.0.2.1", 9)
CONFTEST = Path(__file__).parent / "conftest.py"


def test_a_connection_elsewhere_is_refused(connections_refused: list[str]) -> None:
    """A connection that is not loopback is refused before it is made, and is noticed."""
    with socket.socket() as caller, pytest.raises(ConnectionRefusedError):
        caller.connect(ELSEWHERE)
    assert connections_refused == [str(ELSEWHERE)]
    connections_refused.clear()


def test_a_test_that_connects_elsewhere_fails_even_if_it_hides_it(tmp_path: Path) -> None:
    """A test that swallows the refusal fails all the same."""
    (tmp_path / "conftest.py").write_text(CONFTEST.read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "test_planted.py").write_text(
        "import contextlib, socket\n"
        "def test_planted():\n"
        "    with socket.socket() as caller, contextlib.suppress(OSError):\n"
        f"        caller.connect({ELSEWHERE})\n",
        encoding="utf-8",
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", "."]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.returncode == 1, ended.stdout
    assert "connections that are not loopback" in ended.stdout


def test_loopback_is_open() -> None:
    """A server and a client on this machine reach each other."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        with socket.create_connection(server.getsockname()) as caller:
            caller.sendall(b"x")
        heard, _ = server.accept()
        with heard:
            assert heard.recv(1) == b"x"
