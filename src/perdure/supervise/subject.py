"""What is supervised, as a supervisor sees it: commands to run, and answers to ask for."""

from __future__ import annotations

from typing import Protocol

from perdure.records.record import Record
from perdure.supervise.acceptance import Artifact
from perdure.supervise.answers import Answer, Existence
from perdure.supervise.command import Command
from perdure.supervise.stored import Process


class Look(Record):
    """A look at a run.

    `progress` counts its units and `steps` something finer; both are held against the most that was
    ever seen. `pulse` only says, within one attempt, that something goes on. `busy` says that it
    waits for something that has a limit of its own. `beat` is any text that changes as it lives.
    `is_glance` says that it is what the run said of itself, and not what its record holds: it may
    lag behind, and a run that has just begun has said nothing. `damage` says what is wrong with a
    record that nothing can be done with any more.
    """

    progress: Answer = Answer()
    steps: Answer = Answer()
    pulse: int | None = None
    busy: bool = False
    beat: str = ""
    is_glance: bool = False
    damage: str = ""


class Subject(Protocol):
    """A run of any kind.

    `target` is the number of units that its artifact must hold; None until that is known.
    `counted` names the predicates that have given a unit, now or under an earlier supervisor.
    """

    counted: set[str]

    @property
    def text(self) -> str:
        """The run, for people."""
        ...

    @property
    def target(self) -> int | None:
        """The units that the artifact must hold."""
        ...

    async def existence(self) -> tuple[Existence | None, str]:
        """Say whether there is a run; None, and why, if that cannot be said."""
        ...

    def command(self, *, resume: bool) -> Command:
        """Give the command that starts or resumes it."""
        ...

    def asked_again(self) -> Command | None:
        """Give the command that ends with 0 if an accepted run is still the one asked for.

        It does no work on such a run. None: there is nothing to ask.
        """
        ...

    async def look(self, run: Process | None) -> Look:
        """Look at it while it lives, as this process; None if that is not known."""
        ...

    async def standing(self) -> Look:
        """Look at it when it has ended."""
        ...

    async def artifact(self, *, is_clean: bool) -> Artifact:
        """Read what it left. `is_clean` says that the last attempt ended with exit status 0."""
        ...
