"""A runner that is not ours: it counts days, and has a store, a log and an export of its own.

python foreign.py start|resume DIR DAYS
"""

import json
import os
import sys
from pathlib import Path

from mischief import at  # type: ignore[import-not-found]

verb, out, days = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
store, log, world = out / "store.txt", out / "telemetry.jsonl", out / "world.jsonl"
if (verb == "start") is store.exists():
    sys.exit(f"{verb}: there is {'a' if store.exists() else 'no'} store")
out.mkdir(exist_ok=True)
store.touch()
at("born")
for day in range(len(store.read_text().splitlines()), days):
    with store.open("a") as file:
        file.write(f"{day}\n")
        os.fsync(file.fileno())
    at(f"committed:{day}")
    with log.open("a") as file:
        file.write(json.dumps({"kind": "day", "day": day}) + "\n")
    at(f"logged:{day}")
at("exporting")
rows = [json.dumps({"tag": "day.ended", "day": int(day)}) for day in store.read_text().split()]
world.write_text("".join(row + "\n" for row in rows))
at("exported")
