"""How a world ends, or stops short, by an error. Pure.

Three kinds: an error that concerns the whole run leaves the world whole and able to go on later; an
error of the world, its agent or a plug-in is that world's end alone; any other one is our bug.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from perdure.agent import CallFailedError
from perdure.base.errors import (
    EXIT_BUG,
    EndpointUnreachableError,
    KeyOrModelRefusedError,
    PerdureError,
    PluginError,
    ProviderPausedError,
    StorageError,
)
from perdure.records.registry import WorldOutcome, WorldState
from perdure.records.request import FailureCause
from perdure.runner.quorum import Shortfall

CONCERNS_THE_RUN = (
    EndpointUnreachableError,
    KeyOrModelRefusedError,
    ProviderPausedError,
    StorageError,
)


def outcome_of(world_id: str, tick: int, error: Exception) -> WorldOutcome:
    """Say how a world stands after an error, its last closed tick being `tick`."""
    known = isinstance(error, PerdureError)
    return WorldOutcome(
        world_id=world_id,
        state=WorldState.PARTIAL if isinstance(error, CONCERNS_THE_RUN) else WorldState.FAILED,
        tick=tick,
        cause=str(error) if known else f"{type(error).__name__}: {error}",
        exit_status=error.exit_status if isinstance(error, PerdureError) else EXIT_BUG,
    )


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


def no_quorum(short: Shortfall, where: str) -> PerdureError:
    """Make the error of a tick in which too few turns got a reply."""
    causes = ", ".join(f"{cause} {count}" for cause, count in sorted(short.causes.items()))
    wrong = f"{short.unanswered} of {short.jobs} turns got no reply ({causes})."
    if set(short.causes) == {FailureCause.WRONG_MODEL}:
        return KeyOrModelRefusedError(
            wrong,
            where=where,
            remedy="The tick is not kept. Name the model as the endpoint serves it, "
            "or list the served name under `accepts`.",
        )
    return EndpointUnreachableError(
        wrong,
        where=where,
        remedy="The tick is not kept; closed ticks are. Check the endpoint, then run again.",
    )


@contextmanager
def blame(reference: str) -> Iterator[None]:
    """Name the world or agent whose code raised, whatever it raised.

    Raises:
        PluginError: the code in the block raised.

    """
    try:
        yield
    except PluginError:
        raise
    except Exception as error:  # whatever a user's own class raises is that world's outcome
        remedy = ""
        if isinstance(error, CallFailedError):
            remedy = "An agent catches a failed call and returns a TurnFailed for its job."
        raise PluginError(
            f"It raised {type(error).__name__}: {error}.", where=reference, remedy=remedy
        ) from error
