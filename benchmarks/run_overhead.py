"""What a run costs above the model's own time: makespan and CPU, as ratios to floors of this run.

W1 is 100 personas over 10 ticks at 100 ms a call, W2 is 1,000 personas over 10 ticks at 200 ms.
Each is a real study, run by `perdure.runner.run` with the persona agent, waves and exposures over
loopback HTTP, every tick committed to disk. Ideal is ten times the latency: all calls of a tick at
once, and nothing else.

Beside it, in turn and as often, floors make the same number of calls of the same size, tick by
tick: `bare`, an asyncio protocol that only cuts replies out of the stream; `client`, the HTTP
library that Perdure uses, with nothing around it; and `uvloop`, the same client on the event loop
that Perdure uses. What Perdure costs is its CPU less the client's.

Every part is a process of its own, so that nothing is warm for one and cold for the other; the
server is another. All find their modules compiled, as they are where something is installed. Run it
with `python benchmarks/run_overhead.py`; `--profile W1` shows where the time goes.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import cProfile
import json
import os
import pstats
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

Call = Callable[[], Awaitable[None]]

TICKS = 10


class Workload(NamedTuple):
    """Personas, seconds of latency a call, and the ratio to ideal that is aimed at."""

    personas: int
    latency_s: float
    target: float


WORKLOADS = {"W1": Workload(100, 0.1, 1.15), "W2": Workload(1_000, 0.2, 1.5)}
CPU_TARGET_US = 150.0

_SERVER = r"""
import asyncio, json, sys
latency = float(sys.argv[1])
sizes = []
text = "I would vote for the blue one, because it is nearest to what I think myself."
chat = json.dumps({
    "id": "1", "object": "chat.completion", "created": 1, "model": "bench-1",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": text},
                 "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 300, "completion_tokens": 20, "total_tokens": 320},
}).encode()

def whole(body):
    head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
    return head % len(body) + body

class Server(asyncio.Protocol):
    def connection_made(self, transport):
        self.transport, self.buffer = transport, b""

    def data_received(self, data):
        self.buffer += data
        head, end, rest = self.buffer.partition(b"\r\n\r\n")
        if not end:
            return
        if head.startswith(b"GET"):
            self.buffer = b""
            mean = round(sum(sizes) / len(sizes)) if sizes else 0
            seen = {"data": [{"id": "bench-1"}], "calls": len(sizes), "mean_bytes": mean}
            self.transport.write(whole(json.dumps(seen).encode()))
            return
        length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
        if len(rest) >= length:
            self.buffer = rest[length:]
            sizes.append(length)
            loop.call_later(latency, self.answer)

    def answer(self):
        if not self.transport.is_closing():
            self.transport.write(reply)

async def main():
    global loop, reply
    loop, reply = asyncio.get_running_loop(), whole(chat)
    server = await loop.create_server(Server, "127.0.0.1", 0, backlog=4096)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()

asyncio.run(main())
"""

_STUDY = """\
perdure: 1
name: overhead
brief:
  title: Two colours
  text: People in a town choose a colour for the new bridge. They hear what others think of it.
  claims:
    blue: Blue is the colour of the river, and it hides the dirt.
ontology:
  attributes:
    age: {{column: age, label: Age, unit: years}}
    side: {{column: side, label: Side of the river, scale: {{1: north, 2: south}}}}
population: {{file: people.csv, id: id}}
questions:
  colour:
    text: Which colour should the bridge have? Answer in your own words.
    choices: {{blue: the blue one, red: the red one}}
variants: {{bridge: ""}}
scenarios:
  shown:
    variant: bridge
    horizon: {ticks}
    waves: [0, {last}]
    wave_question: colour
    exposure_question: colour
    exposures: {exposures}
seeds: [1]
models:
  bench:
    provider: http
    model: bench-1
    base_url: http://127.0.0.1:{port}/v1
    limits: {{concurrency: {personas}}}
    price: {{input: 0.15, output: 0.6}}
agent: {{reflect_every: 0}}
"""


def write_study(folder: Path, personas: int, port: int) -> Path:
    """Write the study and its people; every persona takes one turn at every tick."""
    rows = "".join(f"{index},{20 + index % 60},{1 + index % 2}\n" for index in range(personas))
    (folder / "people.csv").write_text("id,age,side\n" + rows, encoding="utf-8")
    shown = {tick: ["blue"] for tick in range(1, TICKS - 1)}
    study = folder / "study.yaml"
    text = _STUDY.format(ticks=TICKS, last=TICKS - 1, exposures=shown, port=port, personas=personas)
    study.write_text(text.replace("'", ""), encoding="utf-8")
    return study


@contextlib.contextmanager
def measured(figures: dict[str, float]) -> Iterator[None]:
    """Take the wall seconds and the CPU seconds of all threads of this process."""
    before, started = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
    yield
    after = resource.getrusage(resource.RUSAGE_SELF)
    figures["wall_s"] = time.perf_counter() - started
    figures["cpu_s"] = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def run_perdure(personas: int, port: int, _mean_bytes: int) -> dict[str, float]:
    """Run the study, from its loaded form to its closed record."""
    from perdure import RunConfig, load_study, run  # noqa: PLC0415 - only this part pays for it

    figures: dict[str, float] = {}
    with tempfile.TemporaryDirectory(dir=os.environ.get("BENCH_DIR")) as name:
        path = write_study(Path(name), personas, port)
        loaded = load_study(path)
        config = RunConfig(
            study=loaded.study,
            population=loaded.population,
            held_out=loaded.held_out,
            study_path=str(path),
            out=str(Path(name) / "run"),
        )
        with measured(figures):
            result = run(config)
        turns = sum(world.turns for world in result.worlds)
        assert result.exit_status == 0, result.cause
        assert turns == personas * TICKS, turns
    return figures


def run_bare(personas: int, port: int, mean_bytes: int) -> dict[str, float]:
    """Make the calls with nothing but a protocol that finds the end of a reply."""
    return asyncio.run(_rounds(_bare(personas, port, b"x" * mean_bytes), personas))


def run_client(personas: int, port: int, mean_bytes: int) -> dict[str, float]:
    """Make the calls with the HTTP library, deadline and cap on bytes included."""
    return asyncio.run(_rounds(_client(port, b"x" * mean_bytes), personas))


def run_client_on_uvloop(personas: int, port: int, mean_bytes: int) -> dict[str, float]:
    """Make the calls with the HTTP library on the event loop that a run has."""
    from perdure.runner.loop import event_loop  # noqa: PLC0415 - only this part pays for it

    with asyncio.Runner(loop_factory=event_loop) as runner:
        return runner.run(_rounds(_client(port, b"x" * mean_bytes), personas))


async def _rounds(
    opened: contextlib.AbstractAsyncContextManager[Call], personas: int
) -> dict[str, float]:
    figures: dict[str, float] = {}
    with measured(figures):
        async with opened as call:
            for _ in range(TICKS):
                await asyncio.gather(*(call() for _ in range(personas)))
    return figures


class _Bare(asyncio.Protocol):
    """One connection: one request at a time, the reply found by its length."""

    transport: asyncio.Transport
    waiter: asyncio.Future[None]

    def __init__(self) -> None:
        self.buffer = bytearray()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        end = self.buffer.find(b"\r\n\r\n")
        if end < 0:
            return
        start = self.buffer.find(b"content-length: ") + 16
        length = int(self.buffer[start : self.buffer.find(b"\r", start)])
        if len(self.buffer) >= end + 4 + length:
            self.buffer.clear()
            self.waiter.set_result(None)


@contextlib.asynccontextmanager
async def _bare(personas: int, port: int, body: bytes) -> AsyncIterator[Call]:
    loop = asyncio.get_running_loop()
    request = (
        f"POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\n"
        f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    ).encode() + body
    made = await asyncio.gather(
        *(loop.create_connection(_Bare, "127.0.0.1", port) for _ in range(personas))
    )
    idle = [protocol for _, protocol in made]

    async def call() -> None:
        connection = idle.pop()
        connection.waiter = loop.create_future()
        connection.transport.write(request)
        await connection.waiter
        idle.append(connection)

    yield call
    for connection in idle:
        connection.transport.close()


@contextlib.asynccontextmanager
async def _client(port: int, body: bytes) -> AsyncIterator[Call]:
    from datetime import timedelta  # noqa: PLC0415

    from pyreqwest.client import ClientBuilder  # noqa: PLC0415

    url = f"http://127.0.0.1:{port}/v1/chat/completions"
    builder = ClientBuilder().gzip(enable=False).brotli(enable=False).zstd(enable=False)
    builder = builder.deflate(enable=False).http1_only().no_proxy()
    builder = builder.default_headers({"content-type": "application/json"})
    async with builder.build() as client:

        async def call() -> None:
            request = client.post(url).body_bytes(body).timeout(timedelta(seconds=60))
            async with request.build_streamed() as response:
                assert response.status == 200
                while chunk := await response.body_reader.read(1 << 16):
                    if len(chunk) < 1 << 16:
                        break

        yield call


PARTS = {
    "bare": run_bare,
    "client": run_client,
    "uvloop": run_client_on_uvloop,
    "perdure": run_perdure,
}


@contextlib.contextmanager
def server(latency_s: float) -> Iterator[int]:
    """Serve in another process; give the port."""
    command = [sys.executable, "-I", "-c", _SERVER, str(latency_s)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline())
        finally:
            process.terminate()


def seen(port: int) -> dict[str, Any]:
    """Ask the server how many calls it had, and their mean size."""
    import http.client  # noqa: PLC0415

    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request("GET", "/v1/models")
    told: dict[str, Any] = json.loads(connection.getresponse().read())
    connection.close()
    return told


def part(name: str, workload: str, port: int, mean_bytes: int) -> dict[str, float]:
    """Run one part in a process of its own."""
    command = [sys.executable, __file__, "--part", name, workload, str(port), str(mean_bytes)]
    compiled = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    shown = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=compiled)
    figures: dict[str, float] = json.loads(shown.stdout.splitlines()[-1])
    return figures


def measure(name: str, rounds: int) -> dict[str, dict[str, float]]:
    """Run every part `rounds` times in turn; give the median of each figure."""
    workload = WORKLOADS[name]
    figures: dict[str, list[dict[str, float]]] = {part_name: [] for part_name in PARTS}
    with server(workload.latency_s) as port:
        part("perdure", name, port, 0)  # what the calls are like; files and code are warm after it
        told = seen(port)
        assert told["calls"] == workload.personas * TICKS, told
        for _ in range(rounds):
            for part_name, all_figures in figures.items():
                all_figures.append(part(part_name, name, port, told["mean_bytes"]))
    return {
        part_name: {
            key: statistics.median(one[key] for one in all_figures) for key in ("wall_s", "cpu_s")
        }
        for part_name, all_figures in figures.items()
    }


def show(name: str, medians: dict[str, dict[str, float]]) -> None:
    """Print a workload's ratios beside what is aimed at."""
    workload = WORKLOADS[name]
    ideal, turns = TICKS * workload.latency_s, workload.personas * TICKS
    print(
        f"{name}: {workload.personas} personas x {TICKS} ticks, "
        f"{workload.latency_s * 1000:.0f} ms a call, ideal {ideal:.2f} s"
    )
    print(f"  {'':<9}{'makespan':>10}{'/ ideal':>9}{'/ bare':>8}{'CPU us/turn':>13}")
    for part_name, figures in medians.items():
        wall, bare = figures["wall_s"], medians["bare"]["wall_s"]
        print(
            f"  {part_name:<9}{wall:>8.3f} s{wall / ideal:>9.2f}{wall / bare:>8.2f}"
            f"{figures['cpu_s'] / turns * 1e6:>13.0f}"
        )
    ratio = medians["perdure"]["wall_s"] / ideal
    print(f"  makespan / ideal             {ratio:>6.2f}   target <= {workload.target}")
    for floor, what in (("client", ""), ("uvloop", ", on the same event loop")):
        above = (medians["perdure"]["cpu_s"] - medians[floor]["cpu_s"]) / turns * 1e6
        target = f"target <= {CPU_TARGET_US:.0f} us a turn{what}"
        print(f"  CPU above the HTTP library's {above:>6.0f}   {target}")


def profile(name: str) -> None:
    """Show where a run's own time goes."""
    workload = WORKLOADS[name]
    profiler = cProfile.Profile()
    with server(workload.latency_s) as port:
        profiler.enable()
        run_perdure(workload.personas, port, 0)
        profiler.disable()
    pstats.Stats(profiler).sort_stats("tottime").print_stats(40)
    pstats.Stats(profiler).sort_stats("cumtime").print_stats(60)


def main() -> None:
    """Measure both workloads and print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", choices=WORKLOADS)
    parser.add_argument("--profile", choices=WORKLOADS)
    parser.add_argument("--part", nargs=4, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.part:
        name, workload, port, mean_bytes = asked.part
        figures = PARTS[name](WORKLOADS[workload].personas, int(port), int(mean_bytes))
        print(json.dumps(figures), flush=True)
        if name in {"client", "uvloop"}:
            # Threads of the bare library may still be ending; an orderly exit can trip over them.
            os._exit(0)
    elif asked.profile:
        profile(asked.profile)
    else:
        for name in [asked.only] if asked.only else WORKLOADS:
            show(name, measure(name, asked.rounds))


if __name__ == "__main__":
    main()
