"""Proves that no prompt of a real run is longer than was taken for the worst."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
from tests.support.town import run_in_memory, town

from perdure.inference.offer import worst_case
from perdure.population import load_study
from perdure.records.request import ChatRequest
from perdure.records.scenario import ModelPin
from perdure.records.study import ModelSpec
from perdure.runner.config import RunConfig
from perdure.study.lengths import lengths
from perdure.study.overrides import Overrides
from perdure.testing import ScriptedProvider

EXAMPLE = Path(__file__).parents[2] / "examples" / "vote96" / "study.yaml"


def prompts(config: RunConfig, said: str) -> list[ChatRequest]:
    """Run a study whose personas always say the same; give everything that was asked."""
    asked: list[ChatRequest] = []

    def answer(request: Any) -> str:
        asked.append(request)
        return said

    run_in_memory(config, ScriptedProvider(answer))
    return asked


def scripted(config: RunConfig) -> RunConfig:
    """Have a study answered by a script."""
    spec = ModelSpec(pin=ModelPin(provider="scripted", model="scripted"))
    models = dict.fromkeys(("tier_a", "tier_b"), spec)
    study = msgspec.structs.replace(config.study, models=models)
    return RunConfig(
        study=study,
        population=config.population,
        held_out=config.held_out,
        study_path=config.study_path,
        out="",
    )


def is_reflection(request: ChatRequest) -> bool:
    """Say whether a request is a reflection, by its role."""
    return request.role == "tier_b"


def test_the_examples_prompts_are_as_long_as_they_were_taken_for() -> None:
    """The worst is never exceeded, and a typical prompt is within a third of its estimate."""
    loaded = load_study(EXAMPLE, overrides=Overrides(n=12))
    config = scripted(
        RunConfig(
            study=loaded.study,
            population=loaded.population,
            held_out=loaded.held_out,
            study_path=str(EXAMPLE),
            out="",
        )
    )
    sizes = lengths(config.study)
    # 80 tokens, which is what an answer may have, at four characters each.
    asked = prompts(config, "I agree, because " + "so it is said " * 22)
    turns = [worst_case(one).input_fresh for one in asked if not is_reflection(one)]
    reflected = [worst_case(one).input_fresh for one in asked if is_reflection(one)]
    assert reflected
    assert max(turns) <= sizes.turn_worst
    assert max(reflected) <= sizes.reflection_worst
    mean = sum(turns) / len(turns) / 4
    assert sizes.turn * 2 / 3 <= mean <= sizes.turn * 4 / 3


def test_a_text_that_is_not_latin_is_as_long_as_its_bytes() -> None:
    """A character can be several tokens, and the worst case says so."""
    config = town(2, scenarios=({},), seeds=(1,))
    brief = msgspec.structs.replace(config.study.brief, text="選挙について。" * 2_000)
    study = msgspec.structs.replace(config.study, brief=brief)
    changed = RunConfig(
        study=study,
        population=config.population,
        held_out=config.held_out,
        study_path=config.study_path,
        out="",
    )
    longest = max(worst_case(one).input_fresh for one in prompts(changed, "はい。"))
    assert longest <= lengths(study).turn_worst
    assert longest > 2 * len(brief.text)
