"""Clusters of verbatims: planted themes are found with their quotes, a jumble has none."""

from typing import Any

import pytest

from perdure.analysis.clusters import clusters, words_of
from perdure.analysis.report import build_report
from perdure.analysis.verbatims import SAMPLE_MAX, Quote, Sample, Verbatims
from perdure.base.canonical import encode
from perdure.base.chance import Stream
from perdure.records.events import Turn
from perdure.records.reaction import Reaction

from tests.analysis.conftest import presented  # isort: skip

PRICE = "It costs too much money for {}, the price is far too high."
NOISE = "Noise near my {} all night, nobody there would ever sleep again."
THINGS = ("me", "us", "families", "workers", "pensioners", "students", "shops", "farmers")


def jumble(number: int, count: int = 9) -> str:
    """Make a text of words that hardly any other has."""
    draw = Stream("jumble", 0, "words", number)
    return " ".join(f"w{draw.below(100_000)}" for _ in range(count))


def test_planted_themes_are_found_and_the_rest_is_not():
    """Two themes of eight among ten texts of no theme: two clusters, nothing else in them."""
    texts = [PRICE.format(one) for one in THINGS] + [NOISE.format(one) for one in THINGS]
    texts += [jumble(number) for number in range(10)]
    found = clusters(texts, [1] * len(texts), floor=3)
    assert [sorted(one.places) for one in found] == [list(range(8)), list(range(8, 16))]
    assert [one.size for one in found] == [8, 8]
    assert set(found[0].words) <= set(words_of(PRICE))
    assert set(found[1].words) <= set(words_of(NOISE))


def test_a_jumble_has_no_cluster():
    """Fifty texts without a word in common: nothing is found in them."""
    assert clusters([jumble(number) for number in range(50)], [1] * 50, floor=3) == ()


def test_a_cluster_is_never_below_the_floor():
    """Two that say alike are no cluster where three are asked for; one text given thrice is."""
    texts = [PRICE.format("me"), PRICE.format("us"), jumble(1), jumble(2)]
    assert clusters(texts, [1] * 4, floor=3) == ()
    (one,) = clusters(texts, [1, 2, 1, 1], floor=3)
    assert (one.places, one.size) == ((1, 0), 3)


def test_words():
    """Case, marks and numbers of spaces make no word; an apostrophe is within one."""
    assert words_of("  I DON'T think_so -- ß 2nd!") == ["i", "don't", "think", "so", "ss", "2nd"]


def say(record: Any, world: str, tick: int, texts: list[str], **fields: Any) -> None:
    """Let people answer the question of the wave in these words."""
    for job, text in enumerate(texts):
        who = f"p{1 + job % 4}"
        shown = presented(who, "vote")
        record.put(
            world, tick, Turn(job=job, presentation=shown, prompt=(), answer=text, **fields), who
        )
    record.close(world, tick, len(texts))


def said(record: Any) -> tuple[Verbatims, ...]:
    """Give the verbatims of a record's report, twice the same."""
    report = build_report(record)
    assert encode(report) == encode(build_report(record))
    return report.verbatims


def test_quotes_name_their_events_and_the_rest_is_counted(record_of):
    """Eight of twelve in one cluster with its quotes; two say nothing alike, two nothing at all."""
    record = record_of(seeds=(1, 2))
    say(record, "plain-1", 0, [PRICE.format(one) for one in THINGS[:4]] + [jumble(1), "…"])
    say(record, "plain-2", 0, [PRICE.format(one) for one in THINGS[4:]] + [jumble(2), ""])
    (one,) = said(record)
    assert (one.question, one.scenario, one.answers, one.sampled) == ("vote", "plain", 12, 12)
    (cluster,) = one.clusters
    assert cluster.size == 8
    assert cluster.share == pytest.approx(8 / 12)
    assert (one.rest, one.wordless, one.floor) == (2, 2, 3)
    texts = {f"plain-{1 + n // 4}:{n % 4}": PRICE.format(one) for n, one in enumerate(THINGS)}
    assert len(cluster.quotes) == 3
    for quote in cluster.quotes:
        assert texts[quote.event] == quote.text
        assert quote.persona == f"p{1 + int(quote.event[-1])}"


def test_nothing_alike_is_said_with_its_reason(record_of):
    """No cluster is not zero answers: all of them are the rest."""
    record = record_of(seeds=(1,))
    say(record, "plain-1", 0, [jumble(number) for number in range(10)])
    (one,) = said(record)
    assert (one.clusters, one.rest, one.why) == ((), 10, "no 3 answers say alike")


def test_a_form_is_none_of_ones_own_words(record_of):
    """Where an answer has lines of a form, only the words before them are clustered and quoted."""
    record = record_of(seeds=(1,))
    form = Reaction(action="like", words="It is dear.")
    say(record, "plain-1", 0, ["It is dear.\nAction: like"] * 4, reaction=form)
    (one,) = said(record)
    assert [quote.text for quote in one.clusters[0].quotes] == ["It is dear."]


def test_many_answers_are_sampled_and_it_is_said(record_of):
    """Of three thousand at most the stated number is looked at, from all over the record."""
    record = record_of(seeds=(1,))
    say(record, "plain-1", 0, [f"{PRICE.format('me')} {n}" for n in range(3_000)])
    (one,) = said(record)
    assert (one.answers, one.sampled) == (3_000, SAMPLE_MAX)
    places = [int(q.event.split(":")[1]) for c in one.clusters for q in c.quotes]
    assert one.clusters[0].size == SAMPLE_MAX
    assert len(set(places)) == len(places)


def test_a_sample_is_of_the_smallest_draws_whatever_their_order():
    """Of a hundred answers the ten with the smallest draws are kept, late ones like early ones."""
    draws = [Stream("sample", 0, "draw", number).uint64() for number in range(100)]
    sample = Sample(10)
    for number, draw in enumerate(draws):
        sample.add(draw, Quote(event=f"w:{number}", persona="p", tick=0, text="x"))
    kept = [int(quote.event[2:]) for quote in sample.quotes()]
    assert kept == sorted(range(100), key=draws.__getitem__)[:10]
    assert max(kept) > 50
    assert sample.seen == 100
