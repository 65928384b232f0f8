"""What a world's events must say together, tick by tick. Pure.

The chain proves that events are what was written; these rules prove that what was written is a
record: begun once, whole ticks, one outcome for every job, each rung taken once, ended once.
"""

from __future__ import annotations

from collections import Counter

from perdure.records.drive import PromptAssembled, RunStarted
from perdure.records.events import (
    AnswerGiven,
    BeliefsHeld,
    Completed,
    Cost,
    Degraded,
    Event,
    GuardrailViolation,
    MemoryFormed,
    Probed,
    Reflected,
    Restored,
    ScoreGiven,
    Started,
    TickClosed,
    Turn,
    TurnNotTaken,
)
from perdure.records.request import SCORER_JOB
from perdure.trace.drive_lines import cited_by
from perdure.trace.drive_rules import DriveRules
from perdure.trace.rungs import PAUSE, Rungs, in_force, recorded_after

_Later = MemoryFormed | BeliefsHeld | Reflected | Probed | ScoreGiven


class Tally:
    """Follows one world's events and says of the first one that breaks a rule what it breaks.

    It also sums what the registry's note of the world must agree with.
    """

    def __init__(self, horizon: int) -> None:
        self.horizon = horizon
        self.completed = False
        self.turns = 0
        self.turns_failed = 0
        self.cost = 0
        self.unknown_costs = 0
        self.rungs: Rungs = ()
        self._drives = DriveRules()
        self._is_started = False
        # Whether a tick is open, and whether it has more than what stands at its head.
        self._is_open = False
        self._has_work = False
        self._jobs: Counter[int] = Counter()
        # The jobs that costs and answers of the tick name; the personas of its violations, by job.
        self._named_jobs: set[int] = set()
        self._violations: dict[int, str] = {}
        # The personas of the tick's turns and of all memories, by content number.
        self._turns: dict[int | None, str] = {}
        self._memories: dict[int | None, str] = {}

    def follow(self, event: Event) -> str | None:
        """Take the next event; give what is wrong with it, if anything is."""
        return self._misplaced(event) or self._drives.follow(event) or self._take(event)

    def _misplaced(self, event: Event) -> str | None:
        if event.tick >= self.horizon:
            return f"its tick {event.tick} is past the world's horizon"
        if self.completed and not isinstance(event.payload, TickClosed):
            return "it follows the world's completion"
        if isinstance(event.payload, Degraded | Restored):
            return self._misplaced_rung(event.payload)
        if isinstance(event.payload, Started) is self._is_started:
            return "a world starts with the first event of its first tick and only there"
        if PAUSE.rung in in_force(self.rungs) and not isinstance(event.payload, Started):
            return "the world is paused"
        return None

    def _misplaced_rung(self, payload: Degraded | Restored) -> str | None:
        known = in_force(self.rungs)
        if isinstance(payload, Degraded) and payload.rung in known:
            return f"its rung {payload.rung} was taken already"
        if isinstance(payload, Restored) and payload.rung not in known:
            return f"its rung {payload.rung} was not taken"
        if PAUSE.rung in known and payload != Restored(rung=PAUSE.rung):
            return "the world is paused"
        if payload != PAUSE and not self._is_started:
            return "a world starts with the first event of its first tick and only there"
        if self._has_work or (payload == PAUSE and self._is_open):
            return "a rung stands at the head of its tick, and a pause between ticks"
        return None

    def _take(self, event: Event) -> str | None:
        wrong = None
        self._move(event)
        match event.payload:
            case Turn() | TurnNotTaken() as turn:
                wrong = self._count(event, turn)
            case MemoryFormed() | BeliefsHeld() | Reflected() | Probed() | ScoreGiven() as later:
                wrong = self._follow_up(event, later)
            case GuardrailViolation() as violation:
                wrong = self._break(event, violation)
            case AnswerGiven() as answer:
                self._named_jobs.add(answer.job)
            case Cost() as cost:
                wrong = self._pay(cost)
            case Completed():
                self.completed = True
            case TickClosed() as closed:
                wrong = self._close(event, closed)
            case _:
                pass
        return wrong

    def _move(self, event: Event) -> None:
        payload = event.payload
        self.rungs = recorded_after(self.rungs, event.tick, payload)
        self._is_started = self._is_started or isinstance(payload, Started)
        self._is_open = payload != PAUSE and not isinstance(payload, TickClosed)
        self._has_work = self._is_open and not isinstance(payload, Started | Degraded | Restored)

    def _count(self, event: Event, turn: Turn | TurnNotTaken) -> str | None:
        self._jobs[turn.job] += 1
        shown = turn.presentation.persona
        if event.persona != shown:
            return f"it was shown to {shown}"
        if self._violations.pop(turn.job, shown) != shown:
            return f"the answer to its job {turn.job} that broke a rule is another persona's"
        if not isinstance(turn, Turn):
            self.turns_failed += 1
            return None
        self.turns += 1
        self._turns[event.content] = event.persona
        return self._misremembered(turn, shown) or _unshown(turn)

    def _misremembered(self, turn: Turn, persona: str) -> str | None:
        for number in turn.recalled:
            if self._memories.get(number) != persona:
                return f"it recalls {number}, which is no earlier memory of {persona}"
        return None

    def _follow_up(self, event: Event, later: _Later) -> str | None:
        if later.turn not in self._turns:
            return f"it is about the turn {later.turn}, which is not of this tick"
        if event.persona != self._turns[later.turn]:
            return f"it is about the turn {later.turn}, which is another persona's"
        if isinstance(later, MemoryFormed):
            self._memories[event.content] = event.persona
        if isinstance(later, BeliefsHeld) and any(abs(one) > 3 for one in later.beliefs.values()):  # noqa: PLR2004
            return "a belief is not within -3 and 3"
        return None

    def _break(self, event: Event, violation: GuardrailViolation) -> str | None:
        if self._jobs[violation.job]:
            return f"it follows the outcome of its job {violation.job}"
        self._named_jobs.add(violation.job)
        self._violations[violation.job] = event.persona
        return None

    def _pay(self, payload: Cost) -> str | None:
        self._named_jobs.add(payload.job)
        if payload.amount is None:
            self.unknown_costs += 1
            return None
        self.cost += payload.amount
        return "its cost is negative" if payload.amount < 0 else None

    def _close(self, event: Event, payload: TickClosed) -> str | None:
        jobs, named = self._jobs, self._named_jobs
        self._jobs, self._named_jobs, self._turns, self._violations = Counter(), set(), {}, {}
        for job in range(payload.jobs):
            if jobs[job] != 1:
                return f"its tick has {jobs[job]} outcomes of the job {job}, and not one"
        if len(jobs) != payload.jobs:
            return f"its tick has outcomes of {len(jobs)} jobs, and not of {payload.jobs}"
        if not all(SCORER_JOB <= job < payload.jobs for job in named):
            return "its tick has costs or answers of a job that it does not have"
        if self.completed is not (event.tick == self.horizon - 1):
            return "a world is completed in its last tick and only there"
        return None


def _unshown(turn: Turn) -> str | None:
    about = turn.reaction.stimulus if turn.reaction is not None else ""
    if about and all(about != one.stimulus for one in turn.presentation.impression.exposures):
        return f"it is about {about}, which it did not show"
    return None


def cited(event: Event) -> tuple[str, ...]:
    """Give the hashes of the blobs that an event cites."""
    payload = event.payload
    if isinstance(payload, Turn | GuardrailViolation | Reflected | Probed):
        return tuple(part.sha256 for part in payload.prompt)
    if isinstance(payload, AnswerGiven) and payload.vectors:
        return (payload.vectors,)
    if isinstance(payload, MemoryFormed) and payload.vector:
        return (payload.vector,)
    return cited_by(payload) if isinstance(payload, PromptAssembled | RunStarted) else ()
