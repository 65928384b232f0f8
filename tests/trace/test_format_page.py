"""The page on the format describes what is stored: every event's fields, every hash of a run."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
from msgspec import inspect
from tests.support.town import town

from perdure.records.events import IS_CONTENT, TYPE_OF
from perdure.records.population import HeldOut
from perdure.records.registry import LOG_TYPE_OF
from perdure.study.identity import input_hashes

PAGE = Path(__file__).resolve().parents[2] / "docs" / "format.md"
ROOT = (*TYPE_OF.values(), *LOG_TYPE_OF.values())


PLAIN: dict[type[inspect.Type], str] = {
    inspect.IntType: "integer",
    inspect.StrType: "text",
    inspect.BoolType: "true or false",
    inspect.FloatType: "number",
    inspect.BytesType: "bytes in base64",
}


def type_name(info: inspect.Type) -> str:
    """Write a type as the page does."""
    match info:
        case inspect.UnionType(types=types):
            name = " or ".join(type_name(one) for one in types if not _is_none(one))
        case inspect.StructType(cls=cls):
            name = f"[{cls.__name__}](#{cls.__name__.lower()})"
        case inspect.EnumType(cls=cls):
            name = "one of " + ", ".join(f"`{one.value}`" for one in cls)
        case inspect.VarTupleType(item_type=item):
            name = f"list of {type_name(item)}"
        case inspect.DictType(key_type=key, value_type=value):
            name = f"object from {type_name(key)} to {type_name(value)}"
        case _:
            name = PLAIN[type(info)]
    return name


def _is_none(info: inspect.Type) -> bool:
    return isinstance(info, inspect.NoneType)


def default_of(field: inspect.Field) -> str:
    """Write a field's default; one that has none is always there."""
    if field.required:
        return "always there"
    value = field.default if field.default is not msgspec.NODEFAULT else field.default_factory()
    if value is None:
        return "absent"
    return f"`{msgspec.json.encode(value).decode()}`"


def parts_of(info: inspect.Type) -> list[type[msgspec.Struct]]:
    """List the records that a type is made of."""
    match info:
        case inspect.UnionType(types=types):
            return [cls for one in types for cls in parts_of(one)]
        case inspect.StructType(cls=cls):
            return [cls]
        case inspect.VarTupleType(item_type=item):
            return parts_of(item)
        case inspect.DictType(value_type=value):
            return parts_of(value)
    return []


def table(cls: type[msgspec.Struct]) -> list[str]:
    """Draw the fields of a record."""
    info = inspect.type_info(cls)
    assert isinstance(info, inspect.StructType)
    if not info.fields:
        return ["No fields: `{}`."]
    rows = [
        f"| `{field.encode_name}` | {type_name(field.type)} | {default_of(field)} |"
        for field in info.fields
    ]
    return ["| field | type | when left out |", "|---|---|---|", *rows]


def described(cls: type[msgspec.Struct]) -> str:
    """Give a record's description, on one line where it is one paragraph."""
    text = re.sub(r"\n +", "\n", cls.__doc__ or "").strip()
    return "\n\n".join(" ".join(part.split()) for part in text.split("\n\n"))


def drawn() -> str:
    """Draw the whole part of the page: kinds of events, rows of the run log, their parts."""
    lines: list[str] = []
    parts: dict[type[msgspec.Struct], None] = {}
    for kind, event in TYPE_OF.items():
        content = "content" if IS_CONTENT[kind] else "not content"
        lines += [f"### `{kind}` ({content})", "", described(event), "", *table(event), ""]
    lines += ["## The rows of the run log", ""]
    for kind, row in LOG_TYPE_OF.items():
        lines += [f"### `{kind}` (run log)", "", described(row), "", *table(row), ""]
    waiting: list[type[msgspec.Struct]] = list(ROOT)
    while waiting:
        info = inspect.type_info(waiting.pop(0))
        assert isinstance(info, inspect.StructType)
        for field in info.fields:
            for cls in parts_of(field.type):
                if cls not in parts:
                    parts[cls] = None
                    waiting.append(cls)
    lines += ["## The parts of payloads", ""]
    for cls in parts:
        lines += [f"### {cls.__name__}", "", described(cls), "", *table(cls), ""]
    return "\n".join(lines)


def rewritten(page: str) -> str:
    """Give the page with its part on events as the records draw it."""
    before, rest = page.split("<!-- events -->\n\n")
    _, after = rest.split("## The export")
    return f"{before}<!-- events -->\n\n{drawn()}\n## The export{after}"


def test_every_field_of_every_event_is_described() -> None:
    """The page's part on events is what the records themselves draw (run this file to renew it)."""
    page = PAGE.read_text(encoding="utf-8")
    assert page == rewritten(page)


def test_every_hash_of_a_run_is_defined() -> None:
    """The page names every hash that a run's entry holds, and no other."""
    page = PAGE.read_text(encoding="utf-8")
    part = page.split("<!-- hashes -->")[1].split("\n\n##")[0].split("\n### ")[0]
    named = set(re.findall(r"^\| `(\w+)` \|", part, re.MULTILINE))
    config = town()
    held_out = HeldOut(values={}, held_out_hash="")
    assert named == set(input_hashes(config.study, config.population, held_out))


if __name__ == "__main__":
    PAGE.write_text(rewritten(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
