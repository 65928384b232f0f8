"""What a supervisor knows of its run at this moment: the one thing that all its parts share."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import msgspec

from perdure.supervise.acceptance import Artifact
from perdure.supervise.attempts import Running
from perdure.supervise.health import Health
from perdure.supervise.liveness import Signs
from perdure.supervise.pace import Seen
from perdure.supervise.stored import Kept
from perdure.supervise.subject import Look


@dataclass(kw_only=True)
class Case:
    """A run as it is known now.

    `kept` outlives the supervisor, and `keep` alone changes it. `look` and `artifact` are the last
    answers, `faults` what is wrong with a predicate, `health` how each check stands, and `window`
    the looks that the pace is taken from. `running` is the attempt that is watched, `signs` its
    signs of life; of it, or of the last one, `has_advanced` says whether it came further than ever
    before, `wanted_memory` whether the system ended something for want of it meanwhile, `tail` what
    it printed last, and `log_fault` why its log could not be written. Times with `wall` are for
    people.
    """

    signs: Signs
    kept: Kept = field(default_factory=Kept)
    look: Look = field(default_factory=Look)
    artifact: Artifact = field(default_factory=Artifact)
    faults: dict[str, str] = field(default_factory=dict)
    health: dict[str, Health] = field(default_factory=dict)
    window: tuple[Seen, ...] = ()
    running: Running | None = None
    has_advanced: bool = False
    wanted_memory: bool = False
    tail: str = ""
    log_fault: str = ""
    advanced_wall_s: float | None = None
    next_wall_s: float | None = None
    free_bytes: int | None = None
    needed_bytes: int = 0
    drift: str = ""
    code: int | None = None

    def keep(self, **changes: Any) -> None:
        """Change what is kept."""
        self.kept = msgspec.structs.replace(self.kept, **changes)
