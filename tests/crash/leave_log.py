"""Writes a partition and ends without closing it, so that its log stays. Prints its heads.

python -m tests.crash.leave_log FOLDER TICKS
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from tests.crash.workloads import HORIZON, born
from tests.support.runs import NO_LOG, full_batch, small_batch

from perdure.base.canonical import encode


def main() -> None:
    """Write, tell, and vanish."""
    folder, ticks = Path(sys.argv[1]), int(sys.argv[2])
    partition = born(folder)
    heads = [partition.head]
    for tick in range(ticks):
        head = partition.head
        batch = full_batch(head, HORIZON) if tick % 3 == 1 else small_batch(head)
        heads.append(partition.append(batch, epoch=1, log_head=NO_LOG))
    sys.stdout.write(encode(heads).decode())
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
