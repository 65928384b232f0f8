"""A command line, a folder and an endpoint, for whoever begins a drive as somebody would."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.support.alone import MODEL, turn_of

from perdure.testing import MisbehavingServer


class Desk:
    """A command line, a folder and an endpoint, whose words a test chooses."""

    def __init__(self, call: Callable[..., Any], server: MisbehavingServer) -> None:
        self.call = call
        self.out = Path("drive")
        self.server = server

    def says(self, *steps: Any) -> None:
        """Let the model say these, and the last of them for ever."""
        self.server.responder = lambda body: steps[min(turn_of(body), len(steps) - 1)]

    @property
    def at(self) -> tuple[str, ...]:
        """Give the options that name the model."""
        url = self.server.base_url
        return ("--model", "http", "--base-url", url, "--model-name", MODEL, "--price", "1,2")

    def drive(self, *more: object, task: str = "Do it.") -> Any:
        """Begin a drive."""
        return self.call("drive", task, "--out", self.out, *self.at, *more)
