"""Runs a study inside a budget: `run(config) -> RunResult`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from perdure.runner.config import RunConfig

if TYPE_CHECKING:
    from perdure.runner.assembly import run

__all__ = ["RunConfig", "run"]


def __getattr__(name: str) -> Any:
    """Load `run` when it is asked for: a worker, which is of this room, has no use of it."""
    if name != "run":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from perdure.runner.assembly import run  # noqa: PLC0415 - see above

    return run
