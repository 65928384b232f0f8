"""Every key of a study file: the one place that says what may be written, and what it means.

The reader follows these tables and `docs/study-file.md` is generated from them.
"""

from __future__ import annotations

from typing import Any

from perdure.base.dates import WEEKDAYS
from perdure.records.baseline_rule import Reactions
from perdure.records.budget import Ladder
from perdure.records.channels import InterventionKind, Ranking, Scope
from perdure.records.scenario import AgentSettings, QuestionType, Scoring
from perdure.records.study import Order
from perdure.study.grid import Grid
from perdure.study.kinds import (
    Day,
    Free,
    ListOf,
    MapOf,
    Money,
    Name,
    Number,
    Shaped,
    Switch,
    Text,
    Whole,
    Word,
    WordOr,
)
from perdure.study.section import Field, Group

FORMAT = 1
SEED_MAX = 2**53 - 1
HORIZON_MAX = 100_000
CELLS_MAX = 10_000
TICKS_MAX = 10_000_000
SCENARIOS_BYTES_MAX = 1 << 25
CELLS_REASON = (
    f"A study has at most {CELLS_MAX:,} worlds (scenarios times seeds): that many can be governed "
    "together. Vary less, or make two studies of it."
)
TURNS_MAX = 1_000_000_000
DRAW_MAX = 1_000_000
CLAIMS_MAX = 1_000
BUDGET_MAX = 1_000_000_000
FILES_MAX = 100
FILE_BYTES_MAX = 1 << 30
ANCHORS_MAX = 50
PROVIDERS = ("baseline", "http", "local")

# The record's own values: a value that is the very same is left out of every hash.
_AGENT = AgentSettings()

_COLUMN = Text(longest=200)
_CODE = Text(longest=200)
_PLUGIN = Shaped(
    pattern=r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*",
    what="a module and a class",
    such_as="my_world:MyWorld",
)
_FUNCTION = Shaped(
    pattern=_PLUGIN.pattern,
    what="a module and a function",
    such_as="desk:append_line",
)
_FILE = Shaped(
    pattern=r"[^\x00-\x1f\\]+",
    what="a path below the study's folder, with `/` between its parts",
    such_as="respondents.csv",
    longest=500,
)

# --- brief --------------------------------------------------------------------------------------
TITLE = Field("title", Text(longest=500), "What the study is about, on one line.", required=True)
BRIEF_TEXT = Field(
    "text", Text(), "The situation, in words that every persona is told.", required=True
)
CLAIMS = Field(
    "claims",
    MapOf(Name(), Text(longest=5_000), most=CLAIMS_MAX),
    "Messages that can be shown: id and text, in order.",
    otherwise=(),
    default="none",
)
BRIEF = Group("brief", (TITLE, BRIEF_TEXT, CLAIMS), "What the study is about, and its claims.")

# --- ontology -----------------------------------------------------------------------------------
COLUMN = Field("column", _COLUMN, "The column of the population file that holds it.", required=True)
LABEL = Field("label", Text(longest=500), "How a person would name it.", required=True)
SCALE = Field(
    "scale",
    MapOf(_CODE, Text(longest=500), least=2),
    "Each code in the file and its words, from low to high. Other codes are refused.",
    otherwise=(),
    default="no scale",
)
TYPE = Field(
    "type",
    Word(("number", "text")),
    "What the values of an attribute without a scale are.",
    otherwise="number",
    default="`number`",
)
UNIT = Field("unit", Text(longest=100), "The unit of a number.", otherwise="", default="none")
REQUIRED = Field(
    "required",
    Switch(),
    "Whether a respondent without it is refused (see `population.incomplete`).",
    otherwise=False,
    default="`false`",
)
ALLOW_DETERMINING = Field(
    "allow_determining",
    Switch(),
    "Whether the attribute may tell the held-out outcome (see above). A copy of it never may.",
    otherwise=False,
    default="`false`",
)
ATTRIBUTE = Group(
    "attribute",
    (COLUMN, LABEL, SCALE, TYPE, UNIT, REQUIRED, ALLOW_DETERMINING),
    "One thing known of each persona.",
)
OUTCOME_NAME = Field("name", Name(), "What the outcome is called.", required=True)
OUTCOME_COLUMN = Field(
    "column", _COLUMN, "The column that holds it. No attribute may use it.", required=True
)
OUTCOME_QUESTION = Field("question", Name(), "The question that asks for it.", required=True)
OUTCOME_VALUES = Field(
    "values",
    MapOf(Name(), _CODE, least=2),
    "For each choice of the question, its code in the file. Other codes are refused.",
    required=True,
)
OUTCOME = Group(
    "outcome",
    (OUTCOME_NAME, OUTCOME_COLUMN, OUTCOME_QUESTION, OUTCOME_VALUES),
    "The held-out outcome: compared with the answers at the end, never shown to anyone before.",
)
ATTRIBUTES = Field(
    "attributes", MapOf(Name(), ATTRIBUTE, least=1), "Attributes by name, in order.", required=True
)
HELD_OUT = Field("outcome", OUTCOME, "The held-out outcome.", default="none")
ONTOLOGY = Group(
    "ontology", (ATTRIBUTES, HELD_OUT), "What is known of a persona, and what is held out."
)

# --- population ---------------------------------------------------------------------------------
FILE = Field(
    "file",
    _FILE,
    "A CSV or Parquet file in the study's folder: one row a person.",
    required=True,
)
ID = Field("id", _COLUMN, "The column with a stable id for each row.", required=True)
MISSING = Field(
    "missing",
    ListOf(Text(longest=100, empty=True)),
    "What stands for a missing value.",
    default='`[""]`',
)
INCOMPLETE = Field(
    "incomplete",
    Word(("refuse", "leave_out")),
    "What to do with a row that lacks a required attribute: refuse the study, or leave the row out "
    "and count it.",
    otherwise="refuse",
    default="`refuse`",
)
DRAW_N = Field("n", Whole(1, DRAW_MAX), "How many people are drawn.", required=True)
DRAW_SEED = Field("seed", Whole(0, SEED_MAX), "The seed of the draw.", otherwise=0, default="`0`")
DRAW_BY = Field(
    "by",
    Word(("chance", "weight")),
    "Whether every row has the same chance, or one in proportion to its `weight`.",
    otherwise="chance",
    default="`chance`",
)
QUOTAS = Field(
    "quotas",
    ListOf(Name(), most=20),
    "Attributes with a scale whose shares the draw has to meet, the most important first. If too "
    "few people fit, the last is dropped first, and that is recorded.",
    otherwise=(),
    default="none",
)
DRAW_GROUP = Group(
    "draw",
    (DRAW_N, DRAW_SEED, DRAW_BY, QUOTAS),
    "Without quotas and audiences, a smaller draw is always part of a larger one.",
)
DRAW = Field("draw", DRAW_GROUP, "Draw some of the rows.", default="all rows")
WEIGHT_COLUMN = Field(
    "weight",
    _COLUMN,
    "The column with the survey weight of a row: how many people it stands for. A row without one, "
    "or with 0, is left out and counted.",
    otherwise="",
    default="every row counts the same",
)
IS = Field(
    "is",
    ListOf(_CODE, least=1, most=1_000),
    "Codes of the attribute's scale, or its texts: one of them.",
    otherwise=(),
    default="any",
)
FROM = Field("from", Number(-1e15, 1e15), "The least number, included.", default="no least")
TO = Field("to", Number(-1e15, 1e15), "The largest number, included.", default="no most")
FILTER = Group("filter", (IS, FROM, TO), "What an audience asks of one attribute.")
SHARE_OF_DRAW = Field(
    "share",
    Number(0.000001, 1),
    "Its share of the draw. Those of all audiences add up to 1.",
    required=True,
)
WHERE = Field(
    "where",
    MapOf(Name(), FILTER, most=50),
    "Filters by attribute; who is in the audience passes all of them.",
    otherwise=(),
    default="everyone who is in no earlier audience",
)
RELAX = Field(
    "relax",
    ListOf(Name(), most=50),
    "Filters, by attribute, that may be dropped in this order if too few people pass them. Each "
    "step is recorded.",
    otherwise=(),
    default="none: a shortfall is refused",
)
AUDIENCE = Group(
    "audience",
    (SHARE_OF_DRAW, WHERE, RELAX),
    "A slice of the population. A row is of the first audience whose filters it passes.",
)
AUDIENCES = Field(
    "audiences",
    MapOf(Name(), AUDIENCE, least=1, most=100),
    "Audiences by id; `draw` says of how many people they are shares.",
    otherwise=(),
    default="none",
)
TARGETS = Field(
    "targets",
    MapOf(Name(), MapOf(_CODE, Number(0, 1), least=2), most=50),
    "For attributes with a scale, the share of each code as it is known from elsewhere (a census). "
    "Quotas and gates go by it.",
    otherwise=(),
    default="the shares in the file, by weight",
)
ALPHA = Field(
    "alpha",
    Number(0.000001, 0.5),
    "The chance at which a sound draw fails any gate.",
    otherwise=0.01,
    default="`0.01`",
)
ACCEPT = Field(
    "accept",
    ListOf(Name(), most=100),
    "Gates, by name, that may fail. They are shown and recorded as failed and accepted.",
    otherwise=(),
    default="none: a run whose draw fails a gate is refused",
)
GATES_GROUP = Group("gates", (ALPHA, ACCEPT), "How what is drawn is compared with its target.")
GATES = Field("gates", GATES_GROUP, "How the draw is judged.", default="as below")
COMMUNITIES_LEAST = Field(
    "least", Whole(2, 1_000), "How many there are at least.", otherwise=4, default="`4`"
)
COMMUNITIES_MOST = Field(
    "most", Whole(2, 1_000), "How many there are at most.", otherwise=8, default="`8`"
)
COMMUNITIES_SHARE = Field(
    "share",
    Number(0, 0.5),
    "What each has of all personas at least.",
    otherwise=0.05,
    default="`0.05`",
)
MODULARITY = Field(
    "modularity",
    Number(0, 1),
    "The least modularity (Newman's, by strength).",
    otherwise=0.4,
    default="`0.4`",
)
COMMUNITIES_SEED = Field(
    "seed", Whole(0, SEED_MAX), "The seed of the search.", otherwise=0, default="`0`"
)
COMMUNITIES_GROUP = Group(
    "communities",
    (COMMUNITIES_LEAST, COMMUNITIES_MOST, COMMUNITIES_SHARE, MODULARITY, COMMUNITIES_SEED),
    "What a partition of the graph has to be like; without one, polarization is not measurable.",
)
GRAPH_FILE = Field(
    "file",
    _FILE,
    "A CSV or Parquet file in the study's folder: one row a tie. The ties are then those.",
    otherwise="",
    default="ties are made from attributes",
)
GRAPH_FROM = Field("from", _COLUMN, "The column with the id of one end.", otherwise="")
GRAPH_TO = Field("to", _COLUMN, "The column with the id of the other end.", otherwise="")
GRAPH_STRENGTH = Field(
    "strength",
    _COLUMN,
    "The column with the strength of a tie, above 0; the largest counts as 1.",
    otherwise="",
    default="all ties are equal",
)
DEGREE = Field(
    "degree",
    Number(2, 200),
    "How many ties a persona has on average.",
    otherwise=10.0,
    default="`10`",
)
FAR = Field(
    "far",
    Number(0, 1),
    "The share of ties that lead beyond the neighbourhood, rather to people with many ties.",
    otherwise=0.2,
    default="`0.2`",
)
HOMOPHILY = Field(
    "homophily",
    Number(0, 1),
    "How strongly likeness decides who is tied, from not at all to always.",
    otherwise=0.6,
    default="`0.6`; `0` without `alike`",
)
ALIKE = Field(
    "alike",
    ListOf(Name(), most=20),
    "The attributes in which people who know each other are alike, the most important first.",
    otherwise=(),
    default="none",
)
GRAPH_SEED = Field("seed", Whole(0, SEED_MAX), "The seed of the ties.", otherwise=0, default="`0`")
COMMUNITIES_FIELD = Field(
    "communities", COMMUNITIES_GROUP, "What qualifies as communities.", default="as below"
)
GRAPH_GROUP = Group(
    "graph",
    (
        GRAPH_FILE,
        GRAPH_FROM,
        GRAPH_TO,
        GRAPH_STRENGTH,
        DEGREE,
        FAR,
        HOMOPHILY,
        ALIKE,
        GRAPH_SEED,
        COMMUNITIES_FIELD,
    ),
    "Who knows whom: from a list of ties (`file`, `from`, `to`), or made from attributes.",
)
GRAPH = Field("graph", GRAPH_GROUP, "Who knows whom.", default="nobody knows anybody")
SEPARATORS = {"comma": ",", "semicolon": ";", "tab": "\t", "bar": "|"}
SEPARATOR = Field(
    "separator",
    Word(tuple(SEPARATORS)),
    "What is between two fields.",
    otherwise="comma",
    default="`comma`",
)
ENCODING = Field(
    "encoding",
    Word(("utf-8", "latin-1", "windows-1252")),
    "How its characters are written as bytes.",
    otherwise="utf-8",
    default="`utf-8`",
)
DECIMALS = {"point": ".", "comma": ","}
DECIMAL = Field(
    "decimal",
    Word(tuple(DECIMALS)),
    "What stands before the decimals of a number.",
    otherwise="point",
    default="`point`",
)
CSV_GROUP = Group(
    "csv",
    (SEPARATOR, ENCODING, DECIMAL),
    "How the CSV files of the population and of its ties are written.",
)
CSV = Field("csv", CSV_GROUP, "How CSV files are written.", default="as below")
POPULATION = Group(
    "population",
    (FILE, ID, CSV, MISSING, INCOMPLETE, WEIGHT_COLUMN, DRAW, AUDIENCES, TARGETS, GATES, GRAPH),
    "Who is in the study.",
)

# --- questions, variants ------------------------------------------------------------------------
CHOICE_LABEL = Field("label", Text(longest=500), "How the choice is named.", required=True)
ALIASES = Field(
    "aliases",
    ListOf(Text(longest=200), most=100),
    "Other names by which an answer may call it.",
    otherwise=(),
    default="none",
)
CHOICE = Group(
    "choice",
    (CHOICE_LABEL, ALIASES),
    "One answer of a closed question. A plain text is its label.",
    short=CHOICE_LABEL,
)
QUESTION_TEXT = Field("text", Text(longest=5_000), "The question as it is asked.", required=True)
CHOICES = Field(
    "choices",
    MapOf(Name(), CHOICE, least=2, most=100),
    "Choices by id. With choices an answer is scored; without, the question is open.",
    otherwise=(),
    default="an open question",
)
QUESTION_TYPE = Field(
    "type",
    Word(tuple(QuestionType)),
    "What it asks for: one choice, several, all of them ranked (first the best), a point of a "
    "scale whose choices are its points from one end to the other, a number, or just words.",
    default="`one` with choices, else `open`",
)
SCORING = Field(
    "scoring",
    Word(tuple(Scoring)),
    "How an answer is scored: by what it says; on a scale, by its likeness to `anchors`; or by the "
    "chances of the letters of its choices, where the endpoint tells them (`logprobs`).",
    otherwise=Scoring.TEXT,
    default="`text`",
)
SHUFFLE = Field(
    "shuffle",
    Switch(),
    "Whether its choices are listed in a random order, drawn for everybody each time; a scale from "
    "either end.",
    otherwise=False,
    default="`false`",
)
UNIT_OF_NUMBER = Field(
    "unit", Text(longest=60), "What the number counts, as a person says it.", default="no unit"
)
UNIT_ALIASES = Field(
    "unit_aliases",
    ListOf(Text(longest=60), most=100),
    "Other names by which an answer may call the unit, such as `$`.",
    otherwise=(),
    default="none",
)
LEAST = Field("least", Number(-1e15, 1e15), "The least number that counts.", default="no least")
MOST = Field("most", Number(-1e15, 1e15), "The largest number that counts.", default="no most")
QUESTION_ANCHORS = Field(
    "anchors", Name(), "The anchors of `similarity`, by their name in `anchors`.", default="none"
)
EPSILON = Field(
    "epsilon",
    Number(0, 1_000),
    "What the least alike point gets before masses are shares; of `similarity`.",
    otherwise=0.0,
    default="0",
)
SIMILARITY_TEMPERATURE = Field(
    "temperature",
    Number(0.01, 1_000),
    "Below 1 the likeliest points get more, above it less; of `similarity`.",
    otherwise=1.0,
    default="1",
)
QUESTION = Group(
    "question",
    (
        QUESTION_TEXT,
        QUESTION_TYPE,
        CHOICES,
        SHUFFLE,
        SCORING,
        QUESTION_ANCHORS,
        EPSILON,
        SIMILARITY_TEMPERATURE,
        UNIT_OF_NUMBER,
        UNIT_ALIASES,
        LEAST,
        MOST,
    ),
    "A question put to a persona, answered in words.",
)

# --- scenarios ----------------------------------------------------------------------------------
VARIANT = Field("variant", Name(), "The variant that this scenario belongs to.")
HORIZON = Field(
    "horizon",
    Whole(1, HORIZON_MAX),
    "How many ticks a world lives, from tick 0.",
    default="counted from `calendar`",
)
TICK = Field(
    "tick", Word(("hour", "day", "week")), "How long a tick is.", otherwise="day", default="`day`"
)
CALENDAR_START = Field("start", Day(), "The first day.", required=True)
CALENDAR_DAYS = Field(
    "days",
    Whole(1, 7 * HORIZON_MAX),
    "How many days of the calendar pass, those that are skipped among them; `horizon` is counted.",
    default="see `end`",
)
CALENDAR_END = Field(
    "end",
    Day(),
    "The last day, in place of `days`; `horizon` is counted.",
    default="`horizon` says it",
)
SKIP_WEEKDAYS = Field(
    "skip_weekdays",
    ListOf(Word(WEEKDAYS), most=len(WEEKDAYS)),
    "Days of every week that have no tick, such as `[saturday, sunday]`.",
    otherwise=(),
    default="none",
)
SKIP_DATES = Field(
    "skip_dates",
    ListOf(Day(), most=10_000),
    "Dates that have no tick, such as holidays.",
    otherwise=(),
    default="none",
)
IN_PROMPT = Field(
    "in_prompt",
    Switch(),
    "Whether people are told the date, of now and of what they remember.",
    otherwise=False,
    default="`false`: they are told the number of the tick",
)
CALENDAR_GROUP = Group(
    "calendar",
    (CALENDAR_START, CALENDAR_DAYS, CALENDAR_END, SKIP_WEEKDAYS, SKIP_DATES, IN_PROMPT),
    "Which date each tick is (see [above](#calendars)).",
)
CALENDAR = Field(
    "calendar", CALENDAR_GROUP, "Which date each tick is.", default="ticks have no date"
)
WAVES = Field(
    "waves",
    ListOf(Whole(0, HORIZON_MAX), most=HORIZON_MAX),
    "Ticks at which everyone is asked `wave_question`.",
    otherwise=(),
    default="none",
)
WAVE_QUESTION = Field(
    "wave_question",
    Name(),
    "The question of the survey waves, where it is one.",
    otherwise="",
    default="see `wave_questions`",
)
WAVE_QUESTIONS = Field(
    "wave_questions",
    ListOf(Name(), least=1, most=50),
    "The questions of the survey waves, put to everyone one after another: each with what was "
    "answered before it in the same interview.",
    otherwise=(),
    default="the one in `wave_question`",
)
SHUFFLE_QUESTIONS = Field(
    "shuffle_questions",
    Switch(),
    "Whether `wave_questions` are put in a random order, drawn for everybody at each wave.",
    otherwise=False,
    default="`false`",
)
EXPOSURES = Field(
    "exposures",
    MapOf(Whole(0, HORIZON_MAX), ListOf(Name(), least=1), most=HORIZON_MAX),
    "For each tick, the claims shown to those who are active; they answer `exposure_question`.",
    otherwise=(),
    default="none",
)
EXPOSURE_QUESTION = Field(
    "exposure_question", Name(), "The question asked about what is shown.", otherwise=""
)
ACTIVATION = Field(
    "activation",
    Number(0, 1),
    "The chance that a persona is active at a tick.",
    otherwise=1.0,
    default="`1`",
)
# The world of waves, exposures and channels has two names. The first one, of when it had only the
# first two of these, is in the id of every world of it, and so it stays. It is written out here:
# what is the very object of a record's default is left out of what is hashed, and this never was.
WORLD_THAT_SHIPS = "perdure.world:SurveyWorld"
ITS_NAME = "perdure.world:ChannelWorld"
WORLD = Field(
    "world",
    _PLUGIN,
    "The world's class; your own may be a module in the study's folder.",
    otherwise=WORLD_THAT_SHIPS,
    default=f"`{ITS_NAME}`",
)
WORLD_SETTINGS = Field(
    "settings", Free(), "Settings for your own world.", otherwise={}, default="none"
)
CHANNEL_QUESTION = Field(
    "question", Name(), "The question asked about what is shown there.", required=True
)
POSTS = Field(
    "posts",
    MapOf(Whole(0, HORIZON_MAX), ListOf(Name(), least=1), most=HORIZON_MAX),
    "For each tick, the claims that are posted.",
    otherwise=(),
    default="none",
)
RANKING = Field(
    "ranking",
    Word(tuple(Ranking)),
    "By what messages are put in order.",
    otherwise=Ranking.HOT.value,
    default="`hot`",
)
SCOPE = Field(
    "scope",
    Word(tuple(Scope)),
    "Whose messages and votes somebody sees: everybody's, or those of its community.",
    otherwise=Scope.GLOBAL.value,
    default="`global`",
)
EXPOSURES_MAX = Field(
    "exposures_max",
    Whole(1, 100),
    "How many messages somebody is shown there at a tick, at most.",
    otherwise=3,
    default="`3`",
)
DROPS_MAX = Field(
    "drops_max",
    Whole(0, 100),
    "How many of the next best are recorded as dropped.",
    otherwise=3,
    default="`3`",
)
DECAY = Field(
    "decay",
    Number(0.01, 1e6),
    "In `hot`, the ticks of age that ten times the votes make up for.",
    otherwise=12.5,
    default="`12.5`",
)
ATTENTION_LAST = Field(
    "attention_last",
    Number(0, 1),
    "The attention that the last message shown gets; the first gets 1.",
    otherwise=0.5,
    default="`0.5`",
)
COUNTS = Field(
    "counts",
    Switch(),
    "Whether it is seen what others did with a message.",
    otherwise=True,
    default="`true`",
)
_BOARD = (CHANNEL_QUESTION, POSTS, RANKING, EXPOSURES_MAX, DROPS_MAX, DECAY, ATTENTION_LAST, COUNTS)
FEED_GROUP = Group("feed", _BOARD, "A social feed; see [worlds](worlds.md#the-feed).")
FORUM_GROUP = Group(
    "forum", (*_BOARD[:2], SCOPE, *_BOARD[2:]), "A forum; see [worlds](worlds.md#the-forum)."
)
STARTS = Field(
    "starts",
    MapOf(Whole(0, HORIZON_MAX), ListOf(Name(), least=1), most=HORIZON_MAX),
    "For each tick, the claims that some hear first-hand.",
    otherwise=(),
    default="none",
)
REACH = Field(
    "reach",
    Number(0, 1),
    "The chance that somebody is one of them.",
    otherwise=0.05,
    default="`0.05`",
)
MOVED_MIN = Field(
    "moved_min",
    Whole(1, 2),
    "How many steps a belief has to move for a turn to be told without more.",
    otherwise=2,
    default="`2`",
)
TIE_MIN = Field(
    "tie_min",
    Number(0, 1),
    "How strong a tie has to be for something to be told along it.",
    otherwise=0.0,
    default="`0`",
)
TARGETS_MAX = Field(
    "targets_max",
    Whole(1, 100),
    "How many are told of a turn, at most.",
    otherwise=2,
    default="`2`",
)
WAITING_MAX = Field(
    "waiting_max",
    Whole(1, 1_000),
    "How many messages wait for one persona; more push out the oldest, on record.",
    otherwise=10,
    default="`10`",
)
MOUTH_GROUP = Group(
    "word_of_mouth",
    (
        CHANNEL_QUESTION,
        STARTS,
        REACH,
        MOVED_MIN,
        TIE_MIN,
        TARGETS_MAX,
        EXPOSURES_MAX,
        WAITING_MAX,
    ),
    "What people tell those they know; see [worlds](worlds.md#word-of-mouth).",
)
FEED = Field("feed", FEED_GROUP, "A social feed.", default="none")
FORUM = Field("forum", FORUM_GROUP, "A forum.", default="none")
MOUTH = Field("word_of_mouth", MOUTH_GROUP, "Word of mouth.", default="none")
CHANNEL_FIELDS = (FEED, FORUM, MOUTH)
CHANNELS_GROUP = Group(
    "channels",
    CHANNEL_FIELDS,
    "Where people meet messages and each other; see [worlds](worlds.md).",
)
CHANNELS = Field("channels", CHANNELS_GROUP, "Feed, forum, word of mouth.", default="none")
INTERVENTION_TICK = Field(
    "tick", Whole(0, HORIZON_MAX), "The tick from which on it holds.", required=True
)
INTERVENTION_KIND = Field("kind", Word(tuple(InterventionKind)), "What it does.", required=True)
INTERVENTION_CHANNEL = Field(
    "channel",
    Word(tuple(field.key for field in CHANNEL_FIELDS)),
    "The channel on which.",
    required=True,
)
OF_CLAIM = Field(
    "claim", Name(), "The claim that is published, promoted or removed.", otherwise="", default="-"
)
NEW_RANKING = Field(
    "ranking", Word(tuple(Ranking)), "The new ranking (`rank`).", otherwise="", default="-"
)
FOR_TICKS = Field(
    "ticks",
    Whole(1, HORIZON_MAX),
    "For how many ticks; `publish` has none.",
    otherwise=0,
    default="for good",
)
INTERVENTION_GROUP = Group(
    "intervention",
    (INTERVENTION_TICK, INTERVENTION_KIND, INTERVENTION_CHANNEL, OF_CLAIM, NEW_RANKING, FOR_TICKS),
    "A change of what is seen; see [worlds](worlds.md#interventions).",
)
INTERVENTIONS = Field(
    "interventions",
    ListOf(INTERVENTION_GROUP),
    "What changes on a channel from some tick on.",
    otherwise=(),
    default="none",
)
INVOLVED_BY = Field("attribute", Name(), "The attribute.", required=True)
LEVELS = Field(
    "levels",
    MapOf(_CODE, Number(0, 1), least=1),
    "A factor for each code of the attribute.",
    otherwise=(),
    default="the attribute is a number, and the factor itself",
)
OTHERWISE = Field(
    "otherwise",
    Number(0, 1),
    "The factor of whoever has no such value.",
    otherwise=1.0,
    default="`1`",
)
INVOLVEMENT_GROUP = Group(
    "involvement",
    (INVOLVED_BY, LEVELS, OTHERWISE),
    "By what people differ in how often they are active: a factor of `activation`, from 0 to 1.",
)
INVOLVEMENT = Field(
    "involvement", INVOLVEMENT_GROUP, "How people differ in it.", default="everyone is alike"
)
RHYTHMS: dict[str, tuple[str, tuple[float, ...]]] = {
    "day-night": (
        "hour",
        (
            *(0.3, 0.18, 0.1, 0.08, 0.1, 0.16, 0.3, 0.5, 0.68, 0.82, 0.93, 0.98),
            *(1.0, 0.98, 0.94, 0.9, 0.88, 0.9, 0.94, 0.96, 0.92, 0.8, 0.62, 0.45),
        ),
    ),
    "week": ("day", (1.0, 1.0, 1.0, 1.0, 1.0, 0.7, 0.6)),
}
RHYTHM = Field(
    "rhythm",
    WordOr(tuple(RHYTHMS), ListOf(Number(0, 100), least=1, most=10_000)),
    "A factor of `activation` for each tick, over and over; or the name of a rhythm, of 24 hours "
    "from midnight or of 7 days from Monday; with a `calendar`, each day has that of its weekday.",
    otherwise=(),
    default="all ticks are alike",
)
_TIMELINE: tuple[Field[Any], ...] = (
    HORIZON,
    TICK,
    CALENDAR,
    WAVES,
    WAVE_QUESTION,
    WAVE_QUESTIONS,
    SHUFFLE_QUESTIONS,
    EXPOSURES,
    EXPOSURE_QUESTION,
    ACTIVATION,
    INVOLVEMENT,
    RHYTHM,
    CHANNELS,
    INTERVENTIONS,
    WORLD,
    WORLD_SETTINGS,
)
TIMELINE = Group("timeline", _TIMELINE, "What every scenario has unless it says otherwise.")
GRID = Field(
    "grid",
    Grid((VARIANT, *_TIMELINE)),
    "Run the scenario with every combination of these values (see [above](#grids)).",
    otherwise=(),
    default="one scenario, as written",
)
SCENARIO = Group(
    "scenario",
    (VARIANT, *_TIMELINE, GRID),
    "The conditions of a world. A key that is absent here comes from `timeline`; `variant` and "
    "`horizon` must be in one place or the other (`variant` may be left out if there is one, and "
    "`horizon` if `calendar` says how long it takes).",
)

# --- models -------------------------------------------------------------------------------------
_MODEL_ID = Shaped(
    pattern=r"[A-Za-z0-9][\w.:/@+ -]*",
    what="a model's exact name",
    such_as="gpt-4.1-mini-2025-04-14",
)
PROVIDER = Field("provider", Word(PROVIDERS), "Who answers.", required=True)
MODEL = Field("model", _MODEL_ID, "The model's exact name; never `latest`.", otherwise="")
ACCEPTS = Field(
    "accepts",
    ListOf(_MODEL_ID, most=20),
    "Served names that count as this model.",
    otherwise=(),
    default="its own name",
)
ADDRESS = Shaped(
    pattern=r"https?://[A-Za-z0-9.\[\]:-]+(/[\w./~-]*)?",
    what="an address with http or https, without a name, password or query",
    such_as="http://127.0.0.1:8000/v1",
    longest=500,
)
BASE_URL = Field(
    "base_url",
    ADDRESS,
    "Where an OpenAI-compatible endpoint is (`http`).",
    otherwise="",
)
KEY_ENV = Field(
    "key_env",
    Shaped(
        pattern=r"([A-Z][A-Z0-9_]*_API_KEY|PERDURE_[A-Z0-9_]+)",
        what="an environment variable that ends in `_API_KEY` or starts with `PERDURE_`",
        such_as="OPENAI_API_KEY",
    ),
    "The environment variable that holds the key (`http`). Any other one only by `--key-env`.",
    otherwise="",
    default="no key",
)
SHA256 = Field(
    "sha256",
    Shaped(pattern=r"[0-9a-f]{64}", what="64 hexadecimal digits", such_as="0" * 64),
    "The SHA-256 of the weights (`local`).",
    otherwise="",
    default="not checked",
)
INPUT = Field("input", Money(), "Per million input tokens.", required=True)
OUTPUT = Field("output", Money(), "Per million output tokens.", required=True)
CACHE_READ = Field(
    "cache_read", Money(), "Per million tokens read from a cache.", default="that of input"
)
CACHE_WRITE = Field(
    "cache_write", Money(), "Per million tokens written to a cache.", default="that of input"
)
PRICE_GROUP = Group(
    "price",
    (INPUT, OUTPUT, CACHE_READ, CACHE_WRITE),
    "Amounts in the study's currency, per million tokens, exact to nine decimals.",
)
PRICE = Field(
    "price",
    PRICE_GROUP,
    "What the model costs. Write zeros for one that costs nothing.",
    default="looked up by the address (see [the budget](budget.md)); else unknown, never zero",
)
ENTRY = Shaped(
    pattern=r"[a-z0-9_-]+/[A-Za-z0-9][\w.:/@+ -]*",
    what="a provider and a model as `genai-prices` names them",
    such_as="openai/gpt-4o-mini",
)
PRICE_AS = Field(
    "price_as",
    ENTRY,
    "Whose price the endpoint charges, where its address does not tell (`http`).",
    otherwise="",
    default="the address tells",
)
PRICE_BOUND = Field(
    "price_bound",
    PRICE_GROUP,
    "The most that the model may cost. Calls are counted at it, and marked as estimates.",
    default="none",
)
CONCURRENCY = Field(
    "concurrency",
    Whole(1, 10_000),
    "Calls in flight at most.",
    otherwise=32,
    default="`32`; `16` for `local`",
)
REQUESTS_PER_MINUTE = Field(
    "requests_per_minute", Whole(1, 10**9), "Requests a minute.", otherwise=0, default="no limit"
)
TOKENS_PER_MINUTE = Field(
    "tokens_per_minute", Whole(1, 10**12), "Tokens a minute.", otherwise=0, default="no limit"
)
ATTEMPT_TIMEOUT = Field(
    "attempt_timeout_s",
    Number(0.1, 86_400),
    "Seconds for one attempt.",
    otherwise=60.0,
    default="`60`; `1800` for `local`",
)
DEADLINE = Field(
    "deadline_s",
    Number(0.1, 86_400),
    "Seconds for a call with all its attempts.",
    otherwise=300.0,
    default="`300`; `7200` for `local`",
)
RETRIES = Field("retries", Whole(0, 100), "Attempts after the first.", otherwise=5, default="`5`")
LIMITS_GROUP = Group(
    "limits",
    (CONCURRENCY, REQUESTS_PER_MINUTE, TOKENS_PER_MINUTE, ATTEMPT_TIMEOUT, DEADLINE, RETRIES),
    "How hard an endpoint may be worked. Timeouts and retries are each model's own. Calls in "
    "flight and rates are counted over all models together; their limits are those of the model "
    "that is `tier_a`. None of it changes what is answered.",
)
LIMITS = Field("limits", LIMITS_GROUP, "How hard the endpoint may be worked (`http`, `local`).")

OWN = Field("own", Name(), "The attribute that places the persona itself.", required=True)
PLACEMENTS = Field(
    "placements",
    MapOf(Name(), Name(), least=2),
    "For each choice, the attribute that places it.",
    required=True,
)
WEIGHT = Field("weight", Number(-1000, 1000), "How much it counts.", otherwise=1.0, default="`1`")
DISTANCE_GROUP = Group(
    "distance", (OWN, PLACEMENTS, WEIGHT), "Prefer the choice that is placed nearest."
)
RULE_ATTRIBUTE = Field("attribute", Name(), "The attribute.", required=True)
MIDPOINT = Field("midpoint", Number(-1e9, 1e9), "The code that leans neither way.", required=True)
LOW = Field("low", Name(), "The choice that codes below the midpoint lean to.", required=True)
HIGH = Field("high", Name(), "The choice that codes above the midpoint lean to.", required=True)
IDENTIFICATION_GROUP = Group(
    "identification",
    (RULE_ATTRIBUTE, MIDPOINT, LOW, HIGH, WEIGHT),
    "Lean by one attribute: `weight` for each step from the midpoint.",
)
DISTANCE = Field("distance", DISTANCE_GROUP, "Prefer the nearest choice.", default="not used")
IDENTIFICATION = Field(
    "identification", IDENTIFICATION_GROUP, "Lean by an attribute.", default="not used"
)
CLAIM_EFFECTS = Field(
    "claims",
    MapOf(Name(), MapOf(Name(), Number(-1000, 1000), least=1), most=CLAIMS_MAX),
    "For each claim, what seeing it adds to each choice.",
    otherwise=(),
    default="no effect",
)
WORTH = Field(
    "worth",
    MapOf(Name(), MapOf(Name(), Number(-1000, 1000), least=1)),
    "For each choice, what one unit of an attribute (a fare, a duration) adds to it.",
    otherwise=(),
    default="not used",
)
FACTORS = Field(
    "factors",
    MapOf(Name(), MapOf(Name(), Number(0, 1000), least=1), most=CLAIMS_MAX),
    "For each claim, by what it multiplies attributes of `worth`, for whoever has met it: `0.5` "
    "for a fare that is halved.",
    otherwise=(),
    default="no effect",
)
SCALES = Field(
    "scales",
    MapOf(Name(), Name()),
    "For each question that is a scale, the choice of the rule that it asks about. The more "
    "probable that is (logit), the higher the point: of five the first below a fifth.",
    otherwise=(),
    default="not used",
)
SOCIAL_PROOF = Field(
    "social_proof",
    Number(0, 1000),
    "How much each doubling of the people who agreed strengthens a claim.",
    otherwise=0.0,
    default="`0`",
)
NOISE = Field(
    "noise",
    Number(0, 1000),
    "The standard deviation of the seeded noise of each choice.",
    otherwise=0.0,
    default="`0`",
)
UNDECIDED = Field(
    "undecided",
    Number(0, 1000),
    "Choices closer than this are answered as not decided.",
    otherwise=0.0,
    default="`0`",
)
_STRENGTH = Number(0, 1000)
APPROVE = Field(
    "approve",
    _STRENGTH,
    "The strength of a pull from which on a message is approved of, or disapproved of by who "
    "disagrees (`like`, `up`; `dislike`, `down`).",
    otherwise=Reactions().approve,
    default="`0.5`",
)
ANSWER = Field(
    "answer",
    _STRENGTH,
    "From which on it is answered (`comment`, `reply`, `quote`).",
    otherwise=Reactions().answer,
    default="`1.5`",
)
PASS_ON = Field(
    "pass_on",
    _STRENGTH,
    "From which on it is passed on, by who agrees (`repost`, `tell`).",
    otherwise=Reactions().pass_on,
    default="`2`",
)
FOLLOW = Field(
    "follow",
    _STRENGTH,
    "From which on its author is followed, by who agrees and has no tie to them (`follow`).",
    otherwise=Reactions().follow,
    default="`3`",
)
POST = Field(
    "post",
    _STRENGTH,
    "From which on something is posted (`post`).",
    otherwise=Reactions().post,
    default="`4`",
)
TIE_WEIGHT = Field(
    "tie",
    _STRENGTH,
    "How much more somebody with a tie of strength 1 counts than a stranger.",
    otherwise=Reactions().tie,
    default="`1`",
)
MOTIVATION = Field(
    "motivation",
    _STRENGTH,
    "How much it counts that a claim speaks for the choice that the persona leans to, or against "
    "it.",
    otherwise=Reactions().motivation,
    default="`1`",
)
PERSUASION = Field(
    "persuasion",
    _STRENGTH,
    "How many steps of belief a pull of 1 moves; 2 at most at once.",
    otherwise=Reactions().persuasion,
    default="`1`",
)
PULL_NOISE = Field(
    "noise",
    _STRENGTH,
    "The standard deviation of the seeded noise of each message's pull.",
    otherwise=Reactions().noise,
    default="`0`",
)
REACTIONS_GROUP = Group(
    "reactions",
    (
        APPROVE,
        ANSWER,
        PASS_ON,
        FOLLOW,
        POST,
        TIE_WEIGHT,
        MOTIVATION,
        PERSUASION,
        PULL_NOISE,
    ),
    "How a persona reacts to the message that pulls it most (see [above](#reactions-by-a-rule)). "
    "Of the actions whose strength is reached and that its channel has, it does the last.",
)
REACTIONS = Field(
    "reactions", REACTIONS_GROUP, "How a persona reacts where it can.", default="as below"
)
RULE_GROUP = Group(
    "rule",
    (
        DISTANCE,
        IDENTIFICATION,
        WORTH,
        FACTORS,
        SCALES,
        CLAIM_EFFECTS,
        SOCIAL_PROOF,
        NOISE,
        UNDECIDED,
        REACTIONS,
    ),
    "The declared rule by which the baseline answers: the sum of its parts, highest choice wins.",
)
RULE = Field(
    "rule", RULE_GROUP, "The rule (`baseline`, where it must be there unless it serves `embed`)."
)
MODEL_GROUP = Group(
    "model",
    (
        PROVIDER,
        MODEL,
        ACCEPTS,
        BASE_URL,
        KEY_ENV,
        SHA256,
        PRICE,
        PRICE_AS,
        PRICE_BOUND,
        LIMITS,
        RULE,
    ),
    "A model that may speak for the personas. Keys and weights are never named by path here: give "
    "`--key-file` and `--weights`.",
)
TIER_A = Field("tier_a", Name(), "The model for the bulk of the calls.", required=True)
TIER_B = Field("tier_b", Name(), "The model for reflections.", default="the same as `tier_a`")
EMBED = Field(
    "embed",
    Name(),
    "The model that gives texts their vectors: an `http` model with its address, the `local` one "
    "that is made for it, or a `baseline`, which needs no rule for it (see [above](#vectors)).",
    otherwise="",
    default="no vectors",
)
ROLES_GROUP = Group(
    "roles",
    (TIER_A, TIER_B, EMBED),
    "Which model serves which role. `--model` and the flags beside it are for those that speak, "
    "and leave `embed` as it is.",
)

# --- agent --------------------------------------------------------------------------------------
AGENT_CLASS = Field(
    "class",
    _PLUGIN,
    "The agent's class: `perdure.agent:ToolAgent` where the world gives tools; your own may be a "
    "module in the study's folder.",
    otherwise="perdure.agent:PersonaAgent",
    default="`perdure.agent:PersonaAgent`",
)
TEMPERATURE = Field(
    "temperature", Number(0, 2), "The sampling temperature.", otherwise=0.7, default="`0.7`"
)
ANSWER_TOKENS = Field(
    "answer_tokens", Whole(1, 100_000), "Output tokens at most.", otherwise=120, default="`120`"
)
REFLECT_EVERY = Field(
    "reflect_every",
    Whole(0, HORIZON_MAX),
    "A persona reflects after this many turns; 0 means never.",
    otherwise=3,
    default="`3`",
)
MEMORIES = Field(
    "memories", Whole(0, 1_000), "Memories recalled at most.", otherwise=5, default="`5`"
)
MEMORIES_KEPT = Field(
    "memories_kept",
    Whole(0, 10_000),
    "Memories kept at most, for those recalled to be chosen from by what they mean. Only where a "
    "model embeds, and unless it is no more than `memories`; elsewhere none is kept that cannot be "
    "recalled, and no memory is embedded.",
    otherwise=50,
    default="`50`",
)
PROBE_EVERY = Field(
    "probe_every",
    Whole(0, HORIZON_MAX),
    "At every tick that is a multiple of this, turns may be followed by a probe; 0 means never.",
    otherwise=10,
    default="`10`",
)
PROBE_SHARE = Field(
    "probe_share",
    Number(0, 1),
    "The share of turns, at those ticks, that are followed by a probe: a question about the "
    "persona itself.",
    otherwise=_AGENT.probe_share,
    default="`0`",
)
CONTEXT_TIER_A = Field(
    "tier_a",
    Whole(1, 10_000_000),
    "Tokens of a prompt of this role at most.",
    default="any length; `2048` on channels",
)
CONTEXT_TIER_B = Field(
    "tier_b",
    Whole(1, 10_000_000),
    "Tokens of a prompt of this role at most.",
    default="any length; `8192` on channels",
)
CONTEXT_GROUP = Group(
    "context_tokens",
    (CONTEXT_TIER_A, CONTEXT_TIER_B),
    "How long prompts may be, as it is estimated: four characters to a token. Memories give way "
    "first, then beliefs; a turn that does not fit even then fails.",
)
CONTEXT_TOKENS = Field("context_tokens", CONTEXT_GROUP, "How long prompts may be.")
TURN_CALLS = Field(
    "calls_per_turn",
    Whole(1, 1_000),
    "Model calls of one turn at most, for an agent with tools (`perdure.agent:ToolAgent`), which "
    "needs it; what the turn did by then is done.",
    otherwise=0,
    default="none: a turn is one call",
)
TURN_COST = Field(
    "cost_per_turn",
    Money(),
    "A turn of an agent with tools makes no further call once its calls cost this much.",
    otherwise=0,
    default="no limit",
)
OUTSIDE_TOOLS = Field(
    "tools",
    ListOf(_FUNCTION, least=1, most=100),
    "Functions of a module in the study's folder that are tools: each has the decorator "
    "`perdure.agent.drive.tools.function.tool`, which says what it may do.",
    required=True,
)
OUTSIDE_EGRESS = Field(
    "egress",
    Switch(),
    "Whether they may reach beyond this machine.",
    otherwise=False,
    default="`false`",
)
OUTSIDE_GROUP = Group(
    "outside",
    (OUTSIDE_TOOLS, OUTSIDE_EGRESS),
    "Tools outside the world, beside those that the world gives. What they do is done in earnest: "
    "at most once in a run, however often that is killed, but a run that is made again does it "
    "again. See [Tools](study-tools.md).",
)
OUTSIDE = Field(
    "outside",
    OUTSIDE_GROUP,
    "Tools outside the world, for an agent with tools (`perdure.agent:ToolAgent`).",
    default="none",
)
AGENT_SETTINGS = Field(
    "settings", Free(), "Settings for your own agent.", otherwise={}, default="none"
)
AGENT_GROUP = Group(
    "agent",
    (
        AGENT_CLASS,
        TEMPERATURE,
        ANSWER_TOKENS,
        REFLECT_EVERY,
        MEMORIES,
        MEMORIES_KEPT,
        PROBE_EVERY,
        PROBE_SHARE,
        CONTEXT_TOKENS,
        TURN_CALLS,
        TURN_COST,
        OUTSIDE,
        AGENT_SETTINGS,
    ),
    "How a persona works.",
)

# --- budget -------------------------------------------------------------------------------------
WARN = Field(
    "warn",
    Number(0.01, 100),
    "From this fraction of the amount on, it is said.",
    otherwise=Ladder().warn,
    default="`0.8`",
)
FREEZE = Field(
    "freeze",
    Number(0.01, 100),
    "From this fraction on, optional work (reflections, probes) is left out.",
    otherwise=Ladder().freeze,
    default="`0.95`",
)
SUBSAMPLE = Field(
    "subsample",
    Number(0.01, 100),
    "From this fraction on, fewer people are active. What then does not fit pauses the run.",
    otherwise=Ladder().subsample,
    default="`1`",
)
SHARE = Field(
    "share",
    Number(0, 1),
    "How many of them, as a share of those who would have been; `1` leaves this rung out.",
    otherwise=Ladder().share,
    default="`0.4`",
)
LADDER_GROUP = Group(
    "ladder",
    (WARN, FREEZE, SUBSAMPLE, SHARE),
    "How a run degrades on the way to its budget. Fractions are of `amount`, in this order.",
)
AMOUNT = Field(
    "amount",
    Money(BUDGET_MAX),
    "What the run may spend, in the study's currency. The ladder is measured by it.",
    default="no limit",
)
CEILING = Field(
    "ceiling",
    Money(BUDGET_MAX),
    "What is never exceeded, if it is more than the amount.",
    default="the amount",
)
CALLS = Field(
    "calls", Whole(1, 10**12), "Calls at most, every attempt counted.", default="no limit"
)
TOKENS = Field("tokens", Whole(1, 10**15), "Tokens at most, in and out.", default="no limit")
HOURS = Field("hours", Number(0.001, 100_000), "Hours at work at most.", default="no limit")
UNPRICED = Field(
    "unpriced",
    Word(("accepted",)),
    "`accepted` lets models without a price be called. There is then no limit in money, and "
    "`calls` or `tokens` must be there.",
    otherwise="",
    default="a model without a price is refused",
)
LADDER_FIELD = Field("ladder", LADDER_GROUP, "How the run degrades.", default="as below")
BUDGET_GROUP = Group(
    "budget",
    (AMOUNT, CEILING, CALLS, TOKENS, HOURS, UNPRICED, LADDER_FIELD),
    "What a run may spend, over all its worlds and however often it is continued.",
)

# --- the file -----------------------------------------------------------------------------------
PERDURE = Field("perdure", Whole(FORMAT, FORMAT), "The version of this format.", required=True)
NAME = Field("name", Name(), "A short id for the study.", required=True)
BRIEF_FIELD = Field("brief", BRIEF, "What the study is about.", required=True)
ONTOLOGY_FIELD = Field("ontology", ONTOLOGY, "What is known of a persona.", required=True)
POPULATION_FIELD = Field("population", POPULATION, "Who is in the study.", required=True)
QUESTIONS = Field("questions", MapOf(Name(), QUESTION, least=1), "Questions by id.", required=True)
VARIANTS = Field(
    "variants",
    MapOf(Name(), Text(longest=5_000, empty=True), least=1),
    "Versions of the concept: id and description. Scenarios of one variant share their draws.",
    required=True,
)
TIMELINE_FIELD = Field("timeline", TIMELINE, "What all scenarios share.", default="nothing shared")
SCENARIOS = Field("scenarios", MapOf(Name(), SCENARIO, least=1), "Scenarios by id.", required=True)
SEEDS = Field(
    "seeds",
    ListOf(Whole(0, SEED_MAX), least=1, most=CELLS_MAX),
    "Replicate seeds; each scenario is run once with each.",
    required=True,
)
MODELS = Field(
    "models", MapOf(Name(), MODEL_GROUP, least=1, most=100), "Models by name.", required=True
)
ROLES = Field(
    "roles", ROLES_GROUP, "Which model serves which role.", default="the first model speaks"
)
AGENT = Field("agent", AGENT_GROUP, "How a persona works.", default="the persona agent")
CURRENCY = Field(
    "currency",
    Shaped(pattern=r"[A-Z]{3}", what="three capital letters", such_as="USD"),
    "The one currency of prices and costs.",
    otherwise="USD",
    default="`USD`",
)
QUORUM = Field(
    "quorum",
    Number(0.01, 1),
    "The share of jobs that must get a reply for a tick to close.",
    otherwise=0.9,
    default="`0.9`",
)
SKEW = Field(
    "skew",
    Whole(1, 1_000),
    "How many ticks a world may be ahead of the slowest.",
    otherwise=4,
    default="`4`",
)
ORDER = Field(
    "order",
    Word(tuple(Order)),
    "Whether all worlds go on together, tick by tick (`breadth`), or each to its end before later "
    "ones begin (`depth`). See [order](order.md).",
    otherwise="breadth",
    default="`breadth`",
)
LIVE = Field(
    "live",
    Whole(1, CELLS_MAX),
    "How many worlds are live at once; the others wait until those have ended.",
    otherwise=0,
    default="`1000`; in depth order `1`",
)
BUDGET_FIELD = Field("budget", BUDGET_GROUP, "What a run may spend.", default="no limit")
FILES = Field(
    "files",
    ListOf(_FILE, most=FILES_MAX),
    "Data files in the study's folder that your own world or agent reads (see above).",
    otherwise=(),
    default="none",
)
ANCHORS = Field(
    "anchors",
    MapOf(Name(), _FILE, most=ANCHORS_MAX),
    "For each construct that answers are scored for, the [file of its anchors](#an-anchors-file) "
    "in the study's folder.",
    otherwise=(),
    default="none",
)
STUDY = Group(
    "study",
    (
        PERDURE,
        NAME,
        BRIEF_FIELD,
        ONTOLOGY_FIELD,
        POPULATION_FIELD,
        QUESTIONS,
        VARIANTS,
        TIMELINE_FIELD,
        SCENARIOS,
        SEEDS,
        MODELS,
        ROLES,
        AGENT,
        CURRENCY,
        BUDGET_FIELD,
        QUORUM,
        SKEW,
        ORDER,
        LIVE,
        FILES,
        ANCHORS,
    ),
    "The keys at the top of the file.",
)

# --- a file of anchors --------------------------------------------------------------------------
CONSTRUCT = Field(
    "construct", Name(), "What is scored: the name under `anchors` in the study.", required=True
)
ANCHORS_VERSION = Field(
    "version", Name(), "Your own name for this wording of the anchors.", required=True
)
POINTS = Field(
    "points",
    ListOf(Name(), least=2, most=11),
    "Ids of the points, from 2 to 11, from low to high.",
    required=True,
)
SETS = Field(
    "sets",
    ListOf(ListOf(Text(longest=1_000)), least=2, most=30),
    "From 2 to 30 sets of anchors, each with one statement for every point, from low to high. Six "
    "are advised: the wording of any one set weighs less. No text is there twice in the file.",
    required=True,
)
LADDER_OF_ANSWERS = Field(
    "ladder",
    ListOf(ListOf(Text(longest=5_000), least=1, most=20), least=2, most=30),
    "Answers that are no anchors, in up to 30 steps from low to high, at least as many as points, "
    "with up to 20 answers each. A check demands that each step scores above the one before.",
    required=True,
)
ANCHORS_FILE = Group(
    "an anchors file",
    (CONSTRUCT, ANCHORS_VERSION, POINTS, SETS, LADDER_OF_ANSWERS),
    "A file of its own, which `anchors` names: what the points of a scale sound like (see "
    "[scoring](scoring.md#by-similarity)). `perdure anchors check` says whether a model of vectors "
    "tells them apart.",
)

# In the order of the reference.
GROUPS = (
    STUDY,
    BRIEF,
    ONTOLOGY,
    ATTRIBUTE,
    OUTCOME,
    POPULATION,
    DRAW_GROUP,
    AUDIENCE,
    FILTER,
    CSV_GROUP,
    GATES_GROUP,
    GRAPH_GROUP,
    COMMUNITIES_GROUP,
    QUESTION,
    CHOICE,
    TIMELINE,
    SCENARIO,
    CALENDAR_GROUP,
    CHANNELS_GROUP,
    FEED_GROUP,
    FORUM_GROUP,
    MOUTH_GROUP,
    INTERVENTION_GROUP,
    INVOLVEMENT_GROUP,
    MODEL_GROUP,
    PRICE_GROUP,
    LIMITS_GROUP,
    RULE_GROUP,
    DISTANCE_GROUP,
    IDENTIFICATION_GROUP,
    REACTIONS_GROUP,
    ROLES_GROUP,
    AGENT_GROUP,
    CONTEXT_GROUP,
    OUTSIDE_GROUP,
    BUDGET_GROUP,
    LADDER_GROUP,
    ANCHORS_FILE,
)
