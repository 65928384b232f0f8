"""The hashes of a record: pure functions from bytes to bytes, pinned by tests for ever.

The chain covers every byte of every event, row by row, from the header's hash on. The digest covers
content events only, tick by tick, from a constant on, so that two worlds with equal content have
equal digests whatever they cost. A row is framed by a prefix of fixed width that holds the length
of everything but the payload, which comes last: no two rows have the same frame.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256
from struct import Struct

NO_CONTENT = -1

CHAIN_LABEL = b"perdure-chain-1\x00"
DIGEST_LABEL = b"perdure-digest-1\x00"
LOG_LABEL = b"perdure-log-1\x00"
DRIVE_LABEL = b"perdure-drive-1\x00"

# Big-endian: seq, content and tick as signed 64 bits; the lengths of kind and persona in bytes.
EVENT_PREFIX = Struct(">qqqII")
# A content event's frame in the digest is its frame in the chain without the seq.
SEQ_BYTES = 8
LOG_PREFIX = Struct(">qI")
DRIVE_PREFIX = Struct(">qII")

DIGEST_START = sha256(DIGEST_LABEL).digest()


def chain_start(header: bytes) -> bytes:
    """Hash the header's bytes into the value that precedes the first event's."""
    return sha256(CHAIN_LABEL + sha256(header).digest()).digest()


def frame(
    *, seq: int, content: int | None, tick: int, kind: bytes, persona: bytes, payload: bytes
) -> bytes:
    """Frame one event: bytes that no other event has."""
    number = NO_CONTENT if content is None else content
    prefix = EVENT_PREFIX.pack(seq, number, tick, len(kind), len(persona))
    return b"".join((prefix, kind, persona, payload))


def chain_step(previous: bytes, framed: bytes) -> bytes:
    """Hash one framed event onto the chain."""
    return sha256(previous + framed).digest()


def digest_step(previous: bytes, framed: Iterable[bytes]) -> bytes:
    """Hash a tick's framed content events onto the digest; a tick without any leaves it."""
    joined = b"".join([one[SEQ_BYTES:] for one in framed])
    return sha256(previous + joined).digest() if joined else previous


def log_start(entry: bytes) -> bytes:
    """Hash the run entry's bytes into the value that precedes the run log's first row."""
    return sha256(LOG_LABEL + sha256(entry).digest()).digest()


def log_step(previous: bytes, *, seq: int, kind: bytes, payload: bytes) -> bytes:
    """Hash one row of the run log onto its chain."""
    prefix = LOG_PREFIX.pack(seq, len(kind))
    return sha256(b"".join((previous, prefix, kind, payload))).digest()


def drive_start(asked: bytes) -> bytes:
    """Hash what was asked of a drive into the value that precedes its ledger's first line."""
    return sha256(DRIVE_LABEL + sha256(asked).digest()).digest()


def drive_step(previous: bytes, *, seq: int, run: bytes, kind: bytes, payload: bytes) -> bytes:
    """Hash one line of a drive's ledger onto its chain."""
    prefix = DRIVE_PREFIX.pack(seq, len(run), len(kind))
    return sha256(b"".join((previous, prefix, run, kind, payload))).digest()
