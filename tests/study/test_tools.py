"""What a study says of tools: read in full, refused with all that is wrong at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from perdure.base.canonical import hash_hex
from perdure.base.errors import InvalidStudyError
from perdure.records.scenario import AgentSettings
from perdure.study.load import load

WITH_TOOLS = """\
agent:
  class: perdure.agent:ToolAgent
  calls_per_turn: 6
  cost_per_turn: 0.05
  outside:
    tools: [desk:append_line, my.desk:look_up]
    egress: true
"""


def problems(write, sample: str, agent: str) -> list[str]:
    """Give what is wrong with a study whose agent is described so."""
    with pytest.raises(InvalidStudyError) as raised:
        load(write(sample.replace("agent:\n  reflect_every: 2\n", agent)))
    return [f"{one.wrong} {one.remedy}" for one in raised.value.problems]


def test_tools_are_read(write, sample: str):
    """Limits, functions and reach are what the agent is given."""
    path: Path = write(sample.replace("agent:\n  reflect_every: 2\n", WITH_TOOLS))
    agent = load(path).agent
    assert (agent.turn_calls_max, agent.turn_money_max) == (6, 50_000_000)
    assert agent.outside_tools == ("desk:append_line", "my.desk:look_up")
    assert agent.outside_egress
    assert agent.code == ("perdure.agent:ToolAgent", "desk:append_line", "my.desk:look_up")


def test_all_that_is_wrong_is_said_at_once(write, sample: str):
    """Tools without the agent for them, none, one twice, and a name that is none."""
    found = problems(write, sample, "agent:\n  outside: {egress: maybe}\n")
    assert any("`agent.outside.tools` is missing" in one for one in found)
    assert any("maybe" in one for one in found)
    assert any("Only an agent with tools can use them." in one for one in found)
    agent = "agent:\n  class: perdure.agent:ToolAgent\n  outside: {tools: [a:b, a:b, c]}\n"
    found = problems(write, sample, agent)
    assert any("It names a:b twice." in one for one in found)
    assert any("any number of calls in a turn" in one for one in found)
    assert any("`c`" in one or "'c'" in one for one in found)


def test_a_study_without_them_has_the_hash_that_it_had():
    """What is not said is in no hash."""
    assert hash_hex(AgentSettings()) == hash_hex({})
    assert hash_hex(AgentSettings(outside_tools=("a:b",))) != hash_hex({})
