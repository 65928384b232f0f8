"""What `run` needs to know: the study as asked, who is in it, where its record goes."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from msgspec.structs import replace

from perdure.base.canonical import as_recorded, in_key_order
from perdure.records.population import HeldOut, Population
from perdure.records.registry import RunEntry
from perdure.records.study import Study

# Long enough for a step that is heavy; short enough that one which hangs is noticed the same day.
STEP_LIMIT_S = 1_800.0


def study_file_of(entry: RunEntry, folder: Path) -> Path | None:
    """Find a run's study file: beside its folder as it was then, else where it was then.

    None if it is at neither place.
    """
    places = (folder / entry.study_path_relative, Path(entry.study_path))
    return next((path for path in places if path.is_file()), None)


@dataclass(frozen=True, kw_only=True)
class RunConfig:
    """A run as asked.

    `held_out` goes to the registry and nowhere else. `study_path` is the study file, whose folder
    holds its data and plug-ins. `out` is the run's folder. `force` names what may have moved since
    the run began. `flags` are the command-line flags that changed the study, by name.
    `only` names the cells that are driven now, all of them if it is empty; the others stay as they
    are. `allow_dear_calls` lets a run begin of which a typical call costs more than one unit of its
    currency. With `network_fs` the folder may be on a network file system: no other machine works
    on it.

    Worlds are driven in so many processes of their own as `workers` says; with 0, in this one. One
    that gives no word for `step_limit_s` seconds, while it waits for nothing, is taken to hang, and
    ended. `worker_bytes` is the address space that a worker may have, if that is to be limited.
    Both hold for workers only. With `tells_stacks`, SIGUSR1 has every process of the run write into
    `logs/` where it is.
    """

    study: Study
    population: Population
    held_out: HeldOut
    study_path: str
    out: str
    force: tuple[str, ...] = ()
    flags: dict[str, str] = field(default_factory=dict)
    allow_dear_calls: bool = False
    network_fs: bool = False
    only: tuple[str, ...] = ()
    workers: int = 0
    step_limit_s: float = STEP_LIMIT_S
    worker_bytes: int | None = None
    tells_stacks: bool = False

    def __post_init__(self) -> None:
        """Put study and people as a record gives them back, whatever order they were written in."""
        object.__setattr__(self, "study", as_recorded(self.study))
        object.__setattr__(self, "population", _in_key_order(self.population))

    @property
    def folder(self) -> Path:
        """The run's folder in full. Ask before the study's own code can change where we are."""
        return Path(self.out).absolute()

    @property
    def study_file(self) -> Path:
        """The study file in full. A link to it is not followed: its folder is the one it is in."""
        path = Path(self.study_path)
        return path.parent.resolve() / path.name


def _in_key_order(population: Population) -> Population:
    return replace(
        population,
        personas=tuple(
            replace(one, attributes=in_key_order(one.attributes)) for one in population.personas
        ),
        graph=tuple(replace(node, ties=in_key_order(node.ties)) for node in population.graph),
    )


def workers_by_default(study: Study) -> int:
    """Say in how many processes a study's worlds are driven if nobody says so.

    Our own worlds and agents neither hang nor end the program, and wait for models most of the
    time: processes would only cost their start. A study's own code may do anything, so that its
    worlds are kept apart, as far as there are processors.
    """
    worlds = len(study.scenarios) * len(study.seeds)
    code = (*study.agent.code, *(scenario.world for scenario in study.scenarios))
    if worlds == 1 or all(name.startswith("perdure.") for name in code):
        return 0
    return min(worlds, os.cpu_count() or 1)
