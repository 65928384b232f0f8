"""What code decides a run: import closures and fingerprints, for our runs and for any program.

Everything is read from source; nothing is imported or run to find out what it imports.
"""

from __future__ import annotations

from perdure.closure.check import Standing, Verdict, check
from perdure.closure.compare import Difference, Differences, Part, compare
from perdure.closure.fingerprint import deciding_hash, fingerprint
from perdure.closure.graph import Closure, Edge, way_to
from perdure.closure.listing import Listing, listing_of, read_listing, verify
from perdure.closure.loaded import Watch, unlisted
from perdure.closure.plugin_places import is_there
from perdure.closure.program import Program, Walked, closure_of
from perdure.closure.running import Loaded, loaded_now, moved_since
from perdure.closure.source import SourceError

__all__ = [
    "Closure",
    "Difference",
    "Differences",
    "Edge",
    "Listing",
    "Loaded",
    "Part",
    "Program",
    "SourceError",
    "Standing",
    "Verdict",
    "Walked",
    "Watch",
    "check",
    "closure_of",
    "compare",
    "deciding_hash",
    "fingerprint",
    "is_there",
    "listing_of",
    "loaded_now",
    "moved_since",
    "read_listing",
    "unlisted",
    "verify",
    "way_to",
]
