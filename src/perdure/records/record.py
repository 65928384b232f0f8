"""What every record is: frozen, keyword-only, strict about unknown fields."""

from __future__ import annotations

from typing import dataclass_transform

import msgspec


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(msgspec.field,))
class Record(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    omit_defaults=True,
    forbid_unknown_fields=True,
    # Values have no cycles, so the collector need not look at them: there are many thousands.
    gc=False,
):
    """A frozen value with named fields."""
