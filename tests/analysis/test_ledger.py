"""The ledger: sums of recorded costs, held against the registry's running total."""

import msgspec

from perdure.analysis.ledger import build_ledger


def test_sums_agree_by_every_grouping(record_of):
    """Each way of summing gives the same total, and each keeps its unknown count."""
    record = record_of(seeds=(1, 2))
    record.cost("plain-1", 5)
    record.cost("plain-1", None, model="m-2")
    record.cost("plain-2", 7, purpose="reflection")
    ledger = build_ledger(record)
    for parts in (ledger.by_purpose, ledger.by_model, ledger.by_source, ledger.by_world):
        assert sum(part.sum.amount for part in parts) == ledger.total.amount == 12
        assert sum(part.sum.unknown for part in parts) == ledger.total.unknown == 1


def test_a_registry_that_disagrees_is_named(record_of):
    """A running total that differs from the sum of the record is shown, world by world."""
    record = record_of(seeds=(1, 2))
    for seed in (1, 2):
        record.wave(f"plain-{seed}", 0, {"p1": "a"})
    record.cost("plain-1", 5)
    assert [world.agrees for world in build_ledger(record).by_world] == [False, True]
    told = record.stands["plain-1"]
    record.stands["plain-1"] = msgspec.structs.replace(told, cost=5)
    assert build_ledger(record).agrees


def test_a_record_that_went_on_since_the_note_still_agrees(record_of):
    """A live run's record is ahead of its registry: they are compared where the note was made."""
    record = record_of(seeds=(1,))
    record.wave("plain-1", 0, {"p1": "a"})
    record.cost("plain-1", 5)
    noted = msgspec.structs.replace(record.stands["plain-1"], cost=5)
    record.wave("plain-1", 1, {"p1": "a"})
    record.cost("plain-1", 7, tick=1)
    record.stands["plain-1"] = noted
    ledger = build_ledger(record)
    assert (ledger.total.amount, ledger.by_world[0].noted.amount) == (12, 5)
    assert ledger.agrees
    record.stands["plain-1"] = msgspec.structs.replace(noted, cost=12)
    assert not build_ledger(record).agrees
