"""The English phrases by which an answer is read. Data only; every pattern meets folded text."""

from __future__ import annotations

import re

# One mention: the mark that `mentions` puts in the place of a choice's name.
M = "[\U000f0000-\U000ffffd]"
MENTION = re.compile(M)
WORD = re.compile(rf"[\w']+|{M}")

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
    r"|\b(?:just )?(?:kidding|joking)\b|\bon second thought|\bsaid no(?:body|\b)"
    r"|\bnot to(?=[.!\n]|\Z)|\b(?:lost|forget) my vote\b"
    r"|(?:\bnever|\bnot|n't|\bcannot) (?:\w+ )?(?:vote for|support|choose|pick|back|trust|like)"
    r" (?:him|her|them)\b"
    r"|[.!?,;:\n-][ ]*(?:no|nope|never|not|not really|no thanks|nein|nicht|nie|non|jamais"
    r"|nunca|nee|niet)[ ]*(?=[.!,;\n]|\Z)"
)

# What opens a clause that puts something else in the place of what was said before; or perhaps.
_CLAUSE_OPENS = r"(?:^|[.!?;,:\n\u2013\u2014(-])[ ]*(?:(?:or|but|and|well|oh|hmm|no|yes)[, ]+)*"
_CORRECTED = (
    r"actually|wait|no(?=[ ]*[,:.!])|i mean|i meant|scratch that|strike that|correction"
    r"|on reflection|on second thoughts?|or rather|make (?:that|it)|sorry|oops|hold on"
    r"|instead(?! of)|i changed my mind|come to think of it"
)
CORRECTION = re.compile(rf"{_CLAUSE_OPENS}(?:{_CORRECTED})\b")
SECOND_THOUGHT = re.compile(rf"{_CLAUSE_OPENS}(?:{_CORRECTED}|maybe|perhaps|possibly|or even)\b")
# Where such a clause names a choice, after a "no" that is its own at most, and not for a reason.
SOON_NAMED = re.compile(
    r"[.!]?(?:[ ]*[,:]?[ ]*no[,:.!])?"
    r"(?:(?!\b(?:not|never|no|cannot|because|since|although|though|if|than)\b|n't\b)[^.?!\n]){0,80}?"
    rf"({M})"
)

# After a yes or a no: "Yes, I would not support it".
I_WOULD = re.compile(
    r"[ ]?[,.;:!-]?[ ]*(?:but )?i(?:'d|'ll|'m|[ ](?:would|will|do|am|can|could|should|did|have))"
    r"(?P<not>n't|[ ]not|[ ]never)?(?:[ ](?:really|definitely|certainly|also|be|at all))*"
    r"(?:[ ](?P<verb>[\w']+)|[ ]*(?=[.,!;\n]|$))"
)

# Phrases that say never in words of consent, or speak as a candidate: with one, nothing counts.
NEVER = re.compile(
    r"\b(?:over my dead body|hell (?:freezes|froze)|pigs (?:can )?fly|million years|no way"
    r"|(?:fat|not a|no) chance|dream on|yeah,? right|as if i|not on your life|on earth"
    r"|vote for (?:me|myself)|running for president)\b"
)

# Set phrases whose words would mislead: each is replaced before a sentence is read.
SET_PHRASES: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"(?m)^[ ]*\d{1,2}[.)][ ]*"), ""),
    (re.compile(r":[ ]*\n+[ ]*(?:\d{1,2}[.)][ ]*)?"), ": "),
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
    (re.compile(r"(?:\bdo(?:n't| not)|\bnot) (?:only|just|merely|simply|exclusively)\b"), "also"),
    (re.compile(r"\b(?:can't|cannot) wait to\b"), "will"),
    (re.compile(rf"\b(?:couldn't|could not|can't|cannot) ({M}) (?:\w+ )?more\b"), r"i \1"),
    # To answer a forced or a supposed question is to answer.
    (
        re.compile(
            r"\bif (?:i|you|the election|the choice|it)\b[^,.;!?:\n]{0,60}?"
            r"\b(?:choose|pick|decide|vote|held|asked|between)\b"
            rf"(?! (?:for )?(?:the )?{M}(?! (?:and|or)\b))"
            r"(?: (?:today|now|right now|tomorrow|one|between)\b"
            rf"|(?: for)? {M} (?:and|or)(?: for)? {M})*"
        ),
        " , ",
    ),
)

SENTENCE = re.compile(r"([^.!?;\n()]*)([.!?;\n()]+|$)")

# Words that open a new clause, and end the reach of a negation or of a decision.
CLAUSE = re.compile(
    r",|[\u2013\u2014]|[ ]-+[ ]"
    r"|\b(?:but|so|however|because|since|given|as|if|whether|unlike|while|whereas|although|though"
    r"|when|then|yet|despite)\b"
    rf"|\band\b(?![ ]*(?:for |to )?{M})"
)
ASIDE_OPENERS = frozenset(
    {
        *("because", "since", "given", "as", "if", "unlike", "while", "whereas", "although"),
        *("though", "when", "whether", "despite"),
    }
)

NEGATION = re.compile(
    r"\b(?:not|never|cannot|no|nor|neither|hardly|without|none|nobody|ain't|refuse to|refusing to"
    r"|stop|avoid|less likely to|unlikely to|unwilling to|reluctant to|can't|won't)\b|n't\b"
)
PARTLY = re.compile(
    r"(?:\bnot|n't) (?:\w+ ){0,2}?(?:entirely|fully|completely|totally|wholly|necessarily|quite"
    r"|always|100%?|strongly|exactly|all that)\b"
)
# What comes after one of these in a clause is not what is chosen, or not said by who answers.
GUARD = re.compile(
    r"\b(?:than|before|until|till|over|instead of|like i(?:'d| would)|said|says|told)\b"
    r"|^suppose\b"
    rf"|{M}(?: more| better)? to\b"
)
CONDITION_BEFORE = re.compile(r"^\W*(?:(?:only|even|well|so|and|but) )?(?:if|unless)\b")
CONDITION_AFTER = re.compile(
    r"^(?:(?!\bthat\b)[^,])*(?:,? (?:but )?(?:only )?)?\b"
    r"(?:if|unless|when|until|provided|as (?:soon|long) as|the (?:day|moment|minute))\b"
)
_YEAR = r"in (?:19|20|')\d\d\b"
PAST = re.compile(
    r"\b(?:used to|previously|formerly|in the past|last (?:time|election|year)|years ago|back then"
    rf"|in the primary|(?:voted|chose|picked)\b.*{_YEAR}|{_YEAR}.*\b(?:voted|chose|picked))\b"
)
POSSESSED = re.compile(r"^'(?:s(?! (?:my|the|a|better|best)\b))?(?= )")
# "I am X" and its like, where X is somebody's name.
TAKEN_FOR = re.compile(
    r"\b(?:(?:i'm|i am|this is)|name(?: is|'s))"
    r"(?: (?:mr|president|senator|sen|governor|gov|former|vice|the|candidate|actually|really))* ?$"
)

# "No, I ...": the yes or no that a sentence opens with, before a mention that ends the text read.
ANSWER_BEFORE = re.compile(r"\b(yes|no)\b,? (?:[\w']+ ){0,4}\Z")

# A name that somebody is called by: "Hello, X", "X, you ...".
GREETING = re.compile(r"^\W*(?:hello|hi|hey|dear|thanks|thank you|sorry|goodbye|bye|so long)\W*$")
CALLED = re.compile(r"\byou(?:r|'ve|'re)?\b")

# The words that may lead to a name: "I would most likely have to go with the incumbent ...".
_CHOOSING = (
    r"(?<!\ba )(?<!\bthe )vot(?:e|ing|ed)|cast(?:ing)? my (?:vote|ballot)|choos(?:e|ing)|chose"
    r"|pick(?:ing|ed)?"
    r"|go(?:ing)?(?: \w+)? (?:with|for)|support(?:ing)?|prefer|favou?r|lean(?:ing)?"
    r"|select(?:ing)?|opt(?:ing)? for|elect(?:ing)?|sid(?:e|ing) with|back(?:ing)?"
    r"|endors(?:e|ing)|stick(?:ing)? with|(?:vote|choice|pick|answer|preference|candidate|decision"
    r"|ballot)(?: \w+)? (?:is|be|goes|go)"
)
DECISION = re.compile(rf"\b(?:{_CHOOSING})\b")
FAVOUR = re.compile(r"\b(?:like|love|trust|admire|want)\b")
RESERVED = re.compile(r"\b(?:but|although|though|except|however)\b")
I_DO = re.compile(
    r"^i(?:'d|'ll|'m|'ve)?"
    r"(?: (?!(?:say|think|guess|believe|suppose|feel|that|is|it|want|like|love)\b)\w+)*$"
)
I_WORDS = frozenset({"i", "i'd", "i'll", "i'm", "i've"})
_KNOWN = """
a absolutely admire afraid all also always am an and answer at back backing ballot be believe best
better can cast casting certainly choice choose choosing chose clearly completely course currently
decision definitely do elect electing election endorse endorsing er favor favoring favour
favouring feel final firmly for former fully generally go goes going gonna governor guess have hmm
honestly inclined intend is it it's just lean leaning like likely love moment more most mostly mr
mrs ms much must my no november now of ok okay opt opting option overall personally pick picked
picking plan planning please point prefer preference president probably rather really respectfully
right say select selecting sen senator side siding simply so somewhat sooner stick sticking still
strongly support supporting suppose sure tend that that's the then think this time to today
totally toward towards trust um very vice vote voted voting want well wholeheartedly will with
would yeah yep yes
"""
KNOWN = I_WORDS | frozenset(_KNOWN.split())
_FILLER_AFTER = """
actually again all any certainly clearly course day definitely for guess honestly i it me message
now of please president probably sir statement suppose sure that the then think this time too way
with
"""
FILLER_AFTER = frozenset(_FILLER_AFTER.split())
# What may follow a choice that was decided for: "... in November", "... and that is that".
_FOLLOWS = """
about and as at because by completely currently here in on over strongly than today
"""
FOLLOWS = FILLER_AFTER | frozenset(_FOLLOWS.split())
# "X as much as a hole in the head", "X as little as Y".
LIKENED = re.compile(r"^ (?:just |about |only )?(?:as|so) (?!well\b|soon\b|long\b)\w+ as\b")
# "I have X" is what is, and not what one would choose, where something else is wanted.
I_HAVE = re.compile(r"^i(?: have|'ve got| have got)(?: (?:a|an|the))*$")
FOLLOWED_BY_NO = re.compile(r"^ (?:\w+ )?(?:no|none|nothing|no one|nobody|not|never|hardly)\b")
HEADING = re.compile(r"[^,]{0,30}:")
# After a choice that is no person's name a sentence may go on: "Yes I would".
GOES_ON = re.compile(r"^ (?:i|it|we|this|that)\b")
CHOSEN_AFTER = re.compile(
    r"^(?:'s| (?:is|has|gets|got|earns|earned|would get|will get|would be|will be|remains))"
    r"(?: (?:definitely|clearly|certainly|probably|still|by far|simply|much))*"
    r"(?: my (?:(?:first|final|best|top|own|only|preferred|favou?rite) )?"
    r"(?:vote|support|choice|pick|candidate|answer|preference|man|guy)\b"
    r"| the (?:best|better|right|obvious|clear|stronger|strongest) (?:choice|candidate|option|pick"
    rf"|man|person|one|leader|president)\b| better(?: than {M})? ?$)"
)

THIRD_PERSON = re.compile(
    r"\b(?:he|she|they|you|your|people|others|everyone|everybody|nobody|no one|any(?:one|body)"
    r"|many|some|most(?! (?:likely|certainly|definitely|probably|strongly|of all))|messages?|ads?"
    r"|user"
    r"|(?:my|our|his|her|their) (?:wife|husband|spouse|partner|friends?|family|parents?|father"
    r"|mother|dad|mom|brother|sister|son|daughter|kids|neighbou?rs?|boss|co-?workers?|party))\b"
)
FIRST_PERSON = re.compile(r"\b(?:i|we|me|us|my (?:\w+ )?(?:vote|choice|pick|answer|preference))\b")

COMPARED_AFTER = re.compile(
    r" (?:(?:more|better|a lot more|much more|far more) than|over|rather than|instead of|ahead of"
    rf"|than|to)(?: \w+){{0,2}} {M}"
)
LISTED = re.compile(
    r"^ ?(?:,? ?(?:or|and|and/or|nor|versus|vs|as well as|/|&)(?: (?:for|to|with|maybe))?|/|&) ?$"
)
COMMA = re.compile(r"^ ?, ?$")
STARTS_A_CLAUSE = re.compile(
    r"^(?:'s?)? ?(?:is|was|has|had|would|will|can|could|does|did|seems|looks|should|'d|'ll)\b"
    r"|^'s \w"
)
# The choices as a prompt lists them: on the line that says so, or else on the lines below it.
ECHO_LINE = re.compile(
    r"(?m)^(?:here are )?(?:(?:the|some|available|possible|answer) )*"
    r"(?:answers|choices|options|responses)\b[^\n:]*"
    r"(?::[ ]*[^\n ][^\n]*$|:[ ]*\n+(?:[^\n]+(?:\n|\Z))*|$)"
)
