"""One document on the page: its tabs, links to it, its deletion, and the page when something cannot answer."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from kbapp.domain.documents import DocumentStatus
from kbapp.service.knowledge_base import KnowledgeBase
from kbapp.surfaces.ui.context import NO_FRAME, Page
from kbapp.surfaces.ui.kb_detail import TABS
from kbapp.surfaces.ui.kb_parts import SHOWN_CHUNKS
from kbapp.surfaces.ui.kb_table import TABLE
from tests.embedding import TinyEmbedder
from tests.surfaces.ui.conftest import open_page_of
from tests.surfaces.ui.test_knowledge_base import CACHE, choose, html, paths, save, words

PAYMENT = "api/payment.md"
HOSTILE = "api/a*b_[x](javascript:1)<img>$y$ :red[z].md"


def open_document(app: AppTest, path: str) -> AppTest:
    """The page by a link to a document."""
    open_page_of(app, Page.KNOWLEDGE_BASE)
    app.query_params["document"] = path
    return app.run()


def open_tab(page: AppTest, label: str) -> AppTest:
    page.session_state[TABS] = next(tab.label for tab in page.tabs if label in tab.label)
    return page.run()


@pytest.mark.parametrize("link", [PAYMENT, f"knowledge_base/{PAYMENT}"])
def test_a_link_opens_a_document_and_marks_its_row(app: AppTest, link: str) -> None:
    page = open_document(app, link)
    assert page.query_params["document"] == PAYMENT
    assert page.session_state[TABLE]["selection"]["rows"] == [0]
    assert "<h2>超时类错误</h2>" in html(page)
    page.text_input(key="kb_search").set_value("接入层").run()
    assert page.session_state[TABLE]["selection"]["rows"] == []
    assert "支付网关错误码" in [each.value for each in page.header]


def test_a_link_to_a_document_that_is_gone_says_so(app: AppTest) -> None:
    page = open_document(app, "api/:red[gone].md")
    assert "There is no document api/:red[gone].md any more" in page.warning[0].value.replace("\\", "")
    assert ":red[" not in page.warning[0].value


def test_the_tabs_show_frontmatter_and_chunks(app: AppTest) -> None:
    page = open_document(app, PAYMENT)
    open_tab(page, "Frontmatter")
    assert "ERR_TIMEOUT, 支付网关" in html(page)
    open_tab(page, "Chunks")
    assert "支付网关错误码 &gt; 超时类错误" in html(page)
    assert "lines 7–11" in html(page)
    open_document(app, "general.md")
    open_tab(page, "Frontmatter")
    assert "has no valid frontmatter" in words(page)
    assert "found by meaning (L1) only" in words(page)


def test_many_chunks_come_on_pages(app: AppTest, knowledge_base: KnowledgeBase) -> None:
    text = "# Long\n\n" + "\n\n".join(f"## Part {number}\n\nbody {number}." for number in range(SHOWN_CHUNKS + 5))
    knowledge_base.upload("long.md", text.encode(), "api")
    page = open_tab(open_document(app, "api/long.md"), "Chunks")
    assert html(page).count("<section>") == SHOWN_CHUNKS
    page.pagination[0].set_value(2).run()
    assert html(page).count("<section>") == 5


def test_the_sessions_in_which_a_document_was_given_are_links(app: AppTest, knowledge_base: KnowledgeBase) -> None:
    page = open_tab(open_document(app, PAYMENT), "Given")
    assert "No session was given text" in words(page)
    given = knowledge_base.lookup("ERR_TIMEOUT", session_id="s-1")
    knowledge_base.lookup("Nginx", session_id="s-2")
    page.run()
    links = [link for link in page.get("page_link") if link.proto.query_string]
    assert [link.proto.query_string for link in links] == ["session=s-1"]
    assert given.invocation_id in words(page)
    assert "PRECISE" in words(page)


def test_a_document_is_deleted_after_the_question_and_only_then(app: AppTest, knowledge_base: KnowledgeBase) -> None:
    page = open_document(app, PAYMENT)
    page.button(key="kb_delete").click().run()
    assert "2 chunks with their vectors" in words(page)
    page.button(key="kb_delete_no").click().run()
    assert PAYMENT in paths(knowledge_base)
    page.button(key="kb_delete").click().run()
    page.button(key="kb_delete_yes").click().run()
    assert not page.exception
    assert PAYMENT not in paths(knowledge_base)
    assert not Path("knowledge_base", PAYMENT).exists()
    assert "is deleted" in page.success[0].value
    assert "document" not in page.query_params
    assert not knowledge_base.lookup("ERR_TIMEOUT").primary


def test_deleting_what_another_tab_deleted_is_a_sentence(app: AppTest, knowledge_base: KnowledgeBase) -> None:
    page = open_document(app, PAYMENT)
    page.button(key="kb_delete").click().run()
    knowledge_base.delete(PAYMENT)
    page.button(key="kb_delete_yes").click().run()
    assert not page.exception
    assert "There is no document" in page.warning[0].value
    knowledge_base.upload("payment.md", CACHE, "api")
    page.run()
    assert "kb_delete_yes" not in [button.key for button in page.button]


def test_hostile_names_and_contents_are_shown_as_they_are_written(app: AppTest, knowledge_base: KnowledgeBase) -> None:
    text = (
        "---\ntitle: ':red[t] **b** $x$'\nkeywords: ['<b>', '[k](javascript:1)']\n---\n![i](https://evil.example/x)\n"
    )
    Path("knowledge_base", HOSTILE).write_text(text + "<script>alert(1)</script> :blue[c]\n", encoding="utf-8")
    knowledge_base.reindex()
    page = open_document(app, HOSTILE)
    assert "<script" not in html(page).replace(NO_FRAME, "")
    assert "<img" not in html(page)
    for label in ("Frontmatter", "Chunks", "Given"):
        open_tab(page, label)
        assert not page.exception
        assert "<b>" not in html(page).replace("<b>:red[t] **b** $x$</b>", "")
    page.button(key="kb_delete").click().run()
    for raw in (":red[", "$x$", "<img>", "**b**"):
        assert raw not in words(page)
    page.button(key="kb_delete_yes").click().run()
    assert HOSTILE not in paths(knowledge_base)


def test_with_a_model_that_cannot_be_reached_a_file_is_stored_and_its_reason_is_shown(
    app: AppTest, knowledge_base: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TinyEmbedder, "embed_passages", lambda _, texts: np.zeros((len(texts), 4), np.float32))
    page = open_page_of(app, Page.KNOWLEDGE_BASE)
    choose(page, ("cache.md", CACHE))
    save(page)
    [record] = [record for record in knowledge_base.documents() if record.path == "api/cache.md"]
    assert record.status is DocumentStatus.FAILED
    said = words(page)
    assert "**failed**" in said
    assert "stored and will be indexed by the next scan" in said
    assert "Not indexed: 1" in said
    open_document(app, "api/cache.md")
    assert "Not indexed:" in words(page)
