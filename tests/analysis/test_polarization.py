"""Polarization in real runs: where it is planted it is found, and where it is not it is not."""

import functools

import msgspec
from tests.support.ran_source import RanSource
from tests.support.street import RULE, channels, lived, street

from perdure.analysis.polarization import Polarization
from perdure.analysis.report import build_report
from perdure.base.canonical import encode
from perdure.records.baseline_rule import Reactions
from perdure.records.channels import Forum, Scope

RULE_OF_TALKERS = msgspec.structs.replace(
    RULE, reactions=Reactions(noise=1.0, motivation=0.6, answer=1.0)
)


@functools.cache
def polarization(scope: Scope, *, mixed: bool) -> tuple[Polarization, ...]:
    """Run a street with a forum; give what its report says of polarization, twice the same."""
    posts: dict[str, tuple[str, ...]] = {"0": ("c0", "c1")}
    forum = channels(forum=Forum(question="react", posts=posts, scope=scope))
    config = street(
        {**forum, "waves": (7,), "wave_question": "vote"}, rule=RULE_OF_TALKERS, mixed=mixed
    )
    source = RanSource(lived(config, RULE_OF_TALKERS), config)
    report = build_report(source)
    assert encode(report) == encode(build_report(source))
    return report.polarization


def last(found: tuple[Polarization, ...], about: str, name: str):
    """Give the last place of a claim or question."""
    (one,) = (one for one in found if (one.about, one.name) == (about, name))
    return one.at[-1]


def test_planted_polarization_is_found():
    """Where like is with like, in forums of their own: an excess in every seed, none by chance."""
    at = last(polarization(Scope.COMMUNITY, mixed=False), "belief", "c0")
    assert at.between.effective == 5
    assert at.between.spreads["excess"].low > 0.05
    assert at.p == 1 / (at.relabellings + 1)
    assert [one.divergence.communities for one in at.by_seed] == [4] * 5


def test_a_planted_null_is_not_found():
    """One forum for all, communities drawn by lot: a divergence as chance gives, and no finding."""
    found = polarization(Scope.GLOBAL, mixed=True)
    at = last(found, "belief", "c0")
    assert at.between.spreads["divergence"].mean > 0.0
    assert abs(at.between.spreads["excess"].mean) < 0.05
    assert at.p > 0.05


def test_answers_at_waves_are_compared_too():
    """What people answer at the wave parts as their communities lean, and not where mixed."""
    (question,) = {
        one.name for one in polarization(Scope.COMMUNITY, mixed=False) if one.about == "answers"
    }
    planted = last(polarization(Scope.COMMUNITY, mixed=False), "answers", question)
    null = last(polarization(Scope.GLOBAL, mixed=True), "answers", question)
    assert planted.tick == null.tick == 7
    assert planted.between.spreads["excess"].mean > 0.1
    assert planted.p < 0.01
    assert null.p > 0.05


def test_the_divergence_grows_along_the_path():
    """It is there for every tick, and higher at the end than at the first."""
    (one,) = (
        one
        for one in polarization(Scope.COMMUNITY, mixed=False)
        if (one.about, one.name) == ("belief", "c0")
    )
    ticks = [at.tick for at in one.at]
    assert ticks == list(range(ticks[0], 8))
    means = [at.between.spreads["divergence"].mean or 0.0 for at in one.at]
    assert means[-1] > means[0]
