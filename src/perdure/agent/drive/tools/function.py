"""Python functions as tools.

    @tool(writes=("path",))
    def put(path: Path, text: str) -> str:
        \"\"\"Write a text into a file of the workspace.\"\"\"
        path.write_text(text)
        return "written"

The signature is the schema, the docstring the description. A `Path` is a path of the workspace. A
function may be `async`; any other runs in a thread of its own. What it returns is told as it is if
it is text, and as JSON otherwise; what it raises is an error answer.
"""

from __future__ import annotations

import asyncio
import ctypes
import inspect
import os
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from contextvars import copy_context
from pathlib import Path
from typing import Any

import msgspec

from perdure.agent.drive.tools.permit import May
from perdure.agent.drive.tools.port import ANYTHING, Prepared, Traits
from perdure.agent.drive.tools.signature import Parameters, named
from perdure.agent.drive.tools.workspace import PathRefusedError, Workspace
from perdure.base.text import one_line, storable
from perdure.records.record import Record
from perdure.records.tools import AnswerStatus, Effect, ToolAnswer, ToolCall, ToolSpec, Writes

DEADLINE_S = 60.0


class Declared(Record):
    """What is said of a function beside its signature.

    `writes` names the parameters whose files it writes; `anywhere` says that it may write anything
    in the workspace. `deletes`: something that was there may be gone after a call; unless that is
    said, it is so where anything may be written, or where a file stands that is to be written.
    `unfollowed` are paths whose last part stands for itself, even if it is a symbolic link.
    """

    effect: Effect
    writes: tuple[str, ...] = ()
    anywhere: bool = False
    deletes: bool | None = None
    unfollowed: tuple[str, ...] = ()
    subject: str = ""
    deadline_s: float = DEADLINE_S
    output_max: int | None = None


class FunctionTool:
    """A function with its declaration. It is put on a bench, which gives it its workspace."""

    def __init__(
        self,
        function: Callable[..., object],
        declared: Declared,
        *,
        name: str = "",
        workspace: Workspace | None = None,
    ) -> None:
        """Read the signature.

        Raises:
            TypeError: it cannot be that of a tool, or the declaration names what is not in it.

        """
        self._function = function
        self._declared = declared
        self._name = name or function.__name__
        self._parameters = Parameters(function)
        self._workspace = workspace
        self._running: dict[threading.Thread, str] = {}
        self._check()
        self._spec = ToolSpec(
            name=self._name,
            description=inspect.getdoc(function) or "",
            parameters=self._parameters.schema,
        )

    def __call__(self, *arguments: object, **named_ones: object) -> object:
        """Call the function itself, as if it had never been declared."""
        return self._function(*arguments, **named_ones)

    def within(self, workspace: Workspace) -> FunctionTool:
        """Give the same tool, with the workspace that its paths are of."""
        return FunctionTool(self._function, self._declared, name=self._name, workspace=workspace)

    def anew(self) -> FunctionTool:
        """Give the same tool, of which nothing runs yet."""
        return FunctionTool(
            self._function, self._declared, name=self._name, workspace=self._workspace
        )

    @property
    def takes_paths(self) -> bool:
        """Whether any of its parameters is a path of a workspace."""
        return bool(self._parameters.paths)

    @property
    def spec(self) -> ToolSpec:
        """The tool as a model is shown it."""
        return self._spec

    @property
    def traits(self) -> Traits:
        """What holds of every call of it."""
        declared = self._declared
        writes_any = declared.anywhere or bool(declared.writes)
        deletes = writes_any if declared.deletes is None else declared.deletes
        writes = ANYTHING if writes_any else Writes()
        return Traits(
            may=May(effect=declared.effect, writes=writes, deletes=deletes),
            deadline_s=declared.deadline_s,
            output_max=declared.output_max,
        )

    def prepare(self, call: ToolCall) -> Prepared:
        """Read a call, and find its paths in the workspace.

        Raises:
            ArgumentsError: what is wrong with its arguments.
            PathRefusedError: a path is not one of the workspace.

        """
        declared = self._declared
        read = self._parameters.read(call.arguments)
        arguments = dict(read)
        written = []
        deletes = declared.anywhere
        for name in self._parameters.paths:
            if read[name] is None:
                continue
            if self._workspace is None:
                raise PathRefusedError("There is no workspace, so no path can be used.")
            writes = name in declared.writes
            followed = name not in declared.unfollowed
            place = self._workspace.at(read[name], writes=writes, followed=followed)
            arguments[name] = place
            if writes:
                written.append(self._workspace.name_of(place))
                deletes = deletes or os.path.lexists(place)
        writes_all = ANYTHING if declared.anywhere else Writes(paths=tuple(sorted(set(written))))
        deletes = deletes if declared.deletes is None else declared.deletes
        may = May(effect=declared.effect, writes=writes_all, deletes=deletes)
        return Prepared(arguments, may, one_line(self._subject(read)))

    async def run(self, call: ToolCall, prepared: Prepared) -> ToolAnswer:
        """Call the function: on the event loop if it is `async`, else in a thread of its own."""
        try:
            if inspect.iscoroutinefunction(self._function):
                returned = await _awaited(self._function(**prepared.arguments))
            else:
                returned = await self._in_thread(call, prepared.arguments)
        except OSError as error:
            if self._workspace is not None:
                self._workspace.call_by_name(error)
            raise
        return _answer(returned)

    async def close(self) -> tuple[str, ...]:
        """Name the calls whose threads still run. They have been told to end; none can be made."""
        return tuple(name for thread, name in self._running.items() if thread.is_alive())

    def _subject(self, arguments: Mapping[str, object]) -> str:
        subject = self._declared.subject
        return named(arguments, subject) if subject else ""

    async def _in_thread(self, call: ToolCall, arguments: Mapping[str, Any]) -> object:
        loop = asyncio.get_running_loop()
        ready: asyncio.Future[object] = loop.create_future()
        context = copy_context()
        turn = _Turn()

        def tell(returned: object, error: BaseException | None) -> None:
            if ready.done():
                return
            if error is None:
                ready.set_result(returned)
            else:
                ready.set_exception(_CrashedError(error))

        def work() -> None:
            returned, failed = None, None
            try:
                returned = context.run(self._function, **arguments)
            except BaseException as error:  # noqa: BLE001 - told to whoever called
                failed = error
            finally:
                turn.over()
                self._running.pop(threading.current_thread(), None)
            with suppress(RuntimeError):  # the loop is closed: nobody asks any more
                loop.call_soon_threadsafe(tell, returned, failed)

        # A daemon, because one that hangs must not keep the program from ending.
        thread = threading.Thread(target=work, name=f"tool {self._name}", daemon=True)
        self._running[thread] = f"{self._name} ({call.id})"
        thread.start()
        try:
            return await ready
        except _CrashedError as crash:
            raise crash.error from None
        except asyncio.CancelledError:
            turn.interrupt(thread)
            raise

    def _check(self) -> None:
        declared, names = self._declared, self._parameters.schema.get("properties", {})
        for name in (*declared.writes, *declared.unfollowed):
            if name not in self._parameters.paths:
                raise TypeError(f"{self._name}: {name!r} is not a parameter of type Path.")
        if declared.subject and declared.subject not in names:
            raise TypeError(f"{self._name}: there is no parameter {declared.subject!r}.")
        if declared.effect is Effect.READ and (
            declared.writes or declared.anywhere or declared.deletes
        ):
            raise TypeError(f"{self._name}: what only reads does not write.")


def tool(
    *,
    effect: Effect | None = None,
    writes: tuple[str, ...] = (),
    anywhere: bool = False,
    deletes: bool | None = None,
    unfollowed: tuple[str, ...] = (),
    subject: str = "",
    deadline_s: float = DEADLINE_S,
    output_max: int | None = None,
    name: str = "",
) -> Callable[[Callable[..., object]], FunctionTool]:
    """Declare a function to be a tool; see `Declared`.

    What writes has the effect `write` unless another is given.
    """
    writes_any = bool(writes) or anywhere
    usual = Effect.WRITE if writes_any or deletes else Effect.READ
    declared = Declared(
        effect=usual if effect is None else effect,
        writes=writes,
        anywhere=anywhere,
        deletes=deletes,
        unfollowed=unfollowed,
        subject=subject,
        deadline_s=deadline_s,
        output_max=output_max,
    )
    return lambda function: FunctionTool(function, declared, name=name)


class ToolExitError(Exception):
    """A function tried to end the program."""


class _CrashedError(Exception):
    """Carries what a thread raised past the future, which refuses some kinds of errors."""

    def __init__(self, error: BaseException) -> None:
        self.error = error if isinstance(error, Exception) else ToolExitError(repr(error))
        super().__init__()


class _Abandoned(SystemExit):
    """Ends a thread whose call nobody waits for any more."""


class _Turn:
    """Whether a thread is still at its call, so that nothing else is ever interrupted."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._is_over = False

    def over(self) -> None:
        with self._lock:
            self._is_over = True

    def interrupt(self, thread: threading.Thread) -> None:
        # Ends it at its next step in Python. A call into C goes on until it returns by itself.
        with self._lock:
            if not self._is_over and thread.ident is not None:
                ctypes.pythonapi.PyThreadState_SetAsyncExc(
                    ctypes.c_ulong(thread.ident), ctypes.py_object(_Abandoned)
                )


async def _awaited(coroutine: Any) -> object:
    try:
        return await coroutine
    except SystemExit as error:
        # The event loop would end with it.
        raise ToolExitError(repr(error)) from None


def _answer(returned: object) -> ToolAnswer:
    if isinstance(returned, ToolAnswer):
        return returned
    if returned is None:
        text = "done"
    elif isinstance(returned, str):
        text = storable(returned)
    else:
        text = msgspec.json.encode(returned, enc_hook=_encoded).decode()
    return ToolAnswer(status=AnswerStatus.OK, text=text)


def _encoded(value: object) -> object:
    if isinstance(value, Path):
        return value.as_posix()
    raise TypeError(f"it returned {type(value).__name__}, which has no form in JSON")
