"""The hashes of the format are pinned, and no two rows frame alike."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from perdure.trace.chain import (
    DIGEST_START,
    chain_start,
    chain_step,
    digest_step,
    frame,
    log_start,
    log_step,
)

INT64 = st.integers(min_value=0, max_value=2**63 - 1)
ROW = st.fixed_dictionaries(
    {
        "seq": INT64,
        "content": st.none() | INT64,
        "tick": INT64,
        "kind": st.binary(max_size=4),
        "persona": st.binary(max_size=4),
        "payload": st.binary(max_size=4),
    }
)


def test_hashes_are_pinned() -> None:
    """A record written today is verified by every later version: these values never change."""
    framed = frame(
        seq=3, content=1, tick=2, kind=b"turn", persona="é".encode(), payload=b'{"job":0}'
    )
    assert framed.hex() == (
        "000000000000000300000000000000010000000000000002"
        "00000004000000027475726ec3a97b226a6f62223a307d"
    )
    assert chain_start(b"{}").hex() == PINS["chain_start"]
    assert chain_step(bytes(32), framed).hex() == PINS["chain_step"]
    assert DIGEST_START.hex() == PINS["digest_start"]
    assert digest_step(bytes(32), [framed, framed]).hex() == PINS["digest_step"]
    assert log_start(b"{}").hex() == PINS["log_start"]
    assert log_step(bytes(32), seq=0, kind=b"opened", payload=b"{}").hex() == PINS["log_step"]


@given(ROW, ROW)
def test_two_rows_never_frame_alike(one: dict[str, object], other: dict[str, object]) -> None:
    """A byte cannot move from one column to the next without changing the frame."""
    same = frame(**one) == frame(**other)  # type: ignore[arg-type]  # the strategy's own types
    assert same is (one == other)


def test_no_content_is_not_content_zero() -> None:
    """An event without a content number frames unlike the first content event."""
    rest = {"seq": 0, "tick": 0, "kind": b"k", "persona": b"", "payload": b""}
    assert frame(content=None, **rest) != frame(content=0, **rest)  # type: ignore[arg-type]


def test_the_digest_ignores_the_seq() -> None:
    """Content is numbered by itself: what is not content may come before it or not."""
    rest = {"content": 1, "tick": 2, "kind": b"turn", "persona": b"p", "payload": b"{}"}
    one, other = frame(seq=4, **rest), frame(seq=5, **rest)  # type: ignore[arg-type]
    assert chain_step(bytes(32), one) != chain_step(bytes(32), other)
    assert digest_step(bytes(32), [one]) == digest_step(bytes(32), [other])


def test_a_tick_without_content_leaves_the_digest() -> None:
    """The digest covers content, and nothing of how many ticks had none."""
    assert digest_step(bytes(32), []) == bytes(32)


PINS = {
    "chain_start": "7b34d64da40e38eb145a6471db9f84dc59401aa20f4aab29c7ced7705b4c00c2",
    "chain_step": "a3ba3bfa6ca86c19202348c02e2f5763d2215cc044676aa069af995ab4bf8b6b",
    "digest_start": "8f8111792d37f197595a0287a498e2536ef211741f86ebbaee55cab5647d6477",
    "digest_step": "afc4b46eea115b221662d08427fadfc6413b9e4550f8f0fdc3c21adf164cd3a0",
    "log_start": "a7125fb89762852e4524f76c7a99aa5e63005e336d6b0b7cea4f366b8d919c1f",
    "log_step": "884d934852a7d09c495a5f93e8fdc1583eda652daac5ba8f4c393f9b11fd7c79",
}
