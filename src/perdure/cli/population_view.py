"""Who was drawn, for a terminal: audiences, what was given up, the graph, what the gates say."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from perdure.analysis.document import Block
from perdure.cli.figures import count, percent, plural
from perdure.cli.tables import heading, paragraph, table
from perdure.population.gates import KOLMOGOROV_SMIRNOV
from perdure.records.graph import GraphReport
from perdure.records.population import Gate, GateState, PopulationManifest, Relaxation


def population_parts(manifest: PopulationManifest) -> Iterator[Block]:
    """Draw who is in a study, and how they compare with whom they are to stand for."""
    yield heading("Population")
    yield paragraph(_drawn(manifest))
    if manifest.audiences:
        rows = [
            [name, count(people), percent(people / manifest.rows_drawn)]
            for name, people in manifest.audiences.items()
        ]
        yield table(["audience", "people", "share"], rows)
    yield from relaxation_parts(manifest)
    if manifest.graph is not None:
        yield paragraph(f"\n{_graph(manifest.graph)}")
        yield paragraph(_communities(manifest.graph))
    if manifest.gates:
        yield paragraph(f"\n{_judged(manifest.gates)}")
        yield table(
            ["gate", "target", "compared", "test", "p", "farthest off", "result"],
            [_row(gate) for gate in manifest.gates],
            left=2,
        )
        yield from _margin_parts(manifest.gates)


def _margin_parts(gates: Sequence[Gate]) -> Iterator[Block]:
    """Draw code by code what the study declares, and what failed; --json has every margin."""
    shown = [gate for gate in gates if gate.declared or gate.state is GateState.FAILED]
    rows = [
        [gate.name, level.code, percent(level.target), percent(share), count(level.drawn)]
        for gate in shown
        for level in gate.levels
        for share in [level.drawn / gate.compared if gate.compared else None]
    ]
    if rows:
        yield paragraph("")
        yield table(["margin", "code", "target", "drawn", "people"], rows, left=2)


def relaxation_parts(manifest: PopulationManifest) -> Iterator[Block]:
    """Say what the draw gave up because too few people fitted."""
    if manifest.relaxations:
        yield paragraph("\nToo few people fitted what was asked. Given up, in this order:")
    for one in manifest.relaxations:
        yield paragraph(_given_up(one), indent=2)


def failure_parts(manifest: PopulationManifest) -> Iterator[Block]:
    """Draw what a reader of results has to know of the draw: nothing, if it is as it was asked."""
    failed = [gate for gate in manifest.gates if gate.state is GateState.FAILED]
    if not (failed or manifest.relaxations):
        return
    yield heading("The population is not quite what was asked for")
    yield from relaxation_parts(manifest)
    for gate in failed:
        chance = f" (p {_chance(gate)})" if gate.p is not None else ""
        yield paragraph(
            f"The gate `{gate.name}` failed, which the study accepts: {_farthest(gate)}{chance}.",
            indent=2,
        )


def _drawn(manifest: PopulationManifest) -> str:
    causes = ", ".join(f"{count(number)} {cause}" for cause, number in manifest.left_out.items())
    left_out = f" Left out: {causes}." if causes else ""
    return (
        f"{plural(manifest.rows_drawn, 'persona')} of the {plural(manifest.rows_read, 'row')} of "
        f"{manifest.file}.{left_out}"
    )


def _graph(graph: GraphReport) -> str:
    alike = "" if graph.homophily is None else f", homophily {graph.homophily:.3f}"
    outside = f", and {plural(graph.outside, 'tie')} to people not drawn" if graph.outside else ""
    source = f" from {graph.file}{outside}" if graph.file else ""
    degrees = (
        f"{graph.degree_mean:.1f} a persona on average, {count(graph.degree_max)} at most, "
        f"{count(graph.isolated)} without any"
    )
    return (
        f"Graph: {plural(graph.ties, 'tie')}{source}; {degrees}. Clustering "
        f"{graph.clustering:.3f}{alike}; {percent(graph.connected)} are in the largest component."
    )


def _communities(graph: GraphReport) -> str:
    found = graph.communities
    if found is None:
        return "Communities: none, for nobody is tied. Polarization is not measurable."
    what = f"modularity {found.modularity:.3f} at resolution {found.resolution:.3g}"
    if found.why:
        return (
            f"Communities: none. The nearest partition ({what}) does not qualify: {found.why}. "
            "Polarization is not measurable."
        )
    sizes = ", ".join(map(count, found.sizes))
    return f"Communities: {len(found.sizes)}, of {sizes} personas ({what})."


def _given_up(one: Relaxation) -> str:
    what = f"the filter of {one.audience} by" if one.audience else "the quota of"
    return (
        f"{what} {one.dropped}, when {count(one.lacking)} were lacking; "
        f"that gave {count(one.gained)}"
    )


def _judged(gates: tuple[Gate, ...]) -> str:
    states = [gate.state for gate in gates]
    failed, passed = states.count(GateState.FAILED), states.count(GateState.PASSED)
    parts = [f"{plural(passed, 'gate')} passed", f"{count(failed)} failed"]
    if unmeasured := states.count(GateState.UNMEASURED):
        parts.append(f"{count(unmeasured)} could not be measured")
    return f"Compared with whom they are to stand for: {', '.join(parts)}."


def _row(gate: Gate) -> list[str]:
    state = f"{gate.state}, accepted" if gate.accepted else str(gate.state)
    return [
        gate.name,
        "graph" if gate.least is not None else "declared" if gate.declared else "file",
        count(gate.compared),
        "KS" if gate.test == KOLMOGOROV_SMIRNOV else gate.test,
        _chance(gate),
        _farthest(gate),
        state,
    ]


def _chance(gate: Gate) -> str:
    if gate.p is None:
        return ""
    return "< 0.001" if gate.p < 0.001 else f"{gate.p:.3f}"  # noqa: PLR2004 - three digits


def _farthest(gate: Gate) -> str:
    """Say where a gate's people are farthest from their target."""
    if gate.state is GateState.UNMEASURED:
        return gate.why
    if gate.least is not None:
        due = f"{gate.least:.3g} " + ("or more" if gate.most is None else f"to {gate.most:.3g}")
        return f"{gate.statistic:.3g} for {due}"
    if gate.target_mean is not None and gate.drawn_mean is not None:
        return f"mean {gate.drawn_mean:.4g} for {gate.target_mean:.4g}"
    shares = [(one, one.drawn / gate.compared) for one in gate.levels]
    worst, share = max(shares, key=lambda pair: abs(pair[1] - pair[0].target))
    return f"{worst.code}: {percent(share)} for {percent(worst.target)}"
