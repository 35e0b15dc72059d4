"""The app over a small knowledge base with the tiny embedder, from ``app.py``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from kbapp.service.knowledge_base import KnowledgeBase
from kbapp.surfaces.ui.context import Page, open_from_arguments
from tests.embedding import TinyEmbedder
from tests.embedding_server import serve_embedder
from tests.knowledge import document, write_documents
from tests.waiting import wait_until

ROOT = Path(__file__).resolve().parents[3]
DOCUMENTS = {
    "api/payment.md": document(
        "支付网关错误码",
        "ERR_TIMEOUT, 支付网关",
        "## 超时类错误\n\n支付网关请求超时，重试三次。\n\n## 签名\n\n验签错。",
    ),
    "infrastructure/gateway.md": document("接入层手册", "Nginx, 反向代理", "## 代理\n\n反向代理的缓冲区与超时。"),
    "general.md": "# Notes\n\nPlain text without frontmatter about escalation.\n",
}


@pytest.fixture
def knowledge_base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[KnowledgeBase]:
    """The knowledge base that the pages open, indexed; a page sees what a test does to it, and the other way round."""
    write_documents(tmp_path / "knowledge_base", DOCUMENTS)
    with serve_embedder(TinyEmbedder()) as url:
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("KBAPP_EMBEDDING__MODEL", "openai:tiny")
        monkeypatch.setenv("KBAPP_EMBEDDING__BASE_URL", url)
        # What a test does to the files is indexed when the test says so, not by the follower meanwhile.
        monkeypatch.setenv("KBAPP_WATCH__DEBOUNCE_SECONDS", "60")
        st.cache_resource.clear()
        kb = open_from_arguments()
        try:
            kb.reindex()
            kb.follow()
            wait_until(lambda: kb.following.scans > 0)
            yield kb
        finally:
            kb.close()
            st.cache_resource.clear()


@pytest.fixture
def app(knowledge_base: KnowledgeBase) -> AppTest:
    """A browser tab, on no page yet."""
    return AppTest.from_file(str(ROOT / Page.HOME), default_timeout=60)


def open_page_of(app: AppTest, page: Page) -> AppTest:
    """The tab on that page."""
    app.run()
    return app if page is Page.HOME else app.switch_page(page).run()
