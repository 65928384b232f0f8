"""Proves that YAML is read as bounded text with lines, and that every trick of it is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.study.findings import Findings
from perdure.study.nodes import Items, Node, Scalar, Table
from perdure.study.yaml_reader import BYTES_MAX, LINES_MAX, NODES_MAX, read_yaml


def read(data: bytes) -> tuple[Node | None, list[tuple[int, str]]]:
    """Read bytes and list the problems by line."""
    found = Findings("study.yaml")
    node = read_yaml(data, found)
    return node, [(problem.line, problem.wrong) for problem in found.listed()]


@pytest.mark.parametrize(
    "written",
    [
        "no",
        "yes",
        "on",
        "null",
        "~",
        "1:30",
        "0x10",
        "0o7",
        "1_000",
        ".5",
        "1e3",
        ".nan",
        "2001-01-01",
    ],
)
def test_a_plain_scalar_stays_the_text_that_was_written(written: str) -> None:
    """A plain scalar stays the text that was written."""
    node, problems = read(f"key: {written}\n".encode())
    assert problems == []
    assert isinstance(node, Table)
    assert node.entries[0].node == Scalar(1, written)


def test_every_node_knows_its_line() -> None:
    """Every node knows its line."""
    node, problems = read(b"# first\na: 1\nb:\n  - x\n  - y\nc: |\n  text\nd: {e: 1,\n  f: 2}\n")
    assert problems == []
    assert isinstance(node, Table)
    assert [(entry.key, entry.line) for entry in node.entries] == [
        ("a", 2),
        ("b", 3),
        ("c", 6),
        ("d", 8),
    ]
    items = node.entries[1].node
    assert isinstance(items, Items)
    assert [item.line for item in items.nodes] == [4, 5]
    flow = node.entries[3].node
    assert isinstance(flow, Table)
    assert [entry.line for entry in flow.entries] == [8, 9]


def test_a_byte_order_mark_and_windows_line_ends_are_fine() -> None:
    """A byte order mark and windows line ends are fine."""
    node, problems = read("\ufeffa: 1\r\nb: 2\r\n".encode())
    assert problems == []
    assert isinstance(node, Table)
    assert [(entry.key, entry.line) for entry in node.entries] == [("a", 1), ("b", 2)]


BOMB = b"a: &a [x, x]\nb: &b [*a, *a, *a]\nc: [*b, *b, *b]\n"


@pytest.mark.parametrize(
    ("data", "line", "says"),
    [
        (b"", 1, "empty"),
        (b"# only a comment\n", 1, "empty"),
        (b"a: 1\nb: *x\n", 2, "alias `*x`"),
        (b"a: 1\nb: &x 1\n", 2, "anchor `&x`"),
        (b"a: !!python/object/apply:os.system [echo]\n", 1, "tag"),
        (b"a: 1\nb: !mine 1\n", 2, "tag `!mine`"),
        (b"a: 1\n!!str b: 1\n", 2, "tag"),
        (b"a: 1\nb: 2\na: 3\n", 3, "`a` is already on line 1"),
        (b"a: 1\n'a': 3\n", 2, "already on line 1"),
        (b"? [1, 2]\n: 3\n", 1, "key is a list"),
        (b"a: 1\n<<: {b: 2}\n", 2, "merge key `<<`"),
        (b"a: {<<: [{b: 2}], c: 1}\n", 1, "merge key `<<`"),
        ("a: 1\n".encode("utf-16"), 1, "UTF-8"),
        ("a: 1\n".encode("utf-16-be"), 1, r"'\x00'"),
        ("a: 1\nb: x\u0085y\n".encode(), 2, r"'\x85'"),
        (b"a: 1\n---\nb: 1\n", 2, "second document"),
        (b"%YAML 1.1\n---\na: 1\n", 1, "directive"),
        (b"a: [1\nb: 2\n", 2, "not YAML"),
        (b"a:\n\t- 1\n", 2, "not YAML"),
        (b"a: 'x\n", 2, "not YAML"),
        (b"a: 1\nb: \xff\n", 2, "UTF-8"),
        (b"a: 1\nb: \x00\n", 2, r"'\x00'"),
        (b"a: 1\nb: \x1b[2J\n", 2, r"'\x1b'"),
        (b"a: 1\rb: 2\n", 1, r"'\r'"),
        ("a: 1\nb: x\u2028y\n".encode(), 2, r"'\u2028'"),
        (b'a: 1\nb: "\\x1b[2J"\n', 2, r"'\x1b'"),
        (b'a: 1\nb: "\\ud800"\n', 2, r"'\ud800'"),
        (b'a: 1\nb: "\\UFFFFFFFF"\n', 2, "not YAML"),
        (b"[" * 500, 1, "20 levels"),
        (b"- " * 500, 1, "20 levels"),
        (b"[" + b"x," * (NODES_MAX + 1) + b"]", 1, "values"),
        (b"a" * (BYTES_MAX + 1), 0, "bytes"),
        (b"\n" * (LINES_MAX + 1), 0, "lines"),
    ],
)
def test_each_trick_is_one_problem_on_its_line(data: bytes, line: int, says: str) -> None:
    """Each trick is one problem on its line."""
    _, problems = read(data)
    assert len(problems) == 1, problems
    assert problems[0][0] == line
    assert says in problems[0][1]


def test_a_merge_key_in_quotes_is_a_key() -> None:
    """A merge key in quotes is a key like any other."""
    node, problems = read(b"'<<': x\n")
    assert problems == []
    assert isinstance(node, Table)
    assert node.entries[0].key == "<<"


def test_an_alias_bomb_is_refused_at_every_anchor_and_alias() -> None:
    """An alias bomb is refused at every anchor and alias."""
    _, problems = read(BOMB)
    assert [line for line, _ in problems] == [1, 2, 2, 3]
    assert sum("anchor" in wrong for _, wrong in problems) == 2


@given(st.binary(max_size=300))
def test_any_bytes_give_a_tree_or_a_problem(data: bytes) -> None:
    """Any bytes give a tree or a problem."""
    node, problems = read(data)
    assert node is not None or problems


@given(st.text(alphabet="{}[]&*!|>%-:?,#'\"\\ \nabUFx0", max_size=80))
def test_any_punctuation_gives_a_tree_or_a_problem(text: str) -> None:
    """Any punctuation gives a tree or a problem."""
    node, problems = read(text.encode())
    assert node is not None or problems


@pytest.mark.parametrize("written", ["q: {text: Are you for it?, a: b}", "q: [Are you?, no]"])
def test_a_question_mark_within_brackets_is_named(written: str) -> None:
    """There YAML takes it for its own: it is said what to put in quotes."""
    found = Findings("study.yaml")
    assert read_yaml(written.encode(), found) is None
    (problem,) = found.listed()
    assert "a text that has a `?` in quotes" in problem.remedy
    assert read_yaml(b'q: {text: "Are you for it?", a: b}', Findings("x")) is not None
