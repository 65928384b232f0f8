"""Names that only have to be new: everything else is derived from content."""

from __future__ import annotations

import secrets


def new_run_id() -> str:
    """Make a run id: 12 hex digits that no other run has. It enters no header and no event."""
    return secrets.token_hex(6)


def new_name() -> str:
    """Make a name that nothing else has, 16 hex digits. It enters no record."""
    return secrets.token_hex(8)
