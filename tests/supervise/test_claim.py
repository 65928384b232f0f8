"""A claim on a store: one holder at a time, whatever the store is called and before it is there."""

from __future__ import annotations

import asyncio
import os
from contextlib import closing
from pathlib import Path

import pytest

from perdure.base.errors import HeldError
from perdure.supervise.claim import Claim
from perdure.testing.clock import SkippingClock


def test_a_store_is_claimed_once_before_it_is_there(tmp_path: Path):
    """Neither it nor its folder exists; nothing is written; whoever lets go of it frees it."""
    store = tmp_path / "out" / "run.db"
    with closing(Claim(store)) as first, closing(Claim(store)) as second:
        assert [first.take(), first.take(), second.take()] == [True, True, False]
        assert (len(first.descriptors), len(second.descriptors)) == (1, 0)
        first.close()
        assert [second.take(), first.take()] == [True, False]
    assert list(tmp_path.iterdir()) == []


def test_a_link_leads_to_the_same_store(tmp_path: Path):
    """And so does another way to write its path; another store is another one."""
    (tmp_path / "runs").mkdir()
    (tmp_path / "link").symlink_to("runs")
    with closing(Claim(tmp_path / "runs" / "store")) as first:
        assert first.take()
        for same in ("link/store", "runs/../runs/store"):
            assert not Claim(tmp_path / same).take()
        with closing(Claim(tmp_path / "runs" / "other")) as other:
            assert other.take()


def test_the_refusal_names_the_process(tmp_path: Path):
    """Who is just ending is waited for; after that it is said who holds it."""
    with closing(Claim(tmp_path)) as first:
        assert first.take()
        with pytest.raises(HeldError) as refused:
            asyncio.run(Claim(tmp_path).require(SkippingClock()))
    assert f"process {os.getpid()}" in str(refused.value)


def test_what_is_not_known_is_not_claimed():
    """Two runs whose store nobody names have nothing in common."""
    assert Claim(None).take()
    assert Claim(None).descriptors == ()
