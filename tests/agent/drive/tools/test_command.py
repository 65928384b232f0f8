"""A command does no harm outside of its workspace, and nothing that it started outlives it."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.support.tool_calls import a_call, admitted, answered, run

from perdure.agent.drive.ports import Ticket
from perdure.agent.drive.tools import warden
from perdure.agent.drive.tools.bench import Bench
from perdure.agent.drive.tools.command import CommandTool, NoSandboxError
from perdure.agent.drive.tools.environment import scrubbed, secrets_in
from perdure.agent.drive.tools.workspace import Workspace
from perdure.records.drive import EndCause, PlacePolicy, RunPolicy
from perdure.records.tools import AnswerStatus, Effect, ToolAnswer

OK, ERROR = AnswerStatus.OK, AnswerStatus.ERROR

confined = pytest.mark.skipif(bool(warden.missing()), reason=warden.missing() or "-")
# A tree of processes in sessions of their own, and one whose parent is gone.
TREE = "setsid sh -c 'setsid sleep {0} & sleep {0}' & (setsid sleep {0} &) ; "


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Make a workspace beside a file that is not in it."""
    (tmp_path / "outside").write_text("kept")
    root = tmp_path / "work"
    root.mkdir()
    return root


def tell(root: Path, command: str, **settings: object) -> ToolAnswer:
    """Run one command, in a sandbox where there is one."""
    settings.setdefault("unsandboxed", bool(warden.missing()))

    async def work() -> ToolAnswer:
        bench = Bench([CommandTool(Workspace(root), **settings)])  # type: ignore[arg-type]
        answer = await answered(bench, a_call("run_command", command=command))
        await bench.close(EndCause.CONCLUDED)
        return answer

    return run(work())


def sleepers(seconds: str) -> list[int]:
    """List the processes that sleep for a number of seconds that nobody else sleeps for."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if (entry / "cmdline").read_bytes() == f"sleep\0{seconds}\0".encode():
                found.append(int(entry.name))
        except (OSError, ValueError):
            continue
    return found


async def seen(seconds: str, count: int) -> None:
    """Wait until so many processes sleep for a number of seconds, or none if none are to."""
    while len(sleepers(seconds)) < count or (count == 0 and sleepers(seconds)):  # noqa: ASYNC110
        await asyncio.sleep(0.01)


def test_a_command_tells_its_output_and_its_exit_status(root: Path) -> None:
    """What goes to either stream is there, and a status that is not zero is an error."""
    answer = tell(root, "echo out; echo err >&2; pwd; touch made; cat")
    assert answer.status is OK
    assert answer.text == f"out\nerr\n{root}\n"
    assert (root / "made").exists()
    assert tell(root, "true").text == "[no output]"
    failed = tell(root, "printf x; exit 3")
    assert (failed.status, failed.text) == (ERROR, "x\n[exit status 3]")
    assert tell(root, "kill -9 $$").text == "[killed by signal 9]"


def test_a_command_runs_in_a_folder_of_the_workspace(root: Path) -> None:
    """And in no other."""
    (root / "sub").mkdir()
    bench = Bench([CommandTool(Workspace(root), unsandboxed=True)])
    call = a_call("run_command", command="pwd", folder="sub")
    assert run(answered(bench, call)).text == f"{root}/sub\n"
    for folder in ("..", "/", "missing"):
        call = a_call("run_command", command="pwd", folder=folder)
        assert run(answered(bench, call)).status is not OK


@confined
@pytest.mark.parametrize(
    "command",
    [
        "echo x > ../outside",
        "rm ../outside",
        "mv ../outside .",
        "ln ../outside mine && echo x > mine",
        "ln -s ../outside link; echo x > link",
        "chmod 600 ../outside",
        "touch -d 2001-01-01 ../outside",
        "mkdir ../new",
        "python3 -c 'import os; os.truncate(\"../outside\", 0)'",
        "mount -t tmpfs none .",
        "kill -0 $PPID",
        "kill -0 DRIVER",
        "cat /proc/$PPID/environ",
        "python3 -c 'import socket; socket.socket()'",
        "python3 -c 'import socket; socket.socket(socket.AF_UNIX)'",
        "unshare -Ur true",
    ],
)
def test_a_confined_command_can_do_nothing_outside(root: Path, command: str) -> None:
    """Nothing is written, moved, renamed, reached or ended that is not its own."""
    before = (root.parent / "outside").stat()
    answer = tell(root, command.replace("DRIVER", str(os.getpid())), output_max=2000)
    after = (root.parent / "outside").stat()
    if "unshare" not in command:
        assert answer.status is ERROR, answer.text
    assert (root.parent / "outside").read_text() == "kept"
    assert (before.st_mode, before.st_mtime, before.st_ino) == (
        after.st_mode,
        after.st_mtime,
        after.st_ino,
    )
    assert sorted(path.name for path in root.parent.iterdir()) == ["outside", "work"]


@confined
def test_a_confined_command_can_do_its_work(root: Path) -> None:
    """It writes in the workspace and in a scratch folder, and to what is there for everybody."""
    script = (
        "set -e; mkdir a; echo x > a/b; mv a/b c; chmod 700 c; rm -r a; ln -s c d; echo > /dev/null"
    )
    answer = tell(root, f"{script}; f=$(mktemp); echo y > $f; cat $f c; echo z >> /dev/stdout")
    assert (answer.status, answer.text) == (OK, "y\nx\nz\n")


@confined
def test_egress_is_by_leave(root: Path) -> None:
    """With it, a command has sockets; and then the call says that it may reach outside."""
    socket = "python3 -c 'import socket; socket.socket(); print(1)'"
    assert tell(root, socket, egress=True).text == "1\n"
    open_ = CommandTool(Workspace(root), egress=True)
    shut = CommandTool(Workspace(root))
    call = a_call("run_command", command="true")
    assert Bench([open_]).effect(call) is Effect.EGRESS
    assert Bench([shut]).effect(call) is Effect.WRITE
    assert isinstance(admitted(Bench([shut], place=PlacePolicy(confidential=True)), call), Ticket)
    assert isinstance(
        admitted(Bench([open_], place=PlacePolicy(confidential=True)), call), ToolAnswer
    )
    assert isinstance(admitted(Bench([open_]), call, RunPolicy(egress=False)), ToolAnswer)
    assert isinstance(Bench([shut]).admit(call, RunPolicy(), checkpointed=False), ToolAnswer)


@confined
def test_landlock_alone_confines_as_well(root: Path) -> None:
    """Where a system gives no mounts of its own, writes outside are refused all the same."""
    program = (
        "import runpy, subprocess, sys\n"
        "w = runpy.run_path(sys.argv[1])\n"
        "w['confine'].__globals__['_read_only_elsewhere'] = lambda writable: False\n"
        "w['confine']([sys.argv[2]], egress=False)\n"
        "for path in ('/outside', '/work/inside'):\n"
        "    try: open(sys.argv[2][:-5] + path, 'w').close(); print('written')\n"
        "    except PermissionError: print('refused')\n"
        "import socket\n"
        "try: socket.socket()\n"
        "except PermissionError: print('no socket')\n"
    )
    shown = subprocess.run(
        [sys.executable, "-c", program, warden.__file__, str(root)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert shown.stdout.split("\n")[:3] == ["refused", "written", "no socket"], shown.stderr


def test_where_nothing_confines_a_command_there_is_none(root: Path) -> None:
    """Unless somebody says in so many words that it may do anything; then it may reach outside."""
    with pytest.raises(NoSandboxError, match=r"no such kernel.*--unsandboxed"):
        CommandTool(Workspace(root), missing=lambda: "no such kernel")
    free = CommandTool(Workspace(root), missing=lambda: "no such kernel", unsandboxed=True)
    assert Bench([free]).effect(a_call("run_command", command="true")) is Effect.EGRESS


def test_no_secret_is_in_a_commands_environment(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only what is known to be harmless is passed on, and what the caller adds."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-verysecret")
    monkeypatch.setenv("INNOCENT_LOOKING", "verysecret")
    answer = tell(root, "env", environment={"MINE": "1"})
    assert "verysecret" not in answer.text
    assert "MINE=1" in answer.text
    assert "PATH=" in answer.text
    assert scrubbed({"PATH": "/bin", "LC_ALL": "C", "X_TOKEN": "x"}) == {
        "PATH": "/bin",
        "LC_ALL": "C",
    }
    assert secrets_in({"A_KEY": "12345678", "B_TOKEN": "x", "HOME": "/home/me"}) == ("12345678",)


@pytest.mark.parametrize("kind", ["confined", "free"])
def test_a_cancelled_command_is_killed_with_all_that_it_started(root: Path, kind: str) -> None:
    """In whatever session, orphans too, before the call returns; and it is named at the end."""
    seconds = f"8{os.getpid()}1"
    unsandboxed = kind == "free" or bool(warden.missing())

    async def work() -> tuple[float, tuple[str, ...]]:
        bench = Bench([CommandTool(Workspace(root), unsandboxed=unsandboxed)])
        command = TREE.format(seconds) + f"sleep {seconds}"
        task = asyncio.create_task(bench.run(a_call("run_command", command=command)))
        await seen(seconds, 4)
        start = time.monotonic()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        took = time.monotonic() - start
        assert not sleepers(seconds)
        return took, await bench.close(EndCause.HALT)

    took, named = run(work())
    print(f"killed within {took * 1000:.0f} ms")  # noqa: T201 - a figure, not a verdict
    assert len(named) == 1
    assert named[0].startswith("setsid sh -c")


def test_what_a_command_leaves_behind_ends_with_it(root: Path) -> None:
    """A command that is over has nothing running any more."""
    seconds = f"8{os.getpid()}2"
    assert tell(root, TREE.format(seconds) + "echo over").text == "over\n"
    assert not sleepers(seconds)


def test_a_deadline_kills_a_command_and_keeps_what_it_said(root: Path) -> None:
    """By the tool's own, or by the one that the call asks for."""
    seconds = f"8{os.getpid()}3"
    answer = tell(root, f"echo so far; sleep {seconds}", deadline_s=0.5)
    assert answer.status is ERROR
    assert answer.text.startswith("so far\n[killed with all that it had started: it took longer")
    bench = Bench([CommandTool(Workspace(root), unsandboxed=True)])
    call = a_call("run_command", command=f"sleep {seconds}", seconds=0.3)
    assert "0.3 seconds" in run(answered(bench, call)).text
    assert not sleepers(seconds)


def test_a_flood_of_output_is_cut_and_then_ended(root: Path) -> None:
    """The beginning and the end are told, with the number of bytes between."""
    answer = tell(
        root, "echo begin; head -c 3000000 /dev/zero | tr '\\0' x; echo end", output_max=999
    )
    assert answer.status is OK
    assert answer.text.startswith("begin\nxxx")
    assert answer.text.endswith("xxxend\n")
    assert len(answer.text.encode()) <= 999
    assert 2_999_000 < answer.dropped < 3_000_020
    assert f"{answer.dropped} bytes are left out" in answer.text
    assert "more output than is kept" in tell(root, "yes").text


def test_a_command_that_runs_at_the_end_is_killed_and_named(root: Path) -> None:
    """Its call gets an end as well."""
    seconds = f"8{os.getpid()}4"

    async def work() -> None:
        bench = Bench([CommandTool(Workspace(root), unsandboxed=True)])
        task = asyncio.create_task(bench.run(a_call("run_command", command=f"sleep {seconds}")))
        await seen(seconds, 1)
        named = await bench.close(EndCause.HALT)
        assert named == ("run_command (c0)", f"sleep {seconds}")
        assert not sleepers(seconds)
        await asyncio.wait({task})

    run(work())


DRIVER = """
import asyncio, sys
from pathlib import Path
from perdure.agent.drive.tools.bench import Bench
from perdure.agent.drive.tools.command import CommandTool
from perdure.agent.drive.tools.workspace import Workspace
from perdure.records.tools import ToolCall
import msgspec
bench = Bench([CommandTool(Workspace(Path(sys.argv[1])), unsandboxed=True)])
arguments = msgspec.json.encode({"command": sys.argv[2]}).decode()
asyncio.run(bench.run(ToolCall(id="c", name="run_command", arguments=arguments)))
"""


def test_a_command_ends_when_its_driver_is_killed(root: Path) -> None:
    """Even by SIGKILL, which gives nobody time for anything."""
    seconds = f"8{os.getpid()}5"
    driver = subprocess.Popen(
        [sys.executable, "-c", DRIVER, str(root), TREE.format(seconds) + "wait"]
    )
    try:

        async def work() -> None:
            await seen(seconds, 3)
            driver.send_signal(signal.SIGKILL)
            await seen(seconds, 0)

        run(work())
    finally:
        driver.kill()
        driver.wait()


def test_a_program_that_is_not_there_is_an_error(root: Path) -> None:
    """The shell says so."""
    assert "not found" in tell(root, "nosuchprogram").text
