"""How answers are scored: free text to what its question asks for, or why there is no score."""

from __future__ import annotations

from perdure.elicitation.chances import score_chances
from perdure.elicitation.typed import score

__all__ = ["score", "score_chances"]
