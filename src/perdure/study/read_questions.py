"""Reads what a study asks: questions of every type, and how their answers are scored."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from perdure.base import text
from perdure.records.persona import Choice
from perdure.records.scenario import (
    LETTERS,
    Question,
    QuestionType,
    Scoring,
    Similarity,
)
from perdure.study import schema
from perdure.study.findings import quoted, suggestion
from perdure.study.kinds import Named
from perdure.study.section import Field, Section

_OF_LISTS: tuple[Field[Any], ...] = (schema.CHOICES, schema.SHUFFLE)
_OF_NUMBERS: tuple[Field[Any], ...] = (
    schema.UNIT_OF_NUMBER,
    schema.UNIT_ALIASES,
    schema.LEAST,
    schema.MOST,
)
_OF_SIMILARITY: tuple[Field[Any], ...] = (
    schema.QUESTION_ANCHORS,
    schema.EPSILON,
    schema.SIMILARITY_TEMPERATURE,
)


def read_questions(study: Section) -> dict[str, Question]:
    """Read the questions by id."""
    anchors = [entry.key for entry in study.get(schema.ANCHORS)]
    return {named.key: _question(named, anchors) for named in study.get(schema.QUESTIONS)}


def _question(named: Named[str, Section], anchors: Collection[str]) -> Question:
    section = named.value
    choices = section.get(schema.CHOICES)
    _check_names(choices)
    _check_fields(section, anchors)
    question = Question(
        id=named.key,
        text=section.get(schema.QUESTION_TEXT),
        choices=tuple(
            Choice(
                id=choice.key,
                label=choice.value.get(schema.CHOICE_LABEL),
                aliases=tuple(alias.value for alias in choice.value.get(schema.ALIASES)),
            )
            for choice in choices
        ),
        type=_type(section),
        shuffle=section.get(schema.SHUFFLE),
        unit=section.get(schema.UNIT_OF_NUMBER),
        unit_aliases=tuple(alias.value for alias in section.get(schema.UNIT_ALIASES)),
        least=_number(section, schema.LEAST),
        most=_number(section, schema.MOST),
        **_scored(section),
    )
    if question.least is not None and question.most is not None and question.least > question.most:
        section.wrong(schema.MOST, "`most` is less than `least`.", "Write the larger one there.")
    return question


def _type(section: Section) -> QuestionType | None:
    """Give the type, if it is not the one that a question of this form has anyway."""
    if not section.has(schema.QUESTION_TYPE):
        return None
    written = QuestionType(section.get(schema.QUESTION_TYPE))
    usual = QuestionType.ONE if section.present(schema.CHOICES) else QuestionType.OPEN
    return None if written is usual else written


def _scored(section: Section) -> dict[str, Any]:
    if section.get(schema.SCORING) == Scoring.LOGPROBS:
        return {"scoring": Scoring.LOGPROBS}
    if section.get(schema.SCORING) != Scoring.SIMILARITY:
        return {}
    how = Similarity(
        anchors=section.get(schema.QUESTION_ANCHORS),
        epsilon=_number(section, schema.EPSILON),
        temperature=_number(section, schema.SIMILARITY_TEMPERATURE),
    )
    return {"scoring": Scoring.SIMILARITY, "similarity": how}


def _number(section: Section, field: Field[float]) -> float | None:
    return section.get(field) if section.has(field) else None


def _check_fields(section: Section, anchors: Collection[str]) -> None:
    """Refuse what does not go with the type, and note what it cannot be without."""
    has_choices = section.present(schema.CHOICES)
    asks_for = section.values().get(schema.QUESTION_TYPE.key)
    if asks_for is None:
        asks_for = QuestionType.ONE if has_choices else QuestionType.OPEN
    listed = asks_for not in (QuestionType.NUMBER, QuestionType.OPEN)
    if listed and not has_choices:
        wrong = f"A question of the type `{asks_for}` has no `choices`."
        section.wrong(schema.QUESTION_TYPE, wrong, "Write what there is to choose from.")
    if not listed:
        for field in _OF_LISTS:
            _refuse(
                section, field, f"is for questions that list choices, and `{asks_for}` does not"
            )
    if asks_for != QuestionType.NUMBER:
        for field in _OF_NUMBERS:
            _refuse(section, field, "is for questions of the type `number`")
    if section.get(schema.SCORING) == Scoring.LOGPROBS:
        _check_chances(section, asks_for)
    if section.get(schema.SCORING) == Scoring.SIMILARITY:
        _check_similarity(section, asks_for, anchors)
    else:
        for field in _OF_SIMILARITY:
            _refuse(section, field, "is for questions with `scoring: similarity`")


def _check_chances(section: Section, asks_for: str) -> None:
    if asks_for not in (QuestionType.ONE, QuestionType.LIKERT):
        wrong = f"`scoring: logprobs` is for one choice of several, not for `{asks_for}`."
        section.wrong(schema.SCORING, wrong, "Write `type: one` or `likert`, or leave it out.")
    if len(section.get(schema.CHOICES)) > len(LETTERS):
        wrong = f"There are more than {len(LETTERS)} choices, and as many letters."
        section.wrong(schema.CHOICES, wrong, "Give fewer choices, or leave `scoring` out.")


def _check_similarity(section: Section, asks_for: str, anchors: Collection[str]) -> None:
    if section.has(schema.QUESTION_ANCHORS):
        _check_anchors(section, anchors)
    if asks_for != QuestionType.LIKERT:
        wrong = (
            f"`scoring: similarity` is for the points of a scale, and this asks for `{asks_for}`."
        )
        section.wrong(schema.SCORING, wrong, "Write `type: likert`, or leave `scoring` out.")
    if not section.present(schema.QUESTION_ANCHORS):
        wrong = "`scoring: similarity` has no `anchors` to compare an answer with."
        section.wrong(schema.SCORING, wrong, "Write `anchors:` and the name of a set of anchors.")
    _refuse(section, schema.SHUFFLE, "is for choices that are shown, and `similarity` shows none")


def _check_anchors(section: Section, anchors: Collection[str]) -> None:
    name = section.get(schema.QUESTION_ANCHORS)
    if name not in anchors:
        wrong = f"The anchors {quoted(name)} are not among the study's `anchors`."
        section.wrong(schema.QUESTION_ANCHORS, wrong, suggestion(name, anchors))


def _refuse(section: Section, field: Field[Any], why: str) -> None:
    if section.present(field):
        section.wrong(field, f"`{field.key}` {why}.", "Leave it out.")


def _check_names(choices: tuple[Named[str, Section], ...]) -> None:
    """Refuse a label or alias by which two choices go: such an answer could never be scored."""
    owner: dict[str, str] = {}
    for choice in choices:
        section = choice.value
        names = [(section.line_of(schema.CHOICE_LABEL), section.get(schema.CHOICE_LABEL))]
        names += [(alias.line, alias.value) for alias in section.get(schema.ALIASES)]
        for line, name in names:
            other = owner.setdefault(text.normalise(name), choice.key)
            if name and other != choice.key:
                wrong = f"The name {quoted(name)} stands for both `{other}` and `{choice.key}`."
                section.found.add(line, wrong, "Give each choice names of its own.")
