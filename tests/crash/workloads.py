"""What the store is made to do while it is killed: every sequence of one to three operations."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from pathlib import Path

from tests.support.runs import NO_LOG, WORLDS, full_batch, header, pause_batch, small_batch

from perdure.records.events import Head
from perdure.trace.partition_file import PartitionFile

Ack = Callable[[Head], None]

HORIZON = 1_000
NAME = f"{WORLDS[0]}.db"
OPERATIONS = ("small", "batch", "large", "checkpoint", "reopen")
CLOSING = "finish"
PAUSE = "pause"


def sequences(length_max: int = 3) -> list[tuple[str, ...]]:
    """Give all sequences of operations up to a length, those that leave the log, and pauses."""
    found: list[tuple[str, ...]] = []
    for length in range(1, length_max + 1):
        found += product(OPERATIONS, repeat=length)
    found += [(CLOSING,), *((before, CLOSING) for before in OPERATIONS)]
    found += [(CLOSING, "reopen", after) for after in OPERATIONS]
    found += [(PAUSE,), *((before, PAUSE) for before in OPERATIONS)]
    found += [(PAUSE, after) for after in (*OPERATIONS, CLOSING)]
    return found


def perform(partition: PartitionFile, operation: str, path: Path, ack: Ack) -> PartitionFile:
    """Do one operation, acknowledge what it wrote, and give the partition to go on with."""
    if operation == "checkpoint":
        partition._database.empty_log()
    elif operation == "reopen":
        partition.close()
        return PartitionFile.open(path, partition.epoch)
    elif operation == CLOSING:
        partition.finish()
    else:
        append(partition, operation, ack)
    return partition


def append(partition: PartitionFile, operation: str, ack: Ack) -> None:
    """Append one tick, small or large, or a pause, and acknowledge it after its commit."""
    head = partition.head
    if operation == "batch":
        batch = full_batch(head, HORIZON)
    elif operation == PAUSE:
        batch = pause_batch(head)
    else:
        batch = small_batch(head, "x" * 9_000 if operation == "large" else "")
    ack(partition.append(batch, epoch=partition.epoch, log_head=NO_LOG))


def born(folder: Path) -> PartitionFile:
    """Give birth to the partition that the workloads write."""
    return PartitionFile.create(folder / NAME, header(horizon=HORIZON), 1)
