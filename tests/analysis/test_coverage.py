"""Intervals hold the truth as often as they say; what is planted is found, and nothing else.

The full size is `python -m benchmarks.coverage`; here is a smaller one, and a few real runs.
"""

import functools

import pytest
from benchmarks.coverage import Coverage, measure
from tests.support.ran_source import RanSource
from tests.support.town import run_in_memory, town

from perdure.analysis.report import Report, build_report
from perdure.analysis.telling import Verdict
from perdure.base.chance import Stream
from perdure.records.request import ChatRequest, EmbedRequest
from perdure.testing import ScriptedProvider

NAMES = (
    "share, over seeds",
    "share, over personas",
    "difference, over seeds",
    "difference, over personas",
)


@functools.cache
def simulated(effect: float) -> Coverage:
    """Simulate eighty studies."""
    return measure(effect, studies=80, personas=40, seeds=5)


@pytest.mark.parametrize("effect", [0.0, 0.25])
@pytest.mark.parametrize("name", NAMES)
def test_intervals_cover_at_their_nominal_rate(effect, name):
    """Of 80 intervals of 95 % about 76 hold the truth, within three standard errors."""
    found = simulated(effect)
    number = found.had[name]
    assert number >= 79
    assert abs(found.rate(name) - 0.95) <= 3 * (0.95 * 0.05 / number) ** 0.5


def test_planted_nulls_are_not_found_and_planted_effects_are():
    """Told apart in about one of twenty without a difference, and nearly always with one."""
    assert simulated(0.0).apart() <= 0.12
    assert simulated(0.25).apart() >= 0.9
    for effect in (0.0, 0.25):
        found = simulated(effect)
        assert found.polarized / found.had["polarization"] <= 0.1


@functools.cache
def ran(effect: float, label: str) -> Report:
    """Run a town in which people vote by chance, more for Ada where they were told of a claim."""

    def answer(request: ChatRequest | EmbedRequest) -> str:
        assert isinstance(request, ChatRequest)
        told = any("harbour will be rebuilt" in one.content for one in request.messages)
        draw = Stream(label, 0, "vote", request.seed).uniform()
        return "Ada Hill." if draw < 0.4 + effect * told else "Ben Cole."

    config = town(
        30,
        scenarios=({"exposures": {}}, {"exposures": {"1": ("c1",)}, "activation": 1.0}),
        seeds=(1, 2, 3, 4, 5),
    )
    return build_report(RanSource(run_in_memory(config, ScriptedProvider(answer)), config))


@pytest.mark.parametrize("label", ["a", "b", "c"])
def test_a_real_run_finds_what_is_planted(label):
    """Forty points more for Ada: told apart, and the interval holds what was planted."""
    report = ran(0.4, label)
    assert report.telling.verdict is Verdict.APART
    found = report.differences[-1].between.spreads["ada"]
    assert found.low is not None
    assert found.high is not None
    assert found.low <= 0.4 <= found.high


@pytest.mark.parametrize("label", ["a", "b", "c"])
def test_a_real_run_finds_nothing_where_nothing_is_planted(label):
    """The same runs with no effect: the first line says that they cannot be told apart."""
    report = ran(0.0, label)
    assert report.telling.verdict is Verdict.NOT_APART
    assert "cannot tell its scenarios apart" in report.telling.sentence
