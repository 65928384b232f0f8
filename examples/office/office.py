"""An office of people with tools: they share documents, and leave each other notes.

A tick is a day. Everybody sees the office as it stood in the morning; what they write and send is
there for the others the next morning. Where two write the same document, the later one in the
order of the population wins, and the earlier text is kept as its older version.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from perdure.records.presentation import CompletedTurn, Impression, Presentation, WorldDelta
from perdure.records.tools import AnswerStatus, ToolAnswer, ToolCall, ToolSpec, WorldTool
from perdure.world import BaseWorld


def tool(name: str, description: str, *fields: str, acts: bool = False) -> WorldTool:
    """Describe a tool whose arguments are all texts."""
    parameters = {
        "type": "object",
        "properties": {field: {"type": "string"} for field in fields},
        "required": list(fields),
        "additionalProperties": False,
    }
    return WorldTool(
        spec=ToolSpec(name=name, description=description, parameters=parameters), acts=acts
    )


TOOLS = (
    tool("list_documents", "List the names of the documents in the office."),
    tool("read_document", "Read a document of the office.", "name"),
    tool("read_notes", "Read the notes that colleagues left for you."),
    tool("write_document", "Write a document, or a new version of it.", "name", "text", acts=True),
    tool("send_note", "Leave a note for a colleague, by id.", "to", "text", acts=True),
)


class Office(BaseWorld):
    """Documents and notes; a question to everybody at the end of each day."""

    def reset(self, header: Any) -> None:
        """Furnish the office with the documents that the study gives."""
        self.documents: dict[str, list[str]] = {
            name: [text] for name, text in header.scenario.settings.get("documents", {}).items()
        }
        self.notes: dict[str, list[str]] = {}
        self.question = header.scenario.wave_questions[0]
        self.staff = list(header.persona_ids)

    def step(
        self, tick: int, turns: Sequence[CompletedTurn], plan: Any, answers: Any
    ) -> WorldDelta:
        """Take in what everybody did the day before, in order, and ask them again."""
        for turn in turns:
            for call in turn.did:
                self._do(turn.persona, call.name, json.loads(call.arguments))
        return WorldDelta(
            tick=tick,
            presentations=tuple(
                Presentation(
                    persona=persona,
                    impression=Impression(channel="office"),
                    question=self.question,
                )
                for persona in self.staff
            ),
        )

    def tools(self, persona: str) -> Sequence[WorldTool]:
        """Give everybody the same tools."""
        return TOOLS

    def use(self, persona: str, call: ToolCall, did: Sequence[ToolCall]) -> ToolAnswer:
        """Answer from the office as it stood in the morning, and from the persona's own day."""
        asked = json.loads(call.arguments or "{}")
        mine = {
            one["name"]: one["text"]
            for one in (json.loads(done.arguments) for done in did if done.name == "write_document")
        }
        known = {name: texts[-1] for name, texts in self.documents.items()} | mine
        match call.name, asked:
            case "list_documents", _:
                return said(", ".join(sorted(known)) or "There are no documents.")
            case "read_document", {"name": str(name)}:
                return said(known[name]) if name in known else wrong(f"No document {name!r}.")
            case "read_notes", _:
                return said("\n".join(self.notes.get(persona, ())) or "There are no notes.")
            case "write_document", {"name": str(), "text": str()}:
                return said("Written. The others see it tomorrow.")
            case "send_note", {"to": str(to), "text": str()}:
                return said("Sent.") if to in self.staff else wrong(f"Nobody is called {to!r}.")
            case _:
                return wrong(f"The arguments of {call.name} are not as its description says.")

    def _do(self, persona: str, name: str, asked: dict[str, str]) -> None:
        if name == "write_document":
            self.documents.setdefault(asked["name"], []).append(asked["text"])
        else:
            self.notes.setdefault(asked["to"], []).append(f"{persona}: {asked['text']}")


def said(text: str) -> ToolAnswer:
    """Answer a call."""
    return ToolAnswer(status=AnswerStatus.OK, text=text)


def wrong(text: str) -> ToolAnswer:
    """Say what is wrong with a call."""
    return ToolAnswer(status=AnswerStatus.ERROR, text=text)
