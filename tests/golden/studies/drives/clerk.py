"""An agent program that drives its own turns: it writes a note, and says so, in lines of JSON."""

import json
import sys
from pathlib import Path


def say(**message: str) -> None:
    """Say something on a line of its own."""
    sys.stdout.write(f"{json.dumps(message)}\n")
    sys.stdout.flush()


for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "cancel":
        say(type="answer", stop="cancelled")
        continue
    say(type="thought", text="One note will do.")
    Path("note.txt").write_text("Bring bread.\n", encoding="utf-8")
    say(type="wrote", text="note.txt", detail="13 bytes")
    say(type="answer", stop="end_turn", text="There is a note now.")
