"""Answers to questions for several choices, an order or a number, and what each must be read as."""

from __future__ import annotations

from perdure.records.outcome import UnscorableCause as Cause
from perdure.records.persona import Choice
from perdure.records.scenario import Question, QuestionType

TRAIN = Choice(id="train", label="the train", aliases=("train", "trains"))
BUS = Choice(id="bus", label="the bus", aliases=("bus",))
CAR = Choice(id="car", label="a car", aliases=("car", "my car"))
BIKE = Choice(id="bike", label="a bike", aliases=("bike", "bicycle", "my bike"))

USED = Question(
    id="used",
    text="Which of these do you use?",
    choices=(TRAIN, BUS, CAR, BIKE),
    type=QuestionType.SEVERAL,
)
BEST = Question(id="best", text="Rank these.", choices=(TRAIN, BUS, CAR), type=QuestionType.RANKED)
PAY = Question(
    id="pay",
    text="What is the most that you would pay for it?",
    type=QuestionType.NUMBER,
    unit="dollars",
    unit_aliases=("$", "USD", "bucks"),
    least=0,
    most=1000,
)

SEVERAL = (
    ("I use the train and the bus, but not the car.", ("train", "bus")),
    ("Train, bus.", ("train", "bus")),
    ("the bus\nthe train", ("train", "bus")),
    ("- the train\n- a bike", ("train", "bike")),
    ("1. **the train**\n2. a bike", ("train", "bike")),
    ("I use my car and my bike every day.", ("car", "bike")),
    ("The train, the bus and a bike", ("train", "bus", "bike")),
    ("I take the bus to work and the car on weekends", ("bus", "car")),
    ("I hate the bus but I use the train", ("train",)),
    ("I use the train. Never the bus.", ("train",)),
    ("Only my bike.", ("bike",)),
    ("I have a car, a bike and that's it.", ("car", "bike")),
    ("All of them.", ("train", "bus", "car", "bike")),
    ("All of them except the car.", ("train", "bus", "bike")),
    ("None of them.", ()),
    ("I don't use the car or the bus.", ()),
    ("Neither the train nor the bus", ()),
    ("Not all of them.", Cause.NO_CHOICE),
    ("Trains are expensive, I use the bus.", Cause.NO_CHOICE),
    ("My wife uses the car", Cause.NO_CHOICE),
    ("the train if it is cheap", Cause.NO_CHOICE),
    ("I used to take the train.", Cause.NO_CHOICE),
    ("I would rather walk.", Cause.NO_CHOICE),
    ("I use the train. I do not use the train.", Cause.UNDECIDED),
    ("The train, but I'm not sure.", Cause.UNDECIDED),
    ("I don't know.", Cause.UNDECIDED),
    ("As an AI I cannot answer.", Cause.REFUSED),
    (" \n ", Cause.EMPTY),
)
RANKED = (
    ("1. The train 2. a car 3. the bus", ("train", "car", "bus")),
    ("1) train\n2) car\n3) bus", ("train", "car", "bus")),
    ("3. bus\n1. train\n2. car", ("train", "car", "bus")),
    ("train, car, bus", ("train", "car", "bus")),
    ("train > car > bus", ("train", "car", "bus")),
    ("My order is: car, train, bus.", ("car", "train", "bus")),
    ("The bus last, the car second, the train first.", ("train", "car", "bus")),
    ("I'd put the train first, then the car, and the bus last.", ("train", "car", "bus")),
    ("The train is best, then bus, then car", ("train", "bus", "car")),
    ("Train first, the car after that, and finally the bus.", ("train", "car", "bus")),
    ("I prefer the train to the car and the bus", Cause.UNCLEAR_ORDER),
    ("train, then car, not the bus", Cause.UNCLEAR_ORDER),
    ("I like the bus less than the car, and the train most", Cause.UNCLEAR_ORDER),
    ("The train first, the car first, then the bus", Cause.UNCLEAR_ORDER),
    ("From worst: the bus is last; the train, the car", Cause.UNCLEAR_ORDER),
    ("Only the train", Cause.NOT_ALL_RANKED),
    ("1. train 2. car", Cause.NOT_ALL_RANKED),
    ("I don't know", Cause.UNDECIDED),
    ("Whatever comes.", Cause.NO_CHOICE),
    ("I cannot answer that.", Cause.REFUSED),
    ("", Cause.EMPTY),
)
NUMBERS = (
    ("About $25.", 25.0),
    ("25", 25.0),
    ("Twenty-five dollars", 25.0),
    ("three hundred and fifty", 350.0),
    ("a hundred dollars", 100.0),
    ("I would pay 20 dollars, 3 times a week", 20.0),
    ("I'm 45 years old and would pay $30", 30.0),
    ("One of them costs 40 dollars.", 40.0),
    ("no more than 20", 20.0),
    ("At most 20 bucks.", 20.0),
    ("$15.50 maximum", 15.5),
    ("12,50 dollars", 12.5),
    ("1,000 USD", 1000.0),
    ("0.5k", 500.0),
    ("zero", 0.0),
    ("$20. Yes, 20 dollars.", 20.0),
    ("between 20 and 30 dollars", Cause.SEVERAL_NUMBERS),
    ("20-30", Cause.SEVERAL_NUMBERS),
    ("maybe 10 or 12", Cause.SEVERAL_NUMBERS),
    ("It cost me $20 once, so $25.", Cause.SEVERAL_NUMBERS),
    ("more than 20", Cause.ONLY_A_BOUND),
    ("At least 20 dollars", Cause.ONLY_A_BOUND),
    ("40+", Cause.ONLY_A_BOUND),
    ("not 20 dollars", Cause.ONLY_A_BOUND),
    ("5 percent", Cause.OTHER_UNIT),
    ("50 euros", Cause.OTHER_UNIT),
    ("10%", Cause.OTHER_UNIT),
    ("1,200 bucks", Cause.OUT_OF_RANGE),
    ("2 million", Cause.OUT_OF_RANGE),
    ("minus 5", Cause.OUT_OF_RANGE),
    ("20 dollars, but I'm not sure.", Cause.UNDECIDED),
    ("I don't know", Cause.UNDECIDED),
    ("nothing", Cause.NO_NUMBER),
    ("My first choice. No one would.", Cause.NO_NUMBER),
    ("I'd rather not say.", Cause.REFUSED),
    ("\t", Cause.EMPTY),
)
