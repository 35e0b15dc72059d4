"""The simulator with a language model as the executor, scripted on this machine: its calls, its answer, its faults."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial

import pytest
from streamlit.testing.v1 import AppTest

from kbapp.adapters import chat_endpoint
from kbapp.adapters.chat_endpoint import ChatOptions
from kbapp.domain.invocation import Invocation
from kbapp.service.knowledge_base import KnowledgeBase
from kbapp.surfaces.ui.context import Page
from kbapp.surfaces.ui.llm_page import RESULT
from tests.chat_server import ChatServer, Reply, asks, calls, says, serve_chat
from tests.surfaces.ui.conftest import open_page_of

KEY = "sk-secret-0123456789"
LIMITED = Reply(429, b"", {"Retry-After": "0"})


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with serve_chat() as chat:
        yield chat


@pytest.fixture
def page(app: AppTest, server: ChatServer, monkeypatch: pytest.MonkeyPatch) -> AppTest:
    monkeypatch.setenv("KBAPP_LLM__BASE_URL", server.base_url)
    monkeypatch.setenv("KBAPP_LLM__MODEL", "tiny-model")
    monkeypatch.setenv("KBAPP_LLM__API_KEY", KEY)
    app.query_params["mode"] = "llm"
    return open_page_of(app, Page.SIMULATOR)


def start(page: AppTest, goal: str = "ERR_TIMEOUT 是什么？") -> AppTest:
    page.text_area(key="simulator_goal").set_value(goal)
    page.button(key="simulator_llm_start").click().run()
    assert not page.exception
    assert KEY not in everything(page)
    return page


def rows(kb: KnowledgeBase) -> list[Invocation]:
    return list(reversed(kb.telemetry(limit=100)))


def headings(page: AppTest) -> list[str]:
    return [heading.value.replace("\\", "") for heading in page.header if heading.anchor]


def everything(page: AppTest) -> str:
    parts = [*page.markdown, *page.caption, *page.info, *page.warning, *page.error, *page.header, *page.code]
    return "\n".join([*(str(part.value) for part in parts), *(str(part.proto.body) for part in page.get("html"))])


def test_without_an_endpoint_the_page_says_what_to_set(app: AppTest, knowledge_base: KnowledgeBase) -> None:
    app.query_params["mode"] = "llm"
    page = open_page_of(app, Page.SIMULATOR)
    assert "No language model is set up yet" in everything(page)
    assert "llm.base-url is not set" in page.warning[0].value.replace("\\", "")
    assert "KBAPP_LLM__BASE_URL" in everything(page)
    assert 'pip install "kbapp[llm]"' in everything(page)
    assert not page.text_area


def test_a_model_without_a_name_is_told_of(
    app: AppTest, knowledge_base: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KBAPP_LLM__BASE_URL", "http://127.0.0.1:9/v1")
    app.query_params["mode"] = "llm"
    page = open_page_of(app, Page.SIMULATOR)
    assert "llm.model is not set" in page.warning[0].value.replace("\\", "")


def test_nothing_was_run_yet(page: AppTest, server: ChatServer) -> None:
    assert "Nothing was run yet" in everything(page)
    assert "tiny-model" in everything(page).replace("\\", "")
    assert server.requests == []


def test_the_calls_of_the_model_are_rows_and_cards_and_its_answer_is_quoted(
    page: AppTest, knowledge_base: KnowledgeBase, server: ChatServer
) -> None:
    answer = "**超时**：重试三次 <script>alert(1)</script>"
    server.script = [asks("ERR_TIMEOUT"), asks("ERR_TIMEOUT", missing_dimension="签名"), says(answer)]
    start(page)
    kept = rows(knowledge_base)
    assert [row.query for row in kept] == ["ERR_TIMEOUT", "ERR_TIMEOUT"]
    assert len({row.session_id for row in kept}) == 1
    assert str(kept[0].session_id).startswith("llm-")
    assert kept[1].missing_dimension == "签名"
    assert headings(page) == ["ERR_TIMEOUT", "ERR_TIMEOUT"]
    assert "**超时**：重试三次 &lt;script&gt;" in everything(page)
    assert "<script>alert" not in everything(page)
    assert "**2** calls" in everything(page)
    assert server.told("user") == ["ERR_TIMEOUT 是什么？"]
    assert [button.key for button in page.download_button] == ["simulator_llm_json", "simulator_llm_md"]


def test_a_rerun_asks_the_model_nothing(page: AppTest, server: ChatServer, knowledge_base: KnowledgeBase) -> None:
    server.script = [asks("ERR_TIMEOUT"), says("完成")]
    start(page)
    count = len(server.requests)
    page.run().run()
    assert len(server.requests) == count
    assert headings(page) == ["ERR_TIMEOUT"]
    assert len(rows(knowledge_base)) == 1


@pytest.mark.parametrize("policy", ["off", "warn"])
def test_the_policy_is_that_of_the_models_calls(
    page: AppTest, server: ChatServer, knowledge_base: KnowledgeBase, policy: str
) -> None:
    server.script = [asks("ERR_TIMEOUT"), says("完成")]
    page.segmented_control(key="simulator_policy").set_value(policy).run()
    start(page)
    assert rows(knowledge_base)[0].retrieval_details["domain_policy"] == policy


def test_a_goal_is_asked_for(page: AppTest, server: ChatServer, knowledge_base: KnowledgeBase) -> None:
    start(page, "  ")
    assert "Write a goal first" in page.warning[0].value
    assert server.requests == []
    assert rows(knowledge_base) == []


def test_the_goal_of_a_task_is_taken_over_and_its_documents_are_counted(page: AppTest, server: ChatServer) -> None:
    page.segmented_control(key="simulator_mode").set_value("scripted").run()
    task = {"id": "t", "goal": "超时怎么办？", "steps": ["a"], "needed": ["api/payment.md"]}
    page.file_uploader[0].set_value([("own.jsonl", json.dumps(task).encode(), "application/json")]).run()
    page.segmented_control(key="simulator_mode").set_value("llm").run()
    page.selectbox(key="simulator_goal_task").set_value("t — 超时怎么办？").run()
    assert page.text_area(key="simulator_goal").value == "超时怎么办？"
    server.script = [asks("ERR_TIMEOUT"), says("完成")]
    page.button(key="simulator_llm_start").click().run()
    assert "1 of 1 needed documents" in everything(page)


def test_a_call_that_is_refused_says_why(page: AppTest, server: ChatServer) -> None:
    server.script = [says(None, calls({"query": "x"}, name="delete_everything")), says("完成")]
    start(page)
    assert "REFUSED" in everything(page)
    assert "the only tool is lookup" in everything(page).replace("\\", "")


@pytest.mark.parametrize(
    ("fault", "sentence"),
    [
        (Reply(401, b'{"error": "bad key sk-secret-0123456789"}'), "answered HTTP 401: it refused the key"),
        (LIMITED, "answered HTTP 429 again after 3 waits"),
        (Reply(200, b"<html>", {"Content-Type": "text/html"}), "does not answer in the form of OpenAI"),
        (Reply(-1, b""), "cannot be reached"),
        (Reply(0, b""), "did not answer within"),
    ],
)
def test_a_fault_is_a_sentence_and_what_happened_so_far_stays(
    page: AppTest,
    knowledge_base: KnowledgeBase,
    server: ChatServer,
    monkeypatch: pytest.MonkeyPatch,
    fault: Reply,
    sentence: str,
) -> None:
    monkeypatch.setattr(chat_endpoint, "ChatOptions", partial(ChatOptions, answer_seconds=0.5))
    server.script = [asks("ERR_TIMEOUT"), fault]
    start(page)
    assert sentence in page.error[0].value.replace("\\", "")
    assert headings(page) == ["ERR_TIMEOUT"]
    assert [row.query for row in rows(knowledge_base)] == ["ERR_TIMEOUT"]
    assert page.session_state[RESULT].fault
    assert [button.key for button in page.download_button] == ["simulator_llm_json", "simulator_llm_md"]


def test_a_dead_endpoint_is_a_sentence(
    app: AppTest, knowledge_base: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KBAPP_LLM__BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("KBAPP_LLM__MODEL", "m")
    app.query_params["mode"] = "llm"
    page = start(open_page_of(app, Page.SIMULATOR))
    assert "cannot be reached" in page.error[0].value
    assert "The model called nothing" in everything(page)


def test_the_page_speaks_chinese_too(app: AppTest, knowledge_base: KnowledgeBase) -> None:
    app.query_params["lang"] = "zh"
    app.query_params["mode"] = "llm"
    assert "尚未配置语言模型" in everything(open_page_of(app, Page.SIMULATOR))
