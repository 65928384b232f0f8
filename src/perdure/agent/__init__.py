"""Who answers: the Agent port, and the persona agent."""

from __future__ import annotations

from perdure.agent.answering import Refused, prompt_of
from perdure.agent.beliefs import STEPS_MAX, merged
from perdure.agent.facts import facts_of
from perdure.agent.persona import AGENT_VERSION, PersonaAgent
from perdure.agent.port import Agent, CallFailedError, JobModels, Models
from perdure.agent.recall import kept_max, must_compare
from perdure.agent.rejection import rejection_of
from perdure.agent.state import advance
from perdure.agent.tool_agent import ToolAgent

__all__ = [
    "AGENT_VERSION",
    "STEPS_MAX",
    "Agent",
    "CallFailedError",
    "JobModels",
    "Models",
    "PersonaAgent",
    "Refused",
    "ToolAgent",
    "advance",
    "facts_of",
    "kept_max",
    "merged",
    "must_compare",
    "prompt_of",
    "rejection_of",
]
