"""Changes of one constant to plant in code that decides a run, and what a replay says of each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from perdure.records.events import (
    AnswerGiven,
    Event,
    ExposureDropped,
    InterventionApplied,
    MemoryFormed,
    Payload,
    Reflected,
    ScoreGiven,
    Started,
    StimulusPublished,
    TickClosed,
    Turn,
    TurnNotTaken,
)
from perdure.records.outcome import TurnFailureCause, UnscorableCause

First = Callable[[Event], bool]


@dataclass(frozen=True)
class Planted:
    """A change in `file` of the package, or of the study if it is a bare name, from `old` to `new`.

    `wrong` is a pattern of what is said: kind, field, old and new value. `first` tells the first
    event that comes out otherwise, in every world that has one; where chance decides which it is,
    it only tells an event before which nothing may differ.
    """

    run: str
    file: str
    old: str
    new: str
    wrong: str
    first: First
    exactly: bool = True

    @property
    def own(self) -> bool:
        """Whether it is the study's own code."""
        return "/" not in self.file


def survey(
    file: str, old: str, new: str, wrong: str, first: First, *, exactly: bool = True
) -> Planted:
    """Plant in what decides the run of our own world and agent."""
    return Planted("survey", file, old, new, wrong, first, exactly)


def hall(
    file: str, old: str, new: str, wrong: str, first: First, *, exactly: bool = True
) -> Planted:
    """Plant in what decides the run of a user's own world and agent."""
    return Planted("hall", file, old, new, wrong, first, exactly)


def of(*kinds: type[Payload], tick: int = 0) -> First:
    """Tell an event of one of these kinds, from a tick on."""
    return lambda event: isinstance(event.payload, kinds) and event.tick >= tick


def on(channel: str) -> First:
    """Tell the outcome of a job on a channel."""

    def tells(event: Event) -> bool:
        job = event.payload
        return (
            isinstance(job, Turn | TurnNotTaken) and job.presentation.impression.channel == channel
        )

    return tells


def shown(places: int = 1, tick: int = 0) -> First:
    """Tell a turn that was shown so many things at least."""

    def tells(event: Event) -> bool:
        turn = event.payload
        return (
            isinstance(turn, Turn)
            and len(turn.presentation.impression.exposures) >= places
            and event.tick >= tick
        )

    return tells


def counted(event: Event) -> bool:
    """Tell an outcome whose view counts somebody."""
    job = event.payload
    if not isinstance(job, Turn | TurnNotTaken):
        return False
    return any(any(counts.values()) for counts in job.presentation.view.counts.values())


def counted_turn(event: Event) -> bool:
    """Tell a turn whose view counts somebody."""
    return isinstance(event.payload, Turn) and counted(event)


def memory(source: str) -> First:
    """Tell a memory from a source."""

    def tells(event: Event) -> bool:
        formed = event.payload
        return isinstance(formed, MemoryFormed) and formed.memory.source == source

    return tells


def unscorable(cause: UnscorableCause) -> First:
    """Tell a score that is none, for a cause."""

    def tells(event: Event) -> bool:
        given = event.payload
        return isinstance(given, ScoreGiven) and given.unscorable is cause

    return tells


def failed(cause: TurnFailureCause) -> First:
    """Tell a turn that was not taken, for a cause."""

    def tells(event: Event) -> bool:
        job = event.payload
        return isinstance(job, TurnNotTaken) and job.cause is cause

    return tells


def chair(detail: str) -> First:
    """Tell an intervention."""

    def tells(event: Event) -> bool:
        applied = event.payload
        return isinstance(applied, InterventionApplied) and detail in applied.intervention.detail

    return tells


def asked_for(purpose: str) -> First:
    """Tell the answer to a world's own call."""

    def tells(event: Event) -> bool:
        given = event.payload
        return isinstance(given, AnswerGiven) and given.purpose == purpose

    return tells


CAMPAIGN = "world/campaign.py"
PROMPT = "agent/prompt.py"
LEAVINGS = "agent/leavings.py"
AFTERWARDS = "agent/afterwards.py"
STATE = "agent/state.py"
SCORING = "elicitation/closed_choice.py"
REMEMBERED = r"turn: prompt\[1\] was '…hat you remember: .*' and is '…hat you remember: .*'"

PLANTED: dict[str, Planted] = {
    # What a world shows, to whom, and by which chance.
    "channel of a campaign": survey(
        CAMPAIGN,
        'CAMPAIGN = "campaign"',
        'CAMPAIGN = "posters"',
        r"turn: presentation\.impression\.channel was 'campaign' and is 'posters'",
        on("campaign"),
    ),
    "channel of a wave": survey(
        "world/survey_room.py",
        'SURVEY = "survey"',
        'SURVEY = "phone"',
        r"turn: presentation\.impression\.channel was 'survey' and is 'phone'",
        on("survey"),
    ),
    "reason of an exposure": survey(
        CAMPAIGN,
        'reason="scheduled"',
        'reason="planned"',
        r"turn: presentation\.impression\.exposures\[0\]\.reason was 'scheduled' and is 'planned'",
        on("campaign"),
    ),
    "id of a stimulus": survey(
        CAMPAIGN,
        'return f"t{tick}-{claim}"',
        'return f"d{tick}-{claim}"',
        r"stimulus_published: stimulus\.id was 't1-(\w+)' and is 'd1-\1'",
        of(StimulusPublished),
    ),
    "stream of who is active": survey(
        "world/activation.py",
        'tick, "activation", persona',
        'tick, "activity", persona',
        r"turn: persona was 'r\d\d' and is 'r\d\d'",
        on("campaign"),
        exactly=False,
    ),
    "stream of which claim": survey(
        CAMPAIGN,
        'tick, "claim", persona',
        'tick, "claims", persona',
        r"turn: presentation\.impression\.exposures\[0\]\.stimulus was 't\d-\w+' and is 't\d-\w+'",
        on("campaign"),
        exactly=False,
    ),
    "voice that a tally forgets": survey(
        "world/tally.py",
        "counts[before] -= 1",
        "counts[before] -= 0",
        r"turn: presentation\.view\.counts\.t\d-\w+\.(dis)?agree was '\d' and is '\d'",
        counted,
        exactly=False,
    ),
    "every stream": survey(
        "base/chance.py",
        "perdure-stream-1",
        "perdure-stream-2",
        r"turn: (persona|presentation\.impression\.exposures\[0\]\.stimulus) was .* and is .*",
        on("campaign"),
        exactly=False,
    ),
    # What a persona remembers, for how long, and which of it comes to mind.
    "pace of forgetting": survey(
        STATE,
        "HALF_LIFE_TICKS = 10.0",
        "HALF_LIFE_TICKS = 0.5",
        REMEMBERED,
        of(Turn, tick=3),
        exactly=False,
    ),
    "order of memories": survey(
        STATE,
        "ranked[:-memories_max]",
        "ranked[memories_max:]",
        REMEMBERED,
        of(Turn, tick=3),
        exactly=False,
    ),
    "weight of an exposure": survey(
        LEAVINGS,
        "_EXPOSURE_IMPORTANCE = 0.5",
        "_EXPOSURE_IMPORTANCE = 0.6",
        r"memory: memory\.importance was '0\.5' and is '0\.6'",
        memory("exposure"),
    ),
    "weight of a reflection": survey(
        LEAVINGS,
        "_REFLECTION_IMPORTANCE = 0.8",
        "_REFLECTION_IMPORTANCE = 0.7",
        r"memory: memory\.importance was '0\.8' and is '0\.7'",
        memory("reflection"),
    ),
    "words of a memory": survey(
        LEAVINGS,
        'f"I saw the message {',
        'f"I read the message {',
        r"memory: memory\.text was 'I saw the message .*' and is 'I read the message .*'",
        memory("exposure"),
    ),
    "words of a reflection": survey(
        LEAVINGS,
        "I thought it over:",
        "I slept on it:",
        r"memory: memory\.text was 'I thought it over: .*' and is 'I slept on it: .*'",
        memory("reflection"),
    ),
    "reflection that comes late": survey(
        AFTERWARDS,
        "turns_since_reflection + 1 >=",
        "turns_since_reflection + 0 >=",
        r"reflection: kind was 'reflection' and is 'score'",
        of(Reflected),
    ),
    "reflection that comes early": survey(
        AFTERWARDS,
        "turns_since_reflection + 1 >=",
        "turns_since_reflection + 2 >=",
        r"score: kind was 'score' and is 'reflection'; "
        r"call 0 for 'reflection' of job \d is not on record.*",
        of(ScoreGiven, tick=1),
    ),
    "memories that are carried": hall(
        "runner/carried.py",
        "self._memories_max = kept_max(header)",
        "self._memories_max = kept_max(header) - 1",
        r"turn: prompt\[1\] was '…You remember: .*' and is '…You remember: .*'",
        shown(tick=2),
        exactly=False,
    ),
    # What a model is told.
    "words for memories": survey(
        PROMPT,
        "What you remember:",
        "What you recall:",
        r"turn: prompt\[1\] was '….* What you remember: .*' and is '….* What you recall: .*'",
        of(Turn, tick=2),
    ),
    "words for what is shown": survey(
        PROMPT,
        "What you are shown now:",
        "What you see now:",
        r"turn: prompt\[1\] was '….* What you are shown now: .*' and is '….* What you see now: .*'",
        shown(),
    ),
    "words for counts": survey(
        PROMPT,
        "so far, people answered",
        "so far people answered",
        r"turn: prompt\[1\] was '….*so far, people .*' and is '….*so far people .*'",
        counted_turn,
    ),
    "width of a quotation": survey(
        PROMPT,
        "QUOTE_WIDTH_MAX = 280",
        "QUOTE_WIDTH_MAX = 40",
        r"(turn: prompt\[1\]|memory: memory\.text) was '.*' and is '.*…\".*'",
        of(Turn, MemoryFormed, tick=1),
        exactly=False,
    ),
    "words for choices": survey(
        PROMPT,
        "Possible answers: {labels}",
        "Your choices: {labels}",
        r"turn: prompt\[1\] was '…uld you vote for today\? Possible answers: Ann Reed / Bob Stone' "
        r"and is '…uld you vote for today\? Your choices: Ann Reed / Bob Stone'",
        of(Turn),
    ),
    "how to answer": survey(
        PROMPT,
        '"first person. Where',
        '"third person. Where',
        r"turn: prompt\[0\] was '….* the first person\. .*' and is '….* the third person\. .*'",
        of(Turn),
    ),
    "words for a persona": survey(
        PROMPT,
        '"Who you are:"',
        '"About you:"',
        r"turn: prompt\[1\] was 'Who you are: .*' and is 'About you: .*'",
        of(Turn),
    ),
    "day of a memory": survey(
        PROMPT,
        "{_when(scenario, memory.tick)}",
        "{_when(scenario, memory.tick + 1)}",
        r"turn: prompt\[1\] was '….* day 1: .*' and is '….* day 2: .*'",
        of(Turn, tick=2),
    ),
    "an empty line": survey(
        PROMPT,
        r'"\n\n".join(part for part in parts if part)',
        r'"\n".join(part for part in parts if part)',
        r"turn: prompt\[1\] was '….*⏎⏎Whom·would.*' and is '….*[^⏎]⏎Whom·would.*'",
        of(Turn),
    ),
    "question of a reflection": survey(
        AFTERWARDS,
        "what do you make of it all by now?",
        "what do you make of it?",
        r"reflection: prompt\[1\] was '….*of it all by now\?' and is '….*of it\?'",
        of(Reflected),
    ),
    "purpose of a call": survey(
        "agent/asked.py",
        'TURN = "turn"',
        'TURN = "answer"',
        r"turn: kind was 'turn' and is 'turn_failed'; "
        r"call 0 for 'answer' of job 0 is not on record.*",
        of(Turn),
    ),
    # How an answer is scored.
    "score of silence": survey(
        SCORING,
        "UnscorableCause.EMPTY)",
        "UnscorableCause.REFUSED)",
        r"score: unscorable was 'empty' and is 'refused'",
        unscorable(UnscorableCause.EMPTY),
    ),
    "score of two choices": survey(
        SCORING,
        "if len(named) > 1",
        "if len(named) > 2",
        r"score: unscorable was 'several_choices' and is 'no_choice'",
        unscorable(UnscorableCause.SEVERAL_CHOICES),
        exactly=False,
    ),
    "word that scoring knows": survey(
        "elicitation/vocabulary.py",
        "inclined intend is it it's",
        "inclined intend it it's",
        r"score: choice was '(ann|bob)' and is nothing",
        of(ScoreGiven),
        exactly=False,
    ),
    # How a tick becomes a record.
    "first event": survey(
        "runner/compose.py",
        "if result.tick == 0",
        "if result.tick == 1",
        r"started: kind was 'started' and is 'turn'",
        of(Started),
    ),
    "question of a score": survey(
        "runner/compose.py",
        "question=job.question.id,",
        "question=job.question.id[:1],",
        r"score: question was '\w+' and is '\w'",
        of(ScoreGiven),
    ),
    "end of a world": survey(
        "runner/world_run.py",
        "last=tick == self.header.scenario.horizon - 1",
        "last=tick == self.header.scenario.horizon - 2",
        r"tick_closed: kind was 'tick_closed' and is 'completed'",
        of(TickClosed, tick=4),
    ),
    "who counts as answered": survey(
        "runner/quorum.py",
        "causes.append(failed[-1])",
        "causes.extend(failed * 2)",
        r"tick_closed: unanswered was '\d' and is '\d+'",
        of(TickClosed),
        exactly=False,
    ),
    "choice that a world is told": survey(
        "runner/past.py",
        "choice=turn.choice,",
        "choice=turn.choice[:1],",
        r"turn(_failed)?: presentation\.view\.counts\.t\d-\w+\.(dis)?agree was '\d' and is '0'",
        counted,
    ),
    # A user's own world and agent.
    "attention": hall(
        "hall.py",
        "1 - 0.25 * place",
        "1 - 0.3 * place",
        r"turn: presentation\.impression\.exposures\[1\]\.attention was '0\.75' and is '0\.7'",
        shown(places=2),
    ),
    "chair who comes late": hall(
        "hall.py",
        "CHAIR_FROM = 2",
        "CHAIR_FROM = 3",
        r"intervention: kind was 'intervention' and is '\w+'",
        chair("takes the chair"),
    ),
    "chair who leaves early": hall(
        "hall.py",
        "self.header.scenario.horizon - 2",
        "self.header.scenario.horizon - 3",
        r"\w+: kind was '\w+' and is 'intervention'",
        chair("no such event: only the world with a chair differs, a tick before it leaves"),
        exactly=False,
    ),
    "guest who comes late": hall(
        "hall.py",
        "LATE = 4",
        "LATE = 5",
        r"turn_failed: kind was 'turn_failed' and is 'tick_closed'",
        failed(TurnFailureCause.NOTHING_SHOWN),
    ),
    "weight of a speech": hall(
        "hall.py",
        "exposure.attention / 3",
        "exposure.attention / 4",
        r"memory: memory\.importance was '0\.3333333333333333' and is '0\.25'",
        memory("exposure"),
    ),
    "weight of a thought": hall(
        "hall.py",
        "importance=0.9",
        "importance=0.8",
        r"memory: memory\.importance was '0\.9' and is '0\.8'",
        memory("reflection"),
    ),
    "words of a thought": hall(
        "hall.py",
        "Think it over: what",
        "Think it over; what",
        r"reflection: prompt\[1\] was '….*Think it over: .*' and is '….*Think it over; .*'",
        of(Reflected),
    ),
    "stream of who speaks": hall(
        "hall.py",
        '"speakers")\n',
        '"speaker")\n',
        r"stimulus_published: stimulus\.(author|text) was .* and is .*",
        of(StimulusPublished),
        exactly=False,
    ),
    "evening of a refusal": hall(
        "hall.py",
        "job.tick == 3",
        "job.tick == 4",
        r"turn_failed: call was nothing and is a call that is not on record; "
        r"call 0 for 'turn' of job \d is not on record.*",
        failed(TurnFailureCause.AGENT_DECLINED),
    ),
    "purpose of a need": hall(
        "hall.py",
        'purpose="rank"',
        'purpose="ranks"',
        r"answer: .* was .* and is .*; call 0 for 'ranks' of the world is not on record.*",
        asked_for("rank"),
    ),
    "purpose of a thought": hall(
        "hall.py",
        'models.chat("reflection"',
        'models.chat("thought"',
        r"reflection: failed was .* and is a call that is not on record; "
        r"call 0 for 'thought' of job \d is not on record.*",
        of(Reflected),
    ),
    "reason of a drop": hall(
        "hall.py",
        'reason="budget"',
        'reason="full"',
        r"exposure_dropped: dropped\.reason was 'budget' and is 'full'",
        of(ExposureDropped),
    ),
    "cheers": hall(
        "hall.py",
        'counts["heard"] += 1',
        'counts["heard"] += 2',
        r"turn(_failed)?: presentation\.view\.counts\.\S+\.heard was '\d+' and is '\d+'",
        counted,
    ),
    "rank of a speech": hall(
        "hall.py",
        "reverse=True",
        "reverse=False",
        r"stimulus_published: stimulus\.(author|text) was .* and is .*",
        of(StimulusPublished, tick=2),
        exactly=False,
    ),
}
