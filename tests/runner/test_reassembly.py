"""Prompts are made again from the events before them, in every run that is on record."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from tests.cli.conftest import write_study
from tests.support.commands import commands
from tests.support.golden import expected, run_folder, sets, unpack

from perdure.agent import AGENT_VERSION
from perdure.cli.shown import look
from perdure.records.events import Turn, TurnNotTaken
from perdure.records.request import Message
from perdure.runner import plugins
from perdure.runner.reassembly import Standing, difference_of, header_at
from perdure.trace.lookup import Lookup
from perdure.trace.reader import RunReader

SETS = sets()
CASES = [(golden, run) for golden in SETS for run in expected(golden)["runs"]]


def standings(folder: Path) -> Counter[tuple[Standing, bool]]:
    """Count how the prompts of a run stand, and whether their turn was taken."""
    found: Counter[tuple[Standing, bool]] = Counter()
    with RunReader.open(folder) as reader:
        for world in reader.worlds:
            for event in reader.events(world.world_id):
                if isinstance(event.payload, Turn | TurnNotTaken):
                    shown = look(reader, f"{world.world_id}:{event.seq}")
                    assert shown.assembled is not None
                    found[shown.assembled.standing, isinstance(event.payload, Turn)] += 1
    return found


def is_ours(folder: Path) -> bool:
    """Say whether a run has an agent of ours."""
    with RunReader.open(folder) as reader:
        return reader.header(reader.worlds[0].world_id).agent.agent.startswith("perdure.")


@pytest.mark.parametrize(
    ("golden", "run"), CASES, ids=[f"{golden.name}/{run}" for golden, run in CASES]
)
def test_every_prompt_of_a_recorded_run(
    golden: Path, run: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Every prompt of our own agent follows; another one's is not made, nor its code loaded."""
    unpack(golden, tmp_path)
    monkeypatch.delattr(plugins, "PluginParts")
    found = standings(run_folder(tmp_path, run))
    if not is_ours(run_folder(tmp_path, run)):
        assert set(found) == {(Standing.NOT_ASSEMBLED, True), (Standing.NOT_ASSEMBLED, False)}
        return
    taken = Standing.FOLLOWS
    if expected(golden)["agent"] != AGENT_VERSION:
        taken = Standing.OTHER_VERSION
    assert {standing for standing, is_taken in found if is_taken} <= {taken, Standing.FOLLOWS}
    assert sum(count for (_, is_taken), count in found.items() if is_taken) >= 10
    if run in {"survey", "fire"}:
        assert found[Standing.NOT_SENT, False] > 0
        assert found[Standing.FOLLOWS, True] > 20


def test_a_run_that_was_forced_has_two_briefs(tmp_path: Path):
    """Each prompt is made again from the brief that held at its tick."""
    study, out = write_study(tmp_path), tmp_path / "run"
    run = ("run", study, "--out", out, "--quiet", "--workers", "0")
    (died,) = commands(run, PERDURE_CRASH_AT="tick.after-witness:4")
    assert died.status == -9, died
    study.write_text(study.read_text().replace("Two people stand.", "Two people stand again."))
    (refused,) = commands(("resume", out, "--quiet"))
    assert refused.status == 78
    (done,) = commands(("resume", out, "--quiet", "--force", "brief"))
    assert done.status == 0, done
    assert set(standings(out)) == {(Standing.FOLLOWS, True)}
    with RunReader.open(out) as reader:
        found = Lookup.of(reader, reader.worlds[0].world_id)
        assert found is not None
        briefs = {header_at(found, tick).brief.text for tick in range(3)}
    assert briefs == {"Two people stand.", "Two people stand again."}


def test_the_first_difference_is_named():
    """A text, a role, a message more or less: each is found, and equal prompts have none."""
    sent = [Message(role="system", content="You."), Message(role="user", content="Who?  Ann.")]
    assert difference_of(sent, list(sent)) is None
    other = [sent[0], Message(role="user", content="Who? Ann.")]
    found = difference_of(sent, other)
    assert found is not None
    assert (found.field, found.was) == ("prompt[1]", "'Who?··Ann.'")
    found = difference_of(sent, [Message(role="user", content="You."), sent[1]])
    assert found is not None
    assert found.told == "prompt[0].role was 'system' and is 'user'"
    for shorter in (sent[:1], []):
        found = difference_of(sent, shorter)
        assert found is not None
        assert found.field == "the number of messages"
