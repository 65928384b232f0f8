"""How a run is to be supervised: every limit, with the defaults that survive a night."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from perdure.supervise.backoff import Backoff
from perdure.supervise.command import Command
from perdure.supervise.ends import USUAL, Kind
from perdure.supervise.escalation import Graces
from perdure.supervise.health import Arming
from perdure.supervise.liveness import Deadlines
from perdure.supervise.patience import Allowance


class Event(StrEnum):
    """What a hook can be called for."""

    START = "start"
    STALL = "stall"
    PAUSE = "pause"
    GIVE_UP = "give-up"
    DONE = "done"


@dataclass(frozen=True, kw_only=True)
class Check:
    """A named health check: its command, when it counts, and whether it only warns."""

    name: str
    command: Command
    arming: Arming = field(default_factory=Arming)
    only_warns: bool = False


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Everything about a supervisor that is not about the run itself.

    Times are seconds, sizes bytes. `folder` is the supervisor's own, which `option` names, and
    `store` where the run has its own, None if that is not known. On the disks of `watched` there
    has to be room: first that of the run, then all others that are written to. `errors_max` is how
    often in a row a predicate may be broken. `disk_wait_s` is how long a full disk is waited for.
    """

    folder: Path
    option: str = "--dir"
    store: Path | None = None
    allowance: Allowance = field(default_factory=Allowance)
    backoff: Backoff = field(default_factory=Backoff)
    deadlines: Deadlines = field(default_factory=Deadlines)
    graces: Graces = field(default_factory=Graces)
    table: Mapping[int, Kind] = field(default_factory=lambda: dict(USUAL))
    hooks: Mapping[Event, Command] = field(default_factory=dict)
    checks: tuple[Check, ...] = ()
    heartbeat: Path | None = None
    guard: Command | None = None
    dump_signal: int | None = None
    secret_names: tuple[str, ...] = ()
    watched: tuple[Path, ...] = (Path(),)
    poll_s: float = 5.0
    look_s: float = 0.5
    predicate_s: float = 60.0
    hook_s: float = 60.0
    leave_s: float = 5.0
    errors_max: int = 3
    log_bytes: int = 64 * 10**6
    logs_max: int = 20
    disk_floor: int = 64 * 10**6
    disk_wait_s: float = 86_400.0
