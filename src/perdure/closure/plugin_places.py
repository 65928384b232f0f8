"""Where a study's own code is: beside the study, in this package, or among what is installed."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from perdure.base.errors import PluginError
from perdure.closure.installed import Installed
from perdure.closure.places import Module, Places, Root
from perdure.closure.rooms import OURS, is_ours

# The folder that this package is in.
HOME = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class PluginPlaces:
    """The places of our own modules and of a study's plug-ins.

    `starts` are the plug-ins' modules. `beside` names what is in the study's folder alone.
    """

    places: Places
    starts: tuple[Module, ...]
    beside: frozenset[str]


def places_of(
    folder: Path,
    plugins: Sequence[str],
    *,
    installed: Installed,
    home: Path = HOME,
    whole: bool = False,
) -> PluginPlaces:
    """Find plug-ins as a run would. `folder` is the study's, and `plugins` are `module:Class`.

    Of a study without plug-ins a run takes nothing from that folder; with `whole`, its modules can
    be asked about all the same.

    Raises:
        PluginError: a plug-in's module is not there.

    """
    ours = Root(home, frozenset({OURS}))
    found = [_place(reference, folder, ours) for reference in plugins]
    # The study's folder stands last on a run's path: a name that is installed means what is
    # installed, except for the plug-in itself.
    named = {name for name, root in found if root is None}
    beside = _not_installed(folder, installed, named) if found or whole else frozenset()
    roots = [ours, *(root for _, root in found if root is not None), Root(folder, beside)]
    places = Places(list(dict.fromkeys(roots)))
    starts = [places.find(name) for name, _ in found]
    return PluginPlaces(places, tuple(start for start in starts if start is not None), beside)


def is_there(plugin: str, folder: Path) -> bool:
    """Say whether a plug-in's module is there. `folder` is the study's."""
    try:
        _place(plugin, folder, Root(HOME, frozenset({OURS})))
    except PluginError:
        return False
    return True


def _place(reference: str, folder: Path, ours: Root) -> tuple[str, Root | None]:
    """Find a plug-in as a run would: in the study's folder, or else among what is installed.

    The root is None if it is in the study's folder.
    """
    name = reference.partition(":")[0]
    if is_ours(name):
        if Places([ours]).find(name) is None:
            raise _not_there(reference, "in this package")
        return name, ours
    here = Places([Root(folder)]).find(name)
    if here is not None and here.path:
        return name, None
    for entry in sys.path:
        path = Path(entry)
        module = Places([Root(path)]).find(name)
        if module is not None and module.path:
            return name, Root(path, frozenset({name.partition(".")[0]}))
    raise _not_there(reference, f"in {folder} and among the installed packages")


def _not_there(reference: str, where: str) -> PluginError:
    return PluginError(
        f"The module {reference.partition(':')[0]!r} is not there.",
        where=reference,
        remedy=f"It is looked for {where}.",
    )


def _not_installed(folder: Path, installed: Installed, plugins: set[str]) -> frozenset[str]:
    """Name what the study's folder holds and nothing that is installed hides."""
    named = {name.partition(".")[0] for name in plugins}
    names = Places([Root(folder)]).top_level(folder) - {OURS}
    return frozenset(
        name
        for name in names
        if name in named or (name not in sys.stdlib_module_names and not installed.providers(name))
    )
