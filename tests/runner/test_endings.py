"""That a tick without enough replies is laid at the door of who can mend it, and says how."""

from __future__ import annotations

import pytest

from perdure.base.errors import EndpointUnreachableError, PluginError
from perdure.runner.endings import no_quorum
from perdure.runner.quorum import Shortfall


def error_of(**causes: int) -> Exception:
    """Make the error of a tick that lacks replies for these causes."""
    short = Shortfall(jobs=9, unanswered=sum(causes.values()), causes=causes)
    return no_quorum(short, (), "a:Agent", "world w, tick 0")


@pytest.mark.parametrize(
    ("cause", "remedy"),
    [
        ("unconditioned", "incomplete: leave_out"),
        ("context_exceeded", "`context_tokens`"),
        ("facts_missing", "baseline's rule"),
    ],
)
def test_what_no_endpoint_mends_is_not_the_endpoint_s(cause: str, remedy: str):
    """It ends its world, which would otherwise be tried again for ever, and says what mends it."""
    error = error_of(**{cause: 3})
    assert isinstance(error, PluginError)
    assert remedy in str(error)


@pytest.mark.parametrize("beside", [{}, {"facts_missing": 5}, {"context_exceeded": 5}])
def test_what_an_endpoint_may_mend_is_tried_again(beside: dict[str, int]):
    """One call that failed on its way is enough for the run to be continued."""
    assert isinstance(error_of(timeout=1, **beside), EndpointUnreachableError)
