"""What was not measured says of which question it is, and nothing is left out without a reason."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from perdure.analysis.polarization import why_not_parted
from perdure.analysis.report import build_report
from perdure.analysis.unmeasured import Gap, gaps
from perdure.records.graph import Communities, GraphReport
from perdure.records.persona import Choice
from perdure.records.scenario import Question, QuestionType, Scoring

TWO = (Choice(id="a", label="Ann"), Choice(id="b", label="Bob"))


def gaps_of(record_of: Any, **changed: Any) -> tuple[Gap, ...]:
    """List the gaps of a small report with something else about it."""
    report = build_report(record_of())
    given = {
        "outcome": "",
        "waved": ("vote",),
        "personas": 4,
        "real_known": 0,
        "withheld": False,
        "questions": report.questions,
        "changes": report.changes,
        "readings": (),
        "cost": report.cost.total,
        "beside": report.cost.outside,
    }
    return gaps(**{**given, **changed})


def test_a_change_that_was_not_measured_names_its_question(record_of):
    """With several questions; two gaps with the same words would say less than one."""
    record = record_of(seeds=(1,))
    record.wave("plain-1", 0, {"p1": "a"})
    record.wave("plain-1", 2, {"p2": "a"})
    (change,) = build_report(record).changes
    assert change.unmeasured
    other = msgspec.structs.replace(change, question="trust")
    found = gaps_of(record_of, waved=("vote", "trust"), changes=(change, other))
    assert [one.what for one in found if one.what.startswith("change")] == [
        "change of vote, plain",
        "change of trust, plain",
    ]


@pytest.mark.parametrize(
    ("question", "why"),
    [
        (Question(id="q", text="?", choices=TWO), ""),
        (Question(id="q", text="?", choices=TWO, type=QuestionType.LIKERT), ""),
        (Question(id="q", text="?", choices=TWO, type=QuestionType.SEVERAL), "several choices"),
        (Question(id="q", text="?", choices=TWO, type=QuestionType.RANKED), "an order"),
        (Question(id="q", text="?", type=QuestionType.NUMBER), "a number"),
        (Question(id="q", text="?", choices=TWO, scoring=Scoring.LOGPROBS), "a probability"),
    ],
)
def test_what_communities_are_not_compared_over_has_a_reason(question, why):
    """Of what an answer gives one, they are; of everything else it is said why not."""
    assert why in why_not_parted(question)
    assert bool(why) is bool(why_not_parted(question))


def test_a_question_over_which_communities_are_not_compared_is_a_gap(record_of):
    """Where there are communities; without any, one gap says so of all."""
    why = {"media": "an answer may give several choices, or none"}
    graph = GraphReport(
        ties=4,
        degree_mean=2.0,
        degree_max=2,
        isolated=0,
        clustering=0.0,
        connected=1.0,
        communities=Communities(modularity=0.4, resolution=1.0, sizes=(2, 2)),
    )
    found = gaps_of(record_of, graph=graph, unparted=why)
    assert [one.why for one in found if one.what == "polarization over media"] == [why["media"]]
    alone = msgspec.structs.replace(graph, communities=None)
    found = gaps_of(record_of, graph=alone, unparted=why)
    assert [one.what for one in found if "polarization" in one.what] == ["polarization"]


def test_nobody_asked_is_said(record_of):
    """Ticks closed without a turn: that there are no answers is a gap, and not silence."""
    record = record_of(seeds=(1,))
    said = "nobody was asked anything in the ticks that closed"
    assert said not in [one.why for one in build_report(record).gaps]
    record.close("plain-1", 0, 0)
    assert said in [one.why for one in build_report(record).gaps]
    record.wave("plain-1", 2, {"p1": "a"})
    assert said not in [one.why for one in build_report(record).gaps]
