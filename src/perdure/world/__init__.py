"""What personas see: the World port, and the world of waves, exposures and channels that ships."""

from __future__ import annotations

from perdure.world.channel_world import ChannelWorld
from perdure.world.check import check_delta
from perdure.world.port import Acquainted, BaseWorld, World

# The name by which scenarios have it that name no world. It is in the id of every such world, and
# so it stays.
SurveyWorld = ChannelWorld

__all__ = ["Acquainted", "BaseWorld", "ChannelWorld", "SurveyWorld", "World", "check_delta"]
