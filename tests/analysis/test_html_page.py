"""A page is one inert file: whatever is written in it is text, and nothing in it asks for more."""

from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser

import pytest
from tests.support.hostile import HOSTILE

from perdure.analysis.document import (
    Block,
    Fitting,
    Folded,
    Heading,
    Items,
    Paragraph,
    Table,
    Title,
    Verbatim,
)
from perdure.analysis.html_page import MARK, page
from perdure.analysis.plot import Mark, Panel, Plot, PlotKind, Series
from perdure.base.text import printable

VOID = {"meta", "br"}
DRAWN = {"svg", "title", "desc", "path", "circle", "rect", "text", "g"}
TAGS = (
    {"html", "meta", "title", "style", "body", "main", "header", "h1", "h2", "h3", "p", "nav"}
    | {"ol", "ul", "li", "a", "section", "details", "summary", "div", "table", "caption", "span"}
    | {"thead", "tbody", "tr", "th", "td", "pre", "figure", "figcaption", "b", "br"}
    | DRAWN
)


class Read(HTMLParser):
    """The tags, attributes and text of a page; a tag that does not match fails."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.texts: list[str] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes.extend((tag, name, value or "") for name, value in attrs)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.texts.append(data)


def plot_of(text: str, kind: PlotKind = PlotKind.LINES) -> Plot:
    """Make a plot that says `text` wherever it says anything."""
    marks = tuple(
        Mark(
            value=value, text=text, label=text, at=at, low=0.1, high=0.9, real=0.4, each=(0.2, 0.3)
        )
        for at, value in ((0.0, 0.2), (1.0, 0.8))
    )
    panel = Panel(
        title=text, series=(Series(name=text, marks=marks),) * 2, real=0.5, real_text=text
    )
    return Plot(kind=kind, title=text, panels=(panel,), across=text, note=text, unit=text)


def saying(text: str) -> list[Block]:
    """Make a document of every kind of block that says `text` wherever it says anything."""
    table = Table(columns=(text, "n"), rows=((text, text),) * 2, caption=text)
    return [
        Title(text=text),
        Paragraph(text=text, style="bold"),
        Heading(text=text),
        Items(texts=(text,)),
        Heading(text=text, aside=True),
        Heading(text=text, level=3),
        Paragraph(text=text, style="dim"),
        Verbatim(text=text),
        Folded(text=text),
        table,
        Fitting(wide=table, narrow=table, width=1),
        Table(columns=(text, "n"), rows=((text, text),) * 30),
        *(plot_of(text, kind) for kind in PlotKind),
    ]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_whatever_is_written_is_text(text):
    """No tag and no attribute comes from a text, and all of it can be read."""
    plain, read = Read(page(saying("plain"))), Read(page(saying(text)))
    assert [tag for tag in read.tags if tag != "br"] == [tag for tag in plain.tags if tag != "br"]
    assert set(read.tags) <= TAGS
    names = {(tag, name) for tag, name, _ in plain.attributes}
    assert {(tag, name) for tag, name, _ in read.attributes} == names
    assert not [name for _, name, _ in read.attributes if name.startswith("on") or name == "style"]
    targets = [value for _, name, value in read.attributes if name in {"href", "src"}]
    assert targets
    assert all(re.fullmatch(r"#s\d+", target) for target in targets)
    whole = " ".join("".join(read.texts).split())
    assert whole.count(" ".join(printable(text).split()).replace("\N{NO-BREAK SPACE}", " ")) >= 12


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_no_character_that_drives_anything_is_left(text):
    """Control characters and those that reorder text are shown, not obeyed; it is valid UTF-8."""
    written = page(saying(text))
    assert written == printable(written)
    written.encode("utf-8")


def test_the_policy_forbids_all_but_the_one_style():
    """The hash that the policy names is that of the style, and there is no other."""
    written = page(saying("plain"))
    (style,) = re.findall(r"<style>(.*?)</style>", written, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert (
        f"content=\"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; "
        "form-action 'none'\"" in written
    )
    assert written.index("Content-Security-Policy") < written.index("<title>")
    for asks in ("url(", "@import", "@font-face", "http:", "https:", "<script", "<link"):
        assert asks not in written


def test_the_same_document_is_the_same_page():
    """Nothing of the moment or of the machine is in it."""
    assert page(saying("plain")) == page(saying("plain"))
    assert page([]).startswith(MARK)


def test_what_comes_first_comes_first():
    """The lead, the first section, then what else there is."""
    written = page(saying("plain"))
    order = ["<h1>", 'class="must"', 'id="s1"', 'class="findings"', "<nav", 'id="s2"']
    places = [written.index(one) for one in order]
    assert places == sorted(places)
    assert written.count("<h1>") == 1


def test_tables_say_what_they_are():
    """A table has a number, a caption, headings with their scope, and can be reached by key."""
    (scroll,) = re.findall(
        r'<div class="scroll".*?</div>',
        page([Heading(text="Part"), Table(columns=("a", "b"), rows=(("x", "-2.5"),))]),
        re.DOTALL,
    )
    assert 'role="region" aria-labelledby="t1" tabindex="0"' in scroll
    assert '<caption id="t1">Table 1<span class="vh">: Part</span></caption>' in scroll
    assert '<th scope="col">a</th><th scope="col" class="n">b</th>' in scroll
    assert '<th scope="row" class="whole">x</th><td class="n">\N{MINUS SIGN}2.5</td>' in scroll


def test_long_tables_and_asides_are_closed():
    """What few readers need is there, and out of the way."""
    rows = tuple((str(number),) for number in range(25))
    written = page([Heading(text="Cost", aside=True), Table(columns=("a",), rows=rows)])
    assert written.count("<details>") == 2
    assert "<summary>Table 1: 25 rows</summary>" in written
    assert '<summary><h2 id="s1">Cost</h2></summary>' in written
    assert "<details>" not in page([Heading(text="Cost"), Table(columns=("a",), rows=rows[:24])])
