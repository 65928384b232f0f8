"""No path of a call leads out of the workspace, whatever it is made of."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perdure.agent.drive.tools.workspace import PathRefusedError, Workspace


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """Make a workspace with links of every kind, and something outside."""
    base = tmp_path_factory.mktemp("base")
    root = base / "work"
    (root / "sub" / "deep").mkdir(parents=True)
    (root / ".git").mkdir()
    (root / "a.md").write_text("a")
    (base / "outside.md").write_text("secret")
    (root / "inner").symlink_to("sub/deep")
    (root / "out").symlink_to("..")
    (root / "out-file").symlink_to(base / "outside.md")
    (root / "loop").symlink_to("loop")
    (root / "history").symlink_to(".git")
    (root / "sub" / "up").symlink_to("../sub")
    return Workspace(root)


REFUSED = [
    *("/etc/passwd", "../outside.md", "sub/../../outside.md", "sub/..", "..", "~/x", "a\0b", ""),
    *("out/outside.md", "out-file", "out/work/../outside.md", "sub/up/../../x", "..\\outside.md"),
]


@pytest.mark.parametrize("text", REFUSED)
def test_what_leads_out_is_refused(workspace: Workspace, text: str) -> None:
    """By its parts, by being absolute, or by a link."""
    with pytest.raises(PathRefusedError):
        workspace.at(text)


@pytest.mark.parametrize(
    ("text", "name"),
    [("a.md", "a.md"), ("./sub//new.md", "sub/new.md"), ("inner/x", "sub/deep/x"), (".", ".")],
)
def test_a_path_within_is_named_by_where_it_really_is(
    workspace: Workspace, text: str, name: str
) -> None:
    """A link within the workspace is followed, so that a policy over paths sees through it."""
    assert workspace.name_of(workspace.at(text)) == name


def test_the_last_part_can_stand_for_itself(workspace: Workspace) -> None:
    """A link to outside can be deleted, and what it leads to is not touched."""
    place = workspace.at("out-file", followed=False)
    assert place == workspace.root / "out-file"
    with pytest.raises(PathRefusedError):
        workspace.at("out/outside.md", followed=False)


@pytest.mark.parametrize(
    "text", [".git/config", "history/hooks/x", ".GIT/config", "sub/.git/x", ".git"]
)
def test_the_history_is_not_written(workspace: Workspace, text: str) -> None:
    """It is read like anything else."""
    workspace.at(text)
    with pytest.raises(PathRefusedError, match="history"):
        workspace.at(text, writes=True)


PARTS = st.sampled_from(
    [
        "a.md",
        "sub",
        "..",
        ".",
        "out",
        "inner",
        "loop",
        "history",
        "",
        "up",
        "deep",
        "~",
        "x" * 300,
        "ü",
    ]
)


@given(st.lists(PARTS, max_size=6).map("/".join))
@settings(max_examples=500)
def test_whatever_is_let_through_is_within(workspace: Workspace, text: str) -> None:
    """No combination of links and parts gets out."""
    try:
        place = workspace.at(text)
    except PathRefusedError:
        return
    real = Path(os.path.realpath(place))
    assert real == workspace.root or workspace.root in real.parents
