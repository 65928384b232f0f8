"""What happened: partitions, the registry with its run log, readers, verify, export.

The only room that touches storage, and the only one that speaks SQL. `docs/format.md` describes
the files; `docs/format_check.py` recomputes them without this package.
"""
