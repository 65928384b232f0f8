"""What is said, shown while it is being said, and never with a secret in it."""

from __future__ import annotations

from collections.abc import Callable
from itertools import takewhile

import msgspec

from perdure.records.increment import Asked, Increment, Said

# A name, a sign and a value can be words of their own: a secret is known by what is before it.
_WORDS_HELD = 3


class Veiled:
    """A display that is told whole words, a few of them late, without the secrets among them.

    What was shown once is never taken back: a reply that would need that is shown no further until
    it is whole.
    """

    def __init__(self, show: Callable[[Increment], None], secrets: Callable[[str], str]) -> None:
        self._show = show
        self._secrets = secrets
        self._text = ""
        self._shown = ""

    def piece(self, increment: Increment) -> None:
        """Take a piece of a reply, and show what is sure by now."""
        match increment:
            case Said():
                self._text += increment.text
                if any(map(str.isspace, increment.text)):
                    self._tell(self._secrets(self._sure()))
            case Asked():
                call = increment.call
                clean = msgspec.structs.replace(call, arguments=self._secrets(call.arguments))
                self._show(msgspec.structs.replace(increment, call=clean))

    def begin(self) -> None:
        """Forget a reply that broke off."""
        self._text = self._shown = ""

    def finish(self) -> None:
        """Show the rest of a reply that is whole."""
        text = self._secrets(self._text)
        same = sum(
            1
            for _ in takewhile(
                lambda pair: pair[0] == pair[1], zip(text, self._shown, strict=False)
            )
        )
        self._shown = text[:same]
        self._tell(text)
        self.begin()

    def _sure(self) -> str:
        """Give the text without its last words, which may be part of a secret."""
        at = len(self._text)
        for _ in range(_WORDS_HELD):
            text = self._text[:at].rstrip()
            at = max((text.rfind(space) for space in " \t\n"), default=-1) + 1
        return self._text[:at]

    def _tell(self, text: str) -> None:
        if text.startswith(self._shown) and text != self._shown:
            new = text[len(self._shown) :]
            self._shown = text
            self._show(Said(text=new))
