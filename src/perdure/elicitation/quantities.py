"""What may stand beside a number, and what it does to it. Data only; patterns meet folded text."""

from __future__ import annotations

import re

PERCENT = frozenset({"%", "percent", "percents", "per cent", "pct"})
_MEASURED = """
% percent percents pct years year yrs months month weeks week days day hours hour h hr hrs minutes
minute min mins seconds second secs sec times people persons kids children miles mile m km meters
metres meter metre kilometers kilometres kilometre kilometer feet foot ft yards yard inches inch cm
kg kgs kilos kilo pounds pound grams gram tons tonnes dollars dollar cents cent euros euro francs
franc pence penny quid bucks grand chf usd eur gbp $ € £ degrees degree °c °f celsius fahrenheit
kelvin points point stars star items item pieces piece
"""
MEASURES = frozenset(_MEASURED.split())
# The periods of a rate, each with its names.
PERIODS = tuple(
    frozenset(names.split())
    for names in (
        "second seconds sec s",
        "minute minutes min",
        "hour hours hr h hourly",
        "day days daily",
        "week weeks weekly",
        "month months monthly",
        "year years yearly annually annum annual",
    )
)
_PERIOD = "|".join(sorted({name for names in PERIODS for name in names}, key=len, reverse=True))
RATE = re.compile(
    r"(?:[ ]?/[ ]?|[ ](?:per|an?|each|every)[ ]|[ ](?=\w+ly\b|annual))"
    rf"({_PERIOD})\b"
)
BEFORE_A_UNIT = "us|american|swiss|whole|full|solid|good|long|short|lousy|measly|single"
OTHER_SCALE = re.compile(
    r"[ ](?:(?:in|on the)[ ])?(fahrenheit|kelvin|f|k|canadian|australian|nautical|squared?)\b"
)
CURRENCY = re.compile(r"([$\u20ac\u00a3]|\b(?:chf|usd|eur|gbp))[ ]?$")
FOLLOWING = re.compile("[ -]?(%|\u00b0?[^\\W\\d]+(?:'[^\\W\\d]+)?)")

_COMPARED = (
    "more|less|fewer|cheaper|dearer|lower|higher|extra|additional|off|short(?:er)?|longer|further"
    "|farther|closer|nearer|older|younger|warmer|colder|cooler|hotter|bigger|smaller|larger|greater"
    "|faster|slower|later|earlier|beyond|upwards?|minimum|min|least|above|below|frost"
)
# What may follow a number without a unit: words that name none.
_FOLLOWING = """
a about all altogether an and annually any anyway approximately are around as at back based be
because before being but by can certainly chance could daily definitely depending does each either
enough even every exactly feels fine fits flat for from given goes good hence honestly hopefully
hourly i i'd i'm if in instead is ish isn't it it's just like likelihood makes max maximum may
maybe me might monthly most must my no nor not now odd of ok okay on once only or ought over
overall per perhaps personally please plus point possibly probability probably right roughly s say
seems should simply since so sounds suits sure than thank thanks that that's the then there though
times to today too tops total twice under until up was way we weekly well when where which while
will with works would yearly yes yet you
"""
MAY_FOLLOW = frozenset(_FOLLOWING.split()) | frozenset(
    re.sub(r"\(.*?\)\?|\?", "", _COMPARED).split("|")
)

# Between two numbers, units apart: a range, a sum, a part of a whole.
RANGE = re.compile(
    "(?:[-+*\u00b1\u00d7\u00f7\u2010-\u2015\u2212\u2044/:',]|to|or|and|by|out of|of|in|x|plus|minus"
    "|times|point)?"
)
# Between a number and one in another unit, which may be said of something else.
SUM = re.compile("(?:[-+]|and|plus|minus|less)?")
# Between two numbers in the question's unit: each is said of a part.
ADDED = re.compile(r"[^.!?;(=:]*\b(?:and|plus|then|another|again)\b[^.!?;(=:]*")
# "An hour and 10 minutes", where "twice a week and 20 dollars" is no sum.
ONE_MEASURE = re.compile(
    r"(?<!\bonce )(?<!\btwice )(?<!\btimes )\b(?:half )?an? ([^\W\d]+)(?:,? and|,? plus)? $"
)
TIMES_BEFORE = re.compile(
    r"\b(?:half|quarter|third|twice|thrice|double|triple|several|few|many|couple|dozens?|times)"
    r"(?:[ ]of)?(?:[ ](?:an?|the))?[ ]?$"
)
PART_AFTER = re.compile(
    r"[ -](?:and[ ](?:an?[ ]|one[ ]|three[ ])?"
    r"(?:half|halves|quarters?|thirds?|bit|few|couple|some|something|change)|half|halves|quarters?"
    r"|thirds?|fifths?|tenths?|dozens?|squared|twice|thrice|times)\b|[ ]?[*^\u00d7]"
)

# "No. 1" is the name of something.
LABEL_BEFORE = re.compile(r"\b(?:no|nr)\.?[ ]?$")
# A dash set apart may be a sign where a number may be below zero.
LABEL_OR_DASH_BEFORE = re.compile(rf"{LABEL_BEFORE.pattern}|(?:^| )[-\u2010-\u2013] $")
ROUGHLY = re.compile(r"\b(?:more or less|give or take)\b")
MIN_BEFORE = re.compile(r"\bmin[.:]?[ :]*$")
# The same in languages whose numbers and units look like English ones.
_ABROAD = (
    "mindestens|wenigstens|mehr als|weniger als|über|unter|nicht|keine?|niemals|au moins|plus de"
    "|moins de|pas|jamais|al menos|por lo menos|más de|menos de|nunca|almeno|più di|meno di|non"
    "|meer dan|minder dan|minstens|niet"
)
BOUND_BEFORE = re.compile(
    rf"(?:\b(?:{_ABROAD}"
    r"|\w+ than|at least|over|above|beyond|under|below|minimum|upwards of|(?:north|south) of"
    r"|exceed(?:s|ing)?|starting (?:at|from)|not|never|cannot|no way|refuse|refuses|refusing"
    r"|decline|unwilling|reluctant|without|hardly|against|instead of|except)|n't)\b[^,.;]*$"
    r"|\bfrom $"
)
UP_TO = re.compile(
    r"(?:\b(?:no|not|nothing|never|cannot)|n't)\b[^,.;]*"
    r"\b(?:(?:more|higher|greater|longer|further|farther) than|over|above|beyond)\b[^,.;]*$"
    r"|\b(?:at most|up to|maximum(?: of)?)\b[^,.;]*$"
)
_MORE_ABROAD = "(?:(?:oder|und|ou|et|o|y|of|en) )?(?:mehr|weniger|plus|moins|más|menos|meer|minder)"
# Directly after a number: "20 or more", "20 a month less", "5 degrees below zero", "too much".
_FILLING = (
    r"(?:,?[ ](?:or|and|at|as|in|the|an?|very|even|any|much|far|bit|little|lot|per|each|every|it"
    rf"|too|is|be|if|not|of|would|to|or so|{_PERIOD}))*"
)
BOUND_AFTER = re.compile(
    rf"[ ]?\+|[ ](?:plus|no less)\b|[ ](?:{_MORE_ABROAD})\b"
    rf"|{_FILLING},?[ ](?:(?:{_COMPARED})\b|(?:and|or) up\b"
    r"|(?:over|under)\b(?! (?:the|a|my)\b))"
    r"|(?:(?!\b(?:because|since|as|but|while|and|if|when|though|although)\b)[^,.;])*"
    r"\btoo (?:much|high|long|low|little|many|expensive|dear|far|short)\b"
)
# "100 % not", "80 percent chance that I will not".
DENIED_AFTER = re.compile(
    r"[ ](?:(?!but|and|if|so|at)\w+ )?"
    r"(?:not(?! (?:more|over|higher|bad|a lot|a problem|unfair))"
    r"|no(?! (?:doubt|problem|question|more|matter))|never|unlikely|against|nicht|niet|non|pas)\b"
    r"|[^,.;]*\b(?:chance|sure|certain|likely|probability|likelihood)\b[^,.;]*"
    r"(?:\b(?:not|never|against)\b|n't\b)"
)
NO_AMOUNT = re.compile(r"\b(?:nothing|none|free|less|more)\b")
