"""That a study which asks of its people what they do not have is refused, all of it at once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from perdure.base.errors import InvalidStudyError
from perdure.population import load_study

STUDY = """\
perdure: 1
name: street
brief: {title: A street, text: There is a street., claims: {c: One thing.}}
ontology:
  attributes:
    party: {column: party, label: Party, scale: {0: left, 1: right}}
    age: {column: age, label: Age}
population:
  file: people.csv
  id: id
  missing: [""]
  graph: {file: ties.csv, from: from, to: to}
questions:
  vote: {text: "Well?", choices: {a: Ann, b: Bob}}
  react: {text: "Do you agree?", choices: {agree: agree, disagree: disagree}}
variants: {v: ""}
timeline:
  horizon: 2
  waves: [0]
  wave_question: vote
  channels: {forum: {question: react, posts: {0: [c]}, scope: global}}
scenarios: {s: {}}
seeds: [1]
models:
  rule:
    provider: baseline
    rule: {identification: {attribute: party, midpoint: 0.5, low: a, high: b}}
"""
PEOPLE = "id,party,age\n" + "".join(f"p{n},{n % 2},{n / 20}\n" for n in range(10))
TIES = "from,to\n" + "".join(f"p{n},p{n + 1}\n" for n in range(9))

Problems = Callable[..., list[str]]


@pytest.fixture
def problems(tmp_path: Path) -> Problems:
    """Give what loads a study and says what is wrong with it."""

    def load(study: str = STUDY, people: str = PEOPLE) -> list[str]:
        (tmp_path / "study.yaml").write_text(study)
        (tmp_path / "people.csv").write_text(people)
        (tmp_path / "ties.csv").write_text(TIES)
        try:
            load_study(tmp_path / "study.yaml")
        except InvalidStudyError as error:
            return [problem.wrong for problem in error.problems]
        return []

    return load


def test_a_study_that_fits_its_people_is_loaded(problems: Problems) -> None:
    """The study that the others change one thing of has nothing wrong with it."""
    assert problems() == []


def test_a_forum_of_communities_needs_communities(problems: Problems) -> None:
    """A partition that does not qualify is seen before anything runs."""
    (wrong,) = problems(STUDY.replace("scope: global", "scope: community"))
    assert (
        "forum of scenario `s` is one for each community, and the population has none: its" in wrong
    )


def test_involvement_by_a_number_needs_a_share(problems: Problems) -> None:
    """An attribute that is the factor itself is from 0 to 1 in everybody."""
    involved = STUDY.replace("  horizon: 2\n", "  horizon: 2\n  involvement: {attribute: age}\n")
    assert problems(involved) == []
    (wrong,) = problems(involved, PEOPLE.replace("p4,0,0.2", "p4,0,77.5"))
    assert "`age`" in wrong
    assert "1 of 10 personas (the first: 'p4'): 77.5" in wrong


def test_the_baseline_needs_what_its_rule_goes_by(problems: Problems) -> None:
    """Who lacks it cannot answer; a few may, as many as a tick can do without."""
    few = PEOPLE.replace("p4,0,", "p4,,")
    assert problems(people=few) == []
    (wrong,) = problems(people=few.replace("p5,1,", "p5,,"))
    assert "goes by `party`, which 2 of 10 personas" in wrong
    (wrong,) = problems(STUDY.replace("low: a, high: b", "low: agree, high: disagree"))
    assert "none of the choices of the question `vote`" in wrong


def test_the_worth_of_choices_goes_by_what_is_known_of_people(problems: Problems) -> None:
    """A fare that too many lack is no fare to go by; all of them count, for all choices."""
    by_worth = STUDY.replace(
        "{identification: {attribute: party, midpoint: 0.5, low: a, high: b}}",
        "{worth: {a: {party: 1}, b: {age: 1}}}",
    )
    few = PEOPLE.replace("p4,0,", "p4,,")
    assert problems(by_worth, few) == []
    (wrong,) = problems(by_worth, few.replace("p5,1,0.25", "p5,1,"))
    assert "goes by `party` or `age`, which 2 of 10 personas" in wrong


def test_a_rule_may_have_a_scale_for_the_question_of_a_wave(problems: Problems) -> None:
    """A scale over none of the rule's choices has an answer once the rule lays it to one."""
    asked = STUDY.replace("wave_question: vote", "wave_question: sure").replace(
        "questions:\n", "questions:\n  sure: {text: Sure, type: likert, choices: {n: no, y: yes}}\n"
    )
    (wrong,) = problems(asked)
    assert "none of the choices of the question `sure`" in wrong
    assert problems(asked.replace("rule: {id", "rule: {scales: {sure: b}, id")) == []


def test_nobody_is_asked_of_whom_nothing_is_known(problems: Problems) -> None:
    """People without a single attribute are told at once, with all else that is wrong."""
    blank = PEOPLE.replace("p4,0,0.2", "p4,,").replace("p5,1,0.25", "p5,,")
    known, ruled = problems(people=blank)
    assert "Nothing is known of 2 of 10 personas (the first: 'p4')" in known
    assert "goes by `party`" in ruled
