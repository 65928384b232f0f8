"""A model call: who asks for it, what is sent, what came back, or which of the named failures."""

from __future__ import annotations

from enum import StrEnum

from perdure.records.facts import PersonaFacts
from perdure.records.record import Record
from perdure.records.tools import ToolCall, ToolSpec
from perdure.records.usage import CostSource, Usage

# Whose calls they are that belong to no job of a tick.
WORLD_JOB = -1
SCORER_JOB = -2
# What is journaled for this purpose is no call of a model, but one of a tool outside the world.
OUTSIDE = "outside tool"


class CallKey(Record):
    """Which call this is, within a run. A world's own calls have job -1, the scorer's -2.

    Its ordinal counts the calls of one (job, purpose), which are made one after another, from 0.
    Attempts of a call are numbered by the inference host.
    """

    world: str
    tick: int
    job: int
    purpose: str
    ordinal: int


class Message(Record):
    """One message of a prompt. `role` is `system`, `user`, `assistant` or `tool`.

    `calls` are the tools that an assistant asked for; a tool's message answers the call `call_id`.
    """

    role: str
    content: str
    calls: tuple[ToolCall, ...] = ()
    call_id: str = ""


class ChatRequest(Record, tag="chat"):
    """A request for one reply. `role` is the model role (`tier_a`, `tier_b`), not a model's name.

    `seed` is the sampling seed of this call, below 2**31. `facts` says what the prompt says, as
    data; it is never sent to an endpoint. With `logprobs` the likeliest first tokens are asked for.
    `tools` are those that the model may call.
    """

    role: str
    messages: tuple[Message, ...]
    tokens_max: int
    temperature: float = 0.0
    seed: int = 0
    facts: PersonaFacts | None = None
    logprobs: bool = False
    tools: tuple[ToolSpec, ...] = ()


class EmbedRequest(Record, tag="embed"):
    """A request for one vector per text."""

    role: str
    texts: tuple[str, ...]


class FinishReason(StrEnum):
    """Why a reply ended."""

    STOP = "stop"
    LENGTH = "length"
    REFUSAL = "refusal"
    TOOL_CALLS = "tool_calls"
    OTHER = "other"


class FirstToken(Record):
    """A token with which a reply could have begun, and the natural logarithm of its probability."""

    token: str
    logprob: float


class Reply(Record, tag="reply"):
    """A final answer of a model. A refusal is a reply. `served` is the model's served name.

    `billed` is what the provider says that the call cost, in nano-units of the run's currency.
    `first_tokens` are those with which the reply could have begun, the likeliest first: where they
    were asked for and are offered. `calls` are the tools that the model asks for, in its order.
    """

    text: str
    served: str
    finish: FinishReason = FinishReason.STOP
    usage: Usage | None = None
    usage_impossible: bool = False
    billed: int | None = None
    first_tokens: tuple[FirstToken, ...] = ()
    calls: tuple[ToolCall, ...] = ()


class Vectors(Record, tag="vectors"):
    """The answer to an `EmbedRequest`: one vector per text, in order, all of one length.

    `billed` is what the provider says that the call cost, in nano-units of the run's currency.
    """

    vectors: tuple[tuple[float, ...], ...]
    served: str
    usage: Usage | None = None
    usage_impossible: bool = False
    billed: int | None = None


class FailureCause(StrEnum):
    """The closed set of ways in which a call fails."""

    TIMEOUT = "timeout"
    CONNECT = "connect"
    TRANSPORT = "transport"
    RATE_LIMITED = "rate_limited"
    SERVER_ERROR = "server_error"
    REJECTED = "rejected"
    BAD_REPLY = "bad_reply"
    REPLY_TOO_LARGE = "reply_too_large"
    WRONG_MODEL = "wrong_model"
    KEY_REFUSED = "key_refused"
    MODEL_UNKNOWN = "model_unknown"
    OUT_OF_MONEY = "out_of_money"
    QUEUE_FULL = "queue_full"
    UNSUPPORTED = "unsupported"
    FACTS_MISSING = "facts_missing"
    STOPPED = "stopped"


class Failure(Record, tag="failure"):
    """One attempt that did not end in a reply. `status` is an HTTP status, 0 if there was none.

    `detail` is what the endpoint itself said of it: one line, without secrets, cut.
    """

    cause: FailureCause
    status: int = 0
    retry_after_s: float | None = None
    served: str = ""
    usage: Usage | None = None
    usage_impossible: bool = False
    detail: str = ""


class Attempt(Record):
    """One attempt at a call, and what it cost: `failed` is absent if it ended in a reply.

    `amount` is in nano-units of the run's currency, absent exactly when `source` is unknown. It is
    for `usage`, or for `charged` where nobody knows what was used: what may have been, at most.
    `above_reservation` marks an attempt that used more than was thought possible.
    """

    failed: FailureCause | None = None
    status: int = 0
    served: str = ""
    usage: Usage | None = None
    amount: int | None = None
    source: CostSource = CostSource.UNKNOWN
    usage_impossible: bool = False
    charged: Usage | None = None
    above_reservation: bool = False


class CallResult(Record):
    """The end of a call: its attempts in order, and a final answer unless the last one failed."""

    key: CallKey
    attempts: tuple[Attempt, ...]
    answer: Reply | Vectors | None = None

    @property
    def failed(self) -> FailureCause | None:
        """The cause of the last attempt, if the call has no answer."""
        return None if self.answer is not None else self.attempts[-1].failed
