"""A language model on this machine. Importing this loads nothing heavy."""

from __future__ import annotations

from perdure.inference.local.provider import LocalProvider
from perdure.inference.local.settings import LocalSettings
from perdure.inference.local.weights import Weights, check_local, fetch_line

__all__ = ["LocalProvider", "LocalSettings", "Weights", "check_local", "fetch_line"]
