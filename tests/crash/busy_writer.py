"""Writes a partition, ends it and takes it up again without a pause; prints each head once durable.

python -m tests.crash.busy_writer FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.crash.telling import tell
from tests.crash.workloads import NAME
from tests.support.runs import NO_LOG, small_batch

from perdure.trace.partition_file import PartitionFile

_TICKS_BETWEEN_ENDS = 12
_TICKS_BETWEEN_CHECKPOINTS = 4


def main() -> None:
    """Go on until killed."""
    path = Path(sys.argv[1]) / NAME
    while True:
        partition = PartitionFile.open(path, 1)
        for tick in range(_TICKS_BETWEEN_ENDS):
            batch = small_batch(partition.head, "x" * 30_000)
            head = partition.append(batch, epoch=1, log_head=NO_LOG)
            tell(str(head.seq))
            if tick % _TICKS_BETWEEN_CHECKPOINTS == 0:
                partition._database.empty_log()
        partition.finish()
        partition.close()


if __name__ == "__main__":
    main()
