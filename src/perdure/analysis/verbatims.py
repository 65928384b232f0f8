"""What people said in their own words, by question and scenario: clusters with quotes to look up.

Each scenario and question has a sample of its answers, drawn by a seeded stream, so that memory
does not grow with the record. A cluster below the floor is none: its answers are counted as the
rest, and so are answers without a word.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from typing import ClassVar

from perdure.analysis.clusters import Cluster, clusters, words_of
from perdure.base.chance import Stream
from perdure.records.events import Event, Turn
from perdure.records.reaction import own_words
from perdure.records.record import Record

SAMPLE_MAX = 300
_SAMPLE_MIN = 20
_SAMPLES_MAX = 60_000
QUOTES_MAX = 3
FLOOR_MIN = 3
FLOOR_PARTS = 50  # a fiftieth of the sample
_TEXT_MAX = 2_000
REST, WORDLESS = -1, -2  # in the place of a cluster: the answers in none


class Quote(Record):
    """One answer: its event's id, `<world>:<number>`, who gave it at which tick, and its words.

    Of an answer in a form it is the words before the form. Past two thousand characters they are
    cut.
    """

    event: str
    persona: str
    tick: int
    text: str


class Said(Record):
    """A cluster: how many answers of the sample, their share of it, its telling words, and quotes.

    `quotes` are the most typical answers in different words, the most typical first.
    """

    size: int
    share: float
    words: tuple[str, ...]
    quotes: tuple[Quote, ...]


class Verbatims(Record):
    """What was said to a question in a scenario.

    `answers` were given, of which `sampled` were looked at. `rest` of these are in no cluster of at
    least `floor`, `wordless` have no words. `why` says why there is no cluster, if there is none.
    """

    scenario: str
    question: str
    answers: int
    sampled: int
    floor: int
    clusters: tuple[Said, ...]
    rest: int
    wordless: int
    why: str = ""


class Sample:
    """A sample of the answers to one question in one scenario, each with the same chance."""

    def __init__(self, most: int = SAMPLE_MAX) -> None:
        """Begin a sample of at most so many."""
        self.seen = 0
        self._most = most
        # The first of the heap is the one that goes first: of the largest draw.
        self._kept: list[tuple[int, str, Quote]] = []

    def add(self, draw: int, quote: Quote) -> None:
        """Take an answer, unless its draw is larger than those of a full sample."""
        self.seen += 1
        if len(self._kept) < self._most:
            heapq.heappush(self._kept, (-draw, quote.event, quote))
        elif -draw > self._kept[0][0]:
            heapq.heapreplace(self._kept, (-draw, quote.event, quote))

    def full_below(self) -> int:
        """Give the draw that an answer has to be below to be taken."""
        return -self._kept[0][0] if len(self._kept) == self._most else 1 << 64

    def quotes(self) -> list[Quote]:
        """Give the sample in the order of its draws."""
        return [quote for _, _, quote in sorted(self._kept, key=lambda one: (-one[0], one[1]))]


Samples = dict[str, Sample]


class VerbatimPass:
    """Adds the answers of one world to the samples of its scenario as its events pass."""

    kinds: ClassVar[frozenset[type[Record]]] = frozenset({Turn})

    def __init__(self, world_id: str, samples: Samples, *, most: int = SAMPLE_MAX) -> None:
        """Take the samples of the scenario, by question, which have at most so many."""
        self._most = most
        self._world_id = world_id
        self._samples = samples
        self._draws = Stream(world_id, 0, "verbatims")

    def see(self, event: Event) -> None:
        """Look at one event."""
        match event.payload:
            case Turn(presentation=shown, answer=answer, reaction=reaction):
                sample = self._samples.get(shown.question)
                if sample is None:
                    sample = self._samples[shown.question] = Sample(self._most)
                draw = self._draws.uint64()
                if draw >= sample.full_below():
                    sample.seen += 1
                    return
                sample.add(
                    draw,
                    Quote(
                        event=f"{self._world_id}:{event.seq}",
                        persona=event.persona,
                        tick=event.tick,
                        text=own_words(answer, reaction)[:_TEXT_MAX],
                    ),
                )
            case _:
                pass


def sample_size(samples: int) -> int:
    """Give how many answers each of so many samples may have: of many, each has fewer."""
    return min(SAMPLE_MAX, max(_SAMPLE_MIN, _SAMPLES_MAX // max(1, samples)))


def verbatims(
    scenario: str, samples: Mapping[str, Sample], questions: Sequence[str]
) -> tuple[Verbatims, ...]:
    """Cluster what was said in a scenario, question by question in this order."""
    return tuple(
        _verbatims(scenario, question, samples[question])
        for question in questions
        if question in samples
    )


def members(sample: Sample, place: int) -> tuple[Quote, ...]:
    """Give all answers of the cluster at a place; or those in none (`REST`), or `WORDLESS`."""
    quotes = sample.quotes()
    given, found, _ = _cut(quotes)
    if place >= 0:
        return tuple(quote for one in found[place].places for quote in given[one])
    if place == WORDLESS:
        return tuple(quote for quote in quotes if not words_of(quote.text))
    within = {one for cluster in found for one in cluster.places}
    return tuple(quote for one, some in enumerate(given) if one not in within for quote in some)


def _cut(quotes: Sequence[Quote]) -> tuple[list[list[Quote]], Sequence[Cluster], int]:
    """Put answers of the same words together, and cluster these; the floor stands beside them.

    Those without a word are in none of it.
    """
    by_words: dict[str, list[Quote]] = {}
    for quote in quotes:
        by_words.setdefault(" ".join(words_of(quote.text)), []).append(quote)
    by_words.pop("", None)
    given = list(by_words.values())
    floor = max(FLOOR_MIN, -(-len(quotes) // FLOOR_PARTS))
    found = clusters([some[0].text for some in given], [len(some) for some in given], floor=floor)
    return given, found, floor


def _verbatims(scenario: str, question: str, sample: Sample) -> Verbatims:
    quotes = sample.quotes()
    given, found, floor = _cut(quotes)
    wordless = len(quotes) - sum(map(len, given))
    made = tuple(
        Said(
            size=one.size,
            share=one.size / len(quotes),
            words=one.words,
            quotes=tuple(given[place][0] for place in one.places[:QUOTES_MAX]),
        )
        for one in found
    )
    return Verbatims(
        scenario=scenario,
        question=question,
        answers=sample.seen,
        sampled=len(quotes),
        floor=floor,
        clusters=made,
        rest=len(quotes) - wordless - sum(one.size for one in made),
        wordless=wordless,
        why="" if made else f"no {floor} answers say alike",
    )
