"""Everything that is constant about one drive, fixed before its first line."""

from __future__ import annotations

import hashlib

from perdure.agent.drive.prefix import Prefix
from perdure.base.canonical import encode
from perdure.records.drive import (
    Anew,
    Dispatcher,
    Opening,
    PlacePolicy,
    RunPolicy,
    RunStarted,
    SkillPin,
)
from perdure.records.record import Record
from perdure.records.request import Message


class Fork(Record):
    """Where a drive branches off: the mother's id, the line after which, and its chain, in hex.

    `asked` is the line that was asked for: within a wave the branch begins before it.
    """

    mother: str
    at: int
    asked: int
    chain: str = ""


class DrivePlan(Record):
    """What one drive is dispatched with. Whatever it was read from may be edited afterwards.

    `run` is its id and `who` its agent. `job` says where the task stands, `goal` what would show
    that it is done. `inherited` is the conversation that it starts from. `retries` is how often a
    failed call is made again before the drive ends, None until it is halted. `second_threshold` is
    the fuller rung of the context gauge, in percent of the `window`; a window of 0 is not known.
    `seed` is what sampling seeds are drawn from. With `concurrent` the reads that a reply begins
    with run at the same time; what is left behind is the same. With `costs_apart`
    usage is recorded elsewhere. `forked` is the place where it branches off another drive.
    `anew` is what it was given otherwise than the drive was asked for first; what that changes is
    for whoever dispatches it.
    """

    run: str
    who: str
    task: str
    goal: str
    job: str
    prefix: Prefix
    model: str
    role: str = "tier_a"
    tokens_max: int = 4096
    temperature: float = 0.0
    seed: str = ""
    dispatched_by: Dispatcher = Dispatcher.PERSON
    opening: Opening = Opening.FROM_JOB
    place_policy: PlacePolicy = PlacePolicy()
    policy: RunPolicy = RunPolicy()
    parent: str = ""
    predecessor: str = ""
    skills: tuple[SkillPin, ...] = ()
    naming: str = ""
    inherited: tuple[Message, ...] = ()
    retries: int | None = None
    second_threshold: int = 65
    window: int = 0
    concurrent: bool = True
    costs_apart: bool = False
    forked: Fork | None = None
    anew: Anew | None = None

    @property
    def job_sha256(self) -> str:
        """The hash of the task and its goal."""
        return hashlib.sha256(f"{self.task}\0{self.goal}".encode()).hexdigest()

    @property
    def inherited_bytes(self) -> bytes:
        """The inherited conversation, in canonical bytes; none if there is none."""
        return encode(self.inherited) if self.inherited else b""

    def started(self, t: int, tools: tuple[str, ...]) -> RunStarted:
        """Give the line that says all of this, at a moment."""
        inherited = self.inherited_bytes
        return RunStarted(
            run=self.run,
            t=t,
            task=self.task,
            goal=self.goal,
            job=self.job,
            model=self.model,
            dispatched_by=self.dispatched_by,
            opening=self.opening,
            place_policy=self.place_policy,
            policy=self.policy,
            parent=self.parent,
            predecessor=self.predecessor,
            skills=self.skills,
            naming=self.naming,
            inherited=hashlib.sha256(inherited).hexdigest() if inherited else "",
            tools=tools,
            tokens_max=self.tokens_max,
            retries=self.retries,
            second_threshold=self.second_threshold,
            window=self.window,
            anew=self.anew,
        )
