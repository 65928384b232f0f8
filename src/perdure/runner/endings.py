"""How a world ends, or stops short, by an error. Pure.

Three kinds: an error that concerns the whole run leaves the world whole and able to go on later; an
error of the world, its agent or a plug-in is that world's end alone; any other one is our bug.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TypeVar

import msgspec

from perdure.agent import STEPS_MAX, CallFailedError
from perdure.base.canonical import sha256
from perdure.base.errors import (
    EXIT_BUG,
    BudgetReachedError,
    EndpointUnreachableError,
    KeyOrModelRefusedError,
    MovedError,
    PerdureError,
    PluginError,
    ProviderPausedError,
    StorageError,
)
from perdure.base.text import one_line, storable
from perdure.records.drive import DRIVE_KIND_OF, DriveLine, drive_id
from perdure.records.events import Event, Payload, Turn, TurnNotTaken
from perdure.records.outcome import DriveDone, TurnDone, TurnFailed, TurnFailureCause
from perdure.records.presentation import TurnJob
from perdure.records.registry import WorldOutcome, WorldState
from perdure.records.request import CallResult, FailureCause
from perdure.runner.quorum import Shortfall
from perdure.trace.drive_lines import cited_by
from perdure.trace.drive_rules import DriveRules

T = TypeVar("T")

CONCERNS_THE_RUN = (
    BudgetReachedError,
    EndpointUnreachableError,
    KeyOrModelRefusedError,
    MovedError,
    ProviderPausedError,
    StorageError,
)

# What no endpoint does and no further try mends, and what does.
_MENDED: dict[str, str] = {
    TurnFailureCause.UNCONDITIONED: "Nothing is known of these personas: make an attribute "
    "`required: true` and leave out who lacks it (`incomplete: leave_out`).",
    TurnFailureCause.CONTEXT_EXCEEDED: "Their prompts are longer than they may be: raise "
    "`context_tokens` in `agent`, or shorten what every persona is told.",
    FailureCause.FACTS_MISSING: "The baseline's rule lacks what it goes by: an attribute that is "
    "not known, or a term for what is asked.",
}

_TOLD_MAX = 2_000

_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(TurnDone | TurnFailed)


def outcome_of(world_id: str, tick: int, error: Exception) -> WorldOutcome:
    """Say how a world stands after an error, its last closed tick being `tick`."""
    known = isinstance(error, PerdureError)
    return WorldOutcome(
        world_id=world_id,
        state=WorldState.PARTIAL if isinstance(error, CONCERNS_THE_RUN) else WorldState.FAILED,
        tick=tick,
        cause=told(error) if known else f"{named(error)}.",
        exit_status=error.exit_status if isinstance(error, PerdureError) else EXIT_BUG,
    )


def told(error: BaseException) -> str:
    """Say what an error says, as text that can be recorded, and not too much of it."""
    try:
        text = str(error)
    except Exception:  # noqa: BLE001 - an error whose own text raises still has to be told
        text = "(it cannot say what)"
    text = storable(text)
    return text if len(text) <= _TOLD_MAX else text[: _TOLD_MAX - 1] + "…"


def named(error: BaseException) -> str:
    """Name an error by its class, with what it says on one line."""
    text = " ".join(told(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def refusal(cause: FailureCause, where: str) -> PerdureError:
    """Make the error of a failure that ends every call of the run."""
    if cause is FailureCause.OUT_OF_MONEY:
        return ProviderPausedError(
            "The provider refuses further calls until its account is paid.",
            where=where,
            remedy="Closed ticks are kept. Add credit at the provider, then run again.",
        )
    if cause is FailureCause.KEY_REFUSED:
        return KeyOrModelRefusedError(
            "The endpoint refused the key.",
            where=where,
            remedy="Closed ticks are kept. Give a key that may use this model, then run again.",
        )
    return KeyOrModelRefusedError(
        "The endpoint does not know the model.",
        where=where,
        remedy="Closed ticks are kept. Name a model that the endpoint serves.",
    )


def no_quorum(
    short: Shortfall, results: Iterable[CallResult], agent: str, where: str
) -> PerdureError:
    """Make the error of a tick in which too few turns got a reply.

    It is the endpoint's doing if calls failed, and the agent's own if it took its turns without
    making any.
    """
    causes = ", ".join(f"{cause} {count}" for cause, count in sorted(short.causes.items()))
    wrong = f"{short.unanswered} of {short.jobs} turns got no reply ({causes})."
    if set(short.causes) == {FailureCause.WRONG_MODEL}:
        served = {attempt.served for result in results for attempt in result.attempts}
        said = ", ".join(sorted(repr(one_line(name, 60)) for name in served if name))
        return KeyOrModelRefusedError(
            f"{wrong} Another model answers than the one that is pinned: {said or 'one unnamed'}.",
            where=where,
            remedy="The tick is not kept. Name the model as the endpoint serves it, or list the "
            "served name under `accepts`.",
        )
    mended = [_MENDED[cause] for cause in sorted(short.causes) if cause in _MENDED]
    if not set(short.causes) & (set(FailureCause) - set(_MENDED)):
        return PluginError(
            wrong, where=f"{agent}, {where}", remedy=" ".join(["The tick is not kept.", *mended])
        )
    return EndpointUnreachableError(
        wrong,
        where=where,
        remedy="The tick is not kept; closed ticks are. Check the endpoint, then run again.",
    )


def require_outcomes(
    outcomes: Sequence[object], jobs: Sequence[TurnJob], where: str
) -> tuple[TurnDone | TurnFailed, ...]:
    """Check what an agent gave back: one outcome for every job, each one that can be recorded.

    Raises:
        PluginError: it is not.

    """
    if len(outcomes) != len(jobs):
        raise PluginError(
            f"It gave {len(outcomes)} outcomes for {len(jobs)} jobs.",
            where=where,
            remedy="`act` returns one outcome for every job, in job order.",
        )
    for index, (outcome, job) in enumerate(zip(outcomes, jobs, strict=True)):
        if not isinstance(outcome, TurnDone | TurnFailed):
            raise PluginError(
                f"Its outcome of job {index} is a {type(outcome).__name__}.",
                where=where,
                remedy="An outcome is a TurnDone or a TurnFailed.",
            )
        # Building a record checks no types, so each is put through its own encoding.
        try:
            _decoder.decode(_encoder.encode(outcome))
        except (msgspec.MsgspecError, TypeError, UnicodeEncodeError, OverflowError) as error:
            raise PluginError(
                f"Its outcome of job {index} cannot be recorded: {error}.", where=where
            ) from error
        wrong = _impossible(job, outcome)
        if wrong:
            raise PluginError(f"In its outcome of job {index}, {wrong}.", where=where)
    return tuple(outcome for outcome in outcomes if isinstance(outcome, TurnDone | TurnFailed))


def _impossible(job: TurnJob, outcome: TurnDone | TurnFailed) -> str:
    """Say what in an outcome can be of no turn of this job, though it can be recorded."""
    wrong = _wrong_drive(job, outcome, outcome.drive) if outcome.drive is not None else ""
    if wrong or isinstance(outcome, TurnFailed):
        return wrong
    about = outcome.reaction.stimulus if outcome.reaction is not None else ""
    if about and all(about != one.stimulus for one in job.presentation.impression.exposures):
        return f"the reaction is about {about!r}, which was not shown"
    for claim, step in (outcome.beliefs or {}).items():
        if abs(step) > STEPS_MAX:
            return f"the belief in {claim!r} is {step}, and not within -{STEPS_MAX} and {STEPS_MAX}"
    if not {memory.number for memory in job.state.memories}.issuperset(outcome.recalled):
        return "a memory is recalled that the persona does not have"
    return ""


def _wrong_drive(job: TurnJob, outcome: TurnDone | TurnFailed, left: DriveDone) -> str:
    """Say what is wrong with the drive that a turn left behind: it is recorded line by line."""
    rules = DriveRules()
    for line in left.lines:
        if wrong := _wrong_line(job, line, left.blobs):
            return wrong
        if broken := rules.follow(_as_event(job, line)):
            return f"{DRIVE_KIND_OF[type(line)]} cannot stand where it does in its drive: {broken}"
    if any(sha256(data).hex() != name for name, data in left.blobs.items()):
        return "bytes of its drive are not those of their hash"
    told: Turn | TurnNotTaken
    if isinstance(outcome, TurnDone):
        told = Turn(
            job=job.index, presentation=job.presentation, prompt=(), answer="", did=outcome.did
        )
    else:
        told = TurnNotTaken(job=job.index, presentation=job.presentation, cause=outcome.cause)
    broken = rules.follow(_as_event(job, told))
    return f"its drive and its turn do not go together: {broken}" if broken else ""


def _wrong_line(job: TurnJob, line: DriveLine, blobs: Mapping[str, bytes]) -> str:
    """Say what is wrong with one line of a drive, whose kind nothing else tells."""
    if type(line) not in DRIVE_KIND_OF:
        return f"a line of its drive is a {type(line).__name__}"
    try:
        msgspec.json.decode(_encoder.encode(line), type=type(line))
    except (msgspec.MsgspecError, TypeError, UnicodeEncodeError, OverflowError) as error:
        return f"a line of its drive cannot be recorded: {error}"
    own = drive_id(job.tick, job.index)
    if line.run != own:
        return f"a line is of the drive {line.run!r}, and that of this job is {own!r}"
    missing = next((name for name in cited_by(line) if name not in blobs), None)
    if missing is not None:
        return f"a line of its drive cites the bytes {missing[:12]!r}, which are not there"
    return ""


def _as_event(job: TurnJob, payload: Payload) -> Event:
    return Event(seq=0, tick=job.tick, payload=payload, persona=job.persona.id)


async def theirs(reference: str, place: str, work: Callable[[], T]) -> T:
    """Do some work of a user's own class off the event loop.

    Raises:
        PluginError: the class raised, whatever it raised.

    """

    def blamed() -> T:
        # Named in its own thread: an error such as StopIteration cannot pass through a future.
        with blame(reference, place):
            return work()

    return await asyncio.to_thread(blamed)


@contextmanager
def blame(reference: str, place: str) -> Iterator[None]:
    """Name the world or agent whose code raised, whatever it raised, and where it was.

    Raises:
        PluginError: the code in the block raised.

    """
    try:
        yield
    except PluginError:
        raise
    except BaseException as error:  # whatever a user's own class raises is that world's outcome
        if isinstance(error, asyncio.CancelledError) and _is_cancelled():
            raise
        remedy = ""
        if isinstance(error, CallFailedError):
            remedy = "An agent catches a failed call and returns a TurnFailed for its job."
        raise PluginError(
            f"It raised {named(error)}.",
            where=f"{reference}, {place}",
            remedy=remedy,
        ) from error


def _is_cancelled() -> bool:
    """Say whether somebody cancelled this task; a user's class can raise the same error itself."""
    try:
        task = asyncio.current_task()
    except RuntimeError:  # in a thread, where nobody cancels
        return False
    return task is not None and task.cancelling() > 0
