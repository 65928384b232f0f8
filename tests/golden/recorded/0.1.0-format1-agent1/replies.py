"""What the endpoint of a golden run says: to the words of a request alone, so that it repeats."""

from __future__ import annotations

import hashlib
from typing import Any

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
_NAMES = {
    "Whom would you vote for today?": ("Ann Reed", "Bob Stone"),
    "Are you for or against the bridge?": ("for it", "against it"),
}


def answer(request: dict[str, Any]) -> str:
    """Answer a request for a chat."""
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
    words = REACTIONS if "agree or disagree" in text else TALK
    return words[draw % len(words)]


def fault(body: Any) -> str | None:
    """Name the fault that a request always meets; None for the most of them."""
    if not isinstance(body, dict):
        return None
    if "input" in body:
        return "status_400" if _draw(str(body["input"])) % 3 == 0 else None
    text = _text(body)
    draw = _draw(text) // 256
    if "make of it all by now" in text or "Think it over" in text:
        return "status_422" if draw % 4 == 0 else None
    if "Sum up in one sentence" in text:
        return "status_400" if draw % 5 == 0 else None
    return "status_400" if draw % 20 == 0 else None


def stumble(body: Any) -> bool:
    """Say whether the first attempt at a request meets a fault that a second one does not."""
    return isinstance(body, dict) and "messages" in body and _draw(_text(body)) // 65536 % 24 == 0


def _text(request: dict[str, Any]) -> str:
    return str(request["messages"][-1]["content"])


def _draw(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")
