"""Who knows whom: the ties of a population, the communities in them, and what was measured."""

from __future__ import annotations

from perdure.records.record import Record


class Node(Record):
    """One persona's place in the graph, in the order of the personas.

    `ties` maps the ids of those personas that come later to the strength of the tie, in 0..1 and
    whole hundredths: every tie is there once. `community` is its number, 0 for the largest; None if
    the population has no partition that qualifies, or the persona no tie.
    """

    ties: dict[str, float] = {}
    community: int | None = None


class Communities(Record):
    """The partition of a graph that was found, and whether it qualifies.

    `why` says what it lacks, and is empty if it qualifies; polarization cannot be measured without
    one that does. `sizes` counts the personas of each community, the largest first. `modularity` is
    Newman's, by strength, whatever the `resolution` at which the partition was found.
    """

    modularity: float
    resolution: float
    sizes: tuple[int, ...]
    why: str = ""


class GraphReport(Record):
    """What a graph is like. `file` is the edge list that it was read from; empty if it was made.

    `outside` counts ties of the file to people who were not drawn. `clustering` is the mean, over
    personas, of the share of their pairs of neighbours that know each other; `homophily` is how far
    tied personas are alike beyond two of chance, 1 at most, None without attributes to go by.
    `connected` is the share of personas in the largest component.
    """

    ties: int
    degree_mean: float
    degree_max: int
    isolated: int
    clustering: float
    connected: float
    homophily: float | None = None
    file: str = ""
    file_sha256: str = ""
    outside: int = 0
    communities: Communities | None = None
