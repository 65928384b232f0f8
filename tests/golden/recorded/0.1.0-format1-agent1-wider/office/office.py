"""A user's own world with tools: a small office that moves to another building.

Everybody sees the office as it stood in the morning. Only the head of the office writes documents;
anybody leaves notes. What was written and left is there for all the next morning.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from perdure.records.presentation import (
    CompletedTurn,
    Exposure,
    Impression,
    Presentation,
    Stimulus,
    WorldDelta,
)
from perdure.records.tools import AnswerStatus, ToolAnswer, ToolCall, ToolSpec, WorldTool
from perdure.world import BaseWorld

HEAD = "o1"


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
    tool("list_documents", "List the names of the documents."),
    tool("read_document", "Read a document.", "name"),
    tool("read_notes", "Read the notes that colleagues left for you."),
    tool("write_document", "Write a document, or a new version of it.", "name", "text", acts=True),
    tool("send_note", "Leave a note for a colleague, by id.", "to", "text", acts=True),
)


class Office(BaseWorld):
    """Documents and notes; what the board says in the morning; a question to everybody."""

    def reset(self, header: Any) -> None:
        """Furnish the office."""
        self.documents = dict(header.scenario.settings["documents"])
        self.notes: dict[str, list[str]] = {}
        self.question = header.scenario.wave_questions[0]
        self.staff = list(header.persona_ids)

    def step(
        self, tick: int, turns: Sequence[CompletedTurn], plan: Any, answers: Any
    ) -> WorldDelta:
        """Take in what everybody did the day before, in order, and ask them again."""
        done = [(turn.persona, call) for turn in turns for call in turn.did]
        for persona, call in done:
            asked = json.loads(call.arguments)
            if call.name == "write_document":
                self.documents[asked["name"]] = asked["text"]
            else:
                self.notes.setdefault(asked["to"], []).append(f"{persona}: {asked['text']}")
        board = Stimulus(
            id=f"board-{tick}",
            kind="board",
            text=f"{len(self.documents)} documents; {len(done)} things were done yesterday.",
        )
        shown = Impression(
            channel="office", exposures=(Exposure(stimulus=board.id, reason="on the board"),)
        )
        return WorldDelta(
            tick=tick,
            stimuli=(board,),
            presentations=tuple(
                Presentation(persona=persona, impression=shown, question=self.question)
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
        known = self.documents | mine
        match call.name, asked:
            case "list_documents", _:
                return said(", ".join(sorted(known)))
            case "read_document", {"name": str(name)}:
                return said(known[name]) if name in known else wrong(f"No document {name!r}.")
            case "read_notes", _:
                return said("\n".join(self.notes.get(persona, ())) or "There are no notes.")
            case "write_document", {"name": str(), "text": str()}:
                return written(persona)
            case "send_note", {"to": str(to), "text": str()}:
                return said("Sent.") if to in self.staff else wrong(f"Nobody is called {to!r}.")
            case _:
                return wrong(f"The arguments of {call.name} are not as its description says.")


def said(text: str) -> ToolAnswer:
    """Answer a call."""
    return ToolAnswer(status=AnswerStatus.OK, text=text)


def written(persona: str) -> ToolAnswer:
    """Answer somebody who writes: it is for the head to do."""
    if persona == HEAD:
        return said("Written. The others see it tomorrow.")
    return ToolAnswer(status=AnswerStatus.REFUSED, text="The head of the office writes here.")


def wrong(text: str) -> ToolAnswer:
    """Say what is wrong with a call."""
    return ToolAnswer(status=AnswerStatus.ERROR, text=text)
