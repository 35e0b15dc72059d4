"""The first page of the app, from `app.py`, over a small knowledge base."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from tests.embedding import TinyEmbedder
from tests.embedding_server import serve_embedder
from tests.knowledge import document, write_documents

APP = Path(__file__).resolve().parents[2] / "app.py"


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[AppTest]:
    write_documents(tmp_path / "knowledge_base", {"api/payment.md": document("支付网关", "ERR_TIMEOUT", "请求超时。")})
    with serve_embedder(TinyEmbedder()) as url:
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("KBAPP_EMBEDDING__MODEL", "openai:tiny")
        monkeypatch.setenv("KBAPP_EMBEDDING__BASE_URL", url)
        st.cache_resource.clear()
        yield AppTest.from_file(str(APP), default_timeout=30)
        from kbapp.surfaces.ui.context import open_from_arguments

        open_from_arguments().close()
        st.cache_resource.clear()


def look_up(page: AppTest, query: str) -> AppTest:
    page.run()
    page.text_input(key="home_query").input(query)
    return page.button[0].click().run()


def test_the_page_shows_a_result_with_its_level(page: AppTest) -> None:
    page = look_up(page, "ERR_TIMEOUT")
    assert not page.exception
    assert page.subheader[0].value == "PRECISE"
    assert "支付网关" in page.code[0].value


def test_the_page_says_what_is_wrong_with_an_empty_query(page: AppTest) -> None:
    page = look_up(page, "  ")
    assert not page.exception
    assert "the query is empty" in page.error[0].value


def test_a_wrong_setting_is_a_sentence_on_the_page(page: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as wrong:
        wrong.setenv("KBAPP_NONSENSE", "1")
        page.run()
        assert not page.exception
        assert "KBAPP_NONSENSE" in page.error[0].value
