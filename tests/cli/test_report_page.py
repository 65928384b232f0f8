"""A report's page in a real browser: it opens alone, everybody can read it, and it runs nothing."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.analysis.test_html_page import saying
from tests.cli.conftest import PEOPLE, STUDY
from tests.support.browser import NAMES, browser, program, violations
from tests.support.hostile import HOSTILE
from tests.support.sizes import some

from perdure.analysis.html_page import page as html_page
from perdure.cli.entry import execute

WIDTHS = (1280, 360)
MANY = """\
  plain:
    variant: v1
    exposures:
      1: [C1]
  other:
    variant: v1
    exposures:
      2: [C1]
"""
RESCUED = {  # what a study file may hold, which is not everything
    "title: A tiny study": "title: '<script>alert(1)</script> </title> &lt; {text}'",
    "label: Ann": "label: '\"><img src=x onerror=alert(1)>'",
    "text: Ann or Bob?": "text: 'Ann or <b onclick=alert(1)>Bob</b>? [x](javascript:alert(1))'",
}


def written(folder: Path, study: str) -> Path:
    """Run a study with four seeds, and write its page."""
    folder.mkdir()
    (folder / "people.csv").write_text(PEOPLE)
    (folder / "study.yaml").write_text(study.replace("seeds: [1, 2]", "seeds: [1, 2, 3, 4]"))
    assert not execute(["run", str(folder / "study.yaml"), "--out", str(folder / "run"), "--quiet"])
    assert not execute(["report", str(folder / "run"), "--to", str(folder / "page.html")])
    return folder / "page.html"


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Write pages before there is a browser: a sound study's, a hostile one's, all blocks."""
    base = tmp_path_factory.mktemp("pages")
    study = STUDY.replace("noise: 0.1", "noise: 1.5")
    study = study.replace(
        "0: left", "0: as far left as anybody in the whole town remembers having been"
    )
    before, _, after = study.partition("scenarios:\n")
    study = f"{before}scenarios:\n{MANY}seeds:{after.partition('seeds:')[2]}"
    hostile = study
    for sound, bad in RESCUED.items():
        assert sound in hostile
        hostile = hostile.replace(sound, bad)
    blocks = base / "blocks.html"
    blocks.write_text(
        html_page([block for text in HOSTILE for block in saying(text)]), encoding="utf-8"
    )
    return {
        "sound": written(base / "sound", study),
        "hostile": written(base / "hostile", hostile),
        "blocks": blocks,
    }


@pytest.fixture(scope="module")
def chromium(pages: dict[str, Path]) -> Iterator[Any]:
    """Start one browser for all tests of this module."""
    with browser() as started:
        yield started


class Watched:
    """A page that is open, and all that it did that it should not."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.requests: list[str] = []
        self.answered: list[str] = []
        self.refused: dict[str, str | None] = {}
        self.said: list[str] = []
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("requestfinished", lambda request: self.answered.append(request.url))
        page.on("requestfailed", lambda one: self.refused.update({one.url: one.failure}))
        page.on("console", lambda message: self.said.append(message.text))
        page.on("pageerror", lambda error: self.said.append(str(error)))
        page.on("dialog", self._dialog)

    def _dialog(self, dialog: Any) -> None:
        self.said.append(f"dialog: {dialog.message}")
        dialog.dismiss()


@pytest.fixture
def opened(chromium: Any, pages: dict[str, Path]) -> Iterator[Any]:
    """Open a page, as wide and in such colours as is asked for."""
    contexts = []

    def open_it(name: str, width: int = 1280, scheme: str = "light") -> Watched:
        context = chromium.new_context(
            viewport={"width": width, "height": 800}, color_scheme=scheme, bypass_csp=False
        )
        contexts.append(context)
        watched = Watched(context.new_page())
        watched.page.goto(pages[name].as_uri())
        return watched

    yield open_it
    for context in contexts:
        context.close()


@pytest.mark.parametrize("name", ["sound", "hostile", "blocks"])
def test_it_asks_for_nothing_and_says_nothing(opened, pages, name):
    """One request, for the file itself; no message, no error, no dialog."""
    watched = opened(name)
    watched.page.wait_for_timeout(200)
    assert watched.requests == [pages[name].as_uri()]
    assert watched.said == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", some(["blocks", "sound"], 2))
def test_everybody_can_read_it(opened, name, width, scheme):
    """axe-core finds nothing wrong, with all that is closed opened."""
    page = opened(name, width, scheme).page
    page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    assert violations(page) == []


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", ["sound", "hostile", "blocks"])
def test_it_never_scrolls_sideways(opened, name, width):
    """Only what is too wide does, inside itself, and its keyboard reaches it."""
    page = opened(name, width).page
    page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    wide, room = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert wide <= room
    scrolling = page.evaluate(
        "[...document.querySelectorAll('.scroll')].filter(e => e.scrollWidth > e.clientWidth)"
        ".map(e => e.tabIndex)"
    )
    assert set(scrolling) <= {0}
    if name == "sound" and width == min(WIDTHS):
        assert scrolling


def test_no_text_is_too_small_on_a_phone(opened):
    """Eleven pixels as they come out, in pictures too."""
    page = opened("sound", 360).page
    page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    sizes = page.evaluate(
        """[...document.querySelectorAll('body *')]
        .filter(e => [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim())
            && e.getClientRects().length && !e.closest('title, desc'))
        .map(e => {
            const size = parseFloat(getComputedStyle(e).fontSize);
            const drawing = e.closest('svg');
            if (!drawing) return size;
            return size * drawing.getBoundingClientRect().width / drawing.viewBox.baseVal.width;
        })"""
    )
    assert len(sizes) > 100
    assert min(sizes) >= 11


def test_nothing_in_a_picture_is_cut_off_or_lies_over_another(opened):
    """Every word of a picture is inside of it, and readable."""
    page = opened("sound", 360).page
    overlaps = page.evaluate(
        """[...document.querySelectorAll('.panels svg')].flatMap(svg => {
            const frame = svg.getBoundingClientRect();
            const boxes = [...svg.querySelectorAll('text')].map(t =>
                [t.textContent, t.getBoundingClientRect()]);
            const out = boxes.filter(([, b]) => b.left < frame.left - 1 || b.right > frame.right + 1
                || b.top < frame.top - 1 || b.bottom > frame.bottom + 1).map(([t]) => `cut: ${t}`);
            boxes.forEach(([t, a], i) => boxes.slice(i + 1).forEach(([u, b]) => {
                const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
                const down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
                if (across > 1 && down > 3) out.push(`over: ${t} and ${u}`);
            }));
            return out;
        })"""
    )
    assert overlaps == []
    assert page.locator(".panels svg").count() >= 4


def test_a_picture_shows_what_the_study_has(opened):
    """Shares by wave, changes, differences, and what was predicted beside what is real."""
    page = opened("sound").page
    captions = "\n".join(page.locator("figcaption").all_inner_texts())
    for said in ("shares by tick", "change from first", "difference from", "predicted and real"):
        assert said in captions
    for kind in ("line", "whisker", "band", "each", "bar", "dot", "hollow", "real"):
        assert page.locator(f".panels svg .{kind}").count(), kind


def test_what_a_study_says_is_read_and_not_obeyed(opened):
    """Its words are on the page as they are, and made nothing of it."""
    watched = opened("hostile")
    page = watched.page
    assert "<script>alert(1)</script> </title>" in page.locator("h1").inner_text()
    assert page.title().startswith("Report of tiny: <script>alert(1)</script>")
    assert '"><img src=x onerror=alert(1)>' in page.locator(".findings").inner_text()
    assert page.locator("script, img, iframe, object, embed, form, input, link, base").count() == 0
    assert page.locator("b[onclick]").count() == 0
    for name in ("hostile", "blocks"):
        page = opened(name).page
        assert page.locator("#planted, script, img").count() == 0
        links = page.evaluate("[...document.links].map(one => one.getAttribute('href'))")
        assert links
        assert all(one.startswith("#s") for one in links)


def test_even_what_gets_in_runs_nothing(opened):
    """The policy stands when escaping would not: a script, a style, a picture that are put in."""
    watched = opened("sound")
    watched.page.evaluate(
        """() => {
            const put = document.createElement('div');
            document.body.append(put);
            put.innerHTML = '<img src="http://192.0.2.1/x.png" onerror="window.ran = 1">'
                + '<p style="position:fixed">x</p><iframe src="http://192.0.2.1/"></iframe>';
            const script = document.createElement('script');
            script.textContent = 'window.ran = 1';
            document.body.append(script);
        }"""
    )
    watched.page.wait_for_timeout(300)
    assert watched.page.evaluate("window.ran") is None
    assert [url for url in watched.answered if not url.startswith("file:")] == []
    assert watched.refused["http://192.0.2.1/x.png"] == "csp"
    assert any("Content Security Policy" in one for one in watched.said)


def test_contents_lead_to_their_sections(opened):
    """Every entry goes to a heading that says the same; every id is there once."""
    page = opened("sound").page
    for link in page.locator("nav a").all():
        target = link.get_attribute("href")
        assert page.locator(f"h2{target}").inner_text() == link.inner_text()
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map(one => one.id)")
    assert len(ids) == len(set(ids))


def test_paper_has_all_of_it(opened, tmp_path):
    """What is closed on the screen is open on paper, and the contents stay behind."""
    reader = program("pdftotext")
    page = opened("sound").page
    paper = tmp_path / "paper.pdf"
    page.pdf(path=str(paper), prefer_css_page_size=True)
    shown = subprocess.run(
        [reader, "-layout", paper, "-"], capture_output=True, text=True, check=True
    ).stdout
    closed = page.locator("details").first
    assert not closed.evaluate("one => one.open")
    for word in ("Worlds", "by purpose", "Report of tiny", "Which worlds can be compared"):
        assert word in shown
    assert "CONTENTS" not in shown.upper()


def test_without_a_browser_the_tests_say_so(monkeypatch):
    """They are skipped with a reason, and fail where one is said to be there."""
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("PERDURE_BROWSER", raising=False)
    with pytest.raises(pytest.skip.Exception, match="needs a browser"):
        program(*NAMES)
    monkeypatch.setenv("PERDURE_BROWSER", "required")
    with pytest.raises(pytest.fail.Exception, match="required"):
        program(*NAMES)
