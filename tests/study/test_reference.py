"""Proves that the reference of the study file is current, complete, and shows a valid study."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

from perdure.study import schema
from perdure.study.findings import Findings
from perdure.study.kinds import Kind, ListOf, MapOf
from perdure.study.parse import parse
from perdure.study.section import Field, Group

TOOL = Path(__file__).parents[2] / "tools" / "study_reference.py"


def tool() -> ModuleType:
    """Load the program that writes the page."""
    spec = importlib.util.spec_from_file_location("study_reference", TOOL)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def groups_below(kind: Kind[Any]) -> set[str]:
    """Name every group that a kind leads to."""
    if isinstance(kind, ListOf):
        return groups_below(kind.item)
    if isinstance(kind, MapOf):
        return groups_below(kind.value)
    if isinstance(kind, Group):
        below = [groups_below(field.kind) for field in kind.fields]
        return {kind.name}.union(*below)
    return set()


def fields_of_schema() -> set[int]:
    """Find every field that the schema defines."""
    return {id(value) for value in vars(schema).values() if isinstance(value, Field)}


def test_the_page_is_current() -> None:
    """The page is current."""
    module = tool()
    assert module.PAGE.read_text(encoding="utf-8") == module.page()


def test_every_group_of_keys_is_on_the_page() -> None:
    """Every group of keys is on the page."""
    below = groups_below(schema.STUDY) | groups_below(schema.ANCHORS_FILE)
    assert below == {group.name for group in schema.GROUPS}


def test_every_field_of_the_schema_is_used() -> None:
    """Every field of the schema is used."""
    used = {id(field) for group in schema.GROUPS for field in group.fields}
    assert fields_of_schema() == used


def test_the_study_on_the_page_is_valid() -> None:
    """The study on the page is valid."""
    found = Findings("page")
    assert parse(tool().EXAMPLE.encode(), found).study is not None, found.listed()


def test_the_calendar_on_the_page_is_valid() -> None:
    """The calendar on the page counts what is said there, in the study on the page."""
    found, module = Findings("page"), tool()
    timeline = "timeline:\n  horizon: 3\n  waves: [0, 2]\n"
    assert timeline in module.EXAMPLE
    study = parse(module.EXAMPLE.replace(timeline, module.CALENDAR).encode(), found).study
    assert study is not None, found.listed()
    assert {one.horizon for one in study.scenarios} == {128}
    assert module.WORKING == [130, 129, 128, 128, 128, 128, 129]
