"""What the lines of a tick's drives must say together. Pure.

A turn with tools leaves the lines of its drive: one after the other, from the job's pin to the
freeze, before the outcome of the same job, each call of a tool with its one result. An agent that
uses the tools of its world without a drive leaves no lines, and its turn alone says what it did.
"""

from __future__ import annotations

from perdure.records.drive import (
    DRIVE_KIND_OF,
    DriveLine,
    HandoffWritten,
    JobPinned,
    Line,
    RunFrozen,
    RunStarted,
    ToolCalled,
    ToolResult,
    drive_id,
    job_of,
)
from perdure.records.events import Event, TickClosed, Turn, TurnNotTaken
from perdure.records.tools import AnswerStatus, ToolCall
from perdure.trace.drive_evidence import Evidence


class DriveRules:
    """Follows one world's events, and says of the first one that breaks a rule what it breaks."""

    def __init__(self) -> None:
        # The drive that is under way, its persona, its last line.
        self._run = ""
        self._persona = ""
        self._last: DriveLine | None = None
        self._evidence = Evidence()
        # Of its turn: the calls without a result; and all that it did by now.
        self._called: dict[str, ToolCall] = {}
        self._did: list[tuple[str, str]] = []
        # By job: whose drives of the tick are over, and what was done in them; all with an outcome.
        self._over: dict[int, tuple[str, list[tuple[str, str]]]] = {}
        self._outcomes: set[int] = set()

    def follow(self, event: Event) -> str | None:
        """Take the next event; give what is wrong with it, if anything is."""
        payload = event.payload
        if type(payload) in DRIVE_KIND_OF:
            assert isinstance(payload, Line), "a line of a drive"
            return self._misplaced(event, payload) or self._take(payload)
        if self._run:
            return f"the drive {self._run} has not ended"
        if isinstance(payload, Turn | TurnNotTaken):
            return self._outcome(event, payload)
        if isinstance(payload, TickClosed):
            self._over, self._outcomes = {}, set()
        return None

    def _misplaced(self, event: Event, line: Line) -> str | None:
        if not self._run:
            return self._begin(event, line)
        if line.run != self._run:
            return f"it is of the drive {line.run}, and {self._run} has not ended"
        if event.persona != self._persona:
            return f"the drive {self._run} is that of {self._persona}"
        if isinstance(line, JobPinned):
            return f"the drive {self._run} has begun already"
        return self._out_of_order(line)

    def _out_of_order(self, line: Line) -> str | None:
        if isinstance(self._last, JobPinned) is not isinstance(line, RunStarted):
            return "a drive is started after its job is pinned, and only there"
        if isinstance(self._last, HandoffWritten) is not isinstance(line, RunFrozen):
            return "a drive is frozen after its handoff, and only there"
        return None

    def _begin(self, event: Event, line: Line) -> str | None:
        try:
            job = job_of(line.run)
        except ValueError:
            return f"its drive is called {line.run!r}, which names no job"
        if line.run != drive_id(event.tick, job):
            return f"its drive {line.run} is not one of its tick"
        if not isinstance(line, JobPinned):
            return "a drive begins with its job"
        if job in self._over or job in self._outcomes:
            return f"it follows the drive or the outcome of its job {job}"
        self._run, self._persona, self._called, self._did = line.run, event.persona, {}, []
        return None

    def _take(self, line: DriveLine) -> str | None:
        self._last = line
        wrong = self._evidence.take(0, line)
        match line:
            case ToolCalled(call=call):
                if call.id in self._called:
                    return f"the call {call.id} has no result yet"
                self._called[call.id] = call
            case ToolResult():
                answered = self._called.pop(line.call_id, None)
                if answered is None or answered.name != line.name:
                    return f"it answers the call {line.call_id} of {line.name}, which was not made"
                if line.status is AnswerStatus.OK:
                    self._did.append((answered.name, answered.arguments))
            case RunFrozen():
                if self._called:
                    return f"the call {next(iter(self._called))} has no result"
                if wrong:
                    return wrong
                self._over[job_of(line.run)] = self._persona, self._did
                self._run, self._last, self._evidence = "", None, Evidence()
            case _:
                pass
        return None

    def _outcome(self, event: Event, outcome: Turn | TurnNotTaken) -> str | None:
        self._outcomes.add(outcome.job)
        persona, done = self._over.get(outcome.job, ("", []))
        if persona and persona != event.persona:
            return f"the drive of its job {outcome.job} is that of {persona}"
        if isinstance(outcome, Turn) and persona:
            left = list(done)
            for call in outcome.did:
                if (call.name, call.arguments) not in left:
                    return f"it did {call.name}, which no drive of it did"
                left.remove((call.name, call.arguments))
        return None
