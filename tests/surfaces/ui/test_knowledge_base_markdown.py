"""A document on the screen: Markdown is drawn, and nothing in a file becomes a tag, a script or a request."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kbapp.surfaces.ui.kb_markdown import MAX_CHARACTERS, document_html

TAGS = frozenset(
    "p h1 h2 h3 h4 h5 h6 ul ol li blockquote pre code em strong hr br a table thead tbody tr th td".split()
)
PIECES = [
    "![a](https://evil.example/x.png)",
    "![b][r]",
    "\n\n[r]: https://evil.example/y.png\n\n",
    "[c](javascript:alert(1))",
    "[d](https://ok.example)",
    "<img src=x onerror=alert(1)>",
    "<script>alert(1)</script>",
    "\n<div onclick=x>\n",
    '\n```html"onload=x\n',
    "|a|b|\n|-|-|\n|c|",
    "<https://auto.example>",
    "&lt;img&gt;",
    "<br>",
    "\x00",
    "中文",
    "\n\n",
    "\n- ",
    "\n> ",
    "\n# ",
    *"`*_[]()\"'&\\",
]


class Tags(HTMLParser):
    """What a browser would see."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join))
def test_no_text_makes_a_tag_or_an_attribute_that_the_renderer_does_not_make(text: str) -> None:
    for tag, attributes in Tags(document_html(text)).seen:
        assert tag in TAGS
        assert attributes.keys() <= {"href", "target", "rel", "class", "style", "start"}
        assert (attributes.get("href") or "https://").startswith(("http://", "https://", "mailto:"))
        assert (attributes.get("style") or "text-align:").startswith("text-align:")


def test_an_image_is_its_description_and_its_address_as_text() -> None:
    html = document_html("![a chart](https://evil.example/x.png)")
    assert "<img" not in html
    assert Tags(html).text.strip() == "🖼 a chart (https://evil.example/x.png)"


@pytest.mark.parametrize("text", ["<img src=x>", ":red[x]", "$a$ and $b$", ":material/home:", "<b>bold</b>", "1 -> 2"])
def test_what_is_not_markdown_is_shown_as_it_is_written(text: str) -> None:
    assert Tags(document_html(text)).text.strip() == text


def test_a_link_opens_beside_the_app_and_one_without_a_web_address_is_its_text() -> None:
    [(_, _), (_, attributes)] = Tags(document_html("[docs](https://ok.example/a)")).seen
    assert attributes == {"href": "https://ok.example/a", "target": "_blank", "rel": "noopener noreferrer"}
    assert document_html("[docs](other.md)") == "<p>docs</p>\n"


def test_headings_tables_code_and_line_breaks_are_drawn() -> None:
    html = document_html("## T\n\n|a|b|\n|-|-|\n|c<br>d|e|\n\n```sql\nSELECT 1 < 2\n```\n")
    tags = {tag for tag, _ in Tags(html).seen}
    assert {"h2", "table", "td", "pre", "code", "br"} <= tags
    assert "SELECT 1 &lt; 2" in html


def test_text_below_deep_quotes_is_not_lost_and_a_long_text_is_cut() -> None:
    assert "the end" in document_html("> " * 200 + "the end")
    assert len(Tags(document_html("x" * (MAX_CHARACTERS + 5))).text.strip()) == MAX_CHARACTERS
