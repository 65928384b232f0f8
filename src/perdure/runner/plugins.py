"""A user's own world or agent, named in the study as `module:Class`, and tools as functions.

All are loaded from the study's folder, or else from an installed distribution, in `run` and its
kin only, and only after the study was found valid.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from perdure.agent.drive.tools.function import FunctionTool
from perdure.base.errors import PluginError
from perdure.records.scenario import AgentSettings, Header
from perdure.records.tools import Effect
from perdure.runner.endings import named


def load(reference: str, folder: Path) -> type[Any]:
    """Import the class that a study names. `folder` is the study's own.

    Raises:
        PluginError: the module cannot be imported, or has no such class.

    """
    found = _load_any(reference, folder)
    if not isinstance(found, type):
        module_name, _, class_name = reference.partition(":")
        raise PluginError(
            f"The module {module_name!r} has no class {class_name!r}.",
            where=reference,
            remedy="Write `module:Class` with the name of a class that the module defines.",
        )
    return found


def _load_any(reference: str, folder: Path) -> object:
    """Import whatever a study names; None if its module has nothing of that name.

    Raises:
        PluginError: the module cannot be imported.

    """
    module_name, _, name = reference.partition(":")
    try:
        module = _from_folder(module_name, folder) or importlib.import_module(module_name)
    except (Exception, SystemExit) as error:  # whatever a user's module raises at import
        raise PluginError(
            f"The module {module_name!r} could not be imported: {named(error)}.",
            where=reference,
            remedy=f"It is looked for in {folder} and among the installed packages.",
        ) from error
    return getattr(module, name, None)


def _from_folder(module_name: str, folder: Path) -> ModuleType | None:
    base = folder.resolve().joinpath(*module_name.split("."))
    package = base / "__init__.py"
    path = package if package.is_file() else base.with_suffix(".py")
    if not path.is_file():
        return None
    loaded = sys.modules.get(module_name)
    if loaded is not None and getattr(loaded, "__file__", None) == str(path):
        return loaded
    if str(folder.resolve()) not in sys.path:
        # Last, so that a file beside the study never stands in for an installed module.
        sys.path.append(str(folder.resolve()))
    spec = importlib.util.spec_from_file_location(module_name, path)
    assert spec is not None, "a .py file always has a loader"
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[module_name]
        raise
    return module


def _load_whole(reference: str, folder: Path, methods: Iterable[str]) -> type[Any]:
    """Load a class that has all methods which it is going to be asked for."""
    found = load(reference, folder)
    missing = [name for name in methods if not callable(getattr(found, name, None))]
    if missing:
        raise PluginError(
            f"The class {found.__name__!r} has no method {' and no method '.join(missing)}.",
            where=reference,
            remedy="A world derives from `perdure.world.BaseWorld` and has `reset` and `step`; an"
            " agent has `reset` and `act`.",
        )
    return found


def load_tools(agent: AgentSettings, folder: Path) -> tuple[FunctionTool, ...]:
    """Import the functions that a study names as tools. `folder` is the study's own.

    Raises:
        PluginError: a module cannot be imported; or what is wrong with them, all at once.

    """
    loaded = {name: _load_any(name, folder) for name in agent.outside_tools}
    problems = [
        f"{name} {wrong}" for name, found in loaded.items() for wrong in _problems(found, agent)
    ]
    tools = [found for found in loaded.values() if isinstance(found, FunctionTool)]
    names = [tool.spec.name for tool in tools]
    problems += [
        f"there are two tools of the name {name!r}"
        for name in dict.fromkeys(names)
        if names.count(name) > 1
    ]
    if problems:
        raise PluginError(
            f"These cannot be tools of its personas: {'; '.join(problems)}.",
            where="agent.outside.tools",
            remedy="A tool is a function with the decorator `tool` of `perdure.agent.drive.tools."
            "function`; what does more than read says so, such as `@tool(effect=Effect.WRITE)`.",
        )
    return tuple(tools)


def _problems(found: object, agent: AgentSettings) -> Iterator[str]:
    if not isinstance(found, FunctionTool):
        yield "is no tool"
        return
    may = found.traits.may
    if found.takes_paths:
        yield "takes a path of a workspace, and a persona has none"
    elif may.deletes or not may.writes.is_nothing:
        yield "may write files of a workspace, and a persona has none"
    if may.effect is Effect.SPAWN:
        yield "hands work down, which a persona cannot"
    if may.effect is Effect.EGRESS and not agent.outside_egress:
        yield "reaches beyond this machine, which the study does not allow (`egress: true`)"


class PluginParts:
    """What a study names, loaded once; an object of each class is made for every world."""

    def __init__(self, agent: AgentSettings, worlds: Iterable[str], folder: Path) -> None:
        self._agent = _load_whole(agent.agent, folder, ("reset", "act"))
        self._tools = load_tools(agent, folder)
        needed = ("reset", "needs", "step")
        self._worlds = {world: _load_whole(world, folder, needed) for world in worlds}

    def world(self, header: Header) -> Any:
        """Make the world of a header.

        Raises:
            PluginError: the class cannot be made without arguments.

        """
        return _make(self._worlds[header.scenario.world], header.scenario.world)

    @property
    def outside(self) -> tuple[FunctionTool, ...]:
        """The tools outside the worlds, in the order in which the study names them."""
        return self._tools

    def agent(self, header: Header) -> Any:
        """Make the agent of a header.

        Raises:
            PluginError: the class cannot be made without arguments.

        """
        return _make(self._agent, header.agent.agent)


def _make(found: type[Any], reference: str) -> Any:
    try:
        return found()
    except (Exception, SystemExit) as error:  # whatever a user's class raises
        raise PluginError(
            f"It could not be made: {named(error)}.",
            where=reference,
            remedy="A world or agent class is made without arguments.",
        ) from error
