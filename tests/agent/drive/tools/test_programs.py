"""Real programs, good and bad, are watched, cut and closed; nothing of them remains."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import shlex
import socket
import sys
import textwrap
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import msgspec
import pytest
from tests.support.drives import Simulation

from perdure.agent.drive import harness
from perdure.agent.drive.ceilings import Limited
from perdure.agent.drive.handoff import Brief
from perdure.agent.drive.harness import Report, drive_program
from perdure.agent.drive.ports import Interrupt, Interrupts, Place, SafePoint, Steer, Stop
from perdure.agent.drive.tools import programs
from perdure.agent.drive.tools.process import Confinement
from perdure.agent.drive.tools.programs import AcpProgram, LineProgram, ProgramProcess
from perdure.agent.drive.tools.warden import missing
from perdure.agent.drive.tools.workspace import Workspace
from perdure.base.clock import SystemClock
from perdure.records.alone import Asked, Bounds, Furnishing
from perdure.records.drive import EndCause, HarnessAnswered, HarnessReported, RunFrozen, RunPolicy
from perdure.runner.furnishing import program_for

CLOSING = ["handoff_written", "run_frozen"]

# What every program here begins with. Whatever it starts notes its number in the room.
COMMON = """
import json, os, signal, subprocess, sys, time
def note():
    with open("pids", "a") as file:
        file.write(f"{os.getpid()}\\n")
def raw(data):
    sys.stdout.buffer.write(data)
    sys.stdout.flush()
def say(**message):
    raw(json.dumps(message).encode() + b"\\n")
def hear():
    line = sys.stdin.readline()
    return json.loads(line) if line else sys.exit(0)
def reply(message, **result):
    say(jsonrpc="2.0", id=message["id"], result=result)
def begin():
    reply(hear(), protocolVersion=1, agentCapabilities={})
    reply(hear(), sessionId="s1")
    return hear()
def update(kind, **more):
    told = {"sessionUpdate": kind, **more}
    say(jsonrpc="2.0", method="session/update", params={"sessionId": "s1", "update": told})
def said(text):
    update("agent_message_chunk", content={"type": "text", "text": text})
def call(method, **params):
    say(jsonrpc="2.0", id="mine", method=method, params=params)
    return hear()
note()
"""


class Said:
    """What somebody says while a program runs: a stop that is looked for, or a halt that cuts."""

    def __init__(self) -> None:
        self.now: list[Interrupt] = []
        self.halts: asyncio.Future[Stop] | None = None

    def at(self, place: Place) -> Sequence[Interrupt]:
        now, self.now = self.now, []
        return now

    async def halted(self) -> Stop:
        self.halts = asyncio.get_running_loop().create_future()
        return await self.halts

    def stop(self) -> None:
        self.now.append(Stop(cause=EndCause.CANCEL, by="user"))

    def halt(self) -> None:
        assert self.halts is not None
        if not self.halts.done():
            self.halts.set_result(Stop(cause=EndCause.HALT, by="user"))


class Room:
    """A folder with a program in it, and a drive of that."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.simulation = Simulation()
        self.said = Said()

    def process(self, text: str, confinement: Confinement | None = None) -> ProgramProcess:
        path = self.folder / "program.py"
        path.write_text(COMMON + textwrap.dedent(text), encoding="utf-8")
        command = (sys.executable, "-S", str(path))
        return ProgramProcess(command, folder=self.folder, confinement=confinement)

    def lines(self, text: str, confinement: Confinement | None = None) -> LineProgram:
        return LineProgram(self.process(text, confinement))

    def acp(self, text: str, *, writes: bool = True, egress: bool = True) -> AcpProgram:
        return AcpProgram(self.process(text), self.folder, writes=writes, egress=egress)

    def drive(
        self,
        program: LineProgram | AcpProgram,
        during: Callable[[], Awaitable[None]] | None = None,
        interrupts: Interrupts | None = None,
    ) -> RunFrozen:
        """Drive it; something may be done during that. Nothing of it remains."""
        hooks = dataclasses.replace(self.simulation.hooks, interrupts=interrupts or self.said)

        async def go() -> None:
            driven = asyncio.ensure_future(
                drive_program(
                    self.simulation.plan,
                    self.simulation.ledger,
                    program,
                    hooks,
                    Brief(),
                )
            )
            if during is not None:
                await during()
            await driven

        asyncio.run(go())
        last = self.simulation.ledger.lines[-1]
        assert isinstance(last, RunFrozen)
        assert self.simulation.kinds[-2:] == CLOSING
        assert self.simulation.kinds.count("run_frozen") == 1
        assert not [pid for pid in self.started if is_alive(pid)]
        return last

    @property
    def started(self) -> list[int]:
        path = self.folder / "pids"
        return [int(line) for line in path.read_text().split()] if path.exists() else []

    @property
    def reports(self) -> list[Report]:
        return [
            Report(kind=line.what, text=line.text, detail=line.detail)
            for line in self.simulation.ledger.lines
            if isinstance(line, HarnessReported)
        ]

    @property
    def answer(self) -> str:
        (line,) = [one for one in self.simulation.ledger.lines if isinstance(one, HarnessAnswered)]
        return line.text

    async def until(self, name: str) -> None:
        """Wait until the program has made a file."""
        while not (self.folder / name).exists():  # noqa: ASYNC110 - another process makes it
            await asyncio.sleep(0.005)


def is_alive(pid: int) -> bool:
    """Say whether a process runs; one that only waits to be taken does not."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return text.rpartition(")")[2].split()[0] != "Z"


@pytest.fixture
def room(tmp_path: Path) -> Room:
    """Give a room."""
    return Room(tmp_path)


def test_a_program_of_lines_is_prompted_reports_and_answers(room: Room) -> None:
    """It is told the task, is heard in order, and what it wrote beside the line is not a report."""
    end = room.drive(
        room.lines(
            """
            told = hear()
            print("a word beside", file=sys.stderr)
            say(type="thought", text=told["text"])
            say(type="called", text="count", detail="doors")
            say(nothing="known")
            say(type="answer", text="Three.")
            time.sleep(60)
            """
        )
    )
    assert (end.completion, end.cause) == ("done", "concluded")
    task = "Be brief.\n\nCount the doors.\n\nDone when: a number"
    assert room.reports == [
        Report(kind="thought", text=task),
        Report(kind="called", text="count", detail="doors"),
        Report(kind="other"),
    ]
    assert room.answer == "Three."
    assert len(room.started) == 1


def test_a_program_of_the_protocol_is_prompted_reports_and_answers(room: Room) -> None:
    """Its answer is what it said in its turn, put together; other kinds of updates are named."""
    end = room.drive(
        room.acp(
            """
            first = hear()
            assert first["params"]["protocolVersion"] == 1
            reply(first, protocolVersion=1)
            second = hear()
            assert second["params"] == {"cwd": os.getcwd(), "mcpServers": []}
            reply(second, sessionId="s1")
            told = hear()
            update("agent_thought_chunk", content={"type": "text", "text": "hm"})
            update("tool_call", toolCallId="c1", title="Count", status="pending")
            update("tool_call_update", toolCallId="c1", status="completed")
            update("plan", entries=[])
            update("agent_message_chunk", content={"type": "image", "data": ""})
            said("Thr")
            said("ee.")
            say(jsonrpc="2.0", id=told["id"], result={"stopReason": "end_turn"}, error=None)
            hear()
            """
        )
    )
    assert (end.completion, end.cause, room.answer) == ("done", "concluded", "Three.")
    assert room.reports == [
        Report(kind="thought", text="hm"),
        Report(kind="tool_call", text="Count", detail="c1 pending"),
        Report(kind="tool_call_update", detail="c1 completed"),
        Report(kind="other", text="plan"),
        Report(kind="said"),
        Report(kind="said", text="Thr"),
        Report(kind="said", text="ee."),
    ]


def test_a_program_that_reports_much_is_recorded_whole_in_order_and_waits(room: Room) -> None:
    """No report is lost, doubled or moved, and none piles up while the disk is slow."""
    held = []
    append = room.simulation.ledger.append

    async def slowly(lines: Sequence[object], blobs: dict[str, bytes]) -> None:
        held.append(len(lines))
        await asyncio.sleep(0.001)
        await append(lines, blobs)  # type: ignore[arg-type]

    room.simulation.ledger.append = slowly  # type: ignore[method-assign]
    room.drive(
        room.lines(
            """
            hear()
            for number in range(20_000):
                say(type="said", text=str(number))
            say(type="answer", text="Much.")
            hear()
            """
        )
    )
    assert [one.text for one in room.reports] == [str(number) for number in range(20_000)]
    assert max(held) <= harness._REPORTS_MAX + 8
    assert room.answer == "Much."


def test_what_it_says_beside_the_line_is_heard_to_the_end_and_kept_nowhere(room: Room) -> None:
    """200 MB of it hold nobody up; of one that dies the end is told, with its status."""
    end = room.drive(
        room.lines(
            """
            hear()
            for _ in range(200):
                os.write(2, b"x" * 1_000_000)
            os.write(2, b"\\nno key was found\\n")
            sys.exit(3)
            """
        )
    )
    assert end.cause is EndCause.PROVIDER
    (lost,) = room.reports
    assert lost.kind == "lost"
    assert lost.text.startswith("it went away, with status 3.")
    assert lost.text.endswith("x no key was found")
    assert len(lost.text) < 300


PERMISSION = """
told = begin()
given = {options!r}
answer = call("session/request_permission", sessionId="s1", options=given,
              toolCall={{"toolCallId": "c1", "title": "Do it", "kind": {kind!r}}})
said(json.dumps(answer["result"]["outcome"]))
reply(told, stopReason="end_turn")
hear()
"""
ALL = [
    {"optionId": "1", "kind": "allow_always", "name": "Always"},
    {"optionId": "2", "kind": "allow_once", "name": "Once"},
    {"optionId": "3", "kind": "reject_once", "name": "No"},
    {"optionId": "4", "kind": "reject_always", "name": "Never"},
]
CANCELLED = {"outcome": "cancelled"}


@pytest.mark.parametrize(
    ("kind", "writes", "egress", "options", "outcome"),
    [
        ("edit", True, True, ALL, "2"),
        ("edit", False, True, ALL, "3"),
        ("read", False, True, ALL, "2"),
        ("fetch", True, False, ALL, "3"),
        ("fetch", False, True, ALL, "2"),
        (None, False, True, ALL, "3"),
        ("edit", False, True, [*ALL[:2], ALL[3]], "4"),
        ("edit", True, True, [ALL[0], ALL[2]], None),
        ("edit", True, True, [], None),
        ("edit", True, True, "junk", None),
        ("edit", False, True, [1, {"kind": "allow_once"}], None),
    ],
)
def test_what_it_asks_leave_for_is_answered_by_the_policy(
    room: Room, *, kind: str, writes: bool, egress: bool, options: object, outcome: str | None
) -> None:
    """Once, never for ever; where nothing fits, it is told that nobody chose. Both are recorded."""
    text = PERMISSION.format(kind=kind, options=options)
    end = room.drive(room.acp(text, writes=writes, egress=egress))
    assert end.cause is EndCause.CONCLUDED
    chosen = CANCELLED if outcome is None else {"outcome": "selected", "optionId": outcome}
    assert json.loads(room.answer) == chosen
    asked, answered, _ = room.reports
    assert asked == Report(kind="permission_asked", text="Do it")
    word = next((one["kind"] for one in ALL if one["optionId"] == outcome), "cancelled")
    assert answered == Report(kind="permission_answered", text="Do it", detail=word)


def test_a_method_that_is_not_there_is_answered_with_an_error(room: Room) -> None:
    """Files, terminals and whatever else: it is told that there is none, and goes on."""
    room.drive(
        room.acp(
            """
            told = begin()
            wrong = [call("fs/read_text_file", sessionId="s1", path="/etc/passwd"),
                     call("fs/write_text_file", sessionId="s1", path="x", content="x"),
                     call("terminal/create", sessionId="s1", command="id")]
            say(jsonrpc="2.0", method="_of/nobody")
            said(json.dumps([one["error"]["code"] for one in wrong]))
            reply(told, stopReason="end_turn")
            hear()
            """
        )
    )
    assert json.loads(room.answer) == [-32601, -32601, -32601]
    assert not (room.folder / "x").exists()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("hear(); print('Hello!', flush=True); hear()", "it said what is no JSON"),
        ("hear(); print('[1]', flush=True); hear()", "it said something that is no message"),
        ("hear(); raw(b'['*10**6 + b'\\n'); hear()", "it said what is no JSON"),
        ("hear(); raw(os.urandom(4096) + b'\\n'); hear()", "it said what is no JSON"),
        ('hear(); raw(b\'{"a":"\\xff\\xfe"}\\n\'); hear()', "it said what is no JSON"),
        ('hear(); raw(b\'{"type": "answ\')', "it went away in the middle of a line, with status 0"),
        ("hear(); raw(b'x' * 100_000_000); hear()", "it said a line of more than"),
        ("sys.exit(7)", "with status 7"),
        ("hear(); os.kill(os.getpid(), 9)", "it went away, with status -9"),
        ("hear(); os.close(1); time.sleep(60)", "it went away."),
        ("os.close(0); time.sleep(60)", "it does not listen any more"),
    ],
)
def test_what_nobody_can_read_ends_the_drive(room: Room, text: str, told: str) -> None:
    """No JSON, torn, endless, junk; dead before the prompt or within it: lost, and said how."""
    simulation = room.simulation
    if "os.close(0)" in text:
        long = "Count. " * 100_000
        simulation.plan = msgspec.structs.replace(simulation.plan, task=long)
    end = room.drive(room.lines(text))
    assert end.cause is EndCause.PROVIDER
    assert room.reports[-1].kind == "lost"
    assert told in room.reports[-1].text
    assert simulation.kinds.count("harness_answered") == 0


def test_a_command_that_is_not_there_says_so(room: Room) -> None:
    """Not that it went away."""
    process = ProgramProcess(("no-such-agent",), folder=room.folder, confinement=None)
    end = room.drive(LineProgram(process))
    assert end.cause is EndCause.PROVIDER
    (lost,) = room.reports
    assert lost.text.startswith("The command cannot be started: No such file")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("reply(hear(), protocolVersion=2); hear()", "it does not speak version 1"),
        ("reply(hear()); hear()", "it does not speak version 1"),
        ("reply(hear(), protocolVersion=1); reply(hear()); hear()", "it gave its session no id"),
        (
            "reply(hear(), protocolVersion=1); say(id=hear()['id'], error={'code': 1}); hear()",
            "it refuses session/new",
        ),
        ("reply(begin()); hear()", "it ended its turn and did not say why"),
        ("m = begin(); reply(m, stopReason=5); hear()", "what it said as 'stopReason' is no text"),
        ("begin(); said('half'); sys.exit(1)", "it went away, with status 1"),
        ("hear(); hear()", "it did not begin a session within 0.5 seconds"),
    ],
)
def test_one_that_breaks_the_protocol_ends_the_drive(
    room: Room, text: str, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another version, no session, a refusal, a turn without an end, no answer at all."""
    monkeypatch.setattr(programs, "_ANSWERS_WITHIN_S", 0.5 if "0.5" in told else 60)
    end = room.drive(room.acp(text))
    assert end.cause is EndCause.PROVIDER
    assert room.reports[-1].kind == "lost"
    assert told in room.reports[-1].text


@pytest.mark.parametrize(
    ("speaks", "text", "told"),
    [
        ("lines", "hear(); say(type='answer', text=7)", "what it said as 'text' is no text: 7."),
        ("lines", "hear(); say(type=['answer'])", "what it said as 'type' is no text: ['answer']."),
        (
            "acp",
            "begin(); update('agent_message_chunk', content={'type': 'text', 'text': {}})",
            "what it said as 'text' is no text: {}.",
        ),
    ],
)
def test_what_is_no_text_is_never_taken_for_nothing(
    room: Room, speaks: str, text: str, told: str
) -> None:
    """A program that says a number where words belong is broken, and that is said."""
    end = room.drive(getattr(room, speaks)(f"{text}; hear()"))
    assert end.cause is EndCause.PROVIDER
    assert room.reports[-1] == Report(kind="lost", text=told)


@pytest.mark.parametrize("speaks", ["lines", "acp"])
def test_a_text_that_is_cut_says_so(room: Room, speaks: str) -> None:
    """What is over a MiB is left out, with a mark of how much."""
    long = f"'x' * {(1 << 20) + 5}"
    if speaks == "lines":
        end = room.drive(room.lines(f"hear(); say(type='answer', text={long}); hear()"))
    else:
        text = (
            f"told = begin(); said({long}); said('y'); reply(told, stopReason='end_turn'); hear()"
        )
        end = room.drive(room.acp(text))
    assert end.cause is EndCause.CONCLUDED
    more = 5 if speaks == "lines" else 6
    assert room.answer == "x" * (1 << 20) + f"\n[{more} more characters were cut]"


def test_words_start_another_turn_of_the_same_process(room: Room) -> None:
    """It is started once, keeps its session, and an answer is what it said in its own turn."""
    told = Steer(text="Look again.")
    room.simulation = Simulation(interrupts={(SafePoint.BEFORE_SPAWN, 1, 0): [told]})
    room.drive(
        room.acp(
            """
            message = begin()
            while True:
                said(message["params"]["prompt"][0]["text"][-8:])
                reply(message, stopReason="end_turn")
                message = hear()
            """
        ),
        interrupts=room.simulation.heard,
    )
    answers = [line for line in room.simulation.ledger.lines if isinstance(line, HarnessAnswered)]
    assert [one.text for one in answers] == ["a number", "k again."]
    assert len(room.started) == 1


OBEYS = {
    "lines": """
        hear()
        open("ready", "w").close()
        assert hear() == {"type": "cancel"}
        say(type="said", text="I stop.")
        say(type="answer", stop="cancelled")
        hear()
        """,
    "acp": """
        told = begin()
        open("ready", "w").close()
        stop = hear()
        assert stop["method"] == "session/cancel" and stop["params"] == {"sessionId": "s1"}
        options = [{"optionId": "2", "kind": "allow_once", "name": "Once"}]
        answer = call("session/request_permission", toolCall={"kind": "read"}, options=options)
        assert answer["result"] == {"outcome": {"outcome": "cancelled"}}
        said("I stop.")
        reply(told, stopReason="cancelled")
        hear()
        """,
}


@pytest.mark.parametrize("speaks", ["lines", "acp"])
def test_one_that_obeys_a_stop_ends_within_the_grace(room: Room, speaks: str) -> None:
    """It is asked, what it still says is recorded, and nobody waits for longer than that."""

    async def stop() -> None:
        await room.until("ready")
        room.said.stop()

    began = time.monotonic()
    program = room.lines(OBEYS["lines"]) if speaks == "lines" else room.acp(OBEYS["acp"])
    end = room.drive(program, stop)
    assert end.cause is EndCause.CANCEL
    assert room.reports[-1] == Report(kind="said", text="I stop.")
    assert room.simulation.kinds.count("cancel_received") == 1
    assert time.monotonic() - began < harness._GRACE_S


# It ignores whoever asks it to end, and so does what it started, in a session of its own.
DEAF = """
signal.signal(signal.SIGTERM, signal.SIG_IGN)
signal.signal(signal.SIGHUP, signal.SIG_IGN)
deaf = "import os, signal, time; signal.signal(15, 1)"
deaf += "; open('pids', 'a').write(f'{os.getpid()}\\\\n')"
deaf += "; open('grown', 'w').close(); time.sleep(600)"
subprocess.Popen([sys.executable, "-S", "-c", deaf], start_new_session=True)
while not os.path.exists("grown"):
    time.sleep(0.005)
"""
WAITS = "hear()\nopen('ready', 'w').close()\nwhile True: time.sleep(600)\n"


def test_one_that_ignores_a_stop_is_killed_with_all_that_it_started(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the grace, whatever it talks meanwhile; its child in another session too."""
    monkeypatch.setattr(harness, "_GRACE_S", 0.5)

    async def stop() -> None:
        await room.until("ready")
        room.said.stop()

    talks = "while True: say(type='said', text='No.'); time.sleep(0.01)\n"
    text = DEAF + WAITS.replace("while True: time.sleep(600)\n", talks)
    end = room.drive(room.lines(text), stop)
    assert end.cause is EndCause.CANCEL
    assert len(room.started) == 2
    assert room.reports[-1].text == "No."


def test_a_stop_for_one_that_reads_nothing_waits_no_longer_than_the_grace(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its line is full, so that it cannot even be asked."""
    monkeypatch.setattr(harness, "_GRACE_S", 0.3)
    room.simulation.plan = msgspec.structs.replace(room.simulation.plan, task="Count. " * 100_000)

    async def stop() -> None:
        await room.until("ready")
        room.said.stop()

    end = room.drive(room.lines("open('ready', 'w').close(); time.sleep(600)"), stop)
    assert end.cause is EndCause.CANCEL


@pytest.mark.parametrize("speaks", ["lines", "acp"])
@pytest.mark.parametrize(
    "work",
    [
        "while True: time.sleep(600)",
        'while True: raw(b\'{"type": "said", "method": "x"}\\n\' * 5000)',
        "while True: os.write(2, b'x' * 100_000)",
        "while True: raw(b'x' * 1000)",
    ],
)
def test_a_halt_cuts_whatever_it_does_at_once(room: Room, speaks: str, work: str) -> None:
    """Silent, talking without end, in a line without end: gone, and asked nothing."""
    took: list[float] = []

    async def halt() -> None:
        await room.until("ready")
        await asyncio.sleep(0.1)
        took.append(time.monotonic())
        room.said.halt()

    text = f"{DEAF}\n{'hear()' if speaks == 'lines' else 'begin()'}\nopen('ready', 'w').close()\n"
    program = room.lines(text + work) if speaks == "lines" else room.acp(text + work)
    end = room.drive(program, halt)
    took.append(time.monotonic())
    if "x' * 1000" not in work:
        assert end.cause is EndCause.HALT
    assert len(room.started) == 2
    # One that talks too much in a line may be cut for that before the halt comes.
    assert took[-1] - took[0] < 5


def test_no_report_is_recorded_twice_when_a_halt_meets_a_write(room: Room) -> None:
    """The ledger was writing when it was cut: what it wrote is not handed to it again."""
    append = room.simulation.ledger.append
    writing: asyncio.Future[None] | None = None

    async def slowly(lines: Sequence[object], blobs: dict[str, bytes]) -> None:
        nonlocal writing
        await append(lines, blobs)  # type: ignore[arg-type]
        if writing is not None and not writing.done():
            writing.set_result(None)
        await asyncio.sleep(0.05)

    room.simulation.ledger.append = slowly  # type: ignore[method-assign]

    async def halt() -> None:
        nonlocal writing
        await room.until("ready")
        writing = asyncio.get_running_loop().create_future()
        (room.folder / "go").touch()
        await writing
        room.said.halt()

    text = """
        hear()
        open("ready", "w").close()
        while not os.path.exists("go"):
            time.sleep(0.005)
        for number in range(100_000):
            say(type="said", text=str(number))
        """
    room.drive(room.lines(text), halt)
    numbers = [int(one.text) for one in room.reports]
    assert numbers
    assert numbers == list(range(len(numbers)))


def test_a_ceiling_of_seconds_cuts_one_that_never_answers(room: Room) -> None:
    """It is a halt by another name."""
    bounds = Bounds(seconds=0.5)
    limited = Limited(room.said, bounds, SystemClock())
    end = room.drive(room.acp(DEAF + "begin(); time.sleep(600)"), interrupts=limited)
    assert (end.completion, end.cause) == ("limit", EndCause.TIME)


def test_a_ceiling_of_turns_counts_its_own(room: Room) -> None:
    """Words that come after the last of them start no more."""
    told = Steer(text="Look again.")
    simulation = Simulation(interrupts={(SafePoint.BEFORE_SPAWN, 1, 0): [told]})
    limited = Limited(simulation.heard, Bounds(turns=1), SystemClock())
    text = "hear(); say(type='answer', text='Three.'); hear(); open('again', 'w')"
    end = room.drive(room.lines(text), interrupts=limited)
    assert (end.cause, end.turns) == (EndCause.TURNS, 1)
    assert not (room.folder / "again").exists()


def test_what_it_leaves_running_ends_with_it(room: Room) -> None:
    """It answers, or dies, and a child of its lives on in a session of its own."""
    end = room.drive(room.lines(DEAF + "hear(); say(type='answer', text='Three.'); sys.exit()"))
    assert end.cause is EndCause.CONCLUDED
    assert len(room.started) == 2


TRIES = """
def attempt(what):
    try:
        what()
        return True
    except OSError:
        return False
def connect():
    import socket
    socket.create_connection(("127.0.0.1", {port}), timeout=5).close()
hear()
outside = {outside!r}
done = [attempt(lambda: open("inside", "w").close()), attempt(lambda: open(outside, "w").close()),
        attempt(connect)]
say(type="answer", text=json.dumps(done))
"""


@pytest.mark.skipif(bool(missing()), reason="this system confines nothing")
@pytest.mark.parametrize(
    ("writes", "egress", "sandboxed"),
    [(True, False, True), (True, True, True), (False, False, True), (False, False, False)],
)
def test_it_is_confined_to_the_room_unless_somebody_lets_it_go(
    tmp_path: Path, *, writes: bool, egress: bool, sandboxed: bool
) -> None:
    """It writes in the room alone, or nowhere, and reaches the network if it may."""
    place, outside = tmp_path / "room", tmp_path / "outside"
    place.mkdir()
    room = Room(place)
    asked = Asked(
        format=1,
        task="Try.",
        goal="",
        speaks="lines",
        policy=RunPolicy(writes=writes, egress=egress),
        tools=Furnishing(unsandboxed=not sandboxed),
    )
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        text = TRIES.format(port=port, outside=str(outside))
        path = tmp_path / "program.py"
        path.write_text(COMMON.replace("\nnote()\n", "\n") + text, encoding="utf-8")
        asked = msgspec.structs.replace(asked, program=shlex.join([sys.executable, str(path)]))
        room.drive(program_for(asked, Workspace(place)))  # type: ignore[arg-type]
    inside, beside, connects = json.loads(room.answer)
    assert (inside, beside) == (writes or not sandboxed, not sandboxed)
    assert connects == (egress or not sandboxed)
    assert outside.exists() == (not sandboxed)


AGENT = """
import asyncio, sys
from acp import PROTOCOL_VERSION, Agent, run_agent
from acp import InitializeResponse, NewSessionResponse, PromptResponse
from acp.helpers import start_tool_call, update_agent_message_text, update_agent_thought_text
from acp.schema import PermissionOption, ToolCallUpdate

class Clerk(Agent):
    def on_connect(self, conn):
        self.client = conn
        self.stopped = asyncio.Event()
    async def initialize(self, protocol_version, client_capabilities=None, **_):
        assert client_capabilities.terminal is False
        assert client_capabilities.fs.read_text_file is False
        return InitializeResponse(protocol_version=PROTOCOL_VERSION)
    async def new_session(self, cwd, **_):
        return NewSessionResponse(session_id="clerk-1")
    async def cancel(self, session_id, **_):
        self.stopped.set()
    async def prompt(self, prompt, session_id, **_):
        task = prompt[0].text
        tell = self.client.session_update
        await tell(session_id, update_agent_thought_text("Hm."))
        await tell(session_id, start_tool_call("c1", "Count them", kind="edit"))
        leave = await self.client.request_permission(
            session_id=session_id,
            tool_call=ToolCallUpdate(tool_call_id="c1", title="Count them", kind="edit"),
            options=[
                PermissionOption(option_id="yes", name="Yes", kind="allow_once"),
                PermissionOption(option_id="no", name="No", kind="reject_once"),
            ],
        )
        try:
            await self.client.read_text_file(path="/etc/hostname", session_id=session_id)
        except Exception as error:
            await tell(session_id, update_agent_thought_text(type(error).__name__))
        if "Wait." in task:
            open("ready", "w").close()
            await self.stopped.wait()
            return PromptResponse(stop_reason="cancelled")
        await tell(session_id, update_agent_message_text(f"{leave.outcome.option_id}: "))
        await tell(session_id, update_agent_message_text(task[-8:]))
        return PromptResponse(stop_reason="end_turn")

asyncio.run(run_agent(Clerk()))
"""


def test_an_agent_of_the_protocols_own_library_is_driven(room: Room) -> None:
    """Both sides were written by different people: it works, asks, is answered, and is stopped."""
    path = room.folder / "clerk.py"
    path.write_text(AGENT, encoding="utf-8")
    process = ProgramProcess((sys.executable, str(path)), folder=room.folder, confinement=None)
    program = AcpProgram(process, room.folder, writes=False, egress=False)
    room.said.now.append(Steer(text="Wait."))

    async def stop() -> None:
        await room.until("ready")
        room.said.stop()

    end = room.drive(program, stop)
    turn = [
        Report(kind="thought", text="Hm."),
        Report(kind="tool_call", text="Count them", detail="c1"),
        Report(kind="permission_asked", text="Count them"),
        Report(kind="permission_answered", text="Count them", detail="reject_once"),
        Report(kind="thought", text="RequestError"),
    ]
    said = [Report(kind="said", text="no: "), Report(kind="said", text="a number")]
    assert room.reports == [*turn, *said, *turn]
    assert room.answer == "no: a number"
    assert (end.cause, end.turns) == (EndCause.CANCEL, 1)


def test_others_have_their_turn_between_messages_that_are_there_already(room: Room) -> None:
    """A program that said much is not heard out while everybody else waits."""

    async def go() -> None:
        process = room.process("hear(); raw(b'{}\\n' * 9000); open('ready', 'w').close(); hear()")
        try:
            await process.open()
            await process.send({})
            await room.until("ready")
            await process.receive()
            turns: list[int] = []
            asyncio.get_running_loop().call_soon(turns.append, 1)
            await process.receive()
            assert turns
        finally:
            await process.kill()

    asyncio.run(go())
