"""An agent program is dispatched, watched, cut and frozen by the same opening and closing."""

from __future__ import annotations

import asyncio

import pytest
from tests.support.drives import CountingClock, Simulation

from perdure.agent.drive.handoff import Brief
from perdure.agent.drive.harness import Answer, ProgramLostError, Report, Reporting, drive_program
from perdure.agent.drive.ports import SafePoint, Steer, Stop
from perdure.agent.drive.recovery import closing_lines
from perdure.records.drive import EndCause, HarnessAnswered, HarnessReported, RunFrozen

P = SafePoint
OPENING = ["job_pinned", "run_started"]
CLOSING = ["handoff_written", "run_frozen"]


class ScriptedProgram:
    """Reports and answers as it is told, a turn after the other; or waits for ever, or is lost."""

    name = "scripted"

    def __init__(self, *turns: tuple[list[Report], Answer | Exception | None]) -> None:
        self._turns = list(turns)
        self.prompts: list[str] = []
        self.interrupted = 0
        self.closed = 0
        self.working = asyncio.Event()
        self._ends = asyncio.Event()

    async def prompt(self, text: str, report: Reporting) -> Answer:
        self.prompts.append(text)
        reports, answer = self._turns.pop(0)
        for one in reports:
            await report(one)
            await asyncio.sleep(0)
        self.working.set()
        if answer is None:
            await self._ends.wait()
            return Answer(stop="cancelled")
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def interrupt(self) -> None:
        self.interrupted += 1
        self._ends.set()

    async def close(self) -> None:
        self.closed += 1


def driven(program: ScriptedProgram, simulation: Simulation) -> RunFrozen:
    """Drive a program; give its last line."""
    asyncio.run(
        drive_program(simulation.plan, simulation.ledger, program, simulation.hooks, Brief())
    )
    last = simulation.ledger.lines[-1]
    assert isinstance(last, RunFrozen)
    assert program.closed == 1
    return last


def test_a_program_that_ends_its_turn_with_words_is_done_by_its_answer() -> None:
    """Its reports are recorded in their order, and are no evidence; its answer is."""
    program = ScriptedProgram(
        (
            [Report(kind="thought", text="hm"), Report(kind="tool", text="ls")],
            Answer(stop="end_turn", text="Three."),
        )
    )
    simulation = Simulation()
    end = driven(program, simulation)
    assert simulation.kinds == [
        *[*OPENING, "checkpoint_committed", "harness_reported", "harness_reported"],
        *["checkpoint_committed", "harness_answered", *CLOSING],
    ]
    assert (end.completion, end.cause, end.turns) == ("done", "concluded", 1)
    assert isinstance(simulation.ledger.lines[end.evidence[0]], HarnessAnswered)
    assert program.prompts == ["Be brief.\n\nCount the doors.\n\nDone when: a number"]


@pytest.mark.parametrize(
    ("answer", "cause"),
    [
        (Answer(stop="end_turn", text="  "), EndCause.EMPTY_REPLY),
        (Answer(stop="max_tokens", text="cut"), EndCause.OUTPUT_CEILING),
        (Answer(stop="max_turn_requests", text="much"), EndCause.TURNS),
        (Answer(stop="refusal", text="no"), EndCause.REFUSED),
        (Answer(stop="refusal"), EndCause.EMPTY_REPLY),
        (Answer(stop="cancelled"), EndCause.PROVIDER),
        (Answer(stop="vibes", text="Three."), EndCause.PROVIDER),
    ],
)
def test_every_other_end_is_not_done(answer: Answer, cause: EndCause) -> None:
    """No words, a ceiling, a refusal, a turn that it broke off itself, a word nobody knows."""
    simulation = Simulation()
    end = driven(ScriptedProgram(([], answer)), simulation)
    assert (end.cause, end.evidence) == (cause, ())
    told = [line.text for line in simulation.ledger.lines if isinstance(line, HarnessReported)]
    assert bool(told) is (cause is EndCause.PROVIDER)
    if told and answer.stop == "vibes":
        assert told == ["it ended its turn with 'vibes', a word that nobody knows."]


def test_a_program_that_is_lost_leaves_what_it_reported_and_the_closing_pair() -> None:
    """Nothing stands in for the answer that never came."""
    lost = ProgramLostError("it went away")
    simulation = Simulation()
    end = driven(ScriptedProgram(([Report(kind="said", text="hello")], lost)), simulation)
    assert simulation.kinds == [
        *[*OPENING, "checkpoint_committed", "harness_reported", "harness_reported", *CLOSING]
    ]
    assert end.cause is EndCause.PROVIDER


def test_words_that_come_in_start_another_turn() -> None:
    """Nobody can put words into a turn of its own, so they come after it."""
    program = ScriptedProgram(
        ([], Answer(stop="end_turn", text="Three.")), ([], Answer(stop="end_turn", text="Four."))
    )
    simulation = Simulation(interrupts={(P.BEFORE_SPAWN, 1, 0): [Steer(text="Look again.")]})
    end = driven(program, simulation)
    assert program.prompts[1] == "user: Look again."
    assert end.turns == 2


def test_a_stop_asks_it_to_end_and_a_halt_does_not_ask() -> None:
    """Both close the drive; what was reported before is kept, and one cancel is recorded."""
    stop = Stop(cause=EndCause.CANCEL, by="user")
    program = ScriptedProgram(([Report(kind="said", text="a")], None))
    simulation = Simulation(interrupts={(P.BEFORE_TOOL_CALL, 0, 0): [stop]})
    end = driven(program, simulation)
    assert end.cause is EndCause.CANCEL
    assert program.interrupted == 1
    assert simulation.kinds.count("cancel_received") == 1

    async def halted() -> Simulation:
        waiting = Simulation()
        other = ScriptedProgram(([Report(kind="said", text="b")], None))
        task = asyncio.ensure_future(
            drive_program(waiting.plan, waiting.ledger, other, waiting.hooks, Brief())
        )
        await other.working.wait()
        waiting.heard.halt()
        assert (await task).cause is EndCause.HALT
        assert other.interrupted == 0
        return waiting

    left = asyncio.run(halted())
    assert left.kinds[-3:] == ["cancel_received", *CLOSING]
    assert any(isinstance(line, HarnessReported) for line in left.ledger.lines)


def test_a_fault_is_closed_first_and_a_death_by_the_next_start_up() -> None:
    """A program that raises what it must not, and a ledger that ends in the middle."""
    simulation = Simulation()
    with pytest.raises(RuntimeError, match="torn"):
        driven(ScriptedProgram(([], RuntimeError("torn"))), simulation)
    assert simulation.kinds[-3:] == ["driver_failed", *CLOSING]
    cut = simulation.ledger.lines[:2]
    assert [type(line).__name__ for line in closing_lines(cut, CountingClock())] == [
        "HandoffWritten",
        "RunFrozen",
    ]
