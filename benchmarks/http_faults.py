"""How far past its deadline a call ends, and what a hostile body costs, fault by fault.

Run it with `python benchmarks/http_faults.py`. The promise is a deadline kept within 250 ms and at
most 64 MiB of memory; nothing here is asserted, because a busy machine is not a bug.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import time
from pathlib import Path

from perdure.inference.http import HttpProvider, HttpSettings
from perdure.records.request import ChatRequest, Failure, Message
from perdure.records.scenario import ModelPin
from perdure.testing import ENDPOINT_FAULTS, MisbehavingServer

_HANGING = ("stall", "stall_mid_body", "drip_body", "drip_head", "late", "huge_length")
_HOSTILE = ("endless_chunks", "endless_body", "text_50_mb", "gzip_bomb", "deflate_bomb")
_FLOODS = ("header_flood", "endless_header", "body_deep", "json_deep_inside")


async def attempt(base_url: str, deadline_s: float) -> tuple[str, float]:
    """Make one attempt in this process; give its cause and its seconds."""
    settings = HttpSettings(base_url=base_url, connect_s=60.0)
    provider = HttpProvider(settings, ModelPin(provider="http", model="m"), environment={})
    await provider.open()
    message = Message(role="user", content="Whom would you vote for?")
    request = ChatRequest(role="tier_a", messages=(message,), tokens_max=50)
    start = time.perf_counter()
    outcome = await provider.chat(request, deadline_s)
    seconds = time.perf_counter() - start
    await provider.close()
    return outcome.cause if isinstance(outcome, Failure) else "reply", seconds


def in_child(base_url: str, deadline_s: float) -> tuple[str, float, float]:
    """Make one attempt in a fresh process; add the memory it took, in MiB."""
    command = [sys.executable, __file__, "--child", base_url, "--deadline", str(deadline_s)]
    shown = subprocess.run(command, check=True, capture_output=True, text=True)
    cause, seconds, memory = json.loads(shown.stdout)
    return cause, seconds, memory


def child(base_url: str, deadline_s: float) -> None:
    """Be the fresh process."""
    before = _peak_kib()
    cause, seconds = asyncio.run(attempt(base_url, deadline_s))
    print(json.dumps([cause, seconds, (_peak_kib() - before) / 1024]))


def _peak_kib() -> int:
    # Not getrusage: its peak is inherited from the parent process.
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


def main() -> None:
    """Play the faults and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--deadline", type=float, default=1.0)
    parser.add_argument("--child")
    options = parser.parse_args()
    if options.child:
        child(options.child, options.deadline)
        return
    print(f"{'fault':<18}{'ends as':<18}{'past deadline':>14}{'memory':>12}")
    with MisbehavingServer(hang_s=60.0) as server:
        for fault in (*_HANGING, *_HOSTILE, *_FLOODS, *ENDPOINT_FAULTS):
            base_url = server.base_url
            deadline_s = options.deadline if fault in _HANGING else 30.0
            if fault in ENDPOINT_FAULTS:
                base_url = server.endpoint(fault)
                deadline_s = options.deadline
            else:
                server.play(fault)
            cause, seconds, memory = in_child(base_url, deadline_s)
            late = (
                f"{max(0.0, seconds - deadline_s) * 1000:.0f} ms" if seconds > deadline_s else "-"
            )
            print(f"{fault:<18}{cause:<18}{late:>14}{memory:>8.1f} MiB")


if __name__ == "__main__":
    main()
