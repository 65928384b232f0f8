"""How answers are scored: free text to the choice of a closed question, or why there is none."""

from __future__ import annotations

from perdure.elicitation.closed_choice import score

__all__ = ["score"]
