"""P4, P5, P8: random cost streams, ladders, budgets, kills, resumes and raises keep every promise.

The decisions are the real ones, around them is a model of a run (`tests/support/budget_model.py`).
"""

from __future__ import annotations

import os
from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.crash.telling import tell
from tests.support.budget_figure import bill_of
from tests.support.budget_model import Model, Setting

from perdure.records.budget import Ladder, Rung
from perdure.records.events import Cost, Degraded, TickClosed
from perdure.records.registry import BudgetChanged, LogPayload, RungLifted, RungTaken
from perdure.runner.ladder import gives_more, in_effect, plan_at, stand
from perdure.trace.rules import Tally
from perdure.trace.rungs import (
    Rungs,
    in_force,
    moves_of,
    recorded_after,
    unlogged_rung,
    wrong_rungs,
)

FULL = os.environ.get("PERDURE_CRASH") == "full"
RUNS = 10_000 if FULL else 300

pytestmark = [pytest.mark.crash, pytest.mark.timeout(3_600 if FULL else 300)]

LADDERS = st.builds(
    Ladder,
    warn=st.sampled_from([0.0, 0.5, 0.8]),
    freeze=st.sampled_from([0.6, 0.95]),
    subsample=st.sampled_from([0.7, 1.0, 1.1]),
    share=st.sampled_from([0.1, 0.4, 0.75, 1.0]),
)
SETTINGS = st.builds(
    Setting,
    seed=st.integers(0, 2**63),
    horizons=st.lists(st.integers(1, 6), min_size=1, max_size=4).map(tuple),
    people=st.integers(1, 5),
    waves=st.frozensets(st.integers(0, 4), max_size=3),
    skew=st.sampled_from([0, 0, 1, 4]),
    ladder=LADDERS,
    amounts=st.lists(st.integers(0, 150), min_size=1, max_size=4).map(tuple),
    ceiling_over=st.sampled_from([0, 0, 10, 60]),
    typical=st.sampled_from([0, 2, 50, 100]),
    width=st.integers(1, 6),
    dear=st.sampled_from([2, 20, 100]),
    faults=st.sampled_from([0, 0, 150]),
    kills=st.sampled_from([0, 5, 30, 60]),
    loose=st.booleans(),
)


def require_only_escalation(log: list[LogPayload], model: Model) -> None:
    """Every rung that is lifted is lifted after the budget was raised above what took the last."""
    budget = judged = model.study_budget
    for row in log:
        match row:
            case BudgetChanged(budget=new):
                budget = new
            case RungTaken():
                judged = budget
            case RungLifted():
                assert gives_more(budget, judged)
            case _:
                pass


def require_sound_world(model: Model, world: int) -> None:
    """Require that a record keeps the rules, and has each rung once, at the run's own tick."""
    tally = Tally(model.setting.horizons[world])
    standing = stand(model.study_budget, model.disk.log)
    rungs: Rungs = ()
    for event in model.events(world):
        assert tally.follow(event) is None
        rungs = recorded_after(rungs, event.tick, event.payload)
        if isinstance(event.payload, TickClosed):
            assert in_force(rungs) == in_effect(standing.rungs, event.tick)
            assert event.payload.plan == plan_at(standing, event.tick)
    assert tally.completed
    assert unlogged_rung(str(world), rungs, moves_of(model.disk.log)) is None
    taken = Counter(
        (event.payload.rung, event.tick)
        for event in model.events(world)
        if isinstance(event.payload, Degraded)
    )
    assert set(taken.values()) <= {1}
    for at in standing.rungs:
        had_effect = at.lifted is None or at.tick < at.lifted
        if at.rung is not Rung.PAUSE and had_effect and at.tick < model.setting.horizons[world]:
            assert taken[at.rung, at.tick] == 1


def live(setting: Setting) -> Counter[tuple[str, str]]:
    """Live through a whole run; give what it met."""
    model = Model(setting)
    model.run()
    assert wrong_rungs(model.disk.log) is None
    require_only_escalation(model.disk.log, model)
    for world in range(len(setting.horizons)):
        require_sound_world(model, world)
    assert bill_of(model.disk.costs()) == model.disk.spent, "the ledger is the sum of the record"
    assert set(model.provider.finished.values()) <= {1}, "P3: a finished call is paid once"
    finished = sum(
        1
        for world in range(len(setting.horizons))
        for event in model.events(world)
        if isinstance(event.payload, Cost) and event.payload.attempt == 0
    )
    assert finished == len(model.provider.finished)
    return model.met


def test_a_run_keeps_within_its_budget_whatever_happens(record_property) -> None:
    """At every step of every run; and each run is finished in the end, with room enough."""
    met: Counter[tuple[str, str]] = Counter()

    @settings(max_examples=RUNS, deadline=None, suppress_health_check=list(HealthCheck))
    @given(SETTINGS)
    def check(setting: Setting) -> None:
        met.update(live(setting))
        met["run", ""] += 1

    check()
    tell(", ".join(f"{' '.join(what).strip()}: {count}" for what, count in sorted(met.items())))
    record_property("runs", met["run", ""])
    assert met["run", ""] >= RUNS
    for rung in Rung:
        assert met["RungTaken", rung] > RUNS // 20
        assert met["RungLifted", rung] > RUNS // 50
    for what in (
        ("killed", ""),
        ("stopped", "mid-tick"),
        ("run again", "paused"),
        ("paused", "unspent is less than a round"),
    ):
        assert met[what] > RUNS // 50, what
