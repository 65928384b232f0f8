"""A study file's channels, interventions, involvement and rhythm are read, varied and checked."""

from __future__ import annotations

import msgspec
import pytest
from tests.support.sample_study import SAMPLE, Writer

from perdure.base.canonical import encode
from perdure.population import load_study
from perdure.records.channels import (
    Channels,
    Feed,
    Forum,
    InterventionKind,
    Involvement,
    PlannedIntervention,
    Ranking,
    Scope,
    WordOfMouth,
)
from perdure.records.scenario import Scenario
from perdure.study.findings import Findings
from perdure.study.identity import expand
from perdure.study.parse import parse
from perdure.study.schema import RHYTHMS
from perdure.study.varying import varying

CHANNELS = """\
  channels:
    feed: {question: agree, posts: {0: [c1], 2: [c2]}, ranking: random}
    forum: {question: agree, posts: {1: [c1]}, scope: community, decay: 3}
    word_of_mouth: {question: agree, starts: {0: [c1]}, reach: 0.1}
  interventions:
    - {tick: 1, kind: remove, channel: feed, claim: c1, ticks: 2}
    - {tick: 2, kind: rank, channel: forum, ranking: interest}
  involvement: {attribute: party, levels: {0: 0.5, 2: 0.25}}
  rhythm: [1, 0.5]
"""
WORDS = "models:\n  words: {provider: baseline, model: words}\n"
WITH_ALL = (
    SAMPLE.replace("  activation: 0.5\n", f"  activation: 0.5\n{CHANNELS}")
    .replace("  file: people.csv\n", "  file: people.csv\n  graph: {degree: 2}\n")
    .replace("models:\n", WORDS)
    .replace("agent:\n", "roles: {tier_a: baseline, embed: words}\nagent:\n")
)


def scenarios_of(text: str) -> list[Scenario]:
    """Give the scenarios of a study in which nothing is wrong."""
    found = Findings("study.yaml")
    study = parse(text.encode(), found).study
    assert study is not None, [str(problem) for problem in found.listed()]
    return list(study.scenarios)


def test_everything_is_read_as_it_is_written() -> None:
    """Both scenarios have what the timeline says."""
    for scenario in scenarios_of(WITH_ALL):
        assert scenario.channels == Channels(
            feed=Feed(question="agree", posts={"0": ("c1",), "2": ("c2",)}, ranking=Ranking.RANDOM),
            forum=Forum(question="agree", posts={"1": ("c1",)}, scope=Scope.COMMUNITY, decay=3.0),
            word_of_mouth=WordOfMouth(question="agree", starts={"0": ("c1",)}, reach=0.1),
        )
        assert scenario.interventions == (
            PlannedIntervention(
                tick=1, kind=InterventionKind.REMOVE, channel="feed", claim="c1", ticks=2
            ),
            PlannedIntervention(
                tick=2, kind=InterventionKind.RANK, channel="forum", ranking=Ranking.INTEREST
            ),
        )
        assert scenario.involvement == Involvement(attribute="party", levels={"0": 0.5, "2": 0.25})
        assert scenario.rhythm == (1.0, 0.5)


def test_a_default_that_is_written_is_as_one_that_is_left_out() -> None:
    """The id of a world does not depend on whether its author wrote a default."""
    plain = scenarios_of(WITH_ALL)
    told = WITH_ALL.replace("ranking: random}", "ranking: random, decay: 12.5, counts: true}")
    told = told.replace("scope: community", "scope: community, ranking: hot, attention_last: 0.5")
    told = told.replace("reach: 0.1}", "reach: 0.1, moved_min: 2, tie_min: 0.0, targets_max: 2}")
    told = told.replace("2: 0.25}}", "2: 0.25}, otherwise: 1.0}")
    assert told.count("12.5") == 1
    assert [encode(one) for one in scenarios_of(told)] == [encode(one) for one in plain]
    assert b"12.5" not in encode(plain[0])
    assert b"channels" not in encode(scenarios_of(SAMPLE)[0])


def test_a_rhythm_can_be_named() -> None:
    """A named rhythm is its factors, of ticks of its own length."""
    text = SAMPLE.replace("  activation: 0.5\n", "  activation: 0.5\n  rhythm: week\n")
    assert [one.rhythm for one in scenarios_of(text)] == [RHYTHMS["week"][1]] * 2
    hours = text.replace("week", "day-night\n  tick: hour")
    assert [one.rhythm for one in scenarios_of(hours)] == [RHYTHMS["day-night"][1]] * 2
    assert [len(factors) for _, factors in RHYTHMS.values()] == [24, 7]


def with_grid(grid: str, text: str = WITH_ALL) -> str:
    """Give the second scenario a grid."""
    old = "  s2:\n    exposures: {1: [c2], 2: [c1]}\n"
    assert old in text
    return text.replace(old, f"{old}    grid: {grid}\n")


def test_a_grid_leads_into_channels() -> None:
    """A key of a channel varies as any other, and all else of the channels stays."""
    found = scenarios_of(with_grid("{channels.feed.ranking: [hot, random], rhythm: [week, [1]]}"))
    assert [one.id for one in found[1:]] == [
        f"s2--channels.feed.ranking-{ranking}--rhythm-{rhythm}"
        for ranking in ("hot", "random")
        for rhythm in ("week", "1-c2272c")
    ]
    rankings = [one.channels.feed.ranking for one in found[1:] if one.channels.feed]
    assert sorted(rankings) == ["hot", "hot", "random", "random"]
    assert all(one.channels.forum == found[0].channels.forum for one in found)
    names = {name for one in varying(found) for name in one}
    assert {"channels.feed.ranking", "rhythm"} <= names


def test_a_grid_leads_to_a_tick_of_a_channel_and_varies_whole_ones() -> None:
    """What is posted at one tick can vary, and so can a channel and what changes on it."""
    grid = "{channels.feed.posts.1: [[c1], [c2]], interventions: [[], [{tick: 3, kind: hide_counts, channel: feed}]]}"  # noqa: E501
    found = scenarios_of(with_grid(grid))[1:]
    posts = [one.channels.feed.posts for one in found if one.channels.feed]
    assert [one["1"] for one in posts].count(("c1",)) == 2
    assert all(set(one) == {"0", "1", "2"} for one in posts)
    assert sorted(len(one.interventions) for one in found) == [0, 0, 1, 1]
    mouths = "{channels.word_of_mouth: [{question: agree}, {question: agree, reach: 1}]}"
    found = scenarios_of(with_grid(mouths))[1:]
    assert [one.channels.word_of_mouth.reach for one in found if one.channels.word_of_mouth] == [
        0.05,
        1.0,
    ]


def test_a_grid_by_hand_is_the_same_worlds(write: Writer) -> None:
    """A cell is the scenario that could have been written out, with the same id."""
    # In so few people there are no communities.
    common = WITH_ALL.replace("scope: community", "scope: global")
    channels = CHANNELS.replace("scope: community", "scope: global")
    grid = load_study(write(with_grid("{channels.feed.ranking: [hot]}", common)))
    cell = expand(grid.study, grid.population)[-1]
    by_hand = (
        channels.replace("random", "hot").replace("\n  ", "\n    ").replace("  ch", "    ch", 1)
    )
    text = common.replace(
        "  s2:\n    exposures: {1: [c2], 2: [c1]}\n",
        f"  {cell.entry.scenario}:\n    exposures: {{1: [c2], 2: [c1]}}\n{by_hand.rstrip()}\n",
    )
    written = load_study(write(text))
    assert expand(written.study, written.population)[-1].entry == cell.entry


def test_a_study_without_channels_is_the_world_that_it_was(write: Writer) -> None:
    """World ids of a study of waves and exposures do not know that there are channels."""
    loaded = load_study(write())
    first = expand(loaded.study, loaded.population)[0]
    assert first.header.scenario.channels == Channels()
    text = encode(first.header.scenario)
    for word in (b"channels", b"interventions", b"involvement", b"rhythm"):
        assert word not in text


def test_the_world_that_ships_is_one_by_either_name() -> None:
    """Who names it has the worlds, by their ids, that a study has that leaves it out."""
    named = SAMPLE.replace("  horizon: 4\n", "  horizon: 4\n  world: perdure.world:ChannelWorld\n")
    assert named != SAMPLE
    assert [encode(s) for s in scenarios_of(named)] == [encode(s) for s in scenarios_of(SAMPLE)]


MISTAKES = [
    ("question: agree, posts: {0", "posts: {0", "feed: {", "`timeline.channels.feed.question` is"),
    ("{question: agree, posts: {0", "{question: agre, posts: {0", "feed:", "`agre` is not among"),
    ("posts: {0: [c1], 2: [c2]}", "posts: {0: [c9], 2: [c2]}", "feed:", "`c9` is not among"),
    ("posts: {0: [c1], 2: [c2]}", "posts: {0: [c1], 4: [c2]}", "feed:", "post at tick 4 is beyond"),
    ("posts: {0: [c1], 2: [c2]}", "posts: {0: [c1, c1]}", "feed:", "listed twice at tick 0"),
    ("starts: {0: [c1]}", "starts: {7: [c1]}", "word_of_mouth:", "start at tick 7 is beyond"),
    ("ranking: random", "ranking: newest", "feed:", "is `newest`"),
    ("ranking: random", "ranking: random, decay: 0", "feed:", "`timeline.channels.feed.decay`"),
    ("ranking: random", "rnaking: random", "feed:", "`rnaking` in `timeline.channels.feed`"),
    ("scope: community", "scope: town", "forum:", "is `town`"),
    ("word_of_mouth:", "mouth:", "mouth:", "`mouth` in `timeline.channels` is not known"),
    ("reach: 0.1", "reach: 0.1, moved_min: 3", "word_of_mouth:", "is `3`"),
    ("{tick: 1,", "{tick: 9,", "remove", "intervention at tick 9 is beyond"),
    ("kind: remove", "kind: delete", "delete", "is `delete`"),
    ("claim: c1, ticks: 2", "claim: c1, ticks: 0", "remove", "is `0`"),
    ("channel: feed, claim", "channel: radio, claim", "radio", "is `radio`"),
    ("claim: c1, ticks", "claim: c9, ticks", "c9", "`c9` is not among"),
    ("channel: feed, claim: c1,", "channel: feed,", "remove", "`remove` needs `claim`"),
    ("channel: forum, ranking: interest", "channel: forum", "rank,", "`rank` needs `ranking`"),
    ("channel: forum, ranking: interest", "channel: forum, ranking: hot, claim: c1", "rank,",
     "`rank` has no `claim`"),
    ("kind: rank, channel: forum, ranking: interest", "kind: hide_counts, channel: word_of_mouth",
     "hide_counts", "neither ranking nor counts"),
    ("kind: remove", "kind: publish", "publish", "`publish` has no `ticks`"),
    ("{tick: 1, kind: remove, channel: feed, claim: c1, ticks: 2}",
     "{tick: 1, kind: promote, channel: feed, claim: c2}", "promote", "`c2` is not on `feed`"),
    ("channel: feed, claim: c1", "channel: forum, claim: c2", "remove", "`c2` is not on `forum`"),
    ("attribute: party", "attribute: partei", "involvement", "`partei` is not among"),
    ("levels: {0: 0.5, 2: 0.25}", "levels: {0: 0.5, 7: 0.25}", "involvement", "`7` is not a code"),
    ("attribute: party, levels: {0: 0.5, 2: 0.25}", "attribute: party", "involvement",
     "there are no `levels`"),
    ("attribute: party, levels: {0: 0.5, 2: 0.25}", "attribute: town", "involvement", "`levels`"),
    ("levels: {0: 0.5, 2: 0.25}", "levels: {0: 1.5}", "involvement", "is `1.5`"),
    ("rhythm: [1, 0.5]", "rhythm: day-night", "rhythm", "one of ticks of an hour"),
    ("rhythm: [1, 0.5]", "rhythm: daily", "rhythm", "is `daily`"),
    ("rhythm: [1, 0.5]", "rhythm: []", "rhythm", "has 0 items"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "line", "says"), MISTAKES)
def test_each_mistake_is_one_problem_on_its_line(old: str, new: str, line: str, says: str) -> None:
    """A single mistake is one problem, on its line, with what to write instead."""
    assert WITH_ALL.count(old) >= 1, old
    text = WITH_ALL.replace(old, new, 1)
    found = Findings("study.yaml")
    assert parse(text.encode(), found).study is None
    problems = found.listed()
    wrong = [problem for problem in problems if says in problem.wrong]
    assert len(wrong) == 1, [str(problem) for problem in problems]
    assert line in text.splitlines()[wrong[0].line - 1]
    assert wrong[0].remedy
    assert len(problems) == 1, [str(problem) for problem in problems]


def test_what_needs_ties_says_so_where_there_is_no_graph() -> None:
    """Without a graph, word of mouth, communities and a ranking by ties are each told of."""
    text = WITH_ALL.replace("  graph: {degree: 2}\n", "").replace("random", "network")
    found = Findings("study.yaml")
    assert parse(text.encode(), found).study is None
    told = [problem.wrong for problem in found.listed()]
    assert len(told) == 3
    assert all("needs ties" in one for one in told)
    assert any("nobody knows anybody" in one for one in told)


@pytest.mark.parametrize("where", ["random", "ranking: interest"])
def test_a_ranking_by_interest_needs_a_model_that_gives_vectors(where: str) -> None:
    """Without one the channel that ranks by it is told of, and so is an intervention that does."""
    text = WITH_ALL.replace(", embed: words", "").replace(WORDS, "models:\n")
    text = text.replace("random", "interest" if where == "random" else "random")
    found = Findings("study.yaml")
    assert parse(text.encode(), found).study is None
    lines = text.splitlines()
    told = {lines[problem.line - 1]: problem.wrong for problem in found.listed()}
    assert all("ranks by interest, and the study has no model" in one for one in told.values())
    assert len(told) == (2 if where == "random" else 1)


def test_all_mistakes_are_found_at_once() -> None:
    """Mistakes in every part of it come together."""
    text = WITH_ALL
    for old, new in (
        ("question: agree, posts: {0", "question: agre, posts: {0"),
        ("{tick: 1,", "{tick: 9,"),
        ("attribute: party", "attribute: partei"),
        ("reach: 0.1", "reach: 10"),
    ):
        text = text.replace(old, new, 1)
    found = Findings("study.yaml")
    parse(text.encode(), found)
    assert len(found.listed()) == 4


@pytest.mark.parametrize(
    ("grid", "says"),
    [
        ("{channels.radio.ranking: [hot]}", "names nothing in `channels`"),
        ("{channels.feed.rankign: [hot]}", "names nothing in `feed`"),
        ("{channels.feed.ranking: [newest]}", "is `newest`"),
        ("{channels.feed.ranking.x: [hot]}", "names nothing in `ranking`"),
    ],
)
def test_a_grid_that_leads_nowhere_is_refused(grid: str, says: str) -> None:
    """A key that is none of a channel's, or a value of the wrong kind, is told of."""
    found = Findings("study.yaml")
    assert parse(with_grid(grid).encode(), found).study is None
    assert any(says in problem.wrong for problem in found.listed()), found.listed()


def test_a_grid_cannot_lead_into_a_channel_that_is_not_there() -> None:
    """A channel that the scenario does not have cannot have keys that vary."""
    found = Findings("study.yaml")
    text = with_grid("{channels.feed.ranking: [hot, random]}", SAMPLE)
    assert parse(text.encode(), found).study is None
    (problem,) = found.listed()
    assert (
        problem.wrong == "`channels.feed` is not a mapping, so `channels.feed.ranking` cannot vary."
    )


def test_what_a_channel_has_varies_by_its_own_name() -> None:
    """Where scenarios differ in a channel, it is said in which key, defaults in words."""
    (first, _) = scenarios_of(WITH_ALL)
    feed = first.channels.feed
    assert feed is not None
    hot = msgspec.structs.replace(feed, ranking=Ranking.HOT)
    channels = msgspec.structs.replace(first.channels, feed=hot)
    other = msgspec.structs.replace(first, channels=channels)
    assert varying([first, other]) == (
        {"channels.feed.ranking": "random"},
        {"channels.feed.ranking": "hot"},
    )
    without = msgspec.structs.replace(first.channels, word_of_mouth=None)
    found = varying([first, msgspec.structs.replace(first, channels=without)])
    assert found[0]["channels.word_of_mouth.reach"] == 0.1
    assert not any(name.startswith("channels.word_of_mouth") for name in found[1])
