"""The rows of the run log, and the walk over its chain."""

from __future__ import annotations

from perdure.base.canonical import encode
from perdure.base.errors import DamagedRecordError
from perdure.records.record import Record
from perdure.records.registry import LOG_KIND_OF, LogHead, LogPayload
from perdure.trace.chain import log_start, log_step
from perdure.trace.decoding import decode_log
from perdure.trace.stored import RegistryRows

INSERT_LOG = "INSERT INTO log VALUES (?, ?, ?, ?)"


class StoredLog(Record):
    """One row of the run log as stored, with the log's chain up to it (hex)."""

    seq: int
    kind: str
    payload: LogPayload
    chain: str


def first_log_head(entry: bytes) -> LogHead:
    """Give the head of a run log without rows."""
    return LogHead(seq=-1, chain=log_start(entry).hex())


def seal_log(head: LogHead, payload: LogPayload) -> tuple[tuple[int, str, bytes, bytes], LogHead]:
    """Encode and hash the next row: the row to be written, and the new head."""
    seq, kind, encoded = head.seq + 1, LOG_KIND_OF[type(payload)], encode(payload)
    chain = log_step(bytes.fromhex(head.chain), seq=seq, kind=kind.encode(), payload=encoded)
    return (seq, kind, encoded, chain), LogHead(seq=seq, chain=chain.hex())


def read_log(registry: RegistryRows, entry: bytes) -> tuple[StoredLog, ...]:
    """Read the whole run log and check its chain.

    Raises:
        DamagedRecordError: names the first row that is wrong.

    """
    head = first_log_head(entry)
    rows = []
    for seq, kind, payload, stored in registry.log():
        where = f"{registry.path}: run log {head.seq + 1}"
        if seq != head.seq + 1:
            raise DamagedRecordError("A row of the run log is missing.", where=where)
        if not isinstance(kind, str) or not isinstance(payload, bytes):
            raise DamagedRecordError("A row of the run log is not of its types.", where=where)
        chain = log_step(bytes.fromhex(head.chain), seq=seq, kind=kind.encode(), payload=payload)
        if chain != stored:
            raise DamagedRecordError("A row of the run log does not match its hash.", where=where)
        decoded = decode_log(kind, payload, where)
        head = LogHead(seq=seq, chain=chain.hex())
        rows.append(StoredLog(seq=seq, kind=kind, payload=decoded, chain=head.chain))
    return tuple(rows)
