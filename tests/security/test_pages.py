"""A hostile document, folder name or query on every page of the app: shown as text, nothing run, nothing fetched."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from kbapp.service.knowledge_base import KnowledgeBase
from kbapp.surfaces.ui.context import NO_FRAME, Page
from kbapp.surfaces.ui.kb_markdown import document_html
from tests.knowledge import write_documents
from tests.surfaces.ui.conftest import open_page_of
from tests.surfaces.ui.test_knowledge_base_detail import open_document, open_tab

ROOT = Path(__file__).parents[2]

IMAGE, LINK, COLOUR = "![x](http://evil.example/p.png)", "[y](javascript:alert(1))", ":red[evil]"
HTML = "<img src=http://evil.example/q.png onerror=alert(1)><script>alert(1)</script>"
HOSTILE = f"{IMAGE} {LINK} {COLOUR} {HTML}"
FOLDER = "![x](evil) **b** <img src=x onerror=alert(1)>"
PATH = f"{FOLDER}/![x](evil) <b>.md"
TEXT = (
    f"---\ntitle: \"{HOSTILE}\"\nkeywords: [\"hostileword\", \"{COLOUR}\"]\nsummary: \"{HOSTILE}\"\n---\n"
    f"# {HOSTILE}\n\n## {HOSTILE}\n\nhostileword {HOSTILE}\n\n<iframe src=http://evil.example></iframe>\n\n"
    '<div style="background:url(http://evil.example/r.png)" onclick=alert(1)>x</div>\n\n'
    "[ref]: http://evil.example/ref.png\n\n![r][ref] <a href=http://evil.example ping=http://evil.example>a</a>\n\n"
    "```html\n<svg onload=alert(1)>\n```\n\n$\\href{javascript:alert(1)}{x}$ <style>@import 'http://evil.example'</style>\n"
)  # fmt: skip
SESSION = f"s` {IMAGE} {COLOUR}"
ALLOWED_TAGS = frozenset(
    "a b blockquote br code div em h1 h2 h3 h4 h5 h6 header hr li mark ol p pre section small span strong table"
    " tbody td th thead tr ul wbr i s".split()
)


class Shown(HTMLParser):
    """The tags of a piece of HTML, and the attributes that would run or fetch something."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.dangers: list[tuple[str, str | None]] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        for name, value in attrs:
            is_link = name == "href" and re.match("https?://|mailto:|#", value or "")
            if (
                name.startswith("on")
                or name in {"src", "srcset", "ping", "srcdoc", "action", "poster"}
                or (name == "href" and not is_link)
                or (name == "style" and "url" in (value or ""))
            ):
                self.dangers.append((name, value))


def protos(block: Any) -> Iterator[Any]:
    """What the server sends of every element, down to the last one."""
    for child in getattr(block, "children", {}).values():
        if getattr(child, "proto", None) is not None:
            yield child.proto
        yield from protos(child)


def check(page: AppTest) -> None:
    assert not page.exception
    for proto in protos(page._tree):
        kind = type(proto).__name__
        if kind == "Html":
            check_html(proto)
        for field in ("body", "label", "help") if kind != "Html" else ():
            text = getattr(proto, field, "")
            if isinstance(text, str) and kind not in {"TextArea", "TextInput", "Code"}:
                outside_code = re.sub("`[^`]*`", "", text)
                assert not re.search(r"(?<!\\)!\[x|(?<!\\)\[y|(?<!\\):red\[evil", outside_code), (kind, text)
        assert not getattr(proto, "allow_html", False)


def check_html(proto: Any) -> None:
    if proto.unsafe_allow_javascript:
        assert proto.body == NO_FRAME
    elif not proto.body.startswith("<style>"):
        shown = Shown(proto.body)
        assert shown.tags <= ALLOWED_TAGS, proto.body
        assert not shown.dangers, proto.body


@pytest.fixture
def hostile(knowledge_base: KnowledgeBase) -> KnowledgeBase:
    write_documents(Path("knowledge_base"), {PATH: TEXT})
    knowledge_base.reindex()
    for query in ("hostileword", f"hostileword {HOSTILE}", HOSTILE):
        knowledge_base.lookup(query, session_id=SESSION)
    assert PATH in [record.path for record in knowledge_base.documents()]
    return knowledge_base


@pytest.mark.parametrize("page", list(Page))
def test_no_page_runs_or_fetches_what_a_document_or_a_query_says(
    app: AppTest,
    hostile: KnowledgeBase,
    page: Page,
) -> None:
    app.query_params["session"] = SESSION
    shown = open_page_of(app, page)
    check(shown)
    shown.query_params["session"] = SESSION
    check(shown.run())


def test_no_tab_of_a_document_does_and_all_of_them_show_it(app: AppTest, hostile: KnowledgeBase) -> None:
    page = open_document(app, PATH)
    check(page)
    assert "kb-document" in "".join(element.value for element in page.html)
    for label in ("Frontmatter", "Chunks", "Given"):
        check(open_tab(page, label))
        assert "hostileword" in str(list(protos(page._tree)))
    check(page.button(key="kb_delete").click().run())


def test_the_preview_of_a_document_holds_no_image_and_links_say_nothing_of_where_they_were_clicked() -> None:
    html = document_html(TEXT + "\n[safe](http://example.org)")
    shown = Shown(html)
    assert shown.tags <= ALLOWED_TAGS
    assert not shown.dangers
    assert 'href="http://example.org" target="_blank" rel="noopener noreferrer"' in html


def test_no_source_of_the_app_asks_for_raw_html_or_script() -> None:
    sources = [*(ROOT / "kbapp/surfaces/ui").rglob("*.py"), *(ROOT / "pages").glob("*.py"), ROOT / "app.py"]
    texts = [source.read_text(encoding="utf-8") for source in sources]
    assert not any("unsafe_allow_html" in text or "components.html" in text for text in texts)
    assert sum(text.count("unsafe_allow_javascript") for text in texts) == 1
