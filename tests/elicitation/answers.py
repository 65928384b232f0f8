"""Answers as people and models write them, and the score that each must get."""

from __future__ import annotations

from perdure.records.persona import Choice
from perdure.records.scenario import Question

VOTE = Question(
    id="vote",
    text="If the election were held today, would you vote for Bill Clinton or Bob Dole?",
    choices=(
        Choice(id="clinton", label="Bill Clinton", aliases=("Clinton", "President Clinton")),
        Choice(id="dole", label="Bob Dole", aliases=("Dole", "Robert Dole", "Senator Dole")),
    ),
)
AGREE = Question(
    id="claim",
    text="Do you agree or disagree with this message?",
    choices=(
        Choice(id="agree", label="Agree", aliases=("agreed", "in agreement")),
        Choice(id="disagree", label="Disagree", aliases=("disagreed",)),
    ),
)
SCALE = Question(
    id="scale",
    text="How far do you agree?",
    choices=(
        Choice(id="2", label="Strongly agree"),
        Choice(id="1", label="Agree"),
        Choice(id="-1", label="Disagree"),
        Choice(id="-2", label="Strongly disagree"),
    ),
)
YES_NO = Question(
    id="buy",
    text="Would you buy it?",
    choices=(Choice(id="yes", label="Yes"), Choice(id="no", label="No")),
)
LETTERS = Question(
    id="letters",
    text="Which plan?",
    choices=(
        Choice(id="first", label="The first plan", aliases=("A",)),
        Choice(id="second", label="The second plan", aliases=("B",)),
    ),
)
NOTE = " (Answered by a rule, not a language model.)"

# An answer, and the choice's id or the cause in capitals.
VOTE_ANSWERS: tuple[tuple[str, str], ...] = (
    # Plainly said.
    ("Bob Dole", "dole"),
    ("Bob Dole.", "dole"),
    ("  bob   dole  ", "dole"),
    ("BILL CLINTON!!!", "clinton"),
    ("I would vote for Bill Clinton.", "clinton"),
    ("I'd vote for Dole.", "dole"),
    ("I\u2019d vote for Dole, no doubt.", "dole"),
    ("I would probably vote for Clinton.", "clinton"),
    ("My vote goes to Senator Dole.", "dole"),
    ("My choice is Bill Clinton.", "clinton"),
    ("Bob Dole has my vote.", "dole"),
    ("Bob Dole would be my choice for president.", "dole"),
    ("Clinton, because the economy is doing well.", "clinton"),
    ("It's Dole for me.", "dole"),
    ("I'm going with Clinton this time.", "clinton"),
    ("I lean towards Dole.", "dole"),
    ("I am leaning toward Bill Clinton", "clinton"),
    ("I support Bob Dole and his tax plan.", "dole"),
    ("Well, I guess Bob Dole.", "dole"),
    ("Sen. Dole.", "dole"),
    ("I'm voting Dole", "dole"),
    ("President Clinton", "clinton"),
    ("Answer: Bill Clinton", "clinton"),
    ("I like Bob Dole because he is a conservative like me.", "dole"),
    ("As a strong Republican, I'd vote for Bob Dole.", "dole"),
    # The baseline's own words.
    ("I would vote for Bill Clinton." + NOTE, "clinton"),
    ("Bob Dole." + NOTE, "dole"),
    ("I have not decided." + NOTE, "UNDECIDED"),
    # Marks, typography, scripts.
    ("**Bob Dole**", "dole"),
    ("**Bob** **Dole**", "dole"),
    ("- Bill Clinton", "clinton"),
    ("1. Bob Dole", "dole"),
    ("# Answer\n\nI'd vote for *Bill Clinton*.", "clinton"),
    ("\u201cBob Dole\u201d", "dole"),
    ("\uff22\uff4f\uff42 \uff24\uff4f\uff4c\uff45", "dole"),
    ("Bob\u00a0Dole", "dole"),
    ("Bob Dole \U0001f1fa\U0001f1f8", "dole"),
    ("`Bill Clinton`", "clinton"),
    ("Bill-Clinton", "clinton"),
    # Questions echoed.
    ("Would I vote for Bill Clinton or Bob Dole? I'd vote for Bob Dole.", "dole"),
    ("Clinton or Dole? Dole.", "dole"),
    (
        (
            "If the election were held today, would you vote for Bill Clinton or Bob Dole?\n"
            "Possible answers: Bill Clinton / Bob Dole\nBill Clinton"
        ),
        "clinton",
    ),
    ("Would I vote for Bill Clinton or Bob Dole?", "NO_CHOICE"),
    # One against the other.
    ("I'd vote for Clinton rather than Dole.", "clinton"),
    ("Clinton over Dole.", "clinton"),
    ("I prefer Dole to Clinton.", "dole"),
    ("I prefer Bob Dole over Bill Clinton", "dole"),
    ("I'd choose Dole instead of Clinton.", "dole"),
    ("I like Dole more than Clinton.", "dole"),
    ("I trust Clinton more than Dole.", "clinton"),
    ("Bob Dole is better than Bill Clinton.", "dole"),
    ("Clinton, not Dole.", "clinton"),
    ("Not Clinton. Dole.", "dole"),
    ("Dole is younger than Clinton.", "SEVERAL_CHOICES"),
    ("Instead of Clinton, I'd vote for Dole.", "dole"),
    ("Between Clinton and Dole, I'd vote for Dole.", "dole"),
    ("I don't like Clinton, so I'd vote for Dole.", "dole"),
    ("I wouldn't vote for Dole, I'd vote for Clinton.", "clinton"),
    ("I would never vote for Clinton but I would vote for Dole.", "dole"),
    ("I'd vote for Clinton and Dole is too old.", "clinton"),
    ("I'd vote for Bob Dole because Bill Clinton raised taxes.", "dole"),
    ("Although I like Clinton, I'd vote for Dole.", "dole"),
    ("My wife would vote for Clinton but I'd vote for Dole.", "dole"),
    ("In 1992 I voted for Clinton, but now I'm voting for Dole.", "dole"),
    ("Anyone but Clinton. Dole.", "dole"),
    # Denied, and nothing else.
    ("Not Clinton.", "NO_CHOICE"),
    ("I wouldn't vote for Dole.", "NO_CHOICE"),
    ("I will not vote for Bill Clinton.", "NO_CHOICE"),
    ("I'd never vote for Dole in a million years!", "NO_CHOICE"),
    ("Anybody but Clinton", "NO_CHOICE"),
    ("Bob Dole is too old for the job.", "NO_CHOICE"),
    ("I'm against Clinton.", "NO_CHOICE"),
    ("I'd vote for Dole. Then again, I would never vote for Dole.", "NO_CHOICE"),
    # Set phrases that only look like denials.
    ("I can't help but vote for Dole.", "dole"),
    ("Nobody but Clinton.", "clinton"),
    ("Without a doubt Bob Dole.", "dole"),
    ("I don't know much about politics, but I'd vote for Bob Dole.", "dole"),
    ("I'm not sure about his taxes, but my vote is for Dole.", "dole"),
    # Undecided.
    ("I don't know.", "UNDECIDED"),
    ("I don't know who I would vote for, Clinton or Dole.", "UNDECIDED"),
    ("Undecided", "UNDECIDED"),
    ("I'm not sure yet.", "UNDECIDED"),
    ("I haven't decided between Clinton and Dole.", "UNDECIDED"),
    ("Neither.", "UNDECIDED"),
    ("Neither Clinton nor Dole.", "UNDECIDED"),
    ("I would not vote for Clinton and I would not vote for Dole.", "UNDECIDED"),
    ("I don't know, maybe Dole", "UNDECIDED"),
    ("I'd vote for Dole, but I'm not sure.", "UNDECIDED"),
    ("It's hard to say.", "UNDECIDED"),
    # Refused.
    ("As an AI language model, I don't have personal opinions.", "REFUSED"),
    ("I cannot answer that question.", "REFUSED"),
    ("I'm sorry, but I can't assist with that.", "REFUSED"),
    ("I'd rather not say.", "REFUSED"),
    ("As an AI I can't vote, but many like Bob Dole.", "REFUSED"),
    ("I cannot", "REFUSED"),
    # More than one.
    ("Between Clinton and Dole.", "SEVERAL_CHOICES"),
    ("Clinton or Dole", "SEVERAL_CHOICES"),
    ("Bill Clinton, Bob Dole", "SEVERAL_CHOICES"),
    ("Bill Clinton / Bob Dole", "SEVERAL_CHOICES"),
    ("Both Clinton and Dole are fine.", "SEVERAL_CHOICES"),
    ("I'd vote for Clinton. I'd vote for Dole.", "SEVERAL_CHOICES"),
    ("Dole has experience. Clinton has charm.", "SEVERAL_CHOICES"),
    # Neither named.
    ("I would vote for the best man.", "NO_CHOICE"),
    ("The Doleful Clintonites", "NO_CHOICE"),
    ("...", "NO_CHOICE"),
    ("Hello! How are you today?", "NO_CHOICE"),
    ("", "EMPTY"),
    (" \n\t ", "EMPTY"),
    # A small model rambling.
    (
        (
            "I am a 45 year old man from a small town. I think Bob Dole is the best choice for "
            "our country because he is a strong leader with a lot of experience. I am 45 years old."
        ),
        "dole",
    ),
    (
        "I would vote for Bill Clinton. Bill Clinton is a great president. Bill Clinton is",
        "clinton",
    ),
    (
        (
            "The election is a very important event. The candidates are Bill Clinton and Bob Dole. "
            "The election is a very important event."
        ),
        "SEVERAL_CHOICES",
    ),
    (
        (
            "The candidates are Bill Clinton and Bob Dole. I would vote for Bob Dole since I am a "
            "Republican, and Bill Clinton is a Democrat."
        ),
        "dole",
    ),
    # A small model that takes itself for a candidate, and what else it lets stand in the way.
    ("Hi, I am Bob Dole. I would vote for Bill Clinton.", "clinton"),
    ("Hello, my name is Bob Dole.", "NO_CHOICE"),
    ("I'm undecided but leaning Clinton.", "clinton"),
    ("Neither candidate is perfect, but I'd vote for Bill Clinton.", "clinton"),
    ("I cannot vote for Clinton. I will vote for Dole.", "dole"),
    ("My heart says Clinton, but my head says Dole.", "SEVERAL_CHOICES"),
    ("Clinton has not done enough for us. I'm voting for Dole.", "dole"),
    ("If I had to choose between Clinton and Dole, I would choose Dole.", "dole"),
    ("As an independent, I believe that Bill Clinton would be the better choice.", "clinton"),
    ("I did not vote.", "NO_CHOICE"),
    ("I voted for Bob Dole.", "dole"),
    ("I'm a Democrat so I'll be voting for Clinton in November", "clinton"),
)

OTHER_ANSWERS: tuple[tuple[Question, str, str], ...] = (
    (AGREE, "I agree.", "agree"),
    (AGREE, "Agree", "agree"),
    (AGREE, "Agreed!", "agree"),
    (AGREE, "I disagree.", "disagree"),
    (AGREE, "Disagree" + NOTE, "disagree"),
    (AGREE, "I agree with this message." + NOTE, "agree"),
    (AGREE, "I strongly agree with the message.", "agree"),
    (AGREE, "I don't agree.", "disagree"),
    (AGREE, "I do not agree with that at all.", "disagree"),
    (AGREE, "I can't agree with this.", "disagree"),
    (AGREE, "No, I don't agree with it.", "disagree"),
    (AGREE, "I couldn't agree more.", "agree"),
    (AGREE, "I couldn't disagree more!", "disagree"),
    (AGREE, "I don't disagree.", "NO_CHOICE"),
    (AGREE, "I don't entirely agree.", "NO_CHOICE"),
    (AGREE, "I neither agree nor disagree.", "UNDECIDED"),
    (AGREE, "I agree and disagree.", "SEVERAL_CHOICES"),
    (AGREE, "I agree with some of it but I disagree with the rest.", "SEVERAL_CHOICES"),
    (AGREE, "I agree that taxes are too high.", "agree"),
    (AGREE, "I agree because I disagree with the other side.", "agree"),
    (AGREE, "Do I agree or disagree? I disagree.", "disagree"),
    (AGREE, "Dis-agree", "NO_CHOICE"),
    (AGREE, "It is disagreeable.", "NO_CHOICE"),
    (AGREE, "I am in agreement with it.", "agree"),
    (AGREE, "Not sure I agree.", "UNDECIDED"),
    (AGREE, "I don't know if I agree.", "UNDECIDED"),
    (AGREE, "I don't think I agree.", "disagree"),
    (AGREE, "While I understand the message, I disagree.", "disagree"),
    (AGREE, "Most people agree.", "NO_CHOICE"),
    (AGREE, "I would say I agree, the economy is bad.", "agree"),
    (AGREE, "I'm neutral on this.", "UNDECIDED"),
    (SCALE, "I strongly agree.", "2"),
    (SCALE, "Strongly disagree", "-2"),
    (SCALE, "I agree", "1"),
    (SCALE, "**Disagree**", "-1"),
    (YES_NO, "Yes", "yes"),
    (YES_NO, "Yes, I would.", "yes"),
    (YES_NO, "No.", "no"),
    (YES_NO, "No, it costs too much.", "no"),
    (YES_NO, "I have no idea.", "UNDECIDED"),
    (YES_NO, "My answer is no.", "no"),
    (LETTERS, "B", "second"),
    (LETTERS, "B. It is cheaper.", "second"),
    (LETTERS, "Option A", "first"),
    (LETTERS, "I have a dog.", "NO_CHOICE"),
    (LETTERS, "The second plan is a bargain.", "second"),
)
