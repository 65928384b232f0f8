"""A small study on disk: a scale scored by likeness under the local model, and an open one."""

from __future__ import annotations

import shutil
from pathlib import Path

ANCHORS_FILE = Path(__file__).parents[2] / "examples" / "fares" / "anchors" / "intent-1.yaml"

STUDY = """\
perdure: 1
name: rated
brief:
  title: A train line
  text: A new train line is planned.
  claims: {c1: The train is fast.}
ontology:
  attributes:
    age: {column: age, label: Age, unit: years, required: true}
population: {file: people.csv, id: id}
anchors: {intent: intent-1.yaml}
questions:
  likely:
    text: How likely are you to take the train?
    type: likert
    scoring: similarity
    anchors: intent
    choices: {definitely_not: no, probably_not: rather not, undecided: unsure, probably: rather,
      definitely: surely}
  why:
    text: What do you think of the train?
variants: {v1: The first.}
scenarios:
  rated: {horizon: 2, waves: [0, 1], wave_question: likely, variant: v1}
  open: {horizon: 2, waves: [0, 1], wave_question: why, variant: v1}
seeds: [1, 2]
models:
  speak:
    provider: baseline
    rule:
      noise: 1
      identification: {attribute: age, midpoint: 45, low: undecided, high: probably, weight: 0.05}
      claims: {c1: {definitely: 0.1, probably: 0.1, undecided: 0.1, probably_not: 0.1,
        definitely_not: 0.1}}
  meanings: {provider: local, model: all-minilm-l6-v2-int8}
roles: {tier_a: speak, tier_b: speak, embed: meanings}
"""


def write_rated(folder: Path, *, personas: int = 70, checked: bool = True) -> Path:
    """Write the study and what it needs into a folder; give its path.

    With `checked` the receipt of the anchors' check is there too.
    """
    folder.mkdir(parents=True, exist_ok=True)
    study = folder / "study.yaml"
    study.write_text(STUDY, "utf-8")
    rows = [f"p{number},{18 + number % 70}" for number in range(personas)]
    (folder / "people.csv").write_text("\n".join(["id,age", *rows]) + "\n", "utf-8")
    shutil.copy(ANCHORS_FILE, folder / "intent-1.yaml")
    if checked:
        shutil.copy(ANCHORS_FILE.with_suffix(".check.json"), folder / "intent-1.check.json")
    return study


def other_anchors(folder: Path) -> Path:
    """Write a second version of the anchors, with one statement in other words, unchecked."""
    path = folder / "intent-2.yaml"
    text = (folder / "intent-1.yaml").read_text("utf-8")
    changed = text.replace("I am very eager to go", "I am extremely eager to go")
    path.write_text(changed.replace("version: train-1", "version: train-2"), "utf-8")
    assert changed != text
    return path
