"""How full the window is, by the provider's own count: two rungs, each told once in a drive."""

from __future__ import annotations

from perdure.records.usage import Usage

FIRST = 25
SECOND_MIN, SECOND_MAX = 30, 90


class ContextGauge:
    """Remembers which rungs were told. A jump over both tells only the upper one."""

    def __init__(self, second: int, window: int) -> None:
        self._second = second
        self._window = window
        self._told = 0

    def rung(self, used: int | None) -> int | None:
        """Give the rung, in percent, that a count of tokens reaches for the first time."""
        if used is None or self._window <= 0:
            return None
        share = used * 100 // self._window
        for rung in (self._second, FIRST):
            if share >= rung > self._told:
                self._told = rung
                return rung
        return None

    def text(self, rung: int, used: int) -> str:
        """Word what the model is told at a rung."""
        told = f"{used} of the {self._window} tokens of your window are in use."
        if rung == FIRST:
            return told
        return f"{told} What is left is enough to finish or to hand over: come to an end."


def whole_input(usage: Usage | None) -> int | None:
    """Add up all tokens that went in, cached ones included; None where nobody counted."""
    if usage is None:
        return None
    return usage.input_fresh + usage.cache_write + usage.cache_read
