"""What personas see: the World port, and the survey world."""

from __future__ import annotations

from perdure.world.check import check_delta
from perdure.world.port import Acquainted, BaseWorld, World
from perdure.world.survey import SurveyWorld

__all__ = ["Acquainted", "BaseWorld", "SurveyWorld", "World", "check_delta"]
