"""Tools outside a world, for tests: a file that grows, and one that says how often it was read.

The files are in the folder that the variable `PERDURE_TEST_DESK` names. `PERDURE_TEST_DESK_S` is
how long writing one takes, before it is done and after, in seconds.
"""

import os
import time
from pathlib import Path

from perdure.agent.drive.tools.function import tool
from perdure.records.tools import Effect

SECRET = "sk-Zx81Kq0vTe7LmN42RfYw93Hd"


def _append(name: str, text: str) -> None:
    pause_s = float(os.environ.get("PERDURE_TEST_DESK_S", "0"))
    time.sleep(pause_s)  # noqa: TID251 - a tool that takes its time
    with (Path(os.environ["PERDURE_TEST_DESK"]) / name).open("ab", buffering=0) as file:
        file.write(f"{text}\n".encode())
    time.sleep(pause_s)  # noqa: TID251 - as above


@tool(effect=Effect.WRITE, subject="text")
def append_line(text: str) -> str:
    """Append a line to the office's book."""
    _append("book", text)
    return "It is written."


@tool()
def look_up(word: str) -> str:
    """Look a word up."""
    _append("looks", word)
    return f"{word} is a word."


@tool()
def key_of_the_safe() -> str:
    """Say what opens the safe."""
    return f"It is {SECRET}, keep it."


@tool(effect=Effect.EGRESS)
async def tell_the_press(text: str) -> str:
    """Tell the press."""
    _append("press", text)
    return "They know."


@tool(writes=("path",))
def put(path: Path) -> str:
    """Write a file of a workspace, which no persona has."""
    return path.name


@tool(effect=Effect.SPAWN)
def hand_down(task: str) -> str:
    """Hand work down, which no persona can."""
    return task


@tool(deletes=True)
def burn() -> str:
    """Burn the book."""
    return "burnt"


@tool(name="read_document")
def read_else(name: str) -> str:
    """Read a document, under the name of a tool of the world."""
    return name


def nothing() -> None:
    """Be no tool."""
