"""What the endpoint of a golden run says: to the words of a request alone, so that it repeats."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from typing import Any

# What a model says: words, or the tools that it asks for, each with its arguments.
Said = str | Sequence[tuple[str, dict[str, Any] | str]]

VOTES = (
    "It is {first}.",
    "{second}, I think.",
    "{first} all the way.",
    "If it were today, {second}.",
    "{first}, as always in this house.",
    "I have not decided yet.",
    "I would rather not say, I cannot answer that.",
    "The weather is fine.",
    "{first} or {second}, one of them.",
    "",
)
TALK = (
    "I agree. It would help the young.",
    "I disagree, it costs too much.",
    "My cousin crossed the water every day for thirty years.",
    "It is time that somebody says so.",
    "Let us hear the others first. \u2014 \u00bbAlways\u00ab the others!",
)
REACTIONS = (
    "I agree. It would help the young.",
    "I disagree, it costs too much.",
    "I agree with that.",
    "I disagree.",
    "That is not for me to say.",
    "Agree, agree, or disagree: who can tell?",
)
THOUGHTS = (
    "All in all I lean towards it more than I did.",
    "I trust nobody in this, and less every day.",
    "It matters less than people say.",
)
# What is answered on a channel, in the form that is asked for there or not.
FORMS = (
    "I agree.\nMessage: 1\nAction: {first}\nBelief: much more convinced",
    "I disagree, who pays?\nMessage: 1\nAction: {words}\nBelief: less convinced",
    "Nothing for me.\nMessage: none\nAction: none\nBelief: unchanged",
    "As message 9 says.\nMessage: 9\nAction: {first}",
    "I agree with that.\nMessage: 1\nAction: {words}\nBelief: more convinced",
    "I like it.",
    "They should hear me.\nMessage: 1\nAction: shout\nBelief: much less convinced",
)
PROBES = ("left", "middle", "right", "That is my own affair.")
# The model that gives vectors for everything but this.
EMBEDS_ALL = "golden-model-3"
UNHEARD = "It leaves me cold."
# Of a question of the interview, what is answered by the youngest, the next, and so on.
ASKED = {
    "Which of these do you use?": (
        *("The bus and a bike, but not a car.", "None of them.", "All of them.", "A car."),
        *("I don't use the car.", "I don't know.", "", "As an AI I cannot answer.", "The bus."),
    ),
    "Rank these.": (
        *("1. the bus 2. a bike 3. a car", "bus, bike, car", "Only the bus.", "1. bus 2. car"),
        *("bus < car < bike", "The car beats the bike, and the bus the car.", "I don't know."),
        *("The bus last, the car second, the bike first.", ""),
    ),
    "What would you pay for a ride?": (
        *("2 euros", "At most 3.50 \u20ac.", "1.200", "20 to 30", "5 dollars"),
        *("more than 2 euros", "80 euros", "twenty", "2 euros, but I'm not sure"),
    ),
    "Will you take the tram?": (
        *("I would be on it every day.", "Perhaps, if it rains.", "4", "Not me, I walk."),
        *("It depends on the fare.", "As an AI I cannot answer.", "I may, I may not.", ""),
        *("I look forward to it.", UNHEARD),
    ),
    "Is the tram a good idea?": ("A", "B", "Hm.", "B", "A", "-", "B", "A", "It is."),
}
# What somebody in the office does, step by step, and says in the end.
OFFICE: dict[str, tuple[Said, ...]] = {
    "Ana": (
        [("list_documents", {})],
        [("read_document", {"name": "plan.md"})],
        [
            ("write_document", {"name": "plan.md", "text": "Friday: desks. Sunday: archive."}),
            ("read_document", {"name": "plan.md"}),
        ],
        [("append_line", {"text": "Ana keeps the keys."})],
        "The move can go ahead.",
    ),
    "Ben": (
        [("read_notes", {}), ("list_documents", {})],
        [("write_document", {"name": "list.md", "text": "13 desks."})],
        [("send_note", {"to": "o1", "text": "There are 13 desks."}), ("shred", {"what": "all"})],
        [("send_note", {"to": "o9", "text": "Who are you?"})],
        "We should wait.",
    ),
    "Chi": (*([("read_document", {"name": "lift.md"})],) * 3, "I give up, we should wait."),
    "Dov": ([("list_documents", {})], [("read_notes", {})]) * 3,
    "Eve": (
        [("open_safe", {})],
        [("open_safe", {"tries": 2})],
        [("append_line", '{"text": "half of a')],
        "",
    ),
    "Fay": ([("read_notes", {})],),
}
# What an agent that is driven alone does, by its task.
DRIVES: dict[str, tuple[Said, ...]] = {
    "Tidy the notes.": (
        [("write_file", {"path": "a.txt", "text": "one\n"})],
        [("hand_down", {"task": "Count the notes."})],
        [("write_file", {"path": "b.txt", "text": "two\n"}), ("read_file", {"path": "c.txt"})],
        "The notes are tidy.",
    ),
    "Count the notes.": ([("list_files", {})], "There is one note."),
    "Tidy them otherwise.": ("I leave them as they are.",),
    "Wait for the bell.": ([("run_command", {"command": "echo begun; sleep 100"})],),
    "Write while you may.": (
        [("write_file", {"path": "a.txt", "text": "one\n"})],
        [("list_files", {})],
        "That was all.",
    ),
}
_NAMES = {
    "Whom would you vote for today?": ("Ann Reed", "Bob Stone"),
    "Are you for or against the bridge?": ("for it", "against it"),
    "Are you for or against a street without cars?": ("for it", "against it"),
}


def answer(request: dict[str, Any]) -> Said:
    """Answer a request for a chat."""
    return _step(request) if request.get("tools") else _words(str(request["messages"]), request)


def _words(asked: str, request: dict[str, Any]) -> str:
    """Answer in words. `asked` is the whole request."""
    text = _text(request)
    draw = _draw(text)
    if "make of it all by now" in text or "Think it over" in text:
        return THOUGHTS[draw % len(THOUGHTS)]
    if "Sum up in one sentence" in text:
        return f"In short: {len(text.splitlines()) - 1} of them spoke of the bridge ({draw % 97})."
    for question, names in _NAMES.items():
        if question in text:
            said = VOTES[draw % len(VOTES)]
            return said.format(first=names[draw // 64 % 2], second=names[1 - draw // 64 % 2])
    return _interviewed(text) if _asked(text) else _reaction(asked, text, draw)


def _asked(text: str) -> tuple[str, ...]:
    """Give the answers to the question of the interview that is asked last; none if it is none."""
    last = text.rstrip().rpartition("\n\n")[2]
    return next((said for question, said in ASKED.items() if last.startswith(question)), ())


def _interviewed(text: str) -> str:
    """Answer as somebody of that age does, and as the next one once there is a memory."""
    answers = _asked(text)
    return answers[(_age(text) - 20 + ("What you remember:" in text)) % len(answers)]


def _reaction(asked: str, text: str, draw: int) -> str:
    """Say something about what was shown, in the form that is asked for, or of oneself."""
    if "Which of these is true of you?" in text:
        return PROBES[draw % len(PROBES)]
    if "What you can do:" in asked:
        return _form(asked, draw)
    words = REACTIONS if "agree or disagree" in text else TALK
    return words[draw % len(words)]


def _form(asked: str, draw: int) -> str:
    """React on a channel, as can be done there."""
    first, words = ("like", "comment") if "- like" in asked else ("up", "reply")
    if "- tell" in asked:
        first = words = "tell"
    return FORMS[draw % len(FORMS)].format(first=first, words=words)


def _step(request: dict[str, Any]) -> Said:
    """Do the next step of somebody who has tools, or say the last word."""
    done: int = sum(message["role"] == "assistant" for message in request["messages"])
    told = "\n".join(str(one["content"]) for one in request["messages"] if one["role"] == "user")
    name = re.search(r"^- Name: (\w+)$", told, re.MULTILINE)
    steps: tuple[Said, ...] = OFFICE[name.group(1)] if name else _of(told)
    return steps[min(done, len(steps) - 1)]


def _of(told: str) -> tuple[Said, ...]:
    """Find what is done about a task: the last one, where a branch was given another."""
    return DRIVES[max(DRIVES, key=told.rfind)]


def _age(text: str) -> int:
    found = re.search(r"^- Age: (\d+)", text, re.MULTILINE)
    return int(found.group(1)) if found else 0


def fault(body: Any) -> str | None:
    """Name the fault that a request always meets; None for the most of them."""
    if not isinstance(body, dict):
        return None
    if "input" in body:
        return "status_400" if _is_unheard(body) else None
    if body.get("tools"):
        is_fay = "- Name: Fay" in str(body["messages"])
        return "status_400" if is_fay and body["messages"][-1]["role"] == "tool" else None
    text = _text(body)
    draw = _draw(text) // 256
    if any(question in text for question in ASKED):
        return None
    if "make of it all by now" in text or "Think it over" in text:
        return "status_422" if draw % 4 == 0 else None
    return "status_400" if draw % (5 if "Sum up in one sentence" in text else 20) == 0 else None


def _is_unheard(body: dict[str, Any]) -> bool:
    """Say whether a request for vectors gets none."""
    wants = str(body["input"])
    return UNHEARD in wants if body["model"] == EMBEDS_ALL else _draw(wants) % 3 == 0


def stumble(body: Any) -> bool:
    """Say whether the first attempt at a request meets a fault that a second one does not."""
    return isinstance(body, dict) and "messages" in body and _draw(_text(body)) // 65536 % 24 == 0


def _text(request: dict[str, Any]) -> str:
    return str(request["messages"][-1]["content"])


def _draw(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")
