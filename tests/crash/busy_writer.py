"""Writes a partition, ends it, takes it up again, for ever; prints each head once it is durable.

python -m tests.crash.busy_writer FOLDER
"""

from __future__ import annotations

import sys
import threading
from pathlib import Path

from tests.crash.telling import tell
from tests.crash.workloads import NAME
from tests.support.runs import NO_LOG, small_batch

from perdure.trace.partition_file import PartitionFile

_TICKS_BETWEEN_ENDS = 12
_TICKS_BETWEEN_CHECKPOINTS = 4
_PAUSE_S = 0.01


def main() -> None:
    """Go on until killed, with pauses in which a copy can succeed."""
    path = Path(sys.argv[1]) / NAME
    pause = threading.Event()
    while True:
        partition = PartitionFile.open(path, 1)
        for tick in range(_TICKS_BETWEEN_ENDS):
            batch = small_batch(partition.head, "x" * 2_000)
            head = partition.append(batch, epoch=1, log_head=NO_LOG)
            tell(str(head.seq))
            if tick % _TICKS_BETWEEN_CHECKPOINTS == 0:
                partition._database.empty_log()
                pause.wait(_PAUSE_S)
        partition.finish()
        partition.close()


if __name__ == "__main__":
    main()
