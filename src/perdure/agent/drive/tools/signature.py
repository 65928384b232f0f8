"""A Python function's signature as the arguments of a tool: their JSON Schema, and their reading.

A parameter of type `Path` is a path of the workspace: text in the schema, a real place in a call.
"""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from perdure.base.errors import EXIT_SOME_FAILED, PerdureError

# How deep problems are looked for, and how many are told.
_DEPTH_MAX = 16
_PROBLEMS_MAX = 20


class ArgumentsError(PerdureError):
    """The arguments of a call are not what its tool takes; every problem, each a sentence."""

    exit_status = EXIT_SOME_FAILED
    code = "arguments"

    def __init__(self, problems: list[str]) -> None:
        self.problems = tuple(problems)
        super().__init__(" ".join(problems))


class Parameters:
    """The parameters of a function. `paths` are those that are paths of the workspace."""

    def __init__(self, function: Callable[..., object]) -> None:
        """Read the signature.

        Raises:
            TypeError: a parameter has no type, or one that JSON has no schema for.

        """
        hints = typing.get_type_hints(function, include_extras=True)
        fields: list[tuple[str, Any] | tuple[str, Any, Any]] = []
        paths = []
        for name, parameter in inspect.signature(function).parameters.items():
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                raise TypeError(f"Parameter {name!r} stands for any number; a tool names each.")
            if parameter.kind is parameter.POSITIONAL_ONLY:
                raise TypeError(f"Parameter {name!r} has to be one that is given by its name.")
            if name not in hints:
                raise TypeError(f"Parameter {name!r} has no type.")
            kind = hints[name]
            if _is_path(kind):
                paths.append(name)
                kind = _as_text(kind)
            default = parameter.default
            given = default is not parameter.empty
            fields.append((name, kind, _in_json(default)) if given else (name, kind))
        self.paths = tuple(paths)
        self._struct = msgspec.defstruct(
            "Arguments", fields, kw_only=True, forbid_unknown_fields=True, frozen=True
        )
        self.schema = _schema(self._struct)

    def read(self, text: str) -> dict[str, Any]:
        """Read the JSON text of a call's arguments, strictly. No text stands for no arguments.

        Raises:
            ArgumentsError: every problem there is.

        """
        raw = json_object(text)
        try:
            read = msgspec.convert(raw, self._struct)
        except msgspec.ValidationError as error:
            problems = list(_problems(raw, self._struct, "", 0)) or [str(error)]
            raise ArgumentsError(_limited(problems)) from None
        return {name: getattr(read, name) for name in self._struct.__struct_fields__}


def json_object(text: str) -> dict[str, Any]:
    """Read a JSON object; no text at all stands for an empty one.

    Raises:
        ArgumentsError: it is not JSON, or not an object.

    """
    try:
        raw = msgspec.json.decode(text or "{}")
    except (msgspec.DecodeError, RecursionError, UnicodeError) as error:
        raise ArgumentsError([f"The arguments are not JSON: {error}."]) from None
    if not isinstance(raw, dict):
        raise ArgumentsError(["The arguments have to be a JSON object, with a name for each."])
    return raw


def _limited(problems: list[str]) -> list[str]:
    left = len(problems) - _PROBLEMS_MAX
    return problems if left <= 0 else [*problems[:_PROBLEMS_MAX], f"And {left} more."]


def _problems(value: object, kind: Any, where: str, depth: int) -> Iterator[str]:
    """Name every problem of a value, the innermost that can be told."""
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        inner = list(_inner(value, kind, where, depth)) if depth < _DEPTH_MAX else []
        # What msgspec says of a part names the part by itself: `$` is the value looked at.
        wrong = str(error).partition(" - at `$")[0]
        yield from inner or [f"{where or 'The whole'}: {wrong}."]


def _inner(value: object, kind: Any, where: str, depth: int) -> Iterator[str]:
    kind = _only(_bare(kind))
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct) and isinstance(value, dict):
        fields = {field.encode_name: field for field in msgspec.structs.fields(kind)}
        for name, field in fields.items():
            place = f"{where}.{name}" if where else name
            if name in value:
                yield from _problems(value[name], field.type, place, depth + 1)
            elif field.required:
                yield f"{place}: it is missing."
        strict = kind.__struct_config__.forbid_unknown_fields
        known = ", ".join(fields) or "none"
        for name in (name for name in value if strict and name not in fields):
            place = f"{where}.{name}" if where else name
            yield f"{place}: there is no such name. There are: {known}."
    elif isinstance(value, list) and typing.get_args(kind):
        for index, one in enumerate(value):
            yield from _problems(one, typing.get_args(kind)[0], f"{where}[{index}]", depth + 1)
    elif isinstance(value, dict) and len(typing.get_args(kind)) == 2:  # noqa: PLR2004 - key, value
        for name, one in value.items():
            yield from _problems(one, typing.get_args(kind)[1], f"{where}.{name}", depth + 1)


def _bare(kind: Any) -> Any:
    return typing.get_args(kind)[0] if hasattr(kind, "__metadata__") else kind


def _only(kind: Any) -> Any:
    """Give the one type that is meant where none at all is another choice."""
    if typing.get_origin(kind) not in (typing.Union, types.UnionType):
        return kind
    members = [member for member in typing.get_args(kind) if member is not type(None)]
    return _bare(members[0]) if len(members) == 1 else None


def _is_path(kind: Any) -> bool:
    bare = _bare(kind)
    return bare is Path or (Path in typing.get_args(bare) and type(None) in typing.get_args(bare))


def _as_text(kind: Any) -> Any:
    bare: Any = str if _bare(kind) is Path else str | None
    extras = getattr(kind, "__metadata__", ())
    return typing.Annotated[(bare, *extras)] if extras else bare


def _in_json(default: object) -> object:
    return default.as_posix() if isinstance(default, Path) else default


def _schema(struct: type[msgspec.Struct]) -> dict[str, Any]:
    """Give the schema of a struct in one piece: itself, and what it refers to."""
    whole = msgspec.json.schema(struct)
    parts: dict[str, Any] = whole["$defs"]
    name = whole["$ref"].rpartition("/")[2]
    top = {key: value for key, value in parts.pop(name).items() if key != "title"}
    return {**top, "$defs": parts} if parts else top


def named(arguments: Mapping[str, object], name: str) -> str:
    """Give an argument as a short text, for a reader."""
    value = arguments.get(name, "")
    return value if isinstance(value, str) else msgspec.json.encode(value, enc_hook=str).decode()
