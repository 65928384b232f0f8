"""Loads a study to be run: with its people, and with anchors that passed their check."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from perdure import population
from perdure.base.errors import InvalidStudyError, Problem
from perdure.elicitation.anchor_check import anchor_problems
from perdure.population import Loaded
from perdure.study.overrides import Overrides
from perdure.study.read_models import EMBED


def load_study(
    path: str | Path,
    *,
    overrides: Overrides = Overrides(),  # noqa: B008 - frozen
) -> Loaded:
    """Load a study file, the population file that it names, and the anchors that it scores by.

    Nothing is created, and nothing is opened outside the study's folder.

    Raises:
        InvalidStudyError: with every problem of the files; with those of the receipts of anchors
            where nothing else is wrong.
        UsageError: a flag does not fit the study.

    """
    loaded = population.load_study(path, overrides=overrides)
    if problems := list(_unchecked(Path(path), loaded)):
        raise InvalidStudyError(problems)
    return loaded


def _unchecked(path: Path, loaded: Loaded) -> Iterator[Problem]:
    """Say of every question that is scored by anchors why they cannot be trusted, if so."""
    rated = (question.similarity for question in loaded.study.questions)
    for name in dict.fromkeys(how.anchors for how in rated if how is not None):
        read, pin = loaded.anchors[name], loaded.study.models[EMBED].pin
        command = read.check_line(path)
        for wrong, remedy in anchor_problems(name, read.anchors, read.check, pin, command):
            yield Problem(file=str(path), line=read.line, wrong=wrong, remedy=remedy)
