"""Commands of a supervisor's own: predicates, checks and hooks, each with a deadline.

Each runs in a group of its own, which is ended with it. What it prints is read up to a limit.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Mapping
from contextlib import suppress

from perdure.supervise.answers import Ran
from perdure.supervise.command import Command
from perdure.supervise.ends import CANNOT_EXECUTE, NOT_FOUND, SHELL_SIGNAL

OUTPUT_MAX = 64 * 10**6

_KILLED_S = 10.0
# What a shell ends with when a part of the command was ended. (A pipe that nobody reads to its end
# is no fault of who writes into it.)
_CUT_SHORT = {
    SHELL_SIGNAL + number: number
    for number in (
        signal.SIGKILL,
        signal.SIGTERM,
        signal.SIGINT,
        signal.SIGHUP,
        signal.SIGSEGV,
        signal.SIGBUS,
        signal.SIGABRT,
    )
}


async def ran(
    command: Command, deadline_s: float, environment: Mapping[str, str] | None = None
) -> Ran:
    """Run a command to its end, or to its deadline; nothing of it is left either way."""
    try:
        process = await asyncio.create_subprocess_exec(
            *command.words,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
            env=None if environment is None else dict(environment),
        )
    except FileNotFoundError:
        fault = f"There is no command {command.words[0]!r}."
        return Ran(status=NOT_FOUND, fault=fault)
    except (OSError, ValueError) as error:
        return Ran(status=CANNOT_EXECUTE, fault=f"It cannot be started ({error}).")
    try:
        async with asyncio.timeout(deadline_s):
            out, err = await asyncio.gather(_read(process.stdout), _read(process.stderr))
            status = await process.wait()
    except TimeoutError:
        return Ran(fault=f"It gave no answer within {deadline_s:g} s.")
    finally:
        await _end(process)
    if len(out) > OUTPUT_MAX:
        return Ran(fault=f"It printed more than {OUTPUT_MAX // 10**6} MB.")
    if status < 0:
        return Ran(out=out, err=err, fault=f"It was ended by signal {-status}.")
    fault = (
        f"A part of it was ended by signal {_CUT_SHORT[status]}." if status in _CUT_SHORT else ""
    )
    return Ran(status=status, out=out, err=err, fault=fault)


async def _read(stream: asyncio.StreamReader | None) -> bytes:
    assert stream is not None
    parts: list[bytes] = []
    size = 0
    while part := await stream.read(65_536):
        # More than the limit is read and dropped, so that nobody waits for us.
        if size <= OUTPUT_MAX:
            parts.append(part)
            size += len(part)
    return b"".join(parts)


async def _end(process: asyncio.subprocess.Process) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    # Killed, it is gone in moments, and not even a cancellation leaves it behind; unless the system
    # itself hangs, which nobody has to wait for.
    with suppress(asyncio.CancelledError, TimeoutError):
        await asyncio.wait_for(asyncio.shield(process.wait()), _KILLED_S)
    transport = getattr(process, "_transport", None)
    if transport is not None:
        transport.close()
