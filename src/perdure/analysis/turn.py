"""One whole turn, as a record tells it: seen, remembered, asked, answered, done, scored, paid."""

from __future__ import annotations

from perdure.records.drive import EndCause
from perdure.records.events import Cost
from perdure.records.outcome import Rule, TurnFailureCause, UnscorableCause
from perdure.records.persona import Memory
from perdure.records.presentation import Plan
from perdure.records.reaction import Reaction
from perdure.records.record import Record
from perdure.records.request import FailureCause
from perdure.records.scenario import Question
from perdure.records.tools import AnswerStatus, Effect, ToolCall


class Told(Record):
    """One thing that is known of a persona, as code and in words."""

    name: str
    label: str
    code: str
    words: str


class Thread(Record):
    """A message that another one answers: the event that published it, who said it, its text."""

    stimulus: str
    event: str
    author: str
    text: str


class Seen(Record):
    """One message as it was shown: what it is, why it was shown, and what stood beside it.

    `event` published it, and is empty if the record has no such event. `counts` says how often what
    had been done with it; `tie` is that to its author or teller, absent if there is none. `near`
    says that it comes from the persona's own community. `thread` are the messages that it answers,
    the first one first.
    """

    stimulus: str
    event: str
    reason: str
    attention: float
    counts: dict[str, int]
    kind: str = ""
    text: str = ""
    claim: str = ""
    author: str = ""
    stance: str = ""
    tie: float | None = None
    told_by: str = ""
    near: bool = False
    thread: tuple[Thread, ...] = ()


class NotSeen(Record):
    """A message that would have been shown on this channel at this tick and was not."""

    event: str
    stimulus: str
    reason: str


class Remembered(Record):
    """A memory that the prompt tells, with the event and the content number that formed it."""

    event: str
    number: int
    memory: Memory


class Sent(Record):
    """One message of a prompt as sent. Its text has the hash that the record cites."""

    role: str
    sha256: str
    text: str
    calls: tuple[ToolCall, ...] = ()
    call_id: str = ""


class Broken(Record):
    """An answer that broke a rule, with its prompt. The turn was asked again, or given up."""

    event: str
    rule: Rule
    prompt: tuple[Sent, ...]
    answer: str


class Judged(Record):
    """The score of an answer, as its question asks; or why there is none.

    `labels` names its choice or choices, in order. `masses` has the probability of each choice,
    by its label, and `similarities` the likeness to each point, by anchor set. `scores` is the id
    of scores that were given after the run; empty for a score of the record, whose `event` it is.
    """

    event: str
    question: str
    choice: str
    label: str
    unscorable: UnscorableCause | None
    choices: tuple[str, ...] | None = None
    labels: tuple[str, ...] = ()
    number: float | None = None
    unit: str = ""
    masses: tuple[tuple[str, float], ...] = ()
    similarities: tuple[tuple[float, ...], ...] = ()
    scores: str = ""


class Believed(Record):
    """What the persona believed of claims, -3 to 3, at the opening of the tick and after the turn.

    `event` is where the beliefs before it are from; empty if it held none. `after` is absent if the
    turn moved none; what another turn of the tick moved before it is in there too.
    """

    event: str
    before: dict[str, int]
    after_event: str
    after: dict[str, int] | None


class Reflection(Record):
    """What the persona made of it all afterwards; or why there is nothing."""

    event: str
    prompt: tuple[Sent, ...]
    text: str
    failed: FailureCause | None


class Probe(Record):
    """A question whose answer is known: what was asked, what was said, and what is so.

    `known` is what is known, in words. `right` is absent if the answer has no score.
    """

    event: str
    attribute: str
    code: str
    known: str
    prompt: tuple[Sent, ...]
    answer: str
    choice: str
    unscorable: UnscorableCause | None
    failed: FailureCause | None
    right: bool | None


class Formed(Record):
    """A memory that the turn left, with the event and the content number that formed it."""

    event: str
    number: int
    memory: Memory
    vector: str


class Paid(Record):
    """One attempt at one model call, and what it cost."""

    event: str
    cost: Cost


class Used(Record):
    """A call of a tool in the turn, with the events of the call and of what it came to.

    It has no `effect` where there is no such tool, and no `status` where it has no result.
    """

    event: str
    answer_event: str
    call: ToolCall
    effect: Effect | None
    subject: str
    status: AnswerStatus | None
    text: str
    dropped: int


class Spent(Record):
    """What a turn cost: the sum of the known amounts, and how many are unknown."""

    attempts: int
    amount: int
    unknown: int
    currency: str


class Part(Record):
    """One event of the turn."""

    event: str
    kind: str


class WholeTurn(Record):
    """One turn, from what was seen to what was paid.

    `event` is its outcome: a turn that was taken, or one that failed with `failed` and, if that was
    the cause, the failed call. `recalled` are the memories that the prompt tells, as recorded.
    `tools` are the calls of tools that it made, `did` those that took effect in the world, and
    `ended` is how its drive did. `events` are all that belong to it. `order` has the choices as
    they were listed, where that was drawn.
    """

    event: str
    job: int
    persona: str
    audience: str
    attributes: tuple[Told, ...]
    channel: str
    question: Question | None
    question_id: str
    actions: tuple[str, ...]
    seen: tuple[Seen, ...]
    not_seen: tuple[NotSeen, ...]
    recalled: tuple[Remembered, ...]
    prompt: tuple[Sent, ...]
    answer: str
    failed: TurnFailureCause | None
    call: FailureCause | None
    violations: tuple[Broken, ...]
    reaction: Reaction | None
    score: Judged | None
    order: tuple[str, ...]
    beliefs: Believed
    memories: tuple[Formed, ...]
    reflection: Reflection | None
    probe: Probe | None
    paid: tuple[Paid, ...]
    spent: Spent
    plan: Plan | None
    events: tuple[Part, ...]
    tools: tuple[Used, ...] = ()
    did: tuple[ToolCall, ...] = ()
    ended: EndCause | None = None

    @property
    def prompts(self) -> tuple[tuple[Sent, ...], ...]:
        """The prompts as they were sent, the first one first: stricter ones may have followed."""
        own = (self.prompt,) if self.prompt else ()
        return (*(broken.prompt for broken in self.violations), *own)
