"""A call is let through exactly when nothing that it may do is forbidden."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.agent.drive.tools.permit import May, is_under, why_refused
from perdure.records.drive import PlacePolicy, RunPolicy
from perdure.records.tools import Effect, Writes

OPEN = PlacePolicy()
READS = May(effect=Effect.READ)
PUTS = May(effect=Effect.WRITE, writes=Writes(paths=("notes/a.md",)))
DELETES = May(effect=Effect.WRITE, writes=Writes(paths=("notes/a.md",)), deletes=True)
ANYWHERE = May(effect=Effect.WRITE, writes=Writes(anywhere=True))
SOMEHOW = May(effect=Effect.WRITE)
SENDS = May(effect=Effect.EGRESS)

# what it may do, place, policy, is there a checkpoint, a word of the refusal
CASES = [
    (READS, PlacePolicy(confidential=True), RunPolicy(writes=False, egress=False), False, ""),
    (PUTS, OPEN, RunPolicy(), False, ""),
    (PUTS, OPEN, RunPolicy(writes=False), True, "only read"),
    (PUTS, OPEN, RunPolicy(paths=("notes",)), True, ""),
    (PUTS, OPEN, RunPolicy(paths=("./notes/",)), True, ""),
    (PUTS, OPEN, RunPolicy(paths=("other", ".")), True, ""),
    (PUTS, OPEN, RunPolicy(paths=("note",)), True, "notes/a.md"),
    (DELETES, OPEN, RunPolicy(), True, ""),
    (DELETES, OPEN, RunPolicy(), False, "checkpoint"),
    (ANYWHERE, OPEN, RunPolicy(), True, ""),
    (ANYWHERE, OPEN, RunPolicy(), False, "checkpoint"),
    (ANYWHERE, OPEN, RunPolicy(paths=("notes",)), True, "anything"),
    (SOMEHOW, OPEN, RunPolicy(), True, ""),
    (SOMEHOW, OPEN, RunPolicy(), False, "checkpoint"),
    (SOMEHOW, OPEN, RunPolicy(writes=False), True, "only read"),
    (SOMEHOW, OPEN, RunPolicy(paths=("notes",)), True, "anything"),
    (SENDS, OPEN, RunPolicy(), False, ""),
    (SENDS, OPEN, RunPolicy(egress=False), True, "outside"),
    (SENDS, PlacePolicy(confidential=True), RunPolicy(), True, "confidential"),
]


@pytest.mark.parametrize(("may", "place", "policy", "checkpointed", "word"), CASES)
def test_a_call_is_refused_for_what_it_may_do(
    may: May,
    place: PlacePolicy,
    policy: RunPolicy,
    checkpointed: bool,  # noqa: FBT001
    word: str,
) -> None:
    """The refusal says what stands against the call."""
    why = why_refused(may, place, policy, checkpointed=checkpointed)
    assert (why is None) == (not word)
    assert word in (why or "")


MAYS = st.builds(
    May,
    effect=st.sampled_from(Effect),
    writes=st.builds(Writes, paths=st.tuples() | st.tuples(st.just("a/b")), anywhere=st.booleans()),
    deletes=st.booleans(),
)
POLICIES = st.builds(
    RunPolicy,
    writes=st.booleans(),
    paths=st.tuples() | st.tuples(st.just("a")),
    egress=st.booleans(),
)


@given(MAYS, st.builds(PlacePolicy, confidential=st.booleans()), POLICIES, st.booleans())
def test_less_leave_never_lets_more_through(
    may: May,
    place: PlacePolicy,
    policy: RunPolicy,
    checkpointed: bool,  # noqa: FBT001
) -> None:
    """What is let through under a policy is let through under every wider one."""
    if why_refused(may, place, policy, checkpointed=checkpointed) is None:
        assert why_refused(may, OPEN, RunPolicy(), checkpointed=True) is None
        if may.effect is Effect.EGRESS:
            assert policy.egress
            assert not place.confidential
        if may.deletes or may.writes.anywhere:
            assert checkpointed
            assert policy.writes


def test_a_name_that_begins_like_a_folder_is_not_in_it() -> None:
    """Paths are compared part by part."""
    assert is_under("a/b", "a")
    assert is_under("a", "a")
    assert not is_under("ab", "a")
    assert not is_under("b/a", "a")
