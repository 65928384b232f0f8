"""The path of opinion: by hand, over those who met a claim and over all, and what is not there."""

import msgspec
import pytest

from perdure.analysis.report import build_report
from perdure.records.events import BeliefsHeld
from perdure.records.scenario import Brief, Claim
from perdure.records.study import Study


def with_claims(record, *claims: str):
    """Give the study of a record these claims."""
    study = msgspec.json.decode(record.entry.study, type=Study)
    brief = Brief(
        title="Tiny", text="Tiny.", claims=tuple(Claim(id=one, text=one) for one in claims)
    )
    changed = msgspec.json.encode(msgspec.structs.replace(study, brief=brief)).decode()
    record.entry = msgspec.structs.replace(record.entry, study=changed)
    return record


def lived(record, world: str, beliefs: dict[str, int], shown: tuple[str, ...]) -> None:
    """Play a world in which some are shown C1 at tick 1 and believe it so far; then it ends."""
    record.wave(world, 0, {"p1": "a"})
    for persona, step in beliefs.items():
        record.put(world, 1, BeliefsHeld(turn=0, beliefs={"C1": step}), persona)
    record.exposure(world, 1, shown, claims=("C1",))
    record.wave(world, 2, {"p1": "a"})


def test_a_path_by_hand(record_of):
    """One believes it by 3, one doubts it by 1, one was not moved, one never met it."""
    record = with_claims(record_of(seeds=(1,)), "C1", "C2")
    lived(record, "plain-1", {"p1": 3, "p2": -1}, ("p1", "p2", "p3"))
    (path,) = build_report(record).opinions
    assert (path.claim, path.personas) == ("C1", 4)
    assert [one.tick for one in path.at] == [1, 2]
    first = path.at[0]
    assert first.by_seed[0].counts == (0, 0, 1, 1, 0, 0, 1)
    assert first.mean.spreads["mean"].mean == pytest.approx(2 / 3)
    found = {name: spread.mean for name, spread in first.shares.spreads.items()}
    assert found == {
        "believing": pytest.approx(1 / 3),
        "doubting": pytest.approx(1 / 3),
        "unsure": pytest.approx(1 / 3),
        "met": 0.75,
        "believing_of_all": 0.25,
        "doubting_of_all": 0.25,
    }


def test_beliefs_stay_and_are_spread_over_seeds(record_of):
    """What was believed at tick 1 is at tick 2; three seeds have an interval that can pass 1."""
    record = with_claims(record_of(seeds=(1, 2, 3)), "C1")
    for seed, step in ((1, 3), (2, 2), (3, 1)):
        lived(record, f"plain-{seed}", {"p1": step}, ("p1",))
    (path,) = build_report(record).opinions
    last = path.at[-1].mean.spreads["mean"]
    assert (last.mean, last.effective) == (2.0, 3)
    assert last.high == 3.0  # cut to what a belief can be
    assert last.low == pytest.approx(2 - 4.3026527 / 3**0.5)


def test_who_has_not_met_it_is_no_zero(record_of):
    """A world in which nobody met the claim yet is not measured, and says so."""
    record = with_claims(record_of(seeds=(1, 2)), "C1")
    lived(record, "plain-1", {"p1": 3}, ("p1",))
    lived(record, "plain-2", {}, ())
    (path,) = build_report(record).opinions
    assert path.at[0].mean.spreads["mean"].mean == 3.0
    assert [(one.seed, one.why) for one in path.at[0].mean.missing] == [
        (2, "nobody had met it yet")
    ]


def test_without_communities_there_is_no_polarization(record_of):
    """It is empty, not zero."""
    record = with_claims(record_of(seeds=(1,)), "C1")
    lived(record, "plain-1", {"p1": 3}, ("p1",))
    assert build_report(record).polarization == ()
