"""The executor simulator: every message is a call, every control shows in its telemetry row."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from kbapp.domain.documents import JsonValue
from kbapp.domain.errors import IndexUnavailable
from kbapp.domain.invocation import CLEAR_TOOL_NAME, Invocation
from kbapp.domain.telemetry import Verdict
from kbapp.service.knowledge_base import KnowledgeBase
from kbapp.surfaces.ui.context import Page
from kbapp.surfaces.ui.state import LANGUAGE
from kbapp.surfaces.ui.texts import Language
from tests.knowledge import document, write_documents
from tests.surfaces.ui.conftest import open_page_of


@pytest.fixture
def page(app: AppTest) -> AppTest:
    app.query_params["session"] = "s1"
    return open_page_of(app, Page.SIMULATOR)


def ask(page: AppTest, query: str) -> AppTest:
    page.chat_input(key="simulator_query").set_value(query).run()
    assert not page.exception
    return page


def rows(kb: KnowledgeBase, session: str = "s1") -> list[Invocation]:
    return list(reversed(kb.telemetry(session_id=session)))


def details(kb: KnowledgeBase) -> dict[str, JsonValue]:
    return rows(kb)[-1].retrieval_details


def texts(page: AppTest) -> str:
    parts = [*page.markdown, *page.caption, *page.info, *page.warning, *page.error, *page.header, *page.code]
    return "\n".join([*(str(part.value) for part in parts), *(str(part.proto) for part in page.get("html"))])


def test_an_empty_session_says_what_to_do(page: AppTest, knowledge_base: KnowledgeBase) -> None:
    assert "Nothing was asked" in texts(page)
    assert "Empty: nothing was given" in texts(page)
    assert page.button(key="simulator_clear").disabled
    assert rows(knowledge_base) == []


def test_a_precise_hit_then_a_repeat_that_points_to_it(page: AppTest, knowledge_base: KnowledgeBase) -> None:
    ask(page, "ERR_TIMEOUT")
    assert "PRECISE" in texts(page)
    assert "api · new" in texts(page)
    assert "知识库中不存在比上述结果更精准的文档" in texts(page)
    assert "In the language of this screen" in texts(page)
    ask(page, "ERR_TIMEOUT 怎么办")
    first, second = rows(knowledge_base)
    assert second.dedup_reason == "doc_retrieved"
    assert "document was given before" in texts(page)
    assert f"[given in call #1: show it](#call-{first.id})" in texts(page)
    assert [heading.anchor for heading in page.header if heading.anchor] == [
        f"call-{call.id}" for call in (first, second)
    ]
    assert "**2** calls · **1** document given · **1** deduped" in texts(page)


def test_a_rerun_repeats_no_call(page: AppTest, knowledge_base: KnowledgeBase) -> None:
    ask(page, "ERR_TIMEOUT")
    page.run().run()
    assert len(rows(knowledge_base)) == 1


def test_a_miss_says_so(page: AppTest, knowledge_base: KnowledgeBase) -> None:
    ask(page, "zqxv blorp")
    assert rows(knowledge_base)[-1].outcome == "not_found"
    assert "NOT FOUND" in texts(page)


def test_a_refused_query_is_a_card_with_the_sentence(page: AppTest, knowledge_base: KnowledgeBase) -> None:
    ask(page, "长" * 3000)
    assert rows(knowledge_base)[-1].outcome == "error"
    assert "REFUSED" in texts(page)
    assert "at most 2000 are allowed" in "".join(error.value for error in page.error).replace("\\", "")


def test_the_options_of_the_next_call_reach_it_and_begin_anew(page: AppTest, knowledge_base: KnowledgeBase) -> None:
    ask(page, "ERR_TIMEOUT")
    page.toggle(key="simulator_force_1").set_value(True)
    page.text_input(key="simulator_dimension_1").set_value("重试次数").run()
    assert "missing dimension: 重试次数" in texts(page)
    ask(page, "ERR_TIMEOUT")
    assert details(knowledge_base)["force"] is True
    assert rows(knowledge_base)[-1].missing_dimension == "重试次数"
    assert "签名" in page.selectbox(key="simulator_section_2").options
    page.selectbox(key="simulator_section_2").set_value("签名").run()
    ask(page, "ERR_TIMEOUT")
    assert rows(knowledge_base)[-1].section_title == "签名"
    assert "验签错" in texts(page)
    ask(page, "ERR_TIMEOUT")
    last = rows(knowledge_base)[-1]
    assert (last.section_title, last.missing_dimension, details(knowledge_base)["force"]) == (None, None, False)


def test_the_domain_policy_is_that_of_the_calls(page: AppTest, knowledge_base: KnowledgeBase) -> None:
    for policy in ("off", "warn", "block"):
        page.segmented_control(key="simulator_policy").set_value(policy).run()
        ask(page, f"Nginx {policy}")
        assert details(knowledge_base)["domain_policy"] == policy


def test_the_policy_outlives_a_change_of_page(page: AppTest, knowledge_base: KnowledgeBase) -> None:
    page.segmented_control(key="simulator_policy").set_value("off").run()
    page.switch_page(Page.HOME).run()
    page.switch_page(Page.SIMULATOR).run()
    ask(page, "Nginx")
    assert details(knowledge_base)["domain_policy"] == "off"


def test_clear_forgets_and_is_a_row(page: AppTest, knowledge_base: KnowledgeBase) -> None:
    ask(page, "ERR_TIMEOUT")
    page.button(key="simulator_clear").click().run()
    assert rows(knowledge_base)[-1].tool_name == CLEAR_TOOL_NAME
    assert "the session was cleared" in texts(page)
    assert "**0** calls · **0** documents given · **0** deduped" in texts(page)
    ask(page, "ERR_TIMEOUT")
    assert rows(knowledge_base)[-1].relevance_level == "PRECISE"


def test_a_new_session_is_empty_and_the_old_one_stays(page: AppTest, knowledge_base: KnowledgeBase) -> None:
    ask(page, "ERR_TIMEOUT")
    page.button(key="simulator_new").click().run()
    session = page.query_params["session"]
    session = session[0] if isinstance(session, list) else session
    assert session != "s1"
    assert "Nothing was asked" in texts(page)
    ask(page, "ERR_TIMEOUT")
    assert [row.relevance_level for row in rows(knowledge_base, session)] == ["PRECISE"]
    assert len(rows(knowledge_base)) == 1


def test_a_link_to_a_session_opens_it(page: AppTest, knowledge_base: KnowledgeBase) -> None:
    knowledge_base.lookup("Nginx", session_id="another")
    page.query_params["session"] = "another"
    page.run()
    assert [heading.value for heading in page.header if heading.anchor] == ["Nginx"]


@pytest.mark.parametrize("verdict", Verdict)
def test_t6_a_verdict_is_kept_once(page: AppTest, knowledge_base: KnowledgeBase, verdict: Verdict) -> None:
    ask(page, "ERR_TIMEOUT")
    call = rows(knowledge_base)[-1]
    page.pills(key=f"card_verdict_{call.id}").set_value(verdict).run()
    page.run()
    assert [mark.verdict for mark in knowledge_base.marks(call.id)] == [verdict]


def test_why_and_what_the_executor_saw_open_on_the_card(page: AppTest, knowledge_base: KnowledgeBase) -> None:
    ask(page, "ERR_TIMEOUT")
    call = rows(knowledge_base)[-1]
    page.segmented_control(key=f"card_details_{call.id}").set_value("why").run()
    assert "exactly one document matches by keyword" in texts(page)
    assert list(page.dataframe[0].value["Matched"]) == ["ERR_TIMEOUT"]
    page.segmented_control(key=f"card_details_{call.id}").set_value("seen").run()
    seen = json.loads(page.code[0].value)
    assert seen == call.retrieval_details["result"]
    assert "score" not in json.dumps(seen)


def test_similarities_are_drawn_against_the_thresholds(page: AppTest, knowledge_base: KnowledgeBase) -> None:
    ask(page, "缓冲区 重试")
    call = rows(knowledge_base)[-1]
    page.segmented_control(key=f"card_details_{call.id}").set_value("why").run()
    bars = next(str(html.proto) for html in page.get("html") if "kb-bars" in str(html.proto))
    assert "kb-tick" in bars
    assert "Lines: 0.5 REFERENCE, 0.75 HIGHLY_RELEVANT" in texts(page)


def test_text_of_files_and_queries_is_never_markup(
    page: AppTest, knowledge_base: KnowledgeBase, tmp_path: Path
) -> None:
    hostile = "<script>alert(1)</script> :red[x] ![i](http://example.org/i.png) **b** $x$"
    write_documents(tmp_path / "knowledge_base", {"api/hostile.md": document("敌意", "HOSTILEKEY", hostile)})
    knowledge_base.reindex()
    ask(page, f"HOSTILEKEY {hostile}"[:60])
    ask(page, "HOSTILEKEY")
    shown = texts(page)
    assert "&lt;script&gt;" in shown.replace("<mark>", "").replace("</mark>", "")
    assert "<script>alert" not in shown
    heading = next(heading.value for heading in page.header if heading.anchor)
    assert "\\<script\\>" in heading


def test_the_screen_speaks_chinese_too(
    app: AppTest, knowledge_base: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    app.query_params["lang"] = "zh"
    app.query_params["session"] = "s1"
    page = ask(open_page_of(app, Page.SIMULATOR), "ERR_TIMEOUT")
    assert "本会话已检索的领域" in texts(page)
    call = rows(knowledge_base)[-1]
    monkeypatch.setitem(st.session_state, LANGUAGE, Language.CHINESE)  # AppTest words the options outside of the page
    page.segmented_control(key=f"card_details_{call.id}").set_value("why").run()
    assert "关键词只命中一份文档" in texts(page)


def test_an_example_is_asked_when_it_is_pressed(page: AppTest, knowledge_base: KnowledgeBase) -> None:
    page.button(key="simulator_example_0").click().run()
    page.run()
    assert [row.query for row in rows(knowledge_base)] == [
        page.button(key="simulator_example_0").label.split(": ")[1].replace("\\", "")
    ]


def test_where_a_part_did_not_answer_nothing_is_called_a_miss(
    page: AppTest, knowledge_base: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise IndexUnavailable("the endpoint is dead")

    monkeypatch.setattr(knowledge_base._parts.embedder, "embed_queries", fail)
    ask(page, "zqxv blorp")
    assert rows(knowledge_base)[-1].outcome == "degraded"
    assert "DEGRADED, nothing found" in texts(page)
    assert "NOT FOUND" not in texts(page)


def test_a_session_with_calls_can_be_exported_in_both_forms(page: AppTest, knowledge_base: KnowledgeBase) -> None:
    ask(page, "ERR_TIMEOUT")
    labels = [button.proto.label for button in page.get("download_button")]
    assert labels == ["JSON", "Markdown"]
    assert [button.proto.url != "" for button in page.get("download_button")] == [True, True]
