"""How people answered about each claim so far: one voice per person, the latest."""

from __future__ import annotations


class Tally:
    """Counts of people by claim and choice. Its size does not grow with ticks."""

    __slots__ = ("_counts", "_voices")

    def __init__(self) -> None:
        self._voices: dict[str, dict[str, str]] = {}
        self._counts: dict[str, dict[str, int]] = {}

    def note(self, *, claim: str, persona: str, choice: str) -> None:
        """Count an answer about a claim; it replaces what the same person answered before."""
        voices = self._voices.setdefault(claim, {})
        counts = self._counts.setdefault(claim, {})
        before = voices.get(persona)
        if before is not None:
            counts[before] -= 1
        voices[persona] = choice
        counts[choice] = counts.get(choice, 0) + 1

    def counts(self, claim: str, choices: tuple[str, ...]) -> dict[str, int]:
        """Say how many people hold each of the choices now, none included, as a new dict."""
        counts = self._counts.get(claim, {})
        return {choice: counts.get(choice, 0) for choice in choices}
