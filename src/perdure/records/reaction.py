"""What a persona does about what it is shown: an action, words of its own, a change of mind."""

from __future__ import annotations

from enum import StrEnum

from perdure.records.record import Record


class Action(Record):
    """One thing that can be done on a channel.

    `about` says that it is done to one of the messages that are shown, `says` that it takes words
    of the persona's own.
    """

    name: str
    about: bool = True
    says: bool = False


class Change(StrEnum):
    """How a turn moved a persona's belief in a claim, on an ordinal scale, from low to high."""

    MUCH_LESS = "much_less"
    LESS = "less"
    SAME = "same"
    MORE = "more"
    MUCH_MORE = "much_more"

    @property
    def steps(self) -> int:
        """How many steps of belief it is: -2 to 2."""
        return list(Change).index(self) - 2


class Rejection(StrEnum):
    """Why an action has no effect."""

    NOT_ACCEPTED = "not_accepted"
    ABOUT_NOTHING = "about_nothing"
    NO_WORDS = "no_words"


class Reaction(Record):
    """What a persona did in a turn.

    `action` is the name of an action, as the persona gave it; empty if it did nothing. `stimulus`
    is the message that it is about, empty for none. `words` are its own; an action that says
    something says these. `change` is how its belief in the claim of that message moved, absent
    where none was told. A `rejected` action is one that the channel does not accept: it has no
    effect.
    """

    action: str = ""
    stimulus: str = ""
    words: str = ""
    change: Change | None = None
    rejected: Rejection | None = None

    @property
    def done(self) -> str:
        """The action that was done and accepted; empty if there is none."""
        return "" if self.rejected else self.action


def own_words(answer: str, reaction: Reaction | None) -> str:
    """Give what an answer says: the persona's own words, where its answer has a form."""
    return answer if reaction is None else reaction.words
