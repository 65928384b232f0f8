"""Perdure runs generative-agent studies to completion inside a budget.

Names are loaded when they are first asked for, so that importing the package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from perdure.base.errors import PerdureError
    from perdure.records.result import RunResult
    from perdure.runner import RunConfig, run
    from perdure.runner.load import load_study

__all__ = ["PerdureError", "RunConfig", "RunResult", "load_study", "run"]

_HOME = {
    "PerdureError": "perdure.base.errors",
    "RunConfig": "perdure.runner",
    "RunResult": "perdure.records.result",
    "load_study": "perdure.runner.load",
    "run": "perdure.runner",
}


def __getattr__(name: str) -> Any:
    """Load a public name from the room that it lives in."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
