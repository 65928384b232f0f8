"""Commands of a shell as a tool: confined to the workspace, with a deadline, killed whole."""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, BinaryIO

from msgspec import Meta

from perdure.agent.drive.tools import warden
from perdure.agent.drive.tools.cap import excerpt
from perdure.agent.drive.tools.environment import scrubbed
from perdure.agent.drive.tools.permit import May
from perdure.agent.drive.tools.port import ANYTHING, Prepared, Traits
from perdure.agent.drive.tools.process import Confinement, Ended, Process
from perdure.agent.drive.tools.signature import Parameters
from perdure.agent.drive.tools.workspace import Workspace
from perdure.base.errors import EXIT_USAGE, PerdureError
from perdure.base.text import one_line
from perdure.records.tools import AnswerStatus, Effect, ToolAnswer, ToolCall, ToolSpec

DEADLINE_S = 600.0

_DESCRIPTION = (
    "Run a shell command in the workspace, and give what it says. It reads no input. Whatever it"
    " starts is killed when it is over."
)
_SHELL = "/bin/sh"
_LOOKS_S = (0.001, 0.002, 0.004, 0.008, 0.016)
_LOOK_S = 0.02
_GRACE_S = 15.0
# A command that writes more than this is ended: a disk is not filled by a loop.
_OUTPUT_FILE_MAX = 64 * 1024 * 1024
_PART_MAX = 512 * 1024
_NAME_MAX = 200


class NoSandboxError(PerdureError):
    """Commands cannot be confined on this system, and nobody said that they need not be."""

    exit_status = EXIT_USAGE
    code = "no-sandbox"
    usual_remedy = "Leave commands out, or let them do anything at all (--unsandboxed)."

    @classmethod
    def because(cls, why: str) -> NoSandboxError:
        """Say why they cannot be."""
        return cls(f"Commands cannot be confined here: {why}.")


def _arguments(
    command: Annotated[str, Meta(description="What a shell is to run.", min_length=1)],
    folder: Annotated[Path, Meta(description="Where, in the workspace.")] = Path(),
    seconds: Annotated[
        float | None, Meta(description="How long it may take; then it is killed.")
    ] = None,
) -> None:
    """Take what `_DESCRIPTION` tells."""


class CommandTool:
    """The tool `run_command`. What still runs at the end of a drive is killed and named."""

    def __init__(
        self,
        workspace: Workspace,
        *,
        egress: bool = False,
        unsandboxed: bool = False,
        deadline_s: float = DEADLINE_S,
        output_max: int | None = None,
        environment: Mapping[str, str] | None = None,
        missing: Callable[[], str] = warden.missing,
    ) -> None:
        """Take the workspace, and what is allowed there.

        A command writes in the workspace and a scratch folder alone, and reaches outside only with
        `egress`. `environment` comes on top of what is passed on of ours, which holds no secret.

        Raises:
            NoSandboxError: it cannot be confined here, and `unsandboxed` is not given.

        """
        why = "" if unsandboxed else missing()
        if why:
            raise NoSandboxError.because(why)
        self._workspace = workspace
        self._egress = egress
        self._unsandboxed = unsandboxed
        self._deadline_s = deadline_s
        self._environment = {**scrubbed(os.environ), **(environment or {})}
        self._parameters = Parameters(_arguments)
        self._scratch: Path | None = None
        self._running: dict[Process, str] = {}
        self._killed: list[str] = []
        # Nobody knows what a command outside of a sandbox does, so it is taken to reach outside.
        effect = Effect.EGRESS if egress or unsandboxed else Effect.WRITE
        may = May(effect=effect, writes=ANYTHING, deletes=True)
        self._traits = Traits(may=may, grace_s=_GRACE_S, output_max=output_max)
        self._spec = ToolSpec(
            name="run_command",
            description=f"{_DESCRIPTION} At most {deadline_s:g} seconds.",
            parameters=self._parameters.schema,
        )

    @property
    def spec(self) -> ToolSpec:
        """The tool as a model is shown it."""
        return self._spec

    @property
    def traits(self) -> Traits:
        """What holds of every call of it."""
        return self._traits

    def prepare(self, call: ToolCall) -> Prepared:
        """Read a call.

        Raises:
            ArgumentsError: what is wrong with its arguments.
            PathRefusedError: the folder is not one of the workspace.

        """
        read = self._parameters.read(call.arguments)
        folder = self._workspace.at(read["folder"])
        return Prepared({**read, "folder": folder}, self._traits.may, one_line(read["command"]))

    async def run(self, call: ToolCall, prepared: Prepared) -> ToolAnswer:  # noqa: ARG002 - the port
        """Run a command to its end, or to its deadline."""
        command, folder = prepared.arguments["command"], prepared.arguments["folder"]
        asked = prepared.arguments["seconds"]
        seconds = self._deadline_s if asked is None else max(min(asked, self._deadline_s), 0.0)
        with tempfile.TemporaryFile("a+b", dir=self._scratch_folder()) as output:
            process = Process(
                [_SHELL, "-c", command],
                folder=folder,
                environment={**self._environment, "TMPDIR": str(self._scratch_folder())},
                confinement=self._confinement(),
                output=output.fileno(),
            )
            name = self._running[process] = one_line(command, _NAME_MAX)
            try:
                ended, why = await _followed(process, output.fileno(), seconds)
            except asyncio.CancelledError:
                self._killed.append(name)
                raise
            finally:
                await process.kill()
                self._running.pop(process, None)
            return _answer(output, ended, why)

    async def close(self) -> tuple[str, ...]:
        """Kill what still runs, and name it and what was killed when a call was cancelled."""
        for process, name in list(self._running.items()):
            self._killed.append(name)
            await process.kill()
        if self._scratch is not None:
            shutil.rmtree(self._scratch, ignore_errors=True)
            self._scratch = None
        killed, self._killed = tuple(dict.fromkeys(self._killed)), []
        return killed

    def _scratch_folder(self) -> Path:
        if self._scratch is None:
            self._scratch = Path(tempfile.mkdtemp(prefix="perdure-command-")).resolve()
        return self._scratch

    def _confinement(self) -> Confinement | None:
        if self._unsandboxed:
            return None
        writable = (str(self._workspace.root), str(self._scratch_folder()))
        return Confinement(writable=writable, egress=self._egress)


async def _followed(process: Process, output: int, seconds: float) -> tuple[Ended | None, str]:
    """Look at a process until it is over, or is to be ended; give its end, or why it is to end."""
    looks = iter(_LOOKS_S)
    try:
        async with asyncio.timeout(seconds):
            while (ended := process.ended()) is None:
                if os.fstat(output).st_size > _OUTPUT_FILE_MAX:
                    return None, "it wrote more output than is kept"
                await asyncio.sleep(next(looks, _LOOK_S))
    except TimeoutError:
        return process.ended(), f"it took longer than {seconds:g} seconds"
    return ended, ""


def _answer(output: BinaryIO, ended: Ended | None, why: str) -> ToolAnswer:
    text, dropped = excerpt(output, _PART_MAX)
    text = text if text.endswith("\n") or not text else f"{text}\n"
    if ended is None:
        said = f"[killed with all that it had started: {why}]"
        return ToolAnswer(status=AnswerStatus.ERROR, text=text + said, dropped=dropped)
    if ended.code == 0:
        return ToolAnswer(status=AnswerStatus.OK, text=text or "[no output]", dropped=dropped)
    return ToolAnswer(status=AnswerStatus.ERROR, text=f"{text}[{_manner(ended)}]", dropped=dropped)


def _manner(ended: Ended) -> str:
    if ended.code is None:
        return "it ended, and nobody knows how"
    return f"exit status {ended.code}" if ended.code > 0 else f"killed by signal {-ended.code}"
