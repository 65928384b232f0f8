"""A scripted model of a drive that looks at what is there before it does what is missing of it.

It keeps nothing in mind: what it does next is decided by the request alone, as with a real one. Its
work is three notes, each a file, a commit by the tool server if there is one, and a line of a
journal, which is appended and so must not be written twice; a last line is handed down.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from perdure.records.tools import ToolCall

NOTES = ("one", "two", "three")
HANDED = "handed down"
TASK = "Keep three notes, and hand down the last line of the journal."
CHILD_TASK = f"Write the line `{HANDED}` into the journal."

Said = str | tuple[ToolCall, ...]


class Careful:
    """Answers requests; `asked` counts them. `slow` makes the command of a line take its time."""

    def __init__(self, repository: str, slow: Callable[[str], str]) -> None:
        self._repository = repository
        self._slow = slow
        self.asked = 0

    def __call__(self, body: dict[str, Any]) -> Said:
        """Look, or do what the look before shows to be missing."""
        self.asked += 1
        has_git = any(one["function"]["name"] == "git_git_commit" for one in body["tools"])
        messages = body["messages"]
        if messages[-1]["role"] != "tool" or not self._has_looked(messages):
            return self._look(has_git=has_git)
        seen = self._seen(messages)
        if CHILD_TASK in messages[1]["content"]:
            return self._append(HANDED) if HANDED not in seen["journal"] else "It is written."
        for note in NOTES:
            if missing := self._missing(note, seen, has_git=has_git):
                return missing
        if HANDED not in seen["journal"]:
            return (self._call("hand_down", task=CHILD_TASK),)
        return "The three notes are kept, and the last line is written."

    def _look(self, *, has_git: bool) -> Said:
        looks = [self._call("list_files"), self._call("read_file", path="journal.log")]
        if has_git:
            looks.append(self._call("git_git_log", repo_path=self._repository))
        return tuple(looks)

    def _missing(self, note: str, seen: dict[str, str], *, has_git: bool) -> tuple[ToolCall, ...]:
        calls: list[ToolCall] = []
        file = f"{note}.txt"
        if file not in seen["files"]:
            calls.append(self._call("write_file", path=file, text=f"The note {note}.\n"))
        if has_git and f"note {note}" not in seen["log"]:
            calls.append(self._call("git_git_add", repo_path=self._repository, files=[file]))
            message = f"note {note}"
            calls.append(self._call("git_git_commit", repo_path=self._repository, message=message))
        if note not in seen["journal"].split():
            calls += self._append(note)
        return tuple(calls)

    def _append(self, line: str) -> tuple[ToolCall, ...]:
        command = f"{self._slow(line)}echo {line} >> journal.log"
        return (self._call("run_command", command=command),)

    def _call(self, name: str, **arguments: object) -> ToolCall:
        self._count = getattr(self, "_count", 0) + 1
        return ToolCall(id=f"c{self._count}", name=name, arguments=json.dumps(arguments))

    def _has_looked(self, messages: list[dict[str, Any]]) -> bool:
        last = [one for one in messages if one["role"] == "assistant"][-1]
        return last["tool_calls"][0]["function"]["name"] == "list_files"

    def _seen(self, messages: list[dict[str, Any]]) -> dict[str, str]:
        last = [one for one in messages if one["role"] == "assistant"][-1]
        names = {one["id"]: one["function"]["name"] for one in last["tool_calls"]}
        told = {
            names[one["tool_call_id"]]: one["content"]
            for one in messages
            if one["role"] == "tool" and one["tool_call_id"] in names
        }
        journal = told["read_file"]
        return {
            "files": told["list_files"],
            "journal": "" if journal.startswith("read_file failed") else journal,
            "log": told.get("git_git_log", ""),
        }
