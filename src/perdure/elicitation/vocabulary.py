"""The English phrases by which an answer is read. Data only; every pattern meets folded text."""

from __future__ import annotations

import re

# One mention: the mark that `mentions` puts in the place of a choice's name.
M = "[\U000f0000-\U000ffffd]"
MENTION = re.compile(M)

_AI = r"(?:ai\b|artificial intelligence|(?:large )?language model|chatbot|virtual assistant)"
REFUSAL = re.compile(
    r"\b(?:"
    rf"as (?:an? )?{_AI}"
    rf"|i(?:'m| am)(?: just| only)? an? {_AI}"
    r"|i (?:cannot|can't|can not|could not|couldn't|won't|will not|am unable to|am not able to"
    r"|am not allowed to)(?: really| actually)? (?:answer|help(?! but)|assist|provide|express|give"
    r"|offer|share|say(?! i\b)|tell|comment|discuss|participate|engage|fulfil|fulfill|respond"
    r"|comply|role-?play|pretend|disclose|take part)\b"
    r"|i'm (?:unable|not able|not allowed|not comfortable)\b"
    r"|i (?:do not|don't) (?:have|hold)(?: any)? (?:personal|political|my own|opinions|beliefs"
    r"|feelings|preferences)\b"
    r"|i (?:decline|refuse) to (?:answer|say|respond|comment|share)\b"
    r"|(?:prefer|rather|choose) not (?:to )?(?:say|answer|disclose|share|comment|tell)\b"
    r"|no comment\b|none of your business\b"
    r"|i (?:cannot|can't)[.! ]*\Z)"
)

_AT_THE_END = r"(?=[ ]*(?:$|[.,!;:)\n]|(?:yet|though|really|anymore|either|right now|at all)\b))"
_OPEN_QUESTION = r"(?= (?:who|whom|which|whether|if|what|how|where i|between|enough)\b)"

UNDECIDED = re.compile(
    r"\b(?:"
    rf"(?:don't|do not)(?: really| honestly| quite)? know(?:{_AT_THE_END}|{_OPEN_QUESTION})"
    r"|dunno\b|no idea\b|undecided\b|indecisive\b|unsure\b"
    r"|not (?:really |quite |entirely |completely |totally |so |too |yet )?"
    r"(?:sure|certain|decided)\b"
    r"|(?:haven't|have not|hasn't|have yet to)(?: really| yet| fully)? "
    r"(?:decided?|made up my mind|made a decision)\b"
    r"|(?:can't|cannot|can not|couldn't|could not|unable to|hard to|difficult to|tough to)"
    r"(?: really)? (?:decide|choose|pick|say|tell)\b"
    r"|no (?:opinion|preference|strong feelings?|strong opinions?)\b|neutral\b"
    r"|neither\b|none of (?:them|these|those|the above)\b|on the fence\b|torn between\b"
    r"|up in the air\b|(?:don't|do not) care\b|it depends\b|too close to call\b)"
)

# Those of the phrases above that take back a decision made before them.
TAKEN_BACK = re.compile(
    r"\b(?:"
    r"(?:don't|do not)(?: really| honestly)? know"
    rf"(?:{_AT_THE_END}|(?= (?:who|which|if|whether)\b))"
    rf"|not (?:really |quite |entirely |so |too )?(?:sure|certain|decided){_AT_THE_END}"
    rf"|unsure{_AT_THE_END}"
    r"|(?:i'm|am|i remain|still) undecided\b"
    r"|(?:haven't|have not)(?: really| yet| fully)? (?:decided?|made up my mind)\b"
    r"|(?:can't|cannot|can not)(?: really)? (?:decide|choose)\b)"
)

# Set phrases whose words would mislead: each is replaced before a sentence is read.
SET_PHRASES: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"\b(?:any(?:one|body|thing)|every(?:one|body)) (?:but|except)\b"), "not"),
    (
        re.compile(r"\b(?:no one|nobody|none|nothing)(?: else)? (?:but|except|other than)\b"),
        "definitely",
    ),
    (re.compile(r"\b(?:can't|cannot|can not|couldn't) help but\b"), "will"),
    (
        re.compile(
            r"\b(?:no doubt|without (?:a |any )?(?:doubt|question|hesitation)"
            r"|no question(?: about it)?|no problem|no hesitation|no matter what)\b"
        ),
        "definitely",
    ),
    (re.compile(r"\bnot (?:only|just|merely|simply)\b"), "also"),
    (re.compile(r"\b(?:can't|cannot) wait to\b"), "will"),
    (re.compile(rf"\b(?:couldn't|could not|can't|cannot) ({M}) (?:\w+ )?more\b"), r"i \1"),
)

# A cheap test that lets most answers skip the list above.
SET_PHRASE_HINT = re.compile(
    r"\b(?:but|except|other than|doubt|question|hesitation|problem|no matter|not (?:only|just"
    r"|merely|simply)|wait|more)\b"
)

SENTENCE = re.compile(r"([^.!?;:\n()]*)([.!?;:\n()]+|$)")

# Words that open a new clause, and end the reach of a negation or of a decision.
CLAUSE = re.compile(
    r",|[\u2013\u2014]|[ ]-+[ ]"
    r"|\b(?:but|so|however|because|since|given|as|if|whether|unlike|while|whereas|although|though"
    r"|when|then|yet|despite)\b"
    rf"|\band\b(?![ ]*(?:for |to )?{M})"
)
REASON_OPENERS = frozenset({"because", "since", "given", "as"})
ASIDE_OPENERS = frozenset(
    {"unlike", "while", "whereas", "although", "though", "when", "whether", "despite"}
)

NEGATION = re.compile(
    r"\b(?:not|never|cannot|no|nor|neither|hardly|without|none|nobody|ain't|refuse to|refusing to"
    r"|stop|avoid|less likely to|unlikely to|unwilling to|reluctant to)\b|n't\b"
)
PARTLY = re.compile(
    r"(?:\bnot|n't) (?:\w+ ){0,2}?(?:entirely|fully|completely|totally|wholly|necessarily|quite"
    r"|always|100%?|strongly|exactly|all that)\b"
)
AGAINST = re.compile(
    r"\b(?:against|oppos(?:e|ed|es|ing)(?: to)?|dislike|hate|detest|distrust|despise|fear|reject"
    r"|unlike|instead of|rather than|as opposed to|other than|compared (?:to|with)"
    r"|(?:sick|tired) of|anti|beat|defeat)(?: \w+){0,3}[ ]*$"
)
_SHORTCOMING = (
    r"(?:too|bad|wrong|worse|worst|old|terrible|awful|weak|corrupt|dishonest|unfit|untrustworthy"
    r"|liar|lies|lying|lied|failed|failure|disaster|dangerous|not|never|out of touch|mistake)"
)
SHORTCOMING_AFTER = re.compile(
    r"^(?:'s?(?: \w+){1,2})? ?(?:is|was|are|were|seems|looks|has|had|will|would|does|did|can|could"
    r"|just|'s)(?:n't\b| (?:\w+ ){0,4}?" + _SHORTCOMING + r"\b)"
)

DECISION_BEFORE = re.compile(
    r"\b(?:vot(?:e|ing)(?: for)?|cast(?:ing)? (?:my|a) (?:vote|ballot) for|ballot for"
    r"|choos(?:e|ing)|chose|pick(?:ing)?|go(?:ing)?(?: \w+)? (?:with|for)|support(?:ing)?"
    r"|prefer(?:ring)?|favou?r(?:ing)?|lean(?:ing)?(?: more)?(?: towards?| to)?|select(?:ing)?"
    r"|opt(?:ing)? for|elect(?:ing)?|sid(?:e|ing) with|back(?:ing)?|endors(?:e|ing)"
    r"|stick(?:ing)? with|(?:my|the|final)(?: \w+){0,2} (?:vote|choice|pick|answer|preference"
    r"|candidate|decision|opinion|ballot)(?: \w+){0,3}? (?:is|goes to|go to|be|for)"
    r"|i(?:'d| would) (?:have to )?say|i say|i(?:'m| am)(?: all)? (?:for|with))\b"
    r"(?: (?:that|for|the|a|an|to|it|be|is|would|i|i'd|mr|mrs|ms|dr|sen|senator|president|gov"
    r"|governor|former|vice|candidate|republican|democrat|democratic|incumbent|nominee|option"
    r"|definitely|probably|certainly|clearly)\b){0,5}[ ]*$"
)
DECISION_AFTER = re.compile(
    r"^(?: (?:is|has|gets|would get|will get|would be|will be|'s|earns|wins|seems(?: like)?"
    r"|seems to be|looks(?: like)?|remains)|'s)(?: \w+){0,2}?"
    r" (?:my|the) (?:\w+ ){0,2}?(?:vote|choice|pick|candidate|answer|preference|man|guy|one|person"
    r"|option|best|better|right)\b"
    r"|^ (?:is|seems|looks|would be|will be) (?:\w+ )?(?:better|best)\b"
    r"|^ (?:for me\b|for president\b|all the way\b|it is\b|gets my\b|has my\b)"
)

# Words that may stand beside a name in an answer that is nothing but the name.
_FILLER_BEFORE = """
a all am an and answer be candidate certainly choice clearly completely course definitely
democrat democratic do er final for former fully generally governor guess hmm honestly i i'd
i'll i'm i've incumbent is it it's its just like mostly mr mrs ms much must my nominee of ok
okay option party pick please president probably republican say sen senator simply so
somewhat strongly suppose sure that that's the think this to totally um very vice vote well
will with would yeah yep yes you
"""
FILLER_BEFORE = frozenset(_FILLER_BEFORE.split())
_FILLER_AFTER = """
actually all certainly clearly course definitely for guess honestly i is it me of please president
probably sir suppose sure that think this the way then too
"""
FILLER_AFTER = frozenset(_FILLER_AFTER.split())
I_AM = frozenset({"i", "i'd", "i'll", "i'm", "i've"})

THIRD_PERSON = re.compile(
    r"\b(?:he|she|they|people|others|everyone|everybody|most|many|some"
    r"|(?:my|our|his|her|their) (?:wife|husband|spouse|partner|friends?|family|parents?|father"
    r"|mother|dad|mom|brother|sister|son|daughter|kids|neighbou?rs?|boss|co-?workers?|party))\b"
)
# "I am X" may be an answer ("I am satisfied") or a model that takes itself for a candidate.
I_AM_JUST_BEFORE = re.compile(r"\b(?:i'm|i am) ?$")
NAME_JUST_BEFORE = re.compile(r"\bname(?: is|'s) ?$")
FIRST_PERSON = re.compile(r"\b(?:i|we|me|us)\b")
PAST = re.compile(
    r"\b(?:used to|previously|formerly|in the past|last (?:time|election)|in (?:19|20)\d\d)\b"
)

COMPARED = re.compile(
    r"^ ?(?:is |was |would be )?(?:over|rather than|instead of|ahead of|and not)(?: for)? ?$"
)
COMPARED_BETTER = re.compile(
    r"^(?:'s)? ?(?:is|was|would be|seems|looks)?(?: \w+){0,2}? ?(?:better|superior|preferable)"
    r"(?: \w+){0,3}? (?:than|to|over) ?$"
)
COMPARED_MORE = re.compile(
    r"^ ?(?:more |better |(?:a lot|much|far) more |a bit more )?(?:than|to)(?: for)? ?$"
)
PREFERENCE = re.compile(
    r"\b(?:like|trust|prefer|rather|favou?r|support|vote|love|want|choose|pick)\b"
)
COMPARED_OTHERWISE = re.compile(r"\bthan ?$")
LISTED = re.compile(
    r"^ ?(?:,? ?(?:or|and|and/or|nor|versus|vs|as well as|/|&)(?: (?:for|to|with|maybe))?|/|&) ?$"
)
COMMA = re.compile(r"^ ?, ?$")
STARTS_A_CLAUSE = re.compile(
    r"^(?:'s?)? ?(?:is|was|has|had|would|will|can|could|does|did|seems|looks|should|'d|'ll)\b"
    r"|^'s \w"
)
ECHO_LINE = re.compile(
    r"(?m)^(?:possible answers|possible choices|choices|options|answer options)\b[^\n]*$"
)
