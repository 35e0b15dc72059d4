"""The page of the knowledge base: upload, table, detail, delete, reindex; and that no rerun repeats anything."""

from __future__ import annotations

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from kbapp.domain.documents import DocumentStatus
from kbapp.service.knowledge_base import KnowledgeBase
from kbapp.surfaces.ui import kb_upload, kb_work
from kbapp.surfaces.ui.context import Page
from kbapp.surfaces.ui.state import SESSION
from tests.knowledge import document
from tests.surfaces.ui.conftest import open_page_of

CACHE = document("缓存击穿", "ERR_CACHE, 击穿", "## 处理\n\n加互斥锁。").encode()
PAYMENT = "api/payment.md"


@pytest.fixture
def page(app: AppTest) -> AppTest:
    """The page, open."""
    return open_page_of(app, Page.KNOWLEDGE_BASE)


def choose(page: AppTest, *files: tuple[str, bytes], category: str = "api") -> AppTest:
    """The files dropped, and the category chosen; nothing is saved."""
    page.selectbox(key="kb_category").set_value(category)
    page.file_uploader[0].set_value([(name, data, "text/markdown") for name, data in files])
    return page.run()


def finish(page: AppTest) -> AppTest:
    """The page once the work that was started is done."""
    if kb_work.JOB in page.session_state:
        assert page.session_state[kb_work.JOB].wait(30)
        page.run()
    assert not page.exception
    return page


def save(page: AppTest) -> AppTest:
    return finish(page.button(key="kb_save").click().run())


def words(page: AppTest) -> str:
    """Everything that the page says."""
    elements = [*page.markdown, *page.caption, *page.info, *page.warning, *page.error, *page.success, *page.header]
    return "\n".join(element.value for element in elements)


def html(page: AppTest) -> str:
    return "\n".join(element.value for element in page.html)


def paths(kb: KnowledgeBase) -> list[str]:
    return [record.path for record in kb.documents()]


def test_an_upload_shows_what_it_becomes_before_anything_is_saved(page: AppTest, knowledge_base: KnowledgeBase) -> None:
    before = paths(knowledge_base)
    choose(page, ("cache.md", CACHE))
    assert "ERR_CACHE, 击穿" in html(page)
    assert "缓存击穿 &gt; 处理" in html(page)
    assert "api/cache.md" in words(page).replace("\\", "")
    assert paths(knowledge_base) == before


def test_a_saved_file_is_indexed_and_told_of_once_and_the_uploader_is_empty(
    page: AppTest, knowledge_base: KnowledgeBase
) -> None:
    choose(page, ("cache.md", CACHE))
    save(page)
    [record] = [record for record in knowledge_base.documents() if record.path == "api/cache.md"]
    assert record.status is DocumentStatus.INDEXED
    assert "1 of 1 file" in words(page)
    assert page.file_uploader[0].value == []
    page.run()
    assert "1 of 1 file" in words(page)
    assert [each.updated_at for each in knowledge_base.documents() if each.path == record.path] == [record.updated_at]
    page.button(key="kb_dismiss").click().run()
    assert "1 of 1 file" not in words(page)


def test_after_an_upload_one_click_looks_it_up_in_this_session(page: AppTest, knowledge_base: KnowledgeBase) -> None:
    choose(page, ("cache.md", CACHE))
    save(page)
    page.button(key="kb_look_up").click().run()
    assert not page.exception
    [row] = knowledge_base.telemetry()
    assert (row.query, row.session_id, row.found) == ("ERR_CACHE", page.session_state[SESSION], True)


def test_a_new_category_becomes_the_folder(page: AppTest, knowledge_base: KnowledgeBase) -> None:
    choose(page, ("cache.md", CACHE), category="")
    assert "Choose the category first" in words(page)
    page.text_input(key="kb_new_category").set_value("a/b").run()
    assert "is a path" in words(page)
    page.text_input(key="kb_new_category").set_value("运维").run()
    save(page)
    assert "运维/cache.md" in paths(knowledge_base)


def test_another_text_of_the_same_name_is_saved_only_after_the_question(
    page: AppTest, knowledge_base: KnowledgeBase
) -> None:
    choose(page, ("payment.md", CACHE))
    assert page.button(key="kb_save").disabled
    choose(page, ("payment.md", CACHE), ("cache.md", CACHE))
    save(page)
    assert "not replaced" in words(page)
    assert knowledge_base.document(PAYMENT).title == "支付网关错误码"
    choose(page, ("payment.md", CACHE))
    page.toggle[0].set_value(True).run()
    save(page)
    assert "**replaced**" in words(page)
    assert knowledge_base.document(PAYMENT).title == "缓存击穿"


def test_files_beyond_those_that_are_shown_are_replaced_only_after_one_question_for_all(
    page: AppTest, knowledge_base: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kb_upload, "MAX_SHOWN", 1)
    choose(page, ("cache.md", CACHE), ("payment.md", CACHE))
    assert not page.toggle(key="kb_replace_rest").value
    page.toggle(key="kb_replace_rest").set_value(True).run()
    save(page)
    assert knowledge_base.document(PAYMENT).title == "缓存击穿"


def test_what_is_refused_unchanged_identical_or_broken_is_said_per_file(
    page: AppTest, knowledge_base: KnowledgeBase
) -> None:
    payment = knowledge_base.document(PAYMENT)
    same = Path("knowledge_base/api/payment.md").read_bytes()
    choose(
        page,
        ("payment.md", same),
        ("copy.md", same),
        ("broken.md", b"---\ntitle: Error: disk full\n---\ntext\n"),
        ("picture.md", b"\x00\x01\x02\xff"),
        ("COPY.md", b"# twice"),
        (":red[x]*.md", b"# x"),
    )
    save(page)
    said = words(page).replace("\\", "")
    assert "3 of 6 files" in said
    assert "**unchanged** · api/payment.md" in said
    assert "The same text is stored as api/payment.md" in said
    assert "the frontmatter is not valid YAML" in said
    assert "api/picture.md cannot be read" in said
    assert "has the same name" in said
    assert 'the file name ":red[x]*.md" holds one of' in said
    assert ":red[x]" not in words(page)
    assert knowledge_base.document(PAYMENT) == payment


def test_discarded_files_are_not_saved(page: AppTest, knowledge_base: KnowledgeBase) -> None:
    before = paths(knowledge_base)
    choose(page, ("cache.md", CACHE))
    page.button(key="kb_discard").click().run()
    assert page.file_uploader[0].value == []
    assert paths(knowledge_base) == before


def test_the_table_is_searched_and_filtered(page: AppTest) -> None:
    assert list(page.dataframe[0].value["path"]) == [PAYMENT, "general.md", "infrastructure/gateway.md"]
    page.text_input(key="kb_search").set_value("nginx").run()
    assert list(page.dataframe[0].value["title"]) == ["接入层手册"]
    assert "1 of 3 documents" in words(page)
    page.text_input(key="kb_search").set_value("").run()
    page.multiselect(key="kb_domains").set_value(["api", "general"]).run()
    assert list(page.dataframe[0].value["domain"]) == ["api", "general"]
    page.multiselect(key="kb_statuses").set_value([DocumentStatus.FAILED]).run()
    assert not page.dataframe
    assert "No document passes" in words(page)


def test_reindexing_follows_the_files_and_reports_what_was_done(page: AppTest, knowledge_base: KnowledgeBase) -> None:
    Path("knowledge_base/api/cache.md").write_bytes(CACHE)
    Path("knowledge_base/general.md").unlink()
    Path("knowledge_base/api/bad.md").write_bytes(b"\x00\x01\x02\xff")
    finish(page.button(key="kb_reindex").click().run())
    assert paths(knowledge_base) == ["api/bad.md", "api/cache.md", PAYMENT, "infrastructure/gateway.md"]
    said = words(page).replace("\\", "")
    assert "2 unchanged" in said
    assert "1 added" in said
    assert "1 removed" in said
    assert "api/bad.md cannot be read" in said
    assert "Not indexed: 1" in said
    assert "✗ Failed" in list(page.dataframe[0].value["status"])


def test_without_documents_the_page_says_how_to_begin(page: AppTest, knowledge_base: KnowledgeBase) -> None:
    for path in paths(knowledge_base):
        knowledge_base.delete(path)
    page.run()
    assert not page.dataframe
    assert "No documents yet" in words(page)
    page.text_input(key="kb_new_category").set_value("api")
    page.file_uploader[0].set_value([("cache.md", CACHE, "text/markdown")]).run()
    save(page)
    assert paths(knowledge_base) == ["api/cache.md"]
