"""What was asked: a study file becomes a frozen study, its identities, its cells, its forecast."""

from __future__ import annotations

from perdure.study.load import Examined, examine, load, settle
from perdure.study.overrides import Overrides

__all__ = ["Examined", "Overrides", "examine", "load", "settle"]
