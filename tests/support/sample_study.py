"""A small whole study that tests change one thing of: fixtures for the folders that use it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

SAMPLE = """\
perdure: 1
name: sample
brief:
  title: A vote
  text: There is a vote.
  claims:
    c1: One thing.
    c2: Another thing.
ontology:
  attributes:
    party:
      column: PID
      label: Party
      required: true
      scale: {0: left, 1: middle, 2: right}
    left_placement: {column: L, label: Left is at, scale: {0: left, 1: middle, 2: right}}
    right_placement: {column: R, label: Right is at, scale: {0: left, 1: middle, 2: right}}
    age: {column: age, label: Age, unit: years}
    town: {column: town, label: Town, type: text}
  outcome:
    name: choice
    column: vote
    question: vote
    values: {a: 0, b: 1}
population:
  file: people.csv
  id: id
  missing: ["", NA]
questions:
  vote:
    text: Whom do you vote for?
    choices:
      a: {label: Ann, aliases: [Annie]}
      b: Bob
  agree:
    text: Do you agree?
    choices: {agree: agree, disagree: disagree}
variants:
  v1: The first.
timeline:
  horizon: 4
  waves: [0, 3]
  wave_question: vote
  exposure_question: agree
  activation: 0.5
scenarios:
  s1:
    exposures: {1: [c1], 2: [c2]}
  s2:
    exposures: {1: [c2], 2: [c1]}
seeds: [1, 2]
models:
  baseline:
    provider: baseline
    rule:
      distance: {own: party, placements: {a: left_placement, b: right_placement}}
      identification: {attribute: party, midpoint: 1, low: a, high: b, weight: 0.6}
      claims: {c1: {a: 0.1}}
      noise: 0.5
  api:
    provider: http
    model: model-2025-01-01
    base_url: https://example.org/v1
    key_env: EXAMPLE_API_KEY
    price: {input: 0.15, output: 0.6}
    limits: {requests_per_minute: 60}
agent:
  reflect_every: 2
"""

PEOPLE = "id,PID,L,R,age,town,vote\n" + "".join(
    f"r{number:02d},{number % 3},{number % 2},2,{20 + number},Town {number},{number // 2 % 2}\n"
    for number in range(12)
)

Writer = Callable[..., Path]


@pytest.fixture
def sample() -> str:
    """Give the text of a study in which nothing is wrong."""
    return SAMPLE


@pytest.fixture
def people() -> str:
    """Give the population file of that study."""
    return PEOPLE


@pytest.fixture
def write(tmp_path: Path) -> Writer:
    """Give a function that writes a study and its population file, and returns the study's path."""

    def write_study(text: str | bytes = SAMPLE, rows: str | bytes | None = PEOPLE) -> Path:
        folder = tmp_path / "study"
        folder.mkdir(exist_ok=True)
        path = folder / "study.yaml"
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        if rows is not None:
            data = rows.encode() if isinstance(rows, str) else rows
            (folder / "people.csv").write_bytes(data)
        return path

    return write_study
