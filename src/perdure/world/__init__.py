"""What personas see: the World port, and the world of waves, exposures and channels that ships."""

from __future__ import annotations

from perdure.world.channel_world import ChannelWorld
from perdure.world.check import check_delta
from perdure.world.port import Acquainted, BaseWorld, Furnished, World

# The name by which it is in records and in the ids of worlds (`study.schema.WORLD_THAT_SHIPS`).
SurveyWorld = ChannelWorld

__all__ = [
    "Acquainted",
    "BaseWorld",
    "ChannelWorld",
    "Furnished",
    "SurveyWorld",
    "World",
    "check_delta",
]
