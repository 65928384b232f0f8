"""A drive alone, against an endpoint on loopback that says what a function of the request says."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeVar

from perdure.agent.drive.tools.process import MARK
from perdure.records.alone import Asked, Bounds, Furnishing
from perdure.records.drive import DriveLine, RunPolicy
from perdure.records.tools import ToolCall
from perdure.runner.alone import Company
from perdure.runner.alone_folder import FORMAT
from perdure.runner.attended import Attended
from perdure.study.overrides import Overrides, for_speech
from perdure.testing import MisbehavingServer
from perdure.trace.drive_reader import DriveReader

MODEL = "test-model"
L = TypeVar("L")


def called(name: str, *, tag: str = "c", **arguments: object) -> ToolCall:
    """Make a call of a tool."""
    return ToolCall(id=f"{tag}-{name}", name=name, arguments=json.dumps(arguments))


def turn_of(body: dict[str, Any]) -> int:
    """Say how many replies a request knows of."""
    return sum(message["role"] == "assistant" for message in body["messages"])


def task_of(body: dict[str, Any]) -> str:
    """Give what a request says first."""
    return str(next(one["content"] for one in body["messages"] if one["role"] == "user"))


def asked_of(
    server: MisbehavingServer,
    task: str = "Do it.",
    *,
    tools: Furnishing | None = None,
    key_env: str = "",
    price: str = "1,1",
    **more: Any,
) -> Asked:
    """Ask for a drive."""
    flags = Overrides(
        model="http", base_url=server.base_url, model_name=MODEL, price=price, key_env=key_env
    )
    return Asked(
        format=FORMAT,
        task=task,
        goal="",
        model=for_speech(flags),
        policy=more.pop("policy", RunPolicy()),
        tools=tools or Furnishing(),
        bounds=more.pop("bounds", Bounds()),
        **more,
    )


def alone(folder: Path, **more: Any) -> Company:
    """Give a company of nobody."""
    return Company(interrupts=Attended(folder), **more)


def lines_in(folder: Path) -> list[DriveLine]:
    """Read all lines of a ledger, each checked."""
    with DriveReader.open(folder) as reader:
        return [stored.line for stored in reader.lines()]


def of_kind(lines: Iterable[DriveLine], kind: type[L]) -> list[L]:
    """Keep the lines of one kind."""
    return [line for line in lines if isinstance(line, kind)]


def left_behind(folder: Path) -> list[str]:
    """List the processes in a folder that a drive's tools started, and that still run."""
    found = []
    for process in Path("/proc").iterdir():
        try:
            if (
                not process.name.isdigit()
                or f"{MARK}=".encode() not in (process / "environ").read_bytes()
            ):
                continue
            if (process / "cwd").readlink().is_relative_to(folder):
                found.append((process / "cmdline").read_bytes().decode())
        except OSError:
            continue  # it is gone, or is somebody else's
    return found
