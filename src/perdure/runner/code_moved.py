"""What of a run's code is not as its record has it: found on disk now, and written down then."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from perdure.base.errors import UsageError
from perdure.closure.compare import Differences, compare
from perdure.closure.fingerprint import fingerprint
from perdure.closure.plugin_places import is_there
from perdure.closure.running import moved_since
from perdure.records.registry import LogPayload, RunEntry
from perdure.records.study import Study
from perdure.runner.history import plugins_of
from perdure.runner.loaded_log import read_loaded
from perdure.trace.forced import code_in_force, study_in_force


def code_moved(
    entry: RunEntry, log: Sequence[LogPayload], folder: Path, study_file: Path
) -> Differences:
    """Compare the code of now with that of a run, and with what its processes really loaded.

    `folder` is the run's, and `study_file` where its study is now. A plug-in or a data file that is
    not there any more is one of the differences.

    Raises:
        UsageError: the run's record holds no code.
        SourceError: a module cannot be read, or one of the plug-ins' is no Python.

    """
    then = code_in_force(entry, log)
    if then is None:
        raise UsageError("The record of this run holds no code.", where=str(folder))
    study = msgspec.json.decode(study_in_force(entry, log), type=Study)
    home = study_file.parent.resolve()
    now = fingerprint(
        home,
        [plugin for plugin in plugins_of(study) if is_there(plugin, home)],
        [name for name in study.files if (home / name).is_file()],
    )
    found = compare(then, now)
    refusing, warning = moved_since(read_loaded(folder), then)
    return Differences(refusing=(*found.refusing, *refusing), warning=(*found.warning, *warning))
