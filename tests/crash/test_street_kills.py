"""That a run with all channels, memory by meaning, reflections and probes survives any kill.

The same campaign as in `test_run_kills`: real processes and a real server, whose own count says
what was asked again. Here it answers in the form of the channels, now and then against its rules.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.crash.test_run_kills import (
    KILLS,
    PARTS,
    SEED,
    Campaign,
    Forks,
    Whole,
    made_whole,
)
from tests.crash.watching_server import WatchingServer
from tests.support.street_study import ANSWERS

from perdure.base.chance import Stream
from perdure.records.events import (
    AnswerGiven,
    BeliefsHeld,
    Cost,
    GuardrailViolation,
    Probed,
    Reflected,
    Turn,
)
from perdure.runner.replay import replay
from perdure.trace.reader import RunReader

CLIENT = Path(__file__).with_name("street_client.py")


@pytest.fixture(scope="module")
def server() -> Iterator[WatchingServer]:
    """Give one server to all runs."""
    with WatchingServer(answers=ANSWERS) as running:
        yield running


@pytest.fixture(scope="module")
def forks(server: WatchingServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Forks]:
    """Give the process that forks, and see that nothing which it forked ever said a word."""
    errors = tmp_path_factory.mktemp("forks") / "stderr"
    started = Forks(server, errors, CLIENT)
    yield started
    started.close()
    assert errors.read_text() == ""


@pytest.fixture(scope="module")
def made(
    server: WatchingServer, forks: Forks, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, Whole]:
    """Make the run that is never killed; give its folder too."""
    out = tmp_path_factory.mktemp("whole") / "run"
    return out, made_whole(server, forks, out)


def test_the_run_has_everything_and_is_driven_again_from_its_record(made: tuple[Path, Whole]):
    """What is killed below has every channel and every kind of call, and replays without one."""
    out, _ = made
    channels: Counter[str] = Counter()
    kinds: Counter[type] = Counter()
    purposes: Counter[str] = Counter()
    rejected = 0
    with RunReader.open(out) as reader:
        for event in reader.events(reader.worlds[0].world_id):
            kinds[type(event.payload)] += 1
            if isinstance(event.payload, Turn):
                channels[event.payload.presentation.impression.channel] += 1
                reaction = event.payload.reaction
                rejected += reaction is not None and reaction.rejected is not None
            if isinstance(event.payload, Cost):
                purposes[event.payload.purpose] += 1
    assert {"feed", "forum", "word_of_mouth", "survey"} <= set(channels), channels
    wanted = {AnswerGiven, BeliefsHeld, GuardrailViolation, Probed, Reflected}
    assert wanted <= set(kinds), kinds
    assert {"recall", "memory", "turn", "reflection", "probe"} <= set(purposes), purposes
    assert rejected
    assert not replay(out).diverged


@pytest.mark.parametrize("part", range(PARTS))
def test_a_run_with_all_channels_killed_anywhere_ends_as_if_it_never_was(
    server: WatchingServer,
    forks: Forks,
    made: tuple[Path, Whole],
    tmp_path: Path,
    part: int,
):
    """Same digests; every loss recorded once; nothing asked again but what a kill caught."""
    campaign = Campaign(server, forks, made[1], Stream(SEED, part, "kill a street"))
    counts = campaign.counts
    while counts.kills < KILLS:
        campaign.kill_a_run(tmp_path / f"run{counts.runs}", KILLS - counts.kills)
    print(counts)  # noqa: T201 - the figures of the campaign
    assert counts.in_finished >= KILLS * 2 / 3
