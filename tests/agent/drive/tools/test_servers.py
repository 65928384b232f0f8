"""Real tool servers are used, trusted no further than is said, and never left behind."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import uvloop
from mcp import MCPError
from tests.support.tool_calls import a_call, admitted, answered, run

from perdure.agent.drive.ports import Ticket
from perdure.agent.drive.tools import warden
from perdure.agent.drive.tools.bench import Bench
from perdure.agent.drive.tools.permit import May
from perdure.agent.drive.tools.process import Confinement
from perdure.agent.drive.tools.server_line import HttpServer, ServerError, ServerLine, StdioServer
from perdure.agent.drive.tools.servers import ServerLostError, ToolServer
from perdure.agent.drive.tools.workspace import Workspace
from perdure.base.errors import KeyOrModelRefusedError, UsageError
from perdure.records.drive import EndCause, RunPolicy
from perdure.records.tools import AnswerStatus, Effect, ToolAnswer, Writes

ROOT = Path(__file__).resolve().parents[4]
OK, ERROR, UNKNOWN = AnswerStatus.OK, AnswerStatus.ERROR, AnswerStatus.UNKNOWN
PYTHON_PATH = {"PYTHONPATH": f"{ROOT}"}
OURS = StdioServer(
    name="s", command=(sys.executable, "-m", "tests.support.tool_server"), environment=PYTHON_PATH
)
IDENTITY = {
    f"GIT_{who}_{what}": "a@b" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
}


def processes_of(folder: Path) -> list[int]:
    """List the processes that work in a folder."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if (entry / "cwd").readlink() == folder:
                found.append(int(entry.name))
        except (OSError, ValueError):
            continue
    return found


def test_a_server_over_pipes(  # noqa: PLR0915 - one server, because each takes seconds to start
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its tools are called, fail, hang, die under a call and are there again, and leave nothing."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-verysecret")
    monkeypatch.setenv("HARMLESS_LOOKING", "verysecret")
    root = tmp_path.resolve()
    seconds = f"7{os.getpid()}1"

    async def work() -> None:
        server = ToolServer(
            OURS,
            Workspace(root),
            trusts_annotations=True,
            declared={"put": May(effect=Effect.WRITE, writes=Writes(paths=("put.txt",)))},
            restarts_max=2,
        )
        bench = Bench(await server.open())
        assert [spec.name for spec in bench.specs][:3] == ["s_look", "s_fetch", "s_put"]
        assert bench.specs[0].description == "Give a text back."

        look = await answered(bench, a_call("s_look", text="é\u2028\n"))
        assert (look.status, look.text) == (OK, "é\u2028\n")
        assert (await answered(bench, a_call("s_put", text="x"))).wrote == Writes(
            paths=("put.txt",)
        )
        assert (root / "put.txt").read_text() == "x"

        failed = await answered(bench, a_call("s_fail"))
        assert (failed.status, "fail" in failed.text) == (ERROR, True)
        missing = await answered(bench, a_call("s_look"))
        assert "text: it is missing" in missing.text
        wrong = await answered(bench, a_call("s_big", length="x"))
        assert wrong.status is ERROR
        environment = json.loads((await answered(bench, a_call("s_environment"))).text)
        assert "verysecret" not in json.dumps(environment)
        assert environment["PATH"]

        # A read that is cancelled leaves the server as it is; several go at the same time.
        task = asyncio.create_task(bench.run(a_call("s_hang")))
        assert (await answered(bench, a_call("s_look", text="1"))).text == "1"
        before = processes_of(root)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (await answered(bench, a_call("s_look", text="2"))).text == "2"
        assert processes_of(root) == before

        # It dies under a read: an error, and the next call finds a new one.
        died = await answered(bench, a_call("s_die"))
        assert (died.status, "lost under the call" in died.text) == (ERROR, True)
        assert (await answered(bench, a_call("s_look", text="3"))).text == "3"

        # A write that is cancelled does not happen after all.
        task = asyncio.create_task(bench.run(a_call("s_spoil", seconds=1.0)))
        while not (root / "spoil.begun").exists():  # noqa: ASYNC110 - another program's doing
            await asyncio.sleep(0.01)
        start = time.monotonic()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        print(f"ended within {(time.monotonic() - start) * 1000:.0f} ms")  # noqa: T201
        assert not processes_of(root)
        assert (await answered(bench, a_call("s_leave", seconds=seconds))).status is OK
        assert len(processes_of(root)) >= 2
        assert not (root / "spoil.txt").exists()

        # Both restarts are used up.
        await answered(bench, a_call("s_die"))
        gone = await answered(bench, a_call("s_look", text="4"))
        assert (gone.status, "too often" in gone.text) == (ERROR, True)
        assert await bench.close(EndCause.CONCLUDED) == ()
        assert not processes_of(root)

    run(work())


def rough(mode: str) -> StdioServer:
    """Name a server that answers in its own way."""
    return StdioServer(
        name="s",
        command=(sys.executable, "-m", "tests.support.rough_server", mode),
        environment=PYTHON_PATH,
    )


@pytest.mark.parametrize(
    ("mode", "status", "told"),
    [
        ("well", OK, "poked"),
        ("error", ERROR, "The tool server answers with an error: no way"),
        ("without content", ERROR, "may be done; but its answer is not one that can be read: "),
        ("alien", ERROR, "may be done; but its answer is not one that can be read: "),
        ("against its schema", ERROR, "may be done; but its answer is not one that can be read: "),
        ("gone", UNKNOWN, "the tool server was lost under the call"),
    ],
)
def test_who_answers_is_not_lost(
    tmp_path: Path, mode: str, status: AnswerStatus, told: str
) -> None:
    """A server that answers with an error, or with what cannot be read, is there as before."""
    root = tmp_path.resolve()

    async def work() -> list[ToolAnswer]:
        server = ToolServer(rough(mode), Workspace(root), restarts_max=0)
        bench = Bench(await server.open())
        try:
            return [await answered(bench, a_call("s_poke")) for _ in range(3)]
        finally:
            await bench.close(EndCause.CONCLUDED)

    said = run(work())
    assert told in said[0].text
    assert said[0].status is status
    # Without a restart, what was lost stays away, and what was not answers again.
    again = said[0] if mode != "gone" else None
    assert all(one == again for one in said[1:]) is (again is not None)


@pytest.mark.parametrize(
    ("message", "is_lost"),
    [("SSE stream ended without a response", True), ("Bad request", False)],
)
def test_over_http_a_stream_that_broke_off_is_a_loss(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, message: str, *, is_lost: bool
) -> None:
    """The client says it with a number that servers use too: its words tell them apart."""

    class Line:
        is_over = False
        client: Line
        ended = 0

        async def call_tool(self, *_: object) -> None:
            raise MCPError(-32000, message)

        def trim(self) -> None: ...

        async def end(self, *, within_s: float) -> None:
            self.ended += within_s == 0

    line = Line()
    line.client = line

    async def to(*_: object) -> Line:
        return line

    monkeypatch.setattr(ServerLine, "to", to)
    server = ToolServer(HttpServer(name="s", url="http://127.0.0.1:9/"), Workspace(tmp_path))
    with pytest.raises(ServerError) as failed:
        run(server.call("poke", {}))
    assert isinstance(failed.value, ServerLostError) is is_lost
    assert line.ended == is_lost


def test_a_server_that_is_none_is_said_to_be_none(tmp_path: Path) -> None:
    """With its last words; and what was started of it is gone."""
    root = tmp_path.resolve()

    async def opened(server: StdioServer | HttpServer) -> None:
        await ToolServer(server, Workspace(root)).open()

    loud = StdioServer(name="loud", command=("sh", "-c", "echo no such module >&2; exit 1"))
    absent = StdioServer(name="absent", command=("no-such-program",))
    away = HttpServer(name="away", url="http://127.0.0.1:1/mcp")
    keyless = HttpServer(name="keyless", url="http://127.0.0.1:1/mcp", key_env="NO_SUCH_KEY")
    for server, words in ((loud, "no such module"), (absent, "No such file"), (away, "away")):
        with pytest.raises(ServerError, match=words):
            run(opened(server))
    with pytest.raises((KeyOrModelRefusedError, ServerError), match="no key"):
        run(opened(keyless))
    assert not processes_of(root)


@pytest.fixture
def address(tmp_path: Path) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """Serve our tools over HTTP, on a free port of this machine."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "tests.support.tool_server", str(port)]
    environment = {**os.environ, **PYTHON_PATH}
    served = subprocess.Popen(command, cwd=tmp_path, env=environment, stderr=subprocess.DEVNULL)
    try:
        yield f"http://127.0.0.1:{port}/mcp", served
    finally:
        served.kill()
        served.wait()


async def reached(server: ToolServer) -> Bench:
    """Open a server as soon as it is there."""
    while True:
        try:
            return Bench(await server.open())
        except ServerError:
            await asyncio.sleep(0.2)


def test_a_server_over_http(tmp_path: Path, address: tuple[str, subprocess.Popen[bytes]]) -> None:
    """Called, cut at a deadline, and lost: an error each, and nothing is raised."""
    url, served = address

    async def work() -> None:
        server = ToolServer(
            HttpServer(name="h", url=url),
            Workspace(tmp_path),
            trusts_annotations=True,
            only=("look", "hang", "put", "fail"),
            deadline_s=3.0,
        )
        bench = await reached(server)
        assert (await answered(bench, a_call("h_look", text="é"))).text == "é"
        assert (await answered(bench, a_call("h_put", text="y"))).status is OK
        assert (tmp_path / "put.txt").read_text() == "y"
        assert (await answered(bench, a_call("h_fail"))).status is ERROR
        late = await answered(bench, a_call("h_hang"))
        assert "longer than 3 seconds" in late.text
        assert (await answered(bench, a_call("h_look", text="5"))).text == "5"
        served.kill()
        served.wait()
        lost = await answered(bench, a_call("h_put", text="z"))
        assert lost.status in (UNKNOWN, ERROR)
        assert (await answered(bench, a_call("h_look", text="6"))).status is ERROR
        await bench.close(EndCause.CONCLUDED)

    run(work())


def test_what_a_tool_may_do_is_for_the_configuration_to_say(tmp_path: Path) -> None:
    """Nothing said: anything. A server's word counts if it is trusted, and ours over it."""

    async def effects(**settings: object) -> dict[str, tuple[Effect | None, Writes]]:
        server = ToolServer(OURS, Workspace(tmp_path), prefix="", **settings)  # type: ignore[arg-type]
        bench = Bench(await server.open())
        calls = {spec.name: a_call(spec.name, text="") for spec in bench.specs}
        await answered(bench, a_call("note_the_end"))
        refused = bench.admit(calls["put"], RunPolicy(egress=False), checkpointed=True)
        assert isinstance(refused, ToolAnswer)
        assert isinstance(admitted(bench, calls["look"]), Ticket)
        await bench.close(EndCause.CONCLUDED)
        return {name: (bench.effect(call), bench.writes(call)) for name, call in calls.items()}

    anything, nothing = Writes(anywhere=True), Writes()

    async def work() -> None:
        untrusted = await effects()
        assert set(untrusted.values()) == {(Effect.EGRESS, anything)}
        trusted = await effects(
            trusts_annotations=True, declared={"fail": May(effect=Effect.SPAWN)}
        )
        assert trusted["look"] == (Effect.READ, nothing)
        assert trusted["fetch"] == (Effect.EGRESS, nothing)
        assert trusted["put"] == (Effect.EGRESS, anything)
        assert trusted["fail"] == (Effect.SPAWN, nothing)
        with pytest.raises(UsageError, match="nosuch"):
            await effects(only=("nosuch",))
        assert (tmp_path / "ended").exists()

    # On the loop that a run has, where it is installed.
    uvloop.run(work())


def test_a_server_from_the_registry_changes_real_files(tmp_path: Path) -> None:
    """The git server of the protocol's own authors adds and commits, confined to its folder."""
    root = tmp_path.resolve()
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    (root / "a.md").write_text("a")
    at = StdioServer(
        name="g",
        command=(sys.executable, "-m", "mcp_server_git", "--repository", str(root)),
        environment=IDENTITY,
        confinement=None if warden.missing() else Confinement(writable=(str(root),)),
    )

    async def work() -> None:
        server = ToolServer(at, Workspace(root), trusts_annotations=True, prefix="")
        bench = Bench(await server.open())
        repository = {"repo_path": str(root)}
        status = await answered(bench, a_call("git_status", **repository))
        assert "a.md" in status.text
        assert bench.effect(a_call("git_status")) is Effect.READ
        assert (await answered(bench, a_call("git_add", files=["a.md"], **repository))).status is OK
        done = await answered(bench, a_call("git_commit", message="by a tool", **repository))
        assert done.status is OK
        await bench.close(EndCause.CONCLUDED)

    run(work())
    log = subprocess.run(
        ["git", "-C", str(root), "log", "--format=%s"], check=True, capture_output=True, text=True
    )
    assert log.stdout == "by a tool\n"
    assert not processes_of(root)
