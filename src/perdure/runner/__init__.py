"""Runs a study inside a budget: `run(config) -> RunResult`."""

from perdure.runner.assembly import run
from perdure.runner.config import RunConfig

__all__ = ["RunConfig", "run"]
