"""On a channel a persona reads numbered messages, answers in a form, and does what it says."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import pytest

from perdure.agent import CallFailedError, PersonaAgent
from perdure.base.vectors import pack
from perdure.records.channels import Channels, Feed
from perdure.records.facts import MessageFacts
from perdure.records.outcome import (
    Outcome,
    Rule,
    TurnDone,
    TurnFailed,
    TurnFailureCause,
)
from perdure.records.persona import Memory, Persona, PersonaState
from perdure.records.presentation import (
    Exposure,
    Impression,
    Plan,
    Presentation,
    Stimulus,
    TurnJob,
    View,
)
from perdure.records.reaction import Action, Change, Reaction
from perdure.records.request import FailureCause, Message, Reply, Vectors
from perdure.records.scenario import AgentSettings, Header, ModelPin
from perdure.testing.contracts import NoTools, example_header

HEADER = example_header()
EMBEDS = msgspec.structs.replace(HEADER, pins={"embed": ModelPin(provider="p", model="m")})
ADA = Persona(id="ada-7", attributes={"age": 41.0, "view": 2})
VOTE, REACT = HEADER.questions
HARBOUR = Stimulus(id="s1", kind="claim", text="The harbour will be rebuilt.", claim="c1")
DOUBT = Stimulus(
    id="s2",
    kind="peer",
    text="Nobody\nneeds it.",
    claim="c1",
    author="ben",
    reply_to="s1",
    stance="disagree",
)
RENTS = Stimulus(id="s3", kind="peer", text="Rents? At last!", claim="c2", author="eve")
ACTIONS = (
    Action(name="like"),
    Action(name="reply", says=True),
    Action(name="post", about=False, says=True),
)
VIEW = View(
    counts={"s1": {"like": 12, "reply": 1, "boo": 0}, "s3": {"agree": 2}},
    ties={"s2": 0.9, "s3": 0.4},
    told_by={"s3": "eve"},
    near=("s2",),
    threads={"s2": ("s1",)},
)
GOOD = "I do not trust them.\nMessage: 2\nAction: reply\nBelief: much less convinced"


def job(
    *shown: Stimulus,
    state: PersonaState | None = None,
    actions: tuple[Action, ...] = ACTIONS,
    view: View = VIEW,
    attention: float = 1.0,
    tick: int = 3,
) -> TurnJob:
    """Make a job on a channel."""
    seen = {one.id for one in shown}
    return TurnJob(
        index=0,
        tick=tick,
        persona=ADA,
        state=state or PersonaState(),
        presentation=Presentation(
            persona=ADA.id,
            impression=Impression(
                channel="feed",
                exposures=tuple(
                    Exposure(stimulus=one.id, reason="r", attention=attention) for one in shown
                ),
            ),
            question=REACT.id,
            view=msgspec.structs.replace(
                view, counts={name: held for name, held in view.counts.items() if name in seen}
            ),
            actions=actions,
        ),
        shown=shown,
        question=REACT,
    )


class Script(NoTools):
    """Models that say one thing after another, a cause being a failed call; and keep all calls."""

    def __init__(
        self, *said: str | FailureCause, embed: Callable[[str], Any] | None = None
    ) -> None:
        self.said = list(said)
        self.embed_one = embed
        self.asked: list[dict[str, Any]] = []

    def for_job(self, index: int) -> Script:
        return self

    async def chat(self, purpose: str, messages: tuple[Message, ...], **rest: Any) -> Reply:
        self.asked.append({"purpose": purpose, "messages": messages, **rest})
        said = self.said.pop(0)
        if isinstance(said, FailureCause):
            raise CallFailedError(said)
        return Reply(text=said, served="fake")

    async def embed(self, purpose: str, texts: tuple[str, ...], *, role: str = "embed") -> Vectors:
        self.asked.append({"purpose": purpose, "texts": texts, "role": role})
        assert self.embed_one is not None, "no vectors are asked for"
        vectors = [self.embed_one(text) for text in texts]
        if None in vectors:
            raise CallFailedError(FailureCause.TIMEOUT)
        return Vectors(vectors=tuple(vectors), served="fake")

    @property
    def purposes(self) -> list[str]:
        return [asked["purpose"] for asked in self.asked]


def act(
    asked: TurnJob, models: Script, header: Header = HEADER, plan: Plan | None = None
) -> Outcome:
    """Let a new persona agent take a turn."""
    agent = PersonaAgent()
    agent.reset(header)

    async def acted() -> Sequence[Outcome]:
        return await agent.act((asked,), plan or Plan(), models)

    (outcome,) = asyncio.run(acted())
    assert not models.said, "something was not asked for"
    return outcome


def done(outcome: Outcome) -> TurnDone:
    """Require that a turn was taken."""
    assert isinstance(outcome, TurnDone), outcome
    return outcome


def agent_settings(**changes: Any) -> Header:
    """Change the agent's settings in the header with embeddings."""
    settings = msgspec.structs.replace(HEADER.agent, **changes)
    return msgspec.structs.replace(EMBEDS, agent=settings)


QUIET = PersonaState(turns_since_reflection=0)
FREE = Plan(optional_work=False)


def test_a_prompt_on_a_channel() -> None:
    """Who it is, its mind, numbered messages with whose they are, what can be done, the form."""
    state = PersonaState(
        memories=(Memory(tick=1, text="I was in town", importance=0.5, number=7),),
        beliefs={"c2": -2, "c1": 1, "c9": 3},
    )
    outcome = done(act(job(HARBOUR, DOUBT, RENTS, state=state), Script(GOOD), plan=FREE))
    system, user = outcome.messages
    assert system.content.startswith("A town election\n\nThe town chooses a mayor.")
    assert user.content == (
        "Who you are:\n- Age: 41 years\n- Politics: right\n\n"
        "What you remember:\n- day 1: I was in town\n\n"
        "What you believe by now:\n"
        '- "The harbour will be rebuilt.": you rather believe it\n'
        '- "Rents will be frozen.": you think that it is wrong\n\n'
        "What you are shown now:\n"
        '1. "The harbour will be rebuilt." (12 likes, 1 reply)\n'
        '2. "Nobody needs it." (from somebody you know well; from your community; '
        "in answer to message 1)\n"
        '3. "Rents? At last!" (somebody you know told you; 2 answered Agree; '
        'about: "Rents will be frozen.")\n\n'
        "Do you agree?\nPossible answers: Agree / Disagree"
    )
    # What all are told on the channel stands with what all are told.
    assert system.content.endswith(
        "\n\nWhat you can do:\n"
        "- like (to one of the messages)\n"
        "- reply (to one of the messages, in your own words)\n"
        "- post (in your own words)\n\n"
        "Answer in your own words first, in one or two sentences. Then write these lines, each on "
        "a line of its own:\n"
        "Message: the number of the message that it is about, or none\n"
        "Action: like / reply / post / none\n"
        "Belief: how that message changed how far you believe the claim that it makes or is about: "
        "much less convinced / less convinced / unchanged / more convinced / much more convinced"
    )
    assert outcome.recalled == (7,)


def test_strangers_and_answers_to_what_is_not_shown() -> None:
    """Whose message it is and what it answers is told as far as it is known."""
    view = View(ties={"s3": 0.1}, threads={"s2": ("s0", "s1")})
    models = Script("x\nMessage: 1\nAction: none")
    act(job(DOUBT, RENTS, view=view), models, plan=FREE)
    prompt = models.asked[0]["messages"][1].content
    assert (
        '1. "Nobody needs it." (from somebody you do not know; in answer to an earlier message; '
        'about: "The harbour will be rebuilt.")' in prompt
    )
    assert (
        '2. "Rents? At last!" (from somebody you know a little; about: "Rents will be frozen.")'
        in prompt
    )


def test_a_memory_says_what_it_is_about() -> None:
    """With what somebody said of a claim stands the claim, unless the memory has its words."""
    told = Memory(tick=1, text='I was told "Never."', importance=0.5, claim="c2", number=1)
    seen = Memory(
        tick=2, text='I saw "The harbour will be rebuilt."', importance=0.5, claim="c1", number=2
    )
    models = Script("x\nMessage: 1\nAction: none")
    act(job(HARBOUR, state=PersonaState(memories=(told, seen))), models, plan=FREE)
    prompt = models.asked[0]["messages"][1].content
    assert '- day 1: I was told "Never." (about: "Rents will be frozen.")\n' in prompt
    assert '- day 2: I saw "The harbour will be rebuilt."\n' in prompt


def test_what_a_message_is_about_is_said_once() -> None:
    """Where the claim itself is shown, others about it name its number, unless they answer it."""
    other = msgspec.structs.replace(DOUBT, id="s9", reply_to="")
    models = Script("x\nMessage: 1\nAction: none")
    act(job(HARBOUR, DOUBT, other), models, plan=FREE)
    prompt = models.asked[0]["messages"][1].content
    assert "; in answer to message 1)" in prompt
    assert prompt.count("about message 1)") == 1
    assert "about: " not in prompt


def test_a_persona_without_anything_to_do_is_asked_as_ever() -> None:
    """Where nothing can be done there is no number, no action and no form in the prompt."""
    outcome = done(act(job(HARBOUR, actions=()), Script("Agree"), plan=FREE))
    assert outcome.reaction is None
    for part in ("1.", "What you can do", "Message:", "Action", "community"):
        assert part not in "".join(message.content for message in outcome.messages)
    assert outcome.recalled == ()


def test_facts_say_what_the_messages_say() -> None:
    """A model that reads no words is told the messages, what can be done, and the beliefs."""
    models = Script(GOOD)
    state = PersonaState(beliefs={"c1": -1})
    act(job(HARBOUR, DOUBT, RENTS, state=state), models, plan=FREE)
    facts = models.asked[0]["facts"]
    assert facts.messages == (
        MessageFacts(claim="c1", counts={"like": 12, "reply": 1, "boo": 0}),
        MessageFacts(claim="c1", stance="disagree", tie=0.9),
        MessageFacts(claim="c2", counts={"agree": 2}, tie=0.4),
    )
    assert facts.actions == ACTIONS
    assert facts.beliefs == {"c1": -1}


def test_a_reaction_moves_the_belief_in_the_claim_of_its_message() -> None:
    """What somebody else says of a claim moves the belief in that claim, and no other."""
    state = PersonaState(beliefs={"c2": 1})
    outcome = done(act(job(HARBOUR, DOUBT, RENTS, state=state), Script(GOOD), plan=FREE))
    assert outcome.reaction == Reaction(
        action="reply", stimulus="s2", words="I do not trust them.", change=Change.MUCH_LESS
    )
    assert outcome.beliefs == {"c2": 1, "c1": -2}
    unmoved = "Hm.\nMessage: 2\nAction: none\nBelief: unchanged"
    assert done(act(job(HARBOUR, DOUBT), Script(unmoved), plan=FREE)).beliefs is None


def test_what_was_done_weighs_in_memory() -> None:
    """Each message is remembered; what was done and said about one, and a move of belief, weigh."""
    outcome = done(act(job(HARBOUR, DOUBT, RENTS), Script(GOOD), plan=FREE))
    assert [(one.text, one.claim, round(one.importance, 9)) for one in outcome.memories] == [
        ('I saw the message "The harbour will be rebuilt."', "c1", 0.1),
        (
            'I saw the message "Nobody needs it.", chose "reply" and said "I do not trust them."',
            "c1",
            1.0,
        ),
        ('I was told "Rents? At last!"', "c2", 0.1),
    ]
    liked = "Nice.\nMessage: 1\nAction: like\nBelief: more convinced"
    (memory,) = done(act(job(HARBOUR, attention=0.5), Script(liked), plan=FREE)).memories
    assert round(memory.importance, 9) == 0.6


def test_what_has_no_effect_is_remembered_as_no_deed() -> None:
    """An action that the channel does not accept was only said; a word to nobody is one's own."""
    shouted = "Shame!\nMessage: 1\nAction: shout"
    outcome = done(act(job(HARBOUR), Script(shouted), plan=FREE))
    assert outcome.reaction == Reaction(action="shout", stimulus="s1", words="Shame!")
    (memory,) = outcome.memories
    assert memory.text.endswith('and said "Shame!"')
    assert (memory.importance, outcome.violations) == (0.1, ())
    posted = "A fair would be nice.\nMessage: none\nAction: post"
    _, own = done(act(job(HARBOUR), Script(posted), plan=FREE)).memories
    assert (own.text, own.claim, own.importance) == (
        'I chose "post" and said "A fair would be nice."',
        "",
        0.6,
    )
    silent = done(act(job(HARBOUR), Script("Message: 1\nAction: like"), plan=FREE))
    assert silent.memories[0].text.endswith('rebuilt." and chose "like"')


@pytest.mark.parametrize(
    ("bad", "rule"),
    [("I just like it.", Rule.UNREADABLE), ("Hm.\nMessage: 4\nAction: like", Rule.NOT_SHOWN)],
)
def test_an_answer_that_breaks_a_rule_is_asked_for_once_more(bad: str, rule: Rule) -> None:
    """The second try is stricter: it quotes the answer and says the rule; both are on record."""
    models = Script(bad, GOOD)
    outcome = done(act(job(HARBOUR, DOUBT, RENTS), models, plan=FREE))
    assert models.purposes == ["turn", "turn"]
    first, second = (asked["messages"] for asked in models.asked)
    assert second[0] == first[0]
    assert second[1].content.startswith(first[1].content + '\n\nYou answered: "')
    (violation,) = outcome.violations
    assert (violation.rule, violation.messages, violation.answer) == (rule, first, bad)
    assert (outcome.messages, outcome.answer) == (second, GOOD)


def test_two_answers_that_break_a_rule_fail_the_turn() -> None:
    """There is one try more and no second one; nothing stands in for an answer."""
    outcome = act(job(HARBOUR), Script("I like it.", "Hm.\nMessage: 9\nAction: like"))
    assert isinstance(outcome, TurnFailed)
    assert outcome.cause is TurnFailureCause.GUARDRAIL
    assert [one.rule for one in outcome.violations] == [Rule.UNREADABLE, Rule.NOT_SHOWN]


def test_a_second_try_without_a_reply_fails_with_its_cause() -> None:
    """The answer that broke a rule is on record still."""
    outcome = act(job(HARBOUR), Script("I like it.", FailureCause.TIMEOUT))
    assert isinstance(outcome, TurnFailed)
    assert (outcome.cause, outcome.call) == (TurnFailureCause.CALL_FAILED, FailureCause.TIMEOUT)
    assert len(outcome.violations) == 1


def test_a_prompt_that_cannot_fit_is_not_sent() -> None:
    """A turn that is too long even without memories and beliefs costs no call."""
    header = agent_settings(context_tokens_max={"tier_a": 100})
    assert act(job(HARBOUR), Script(), header) == TurnFailed(
        cause=TurnFailureCause.CONTEXT_EXCEEDED
    )


def test_memories_give_way_on_a_channel() -> None:
    """What a persona remembers is told as far as there is room; what is told is noted."""
    mind = tuple(
        Memory(tick=tick, text="word " * 300, importance=0.5, number=tick) for tick in range(5)
    )
    long = job(HARBOUR, state=PersonaState(memories=mind))
    told = "Hm.\nMessage: 1\nAction: like"
    assert done(act(long, Script(told), plan=FREE)).recalled == (1, 2, 3, 4)
    elsewhere = job(HARBOUR, state=PersonaState(memories=mind), actions=())
    prompt = done(act(elsewhere, Script("Agree"), plan=FREE)).messages[1].content
    assert prompt.count("- day ") == 5


def test_a_wave_of_a_study_with_channels_notes_what_it_recalls() -> None:
    """There a survey too says which memories it told, and what is believed."""
    state = PersonaState(
        memories=(Memory(tick=1, text="x", importance=0.5, number=4),), beliefs={"c1": 3}
    )
    scenario = msgspec.structs.replace(
        HEADER.scenario, channels=Channels(feed=Feed(question="react"))
    )
    header = msgspec.structs.replace(HEADER, scenario=scenario)
    outcome = done(act(job(actions=(), state=state), Script("Agree"), header))
    assert outcome.recalled == (4,)
    assert '"The harbour will be rebuilt.": you are sure that it is right' in (
        outcome.messages[1].content
    )


def meaning(text: str) -> tuple[float, ...]:
    """Say what a text is about, in two dimensions: harbour, rents."""
    return (1.0 * ("arbour" in text), 1.0 * ("ents" in text))


def memories(*texts: str) -> tuple[Memory, ...]:
    """Make memories with their meanings, one after the other."""
    return tuple(
        Memory(tick=0, text=text, importance=0.5, vector=pack([meaning(text)]), number=number)
        for number, text in enumerate(texts)
    )


def test_the_relevant_comes_to_mind() -> None:
    """With embeddings, what is told is near in meaning to what is shown; the query is one call."""
    header = agent_settings(memories_max=1)
    state = PersonaState(memories=memories("the harbour", "the rents", "the weather"))
    models = Script("Hm.\nMessage: 1\nAction: none", embed=meaning)
    outcome = done(act(job(HARBOUR, state=state), models, header, FREE))
    assert models.purposes == ["recall", "turn", "memory"]
    assert models.asked[0]["texts"] == ("The harbour will be rebuilt.\nDo you agree?",)
    assert outcome.recalled == (0,)
    assert "day 0: the harbour" in outcome.messages[1].content
    assert outcome.memories[0].vector == pack([(1.0, 0.0)])


def test_no_vectors_no_turn() -> None:
    """Where relevance cannot be known the turn fails: nothing goes on as if all were relevant."""
    header = agent_settings(memories_max=1)
    state = PersonaState(memories=memories("the harbour", "the rents"))
    models = Script(embed=lambda _text: None)
    assert act(job(HARBOUR, state=state), models, header) == TurnFailed(
        cause=TurnFailureCause.CALL_FAILED, call=FailureCause.TIMEOUT
    )
    assert models.purposes == ["recall"]


def test_a_memory_that_got_no_vector_gets_one_when_it_is_compared() -> None:
    """A turn whose memories get no vectors is done; they get them with the next query."""
    header = agent_settings(memories_max=1)
    answer = "Hm.\nMessage: 1\nAction: none"
    models = Script(answer, embed=lambda _text: None)
    first = done(act(job(HARBOUR), models, header, FREE))
    assert models.purposes == ["turn", "memory"]
    assert [one.vector for one in first.memories] == [b""]
    lost = msgspec.structs.replace(first.memories[0], number=9)
    state = PersonaState(memories=(lost, *memories("the rents")))
    models = Script(answer, embed=meaning)
    second = done(act(job(HARBOUR, state=state), models, header, FREE))
    assert models.asked[0]["texts"] == ("The harbour will be rebuilt.\nDo you agree?", lost.text)
    assert second.recalled == (9,)


def test_nothing_is_embedded_without_a_model_for_it() -> None:
    """A study that pins none has not a single call for vectors."""
    state = PersonaState(memories=memories("a", "b", "c", "d", "e", "f"))
    models = Script("Hm.\nMessage: 1\nAction: none")
    outcome = done(act(job(HARBOUR, state=state), models, plan=FREE))
    assert models.purposes == ["turn"]
    assert outcome.recalled == (1, 2, 3, 4, 5)


def test_a_great_change_of_mind_is_thought_over_at_once() -> None:
    """A belief that moves two steps brings a reflection, of tier B, that knows the new belief."""
    header = agent_settings(reflect_every=9)
    models = Script(GOOD, "I was wrong about it.", embed=meaning)
    outcome = done(act(job(HARBOUR, DOUBT, state=QUIET), models, header))
    assert models.purposes == ["turn", "reflection", "memory"]
    assert models.asked[1]["role"] == "tier_b"
    assert '"The harbour will be rebuilt.": you think that it is wrong' in (
        models.asked[1]["messages"][1].content
    )
    assert outcome.reflection is not None
    assert [bool(one.vector) for one in outcome.reflection.memories] == [True]
    assert models.asked[2]["texts"] == tuple(
        one.text for one in (*outcome.memories, *outcome.reflection.memories)
    )
    small = GOOD.replace("much less", "less")
    assert done(act(job(HARBOUR, DOUBT), Script(small, embed=meaning), header)).reflection is None
    frozen = Script(GOOD, embed=meaning)
    assert done(act(job(HARBOUR, DOUBT), frozen, header, FREE)).reflection is None
    never = agent_settings(reflect_every=0)
    assert done(act(job(HARBOUR, DOUBT), Script(GOOD, embed=meaning), never)).reflection is None


def test_a_step_at_the_end_of_the_scale_moves_nothing() -> None:
    """Who is sure already is not moved by two steps, and has nothing to think over."""
    header = msgspec.structs.replace(
        HEADER, agent=msgspec.structs.replace(HEADER.agent, reflect_every=9)
    )
    state = PersonaState(beliefs={"c1": -3})
    outcome = done(act(job(HARBOUR, DOUBT, state=state), Script(GOOD), header))
    assert (outcome.beliefs, outcome.reflection) == (None, None)


PROBES = msgspec.structs.replace(
    HEADER,
    agent=AgentSettings(reflect_every=0, probe_every=3, probe_share=1.0),
)


def test_a_probe_asks_for_what_is_known() -> None:
    """A closed question about an attribute with a scale follows the turn, and changes nothing."""
    models = Script("Agree", "right")
    outcome = done(act(job(HARBOUR, actions=()), models, PROBES))
    assert models.purposes == ["turn", "probe"]
    probe = outcome.probe
    assert probe is not None
    assert (probe.attribute, probe.code, probe.answer) == ("view", "2", "right")
    assert [(one.id, one.label) for one in probe.question.choices] == [
        ("1", "left"),
        ("2", "right"),
    ]
    assert probe.messages[1].content.endswith(
        "Which of these is true of you? Politics:\nPossible answers: left / right"
    )
    assert models.asked[1]["facts"].question == probe.question
    without = done(act(job(HARBOUR, actions=()), Script("Agree"), PROBES, FREE))
    assert msgspec.structs.replace(outcome, probe=None) == without


def test_a_probe_that_fails_leaves_the_turn_done() -> None:
    """The cause is in its place, and no answer."""
    outcome = done(act(job(HARBOUR, actions=()), Script("x", FailureCause.TIMEOUT), PROBES))
    assert outcome.probe is not None
    assert (outcome.probe.failed, outcome.probe.answer) == (FailureCause.TIMEOUT, "")


@pytest.mark.parametrize(
    ("tick", "changes"),
    [(4, {}), (3, {"probe_share": 0.0}), (3, {"probe_every": 0})],
)
def test_no_probe_at_another_tick(tick: int, changes: dict[str, Any]) -> None:
    """Only at the ticks and for the share of turns that the study says."""
    settings = msgspec.structs.replace(PROBES.agent, **changes)
    header = msgspec.structs.replace(PROBES, agent=settings)
    assert done(act(job(HARBOUR, actions=(), tick=tick), Script("x"), header)).probe is None


def test_so_many_are_probed_as_the_study_says() -> None:
    """Who is probed is drawn by persona and tick: about the share, and the same ones every time."""
    settings = msgspec.structs.replace(PROBES.agent, probe_share=0.3)
    header = msgspec.structs.replace(PROBES, agent=settings)

    def probed() -> list[bool]:
        found = []
        for number in range(300):
            persona = msgspec.structs.replace(ADA, id=f"p{number}")
            asked = msgspec.structs.replace(job(HARBOUR, actions=()), persona=persona)
            models = Says()
            agent = PersonaAgent()
            agent.reset(header)
            (outcome,) = asyncio.run(_acted(agent, asked, models))
            found.append(done(outcome).probe is not None)
        return found

    first = probed()
    assert 60 < sum(first) < 120
    assert probed() == first


class Says(Script):
    """Models that say the same for ever."""

    async def chat(self, purpose: str, messages: tuple[Message, ...], **rest: Any) -> Reply:
        return Reply(text="right", served="fake")


async def _acted(agent: PersonaAgent, asked: TurnJob, models: Script) -> Sequence[Outcome]:
    return await agent.act((asked,), Plan(), models)
