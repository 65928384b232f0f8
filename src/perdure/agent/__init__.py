"""Who answers: the Agent port, and the persona agent."""

from __future__ import annotations

from perdure.agent.facts import facts_of
from perdure.agent.persona import AGENT_VERSION, PersonaAgent, Prompted, prompt_of
from perdure.agent.port import Agent, CallFailedError, JobModels, Models
from perdure.agent.state import advance, advance_by

__all__ = [
    "AGENT_VERSION",
    "Agent",
    "CallFailedError",
    "JobModels",
    "Models",
    "PersonaAgent",
    "Prompted",
    "advance",
    "advance_by",
    "facts_of",
    "prompt_of",
]
