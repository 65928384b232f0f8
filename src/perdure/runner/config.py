"""What `run` needs to know: the study as asked, who is in it, where its record goes."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from perdure.records.population import HeldOut, Population
from perdure.records.study import Study


@dataclass(frozen=True, kw_only=True)
class RunConfig:
    """A run as asked.

    `held_out` goes to the registry and nowhere else. `study_path` is the study file, whose folder
    holds its data and plug-ins. `out` is the run's folder. `force` names what may have moved since
    the run began. `flags` are the command-line flags that changed the study, by name. With
    `network_fs` the folder may be on a network file system: no other machine works on it.
    """

    study: Study
    population: Population
    held_out: HeldOut
    study_path: str
    out: str
    force: tuple[str, ...] = ()
    flags: dict[str, str] = field(default_factory=dict)
    network_fs: bool = False

    @property
    def study_file(self) -> Path:
        """The study file in full. A link to it is not followed: its folder is the one it is in."""
        path = Path(self.study_path)
        return path.parent.resolve() / path.name
