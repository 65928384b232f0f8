"""What happens to the foreign runner on its way: the variable MISCHIEF says what, where, when.

It holds a JSON object: `attempt place` (`2 committed:3`; `*` is every attempt) to an action.
"""

import faulthandler
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

PLAN = json.loads(os.environ.get("MISCHIEF", "{}"))
HERE = Path(sys.argv[2]) if len(sys.argv) > 2 else Path()


def at(place: str) -> None:
    """Do what is planned for this place of this attempt."""
    for attempt in (os.environ.get("PERDURE_ATTEMPT", "0"), "*"):
        action, _, rest = PLAN.get(f"{attempt} {place}", "").partition(" ")
        if action:
            globals()[f"do_{action}"](rest)


def do_exit(code: str) -> None:
    """End with an exit status."""
    sys.exit(int(code))


def do_kill(number: str) -> None:
    """End by a signal."""
    os.kill(os.getpid(), int(number or signal.SIGKILL))


def do_hang(how: str) -> None:
    """Wait for ever; `deaf` ignores what can be ignored, `polite` ends with 0 when asked."""
    if how == "deaf":
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
    if how == "polite":
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: sys.exit(0))
    if how == "dumps":
        faulthandler.register(signal.SIGUSR1)
    print("hanging", flush=True)  # noqa: T201 - its output
    while True:
        time.sleep(60)  # noqa: TID251 - not our program


def do_stop(_: str) -> None:
    """Be stopped, as a process is on a machine that swaps or by Ctrl-Z."""
    os.kill(os.getpid(), signal.SIGSTOP)


def do_fork(code: str) -> None:
    """Leave two behind in sessions of their own, one of them without our environment, and go."""
    script = "import signal,time; signal.signal(15, signal.SIG_IGN); time.sleep(600)"
    bare: dict[str, str] = {}
    for variables in (None, bare):
        left = subprocess.Popen(
            [sys.executable, "-c", script], start_new_session=True, env=variables
        )
        with (HERE / "left.txt").open("a") as file:
            file.write(f"{left.pid}\n")
    os._exit(int(code))


def do_log(days: str) -> None:
    """Make the progress log what is said: `0 1 1 2`; then die."""
    rows = [json.dumps({"kind": "day", "day": int(day)}) + "\n" for day in days.split()]
    (HERE / "telemetry.jsonl").write_text("".join(rows))
    os.kill(os.getpid(), signal.SIGKILL)


def do_world(text: str) -> None:
    """Write something else as the artifact, and end with 0."""
    (HERE / "world.jsonl").write_text(json.loads(text))
    os._exit(0)


def do_halve(_: str) -> None:
    """Write half of the artifact, and die."""
    (HERE / "world.jsonl").write_text('{"tag": "day.ended", "day": 0}\n{"tag": "day.e')
    os.kill(os.getpid(), signal.SIGKILL)


def do_say(words: str) -> None:
    """Print something, again and again if a number comes first: `3 word`."""
    count, _, word = words.partition(" ")
    for _ in range(int(count)):
        print(word, flush=True)  # noqa: T201 - its output


def do_outcome(text: str) -> None:
    """Say how it ended in words of its own; the exit status comes first: `0 {...}`."""
    code, _, said = text.partition(" ")
    Path(os.environ["PERDURE_OUTCOME"]).write_text(said)
    os._exit(int(code))


def do_pause(seconds: str) -> None:
    """Work for some time."""
    time.sleep(float(seconds))  # noqa: TID251 - not our program
