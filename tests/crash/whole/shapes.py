"""The runs that are killed: small, and each with something that the others do not have.

A shape is a run in one or more acts. Each act is one sitting that ends by itself when nobody kills
it: a run that is stopped and taken up again is two. What the models say depends on what they are
asked, and on the act, never on how often the run was killed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from tests.support.town import town

from perdure.base.errors import (
    EXIT_DONE,
    EXIT_KEY_OR_MODEL,
    EXIT_PAUSED,
    EXIT_SOME_FAILED,
    EXIT_STOPPED,
    EXIT_UNREACHABLE,
)
from perdure.records.budget import Budget
from perdure.records.request import (
    CallKey,
    ChatRequest,
    EmbedRequest,
    Failure,
    FailureCause,
    FinishReason,
    Reply,
    Vectors,
)
from perdure.records.scenario import AgentSettings
from perdure.records.study import Order
from perdure.records.tools import ToolCall
from perdure.records.usage import Price, Usage
from perdure.runner.config import RunConfig

HERE = Path(__file__).parent
PRICE = Price(input_fresh=150_000_000, output=600_000_000)

Outcome = Reply | Vectors | Failure


class Act(NamedTuple):
    """One sitting: how it may end, and what is different about it.

    From tick `out_from` on, every other job gets no answer, and nobody can look at anything. `asks`
    is what happens when the first tick closes: it is asked to `stop`, or `cut` off by two signals.
    """

    exits: tuple[int, ...] = (EXIT_DONE,)
    out_from: int | None = None
    key_is_dead: bool = False
    asks: str = ""
    brief: str = ""


Say = Callable[[CallKey, ChatRequest | EmbedRequest], Outcome]


class Shape(NamedTuple):
    """A kind of run. `threads` has it on a real loop, with threads and the machine's clock.

    `whole_code` keeps all of the engine's source in its registry, as every run does; the others
    keep a word. `pages` is how long a log may grow before it is copied into its file. One that
    `is_like_another` need not be killed at every boundary.
    """

    name: str
    people: int = 3
    scenarios: tuple[dict[str, Any], ...] = ({},)
    seeds: tuple[int, ...] = (1,)
    agent: AgentSettings = AgentSettings(reflect_every=0)
    quorum: float = 0.9
    skew: int = 4
    order: Order = Order.BREADTH
    live: int = 0
    budget: Budget = Budget()
    acts: tuple[Act, ...] = (Act(),)
    say: Say | None = None
    in_flight_max: int = 8
    threads: bool = False
    whole_code: bool = False
    pages: int = 1_000
    embeds: bool = False
    is_like_another: bool = False

    def config(self, act: Act, out: Path) -> RunConfig:
        """Make the run of one act."""
        scenarios = tuple(_SHORT | changed for changed in self.scenarios)
        config = town(
            self.people,
            scenarios=scenarios,
            seeds=self.seeds,
            agent=self.agent,
            out=str(out),
            study_path=str(HERE / "study.yaml"),
            quorum=self.quorum,
            budget=self.budget,
            skew=self.skew,
            order=self.order,
            live=self.live,
            embeds=self.embeds,
        )
        if not act.brief:
            return config
        brief = msgspec.structs.replace(config.study.brief, text=act.brief)
        study = msgspec.structs.replace(config.study, brief=brief)
        return RunConfig(**vars(config) | {"study": study, "force": ("brief",)})

    def answer(self, act: Act, key: CallKey, request: ChatRequest | EmbedRequest) -> Outcome:
        """Say what comes of an attempt."""
        if act.key_is_dead and key.tick > 0 and key.job == 1:
            return Failure(cause=FailureCause.KEY_REFUSED, status=401)
        is_out = act.out_from is not None and key.tick >= act.out_from
        if is_out and (key.purpose == "look" or key.job % 2):
            return Failure(cause=FailureCause.CONNECT)
        return (self.say or said)(key, request)


_SHORT: dict[str, Any] = {
    "horizon": 3,
    "waves": (0,),
    "exposures": {"1": ("c1",), "2": ("c1", "c2")},
    "activation": 1.0,
}
_MANY: tuple[dict[str, Any], ...] = (
    {},
    {"exposures": {"1": ("c2",)}},
    {"exposures": {"2": ("c1",)}},
)


def said(key: CallKey, request: ChatRequest | EmbedRequest) -> Outcome:
    """Answer by the request alone."""
    if isinstance(request, EmbedRequest):
        vectors = tuple((0.1 * len(text), 1 / 3) for text in request.texts)
        return Vectors(vectors=vectors, served="scripted", usage=Usage(input_fresh=7))
    text = "".join(message.content for message in request.messages)
    drawn = draw(text, request.seed)
    answer = ("Ada Hill. I agree.", "Ben Cole. I disagree.", "I do not know.")[drawn % 3]
    usage = Usage(input_fresh=len(text) // 4, output=4)
    return Reply(text=answer, served="scripted", usage=usage)


def failing(key: CallKey, request: ChatRequest | EmbedRequest) -> Outcome:
    """Fail some turns for good, others for as long as the endpoint is what it is."""
    if key.job == 1:
        return Failure(cause=FailureCause.REJECTED, status=400)
    if key.job == 2:
        return Failure(cause=FailureCause.TIMEOUT)
    return said(key, request)


def reacting(key: CallKey, request: ChatRequest | EmbedRequest) -> Outcome:
    """Answer in the form where it is asked for, and now and then not; lose vectors for good."""
    if isinstance(request, EmbedRequest):
        if key.purpose == "memory" and key.job == 1:
            return Failure(cause=FailureCause.REJECTED, status=400)
        vectors = tuple(_meaning(text) for text in request.texts)
        return Vectors(vectors=vectors, served="scripted", usage=Usage(input_fresh=7))
    facts, reply = request.facts, said(key, request)
    if facts is None or not facts.actions or not isinstance(reply, Reply):
        return reply
    text = "".join(message.content for message in request.messages)
    drawn = draw("form", text, request.seed)
    if drawn % 3 == 0:
        return msgspec.structs.replace(reply, text=f"{reply.text}\nMessage: 9\nAction: like")
    names = [*(action.name for action in facts.actions), "shout", "none"]
    changes = ("much less convinced", "less convinced", "more convinced", "much more convinced")
    form = [
        f"{reply.text} {drawn % 97}",
        f"Message: {drawn % (len(facts.messages) + 1) or 'none'}",
        f"Action: {names[drawn // 8 % len(names)]}",
        f"Belief: {changes[drawn // 64 % len(changes)]}",
    ]
    return msgspec.structs.replace(reply, text="\n".join(form))


def working(key: CallKey, request: ChatRequest | EmbedRequest) -> Outcome:
    """Look something up, write something down, and answer."""
    reply = said(key, request)
    if not isinstance(request, ChatRequest) or not request.tools or not isinstance(reply, Reply):
        return reply
    done = sum(message.role == "tool" for message in request.messages)
    if done > 1:
        return reply
    what = str(draw(request.messages, request.seed))
    name, argument = (("look_up", "word"), ("append_line", "text"))[done]
    call = ToolCall(id=f"c{done}", name=name, arguments=json.dumps({argument: what}))
    return msgspec.structs.replace(reply, text="", finish=FinishReason.TOOL_CALLS, calls=(call,))


def _meaning(text: str) -> tuple[float, ...]:
    """Place a text among others, in numbers that no 32-bit float holds."""
    return tuple((draw(text, place) % 2_000 - 1_000) / 999 for place in range(8))


def draw(*what: object) -> int:
    """Draw a number that depends on nothing else."""
    return int.from_bytes(hashlib.sha256(repr(what).encode()).digest()[:4], "big")


_PAUSED = Act(exits=(EXIT_PAUSED,))
_OUT = Act(exits=(EXIT_UNREACHABLE,), out_from=1)

SHAPES: tuple[Shape, ...] = (
    Shape("one tick", people=2, scenarios=({"horizon": 1, "exposures": {}},)),
    Shape("one world"),
    Shape("three worlds", scenarios=_MANY, people=2),
    Shape(
        "needs", scenarios=({"world": "townsfolk:Ranking"},), seeds=(1, 2), people=2, embeds=True
    ),
    Shape("reflections", agent=AgentSettings(reflect_every=1)),
    Shape(
        "channels",
        scenarios=({"world": "townsfolk:Square", "horizon": 4, "waves": ()},),
        agent=AgentSettings(
            reflect_every=2, memories_max=2, memories_kept=6, probe_every=2, probe_share=0.5
        ),
        say=reacting,
        embeds=True,
    ),
    Shape(
        "tools outside",
        people=2,
        scenarios=({"horizon": 2, "exposures": {}, "waves": (0, 1)},),
        agent=AgentSettings(
            agent="perdure.agent:ToolAgent",
            reflect_every=0,
            turn_calls_max=5,
            outside_tools=("townsfolk:look_up", "townsfolk:append_line"),
        ),
        say=working,
    ),
    Shape("failing turns", people=4, say=failing, quorum=0.4),
    Shape(
        "failing world",
        people=2,
        scenarios=(
            {"world": "townsfolk:Breaking"},
            {"world": "townsfolk:Breaking", "settings": {"breaks_at": 1}},
        ),
        acts=(Act(exits=(EXIT_SOME_FAILED,)), Act(exits=(EXIT_SOME_FAILED,))),
    ),
    Shape("no quorum", acts=(_OUT, Act())),
    Shape("dead key", acts=(Act(exits=(EXIT_KEY_OR_MODEL,), key_is_dead=True), Act())),
    Shape(
        "stopped",
        scenarios=_MANY[:2],
        people=2,
        acts=(Act(exits=(EXIT_STOPPED, EXIT_DONE), asks="stop"), Act()),
    ),
    Shape(
        "cut off",
        scenarios=_MANY[:2],
        people=2,
        acts=(Act(exits=(EXIT_STOPPED, EXIT_DONE), asks="cut"), Act()),
    ),
    Shape("one by one", scenarios=_MANY[:2], people=2, in_flight_max=1),
    Shape("close together", scenarios=_MANY, people=2, skew=1, is_like_another=True),
    Shape("in depth", scenarios=_MANY[:2], people=2, order=Order.DEPTH),
    Shape("in groups", scenarios=_MANY, people=2, live=2),
    Shape("orphans", agent=AgentSettings(agent="townsfolk:Undecided"), acts=(_OUT, Act())),
    Shape("forced", acts=(_OUT, Act(brief="There is another vote."))),
    # Before its first call, so that no kill can make it pause elsewhere.
    Shape("paused", budget=Budget(calls=1), seeds=(1, 2), acts=(_PAUSED, _PAUSED)),
    Shape("once more", people=2, scenarios=({"horizon": 2},), acts=(Act(), Act())),
    Shape("short logs", seeds=(1, 2), people=2, pages=12),
    Shape("threads", scenarios=_MANY, people=2, threads=True),
    Shape(
        "whole code",
        people=2,
        scenarios=({"horizon": 1, "exposures": {}},),
        whole_code=True,
        is_like_another=True,
    ),
)
