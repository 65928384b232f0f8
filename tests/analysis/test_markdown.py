"""A Markdown report is text: nothing in it becomes a link, a picture, code or HTML."""

from __future__ import annotations

import re

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token
from tests.analysis.test_html_page import saying
from tests.support.hostile import HOSTILE

from perdure.analysis.document import Heading, Paragraph, Table, Verbatim
from perdure.analysis.markdown import MARK, markdown
from perdure.base.text import printable

SHAPES = {"link_open", "image", "code_inline", "html_inline", "s_open", "autolink"}


def parsed(text: str) -> list[Token]:
    """Read Markdown with tables and strike-through, HTML allowed."""
    return MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).parse(text)


def shape(tokens: list[Token]) -> list[str]:
    """Name the blocks of a document."""
    return [token.type for token in tokens]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_whatever_is_written_is_text(text):
    """The blocks are those of the same document that says something plain."""
    tokens, plain = parsed(markdown(saying(text))), parsed(markdown(saying("plain")))
    assert shape(tokens) == shape(plain)
    inline = [child for token in tokens for child in token.children or ()]
    assert not SHAPES & {token.type for token in inline}
    (mark,) = (token for token in tokens if token.type == "html_block")
    assert mark.content.startswith(MARK.strip())
    said = " ".join("".join(t.content if t.type == "text" else " " for t in inline).split())
    wanted = " ".join(printable(text).split())
    assert said.replace("\u200b", "").count(wanted) >= 10
    for token in tokens:
        if token.type == "fence":
            assert token.content == printable(text) + "\n"


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_no_character_that_drives_anything_is_left(text):
    """Control characters and those that reorder text are shown, not obeyed."""
    written = markdown(saying(text))
    assert written == printable(written)


@pytest.mark.parametrize(
    "start", ["# a", "- a", "+ a", "* a", "= a", "1. a", "12) a", "> a", "~~~"]
)
def test_a_paragraph_stays_one_however_it_begins(start):
    """What would begin a list, a heading, a quote or code is escaped."""
    tokens = parsed(markdown([Paragraph(text="one"), Paragraph(text=start)]))
    assert shape(tokens)[1:] == ["paragraph_open", "inline", "paragraph_close"] * 2
    said = "".join(child.content for child in tokens[-2].children or ())
    assert said == start


@pytest.mark.parametrize("url", ["http://a.example/", "https://a.example", "www.example.com"])
def test_no_address_is_made_a_link_by_a_generous_reader(url):
    """GitHub makes a link of a bare address; a backslash is in its way."""
    assert url not in markdown([Paragraph(text=url)])
    assert re.search(r"\\[:.]", markdown([Paragraph(text=url)]))


def test_tables_keep_their_columns():
    """A bar in a cell is no border, and numbers stand at the right."""
    written = markdown([Heading(text="A"), Table(columns=("a|b", "n"), rows=(("x|y\nz", "1"),))])
    assert "\n## A\n\nTable 1\n\n| a\\|b | n |\n| --- | ---: |\n| x\\|y z | 1 |\n" in written


def test_a_fence_is_longer_than_what_it_holds():
    """Lines with fences of their own stay inside."""
    assert "````text\n```\nx\n````\n" in markdown([Verbatim(text="```\nx")])
