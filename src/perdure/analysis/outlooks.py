"""What is followed in every world while its events pass: beliefs, communities, channels, tools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from perdure.analysis.anomalies import Anomalies, anomalies
from perdure.analysis.cells import Cells, waves_of
from perdure.analysis.channels import ChannelFigures, channel_figures
from perdure.analysis.divergence import COMMUNITIES_MIN, Shuffler
from perdure.analysis.exposure import ChannelSeen, ExposurePass
from perdure.analysis.incidents import IncidentPass, WorldIncidents
from perdure.analysis.opinions import (
    Chances,
    OpinionCount,
    OpinionPass,
    OpinionPath,
    opinion_paths,
)
from perdure.analysis.polarization import Polarization, of_answers, of_beliefs
from perdure.analysis.replicates import ScenarioSeeds
from perdure.analysis.tool_use import ToolPass, ToolsSeen, ToolUse, tool_use
from perdure.analysis.verbatims import (
    Samples,
    VerbatimPass,
    Verbatims,
    sample_size,
    verbatims,
)
from perdure.analysis.watching import Watcher
from perdure.records.graph import Node
from perdure.records.persona import Persona
from perdure.records.registry import WorldEntry
from perdure.records.scenario import Scoring
from perdure.records.study import Study

_RULE = "baseline"  # the provider whose answers are those of a declared rule
_TIER = "tier_"  # the roles that answer for personas


class Outlooks:
    """Follows the worlds of a run, and sums up by scenario what was seen."""

    def __init__(self, study: Study, graph: Sequence[Node], personas: Sequence[Persona]) -> None:
        """Take the people, with their communities if there are at least two."""
        self._claims = tuple(claim.id for claim in study.brief.claims)
        self._places = {persona.id: place for place, persona in enumerate(personas)}
        communities = [node.community for node in graph]
        several = len({one for one in communities if one is not None}) >= COMMUNITIES_MIN
        places = len(self._claims) * sum(scenario.horizon for scenario in study.scenarios)
        self._shuffler = Shuffler(communities, places=places) if several else None
        self._by_rule = all(
            spec.pin.provider == _RULE
            for role, spec in study.models.items()
            if role.startswith(_TIER)
        )
        # A letter that stands for a choice is no words of anybody's.
        self._worded = tuple(
            question.id for question in study.questions if question.scoring is not Scoring.LOGPROBS
        )
        self._most = sample_size(len(study.scenarios) * len(study.questions))
        self._chances: dict[str, Chances] = {one.id: {} for one in study.scenarios}
        self._samples: dict[str, Samples] = {one.id: {} for one in study.scenarios}
        self._outside = len(study.agent.outside_tools)
        self._open: dict[str, tuple[OpinionPass, ExposurePass, IncidentPass]] = {}
        self._opinions: dict[str, Mapping[str, Mapping[int, OpinionCount]]] = {}
        self._exposures: dict[str, Mapping[str, ChannelSeen]] = {}
        self._incidents: dict[str, WorldIncidents] = {}
        self._tools: dict[str, ToolsSeen] = {}

    def watch(self, world: WorldEntry) -> Sequence[Watcher]:
        """Begin to follow a world; those before it have been read."""
        self.settle()
        beliefs = OpinionPass(
            self._places, self._claims, self._shuffler, self._chances[world.scenario]
        )
        shown, incidents = ExposurePass(self._places), IncidentPass()
        self._open[world.world_id] = beliefs, shown, incidents
        said = VerbatimPass(world.world_id, self._samples[world.scenario], most=self._most)
        used = ToolPass(self._places, self._outside)
        self._tools[world.world_id] = used.seen
        return (beliefs, shown, incidents, said, used)

    def settle(self) -> None:
        """End what was begun: keep what was counted of a world, let go of who was where in it."""
        for world_id, (beliefs, shown, incidents) in self._open.items():
            self._opinions[world_id] = beliefs.counts
            self._exposures[world_id] = shown.channels()
            self._incidents[world_id] = incidents.incidents()
        self._open.clear()

    def verbatims(self) -> tuple[Verbatims, ...]:
        """Cluster what people said in their own words, by scenario and question."""
        return tuple(
            one
            for name, samples in self._samples.items()
            for one in verbatims(name, samples, self._worded)
        )

    def anomalies(
        self, cells: Cells, paths: Sequence[OpinionPath], seeds: Sequence[ScenarioSeeds]
    ) -> Anomalies:
        """Apply the rules of anomalies to what was seen."""
        worlds = {
            name: [(stands, self._incidents[stands.world_id]) for _, stands in mine]
            for name, mine in cells.items()
        }
        return anomalies(worlds, paths, seeds, worded=() if self._by_rule else self._worded)

    def channels(self, cells: Cells) -> tuple[ChannelFigures, ...]:
        """Sum up what went on on each channel, by scenario."""
        found: list[ChannelFigures] = []
        for name, mine in cells.items():
            worlds = [(stands, self._exposures[stands.world_id]) for _, stands in mine]
            found.extend(channel_figures(name, worlds, personas=len(self._places)))
        return tuple(found)

    def tools(self, cells: Cells) -> tuple[ToolUse, ...]:
        """Sum up what was done with tools, by scenario."""
        return tool_use(
            {
                name: [(stands, self._tools[stands.world_id]) for _, stands in mine]
                for name, mine in cells.items()
            }
        )

    def paths(self, cells: Cells) -> tuple[OpinionPath, ...]:
        """Give the path of each belief, by scenario."""
        return tuple(
            path
            for name, mine in cells.items()
            for path in opinion_paths(
                name,
                [(stands, self._opinions[stands.world_id]) for _, stands in mine],
                personas=len(self._places),
            )
        )

    def polarization(
        self, cells: Cells, choices: Mapping[str, Sequence[str]]
    ) -> tuple[Polarization, ...]:
        """Compare communities over claims, and over answers at waves; nothing without any."""
        if self._shuffler is None:
            return ()
        found: list[Polarization] = []
        for name, mine in cells.items():
            worlds = [(stands, self._opinions[stands.world_id]) for _, stands in mine]
            found.extend(of_beliefs(name, worlds, self._chances[name]))
            for question, named in choices.items():
                found.extend(
                    of_answers(
                        name,
                        question,
                        waves_of(question, mine),
                        choices=named,
                        places=self._places,
                        shuffler=self._shuffler,
                    )
                )
        return tuple(found)
