"""The people of a world, as the world may know them: who they are, and who knows whom."""

from __future__ import annotations

from perdure.records.graph import Node
from perdure.records.persona import Persona
from perdure.records.record import Record


class People(Record):
    """The personas of a run, in the order of the population, and their graph if there is one.

    `graph` has a node for each persona, in the same order; it is empty if there is no graph.
    """

    personas: tuple[Persona, ...] = ()
    graph: tuple[Node, ...] = ()
