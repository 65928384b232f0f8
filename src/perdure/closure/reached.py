"""Which modules of ours a run reaches, found from their recorded texts alone. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from perdure.closure.installed import Distribution
from perdure.closure.library import Library
from perdure.closure.places import Places, Root
from perdure.closure.shelf import TOP, Recorded
from perdure.closure.walk import walk
from perdure.records.fingerprint import Fingerprint


def reached(found: Fingerprint) -> frozenset[str]:
    """Name those modules of ours in a fingerprint that its entries reach.

    A text that the running Python cannot read may reach anything, and then all of them count.
    """
    codes = found.engine | found.transport
    places = Places([Root(Path(TOP))], Recorded(codes))
    library = Library(places, mentioned=frozenset())
    starts = [places.find(name) for name in found.entries]
    closure = walk(
        [start for start in starts if start is not None],
        places=places,
        library=library,
        installed=_Nothing(),
    )
    return frozenset(codes if library.failed else closure.modules)


class _Nothing:
    """No distributions: only our own modules are asked about."""

    def providers(self, module: str) -> tuple[Distribution, ...]:  # noqa: ARG002 - a port
        return ()

    def stray(self, module: str) -> str:  # noqa: ARG002 - a port
        return ""

    def entry_points(self, group: str, own: Sequence[str] = ()) -> tuple[str, ...]:  # noqa: ARG002
        return ()

    def siblings(self, module: str) -> frozenset[str]:  # noqa: ARG002 - a port
        return frozenset()

    def home(self, module: str) -> str:  # noqa: ARG002 - a port
        return ""

    def startup(self) -> tuple[str, ...]:
        return ()
