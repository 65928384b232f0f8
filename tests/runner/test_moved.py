"""What moved, and what may be forced."""

import pytest

from perdure.base.errors import MovedError, UsageError
from perdure.closure.compare import Difference, Part
from perdure.runner.moved import (
    FORCEABLE,
    NEVER,
    compare,
    moved_code,
    require_forceable,
    require_leave,
    told,
)

WAS = dict.fromkeys(NEVER, "a" * 64)
NOW = dict.fromkeys(NEVER, "b" * 64)


def silent(_name: str) -> tuple[str, ...]:
    """Say nothing of what moved."""
    return ()


def test_nothing_moved_is_nothing_to_say():
    """Equal inputs may always go on."""
    assert compare(WAS, dict(WAS), silent) == ()
    require_leave((), (), "run")


@pytest.mark.parametrize("name", sorted(NEVER))
def test_each_thing_that_moved_is_named_with_both_values(name: str):
    """Whatever moves alone is named alone, with what it was and is."""
    moved = compare(WAS, {**WAS, name: "b" * 64}, silent)
    assert [one.name for one in moved] == [name]
    with pytest.raises(MovedError, match=f"{name} .a{{12}} then, b{{12}} now") as refused:
        require_leave(moved, (), "run")
    assert refused.value.moved == (name,)
    assert refused.value.exit_status == 78
    assert (f"--force {name}" in refused.value.remedy) == (name in FORCEABLE)
    assert (NEVER[name] in refused.value.remedy) == bool(NEVER[name] or name in FORCEABLE)


def test_everything_that_moved_is_named_at_once():
    """All differences stand in one refusal."""
    moved = compare(WAS, NOW, silent)
    with pytest.raises(MovedError) as refused:
        require_leave(moved, (), "run")
    assert set(refused.value.moved) == set(NEVER)


def test_a_force_covers_only_what_it_names():
    """What is forced by name goes on; what moved beside it is still refused."""
    moved = compare(WAS, {**WAS, "brief": "b" * 64, "pins": "b" * 64}, silent)
    require_leave(moved, ("brief", "pins"), "run")
    with pytest.raises(MovedError) as refused:
        require_leave(moved, ("brief",), "run")
    assert refused.value.moved == ("pins",)


@pytest.mark.parametrize("name", ["population", "scenarios", "seeds", "held_out", "currency"])
def test_what_makes_other_worlds_cannot_be_forced(name: str):
    """To force what is never forceable is a usage error that says why, and what to do."""
    with pytest.raises(UsageError, match=f"--force {name} is not possible: ") as refused:
        require_forceable(("brief", name))
    assert "start another run in another folder" in refused.value.remedy
    assert "brief, ontology, questions" in refused.value.remedy


def test_a_force_of_nothing_is_a_usage_error():
    """A name that is not compared is refused, and the one that was meant is suggested."""
    with pytest.raises(UsageError, match="--force breif names nothing") as refused:
        require_forceable(("breif",))
    assert refused.value.remedy == "Did you mean `brief`?"
    require_forceable(FORCEABLE)


def test_what_is_said_of_one_thing_has_a_limit():
    """However much of one thing moved, what is recorded and shown of it is bounded and counted."""
    (moved,) = compare({"brief": "a"}, {"brief": "b"}, lambda _: (f"f{n}" for n in range(1_000)))
    assert told(moved) == "brief (f0; f1; f2; f3; f4; f5; f6; f7; and 992 more)"
    (moved,) = compare({"brief": "a"}, {"brief": "b"}, lambda _: (f"f{n}" for n in range(8)))
    assert told(moved) == "brief (f0; f1; f2; f3; f4; f5; f6; f7)"


def test_code_is_gathered_by_its_part():
    """Modules are named; files, versions and Python stand with their old and new value."""
    moved = moved_code(
        [
            Difference(part=Part.ENGINE, name="perdure.a", old="1" * 64, new="2" * 64),
            Difference(part=Part.ENGINE, name="perdure.b", new="2" * 64),
            Difference(part=Part.ENGINE, name="perdure.c", old="1" * 64),
            Difference(part=Part.FILES, name="x.csv", old="3" * 64, new="4" * 64),
            Difference(part=Part.PYTHON, name="python", old="3.11", new="3.12"),
            Difference(part=Part.DISTRIBUTIONS, name="msgspec", old="0.22.1", new="0.23.0"),
        ]
    )
    assert [told(one) for one in moved] == [
        "engine (perdure.a; perdure.b is new; perdure.c is gone)",
        "files (x.csv was 333333333333 and is 444444444444)",
        "python (3.11 then, 3.12 now)",
        "distributions (msgspec was 0.22.1 and is 0.23.0)",
    ]


def test_diffs_have_a_limit():
    """However many modules moved, what is shown of their diffs is bounded and counted."""
    moved = compare({"engine": "a"}, {"engine": "b"}, silent)
    diffs = ["\n".join(["line"] * 300) for _ in range(5)]
    with pytest.raises(MovedError) as refused:
        require_leave(moved, (), "run", diffs)
    shown = "\n".join(refused.value.diffs).splitlines()
    assert len(shown) == 402
    assert "... 200 more lines of this diff" in shown
    assert shown[-1] == "... and the diffs of 3 more modules"
