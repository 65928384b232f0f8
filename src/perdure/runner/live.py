"""How many worlds are live at once: as many as the study asks for, or as open files allow.

A live world holds its partition open and its people's state in memory; one that waits holds
nothing. So a run of ten thousand worlds needs no more than one of a thousand.
"""

from __future__ import annotations

import resource

from perdure.records.study import Order, Study

# What a study that does not say it gets, by its order.
LIVE_MAX = {Order.BREADTH: 1_000, Order.DEPTH: 1}

# A live world holds three files open (its partition, with the log and the index of that) and,
# while it is taken up again, now and then one more. The rest of a process needs some, too.
FILES_PER_WORLD = 4
FILES_BESIDE = 200


def live_asked(study: Study) -> int:
    """Give how many worlds a study lets be live at once."""
    return study.live or LIVE_MAX[study.order]


def go_together(study: Study, cells: int) -> bool:
    """Say whether all worlds of a run go on together, tick by tick."""
    return study.order is Order.BREADTH and cells <= live_asked(study)


def live_allowed(asked: int, files: int) -> int:
    """Give how many worlds may be live where a process may have so many files open: 1 at least."""
    return max(1, min(asked, (files - FILES_BESIDE) // FILES_PER_WORLD))


def live_now(study: Study, cells: int) -> tuple[int, str]:
    """Find how many worlds of a run are live at once here; say so if the system allows fewer.

    The limit of open files of this process is raised as far as that takes.
    """
    asked = min(live_asked(study), cells)
    files = allow_files(files_for(asked))
    allowed = live_allowed(asked, files)
    if allowed == asked:
        return live_asked(study), ""
    live = "1 world is" if allowed == 1 else f"{allowed:,} worlds are"
    return allowed, (
        f"This process may have {files:,} files open, so {live} live at once and"
        f" not {asked:,}. To have more, raise the limit (`ulimit -n {files_for(asked)}`)."
    )


def files_for(worlds: int) -> int:
    """Give how many files a process has open with so many live worlds."""
    return FILES_BESIDE + FILES_PER_WORLD * worlds


def allow_files(wanted: int) -> int:
    """Raise how many files this process may have open to what is wanted; give what it may have."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return wanted
    most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if most > soft:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    return max(soft, most)
