"""Home: a first lookup, examples, the state at a glance; each control is seen in the telemetry or on the screen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from kbapp.domain.circuit_breaker import BreakerKind, SourceState
from kbapp.domain.documents import KnowledgeEntry
from kbapp.domain.health import Engine
from kbapp.domain.invocation import Invocation
from kbapp.domain.lookup_result import DedupReason
from kbapp.domain.relevance import RelevanceLevel
from kbapp.service.knowledge_base import KnowledgeBase
from kbapp.surfaces.ui.home_examples import MAX_OFFERED, SAMPLE_EXAMPLES, Example, Shows, examples_for, queries_of
from kbapp.surfaces.ui.home_state import age_text, engine_text, source_text
from kbapp.surfaces.ui.state import SESSION
from tests.knowledge import document, write_documents
from tests.surfaces.ui.conftest import Page, open_page_of

SAMPLE = {
    "api/payment-errors.md": document("支付网关错误码定义", "ERR_TIMEOUT, 支付网关", "## 超时\n\n重试三次。"),
    "infrastructure/mysql-connection-pool.md": document("连接池", "HikariCP", "数据库连接池的配置。"),
    "infrastructure/redis-cache.md": document("Redis", "maxmemory", "缓存的配置。"),
    "troubleshooting/fault-diagnosis-process.md": document("故障诊断", "5-Why", "先看告警。"),
}


def rows(kb: KnowledgeBase) -> list[Invocation]:
    return kb.telemetry()[::-1]


def shown(app: AppTest) -> str:
    texts = [*app.markdown, *app.caption, *app.header, *app.warning, *app.error, *app.info, *app.success]
    return "\n".join(str(each.value) for each in texts)


def ask(app: AppTest, query: str) -> AppTest:
    app.text_input(key="home_query").set_value(query)
    return app.button(key="home_submit").click().run()


def test_a_lookup_from_the_box_is_one_row_of_this_tabs_session_and_its_card_is_shown(
    app: AppTest, knowledge_base: KnowledgeBase
) -> None:
    open_page_of(app, Page.HOME)
    ask(app, "ERR_TIMEOUT")
    [row] = rows(knowledge_base)
    assert (row.query, row.relevance_level) == ("ERR_TIMEOUT", RelevanceLevel.PRECISE)
    assert row.session_id == app.session_state[SESSION]
    assert "ERR\\_TIMEOUT" in [each.value for each in app.header]
    assert ":green-badge[:material/my_location: PRECISE]" in shown(app)


def test_a_rerun_asks_nothing_again_and_keeps_the_card(app: AppTest, knowledge_base: KnowledgeBase) -> None:
    open_page_of(app, Page.HOME)
    ask(app, "ERR_TIMEOUT")
    app.run().run()
    assert len(rows(knowledge_base)) == 1
    assert "ERR\\_TIMEOUT" in [each.value for each in app.header]


@pytest.mark.parametrize("query", ["", "x" * 2001])
def test_a_refused_query_is_a_sentence_and_the_rest_of_the_page_stays(app: AppTest, query: str) -> None:
    open_page_of(app, Page.HOME)
    ask(app, query)
    assert len(app.error) == 1
    assert app.metric[0].value == "3"
    ask(app, "ERR_TIMEOUT")
    assert not app.error


def test_a_new_session_gives_again_what_the_former_was_given(app: AppTest, knowledge_base: KnowledgeBase) -> None:
    open_page_of(app, Page.HOME)
    ask(app, "ERR_TIMEOUT")
    app.button(key="home_new_session").click().run()
    assert "ERR\\_TIMEOUT" not in [each.value for each in app.header]
    ask(app, "ERR_TIMEOUT")
    first, second = rows(knowledge_base)
    assert first.session_id != second.session_id
    assert second.relevance_level is RelevanceLevel.PRECISE


def test_an_own_knowledge_base_offers_its_own_keywords_and_each_button_asks_its_query(
    app: AppTest, knowledge_base: KnowledgeBase
) -> None:
    open_page_of(app, Page.HOME)
    app.button(key="home_example_0").click().run()
    [row] = rows(knowledge_base)
    assert row.query in {"ERR_TIMEOUT", "支付网关"}
    assert app.text_input(key="home_query").value == row.query
    assert "precise" not in app.button(key="home_example_0").label.lower()


def test_the_sample_offers_its_six_examples_and_a_repeat_asks_first_what_it_repeats(
    app: AppTest, knowledge_base: KnowledgeBase, tmp_path: Path
) -> None:
    write_documents(tmp_path / "knowledge_base", SAMPLE)
    knowledge_base.reindex()
    knowledge_base.delete("api/payment.md")
    open_page_of(app, Page.HOME)
    assert all(example.query.split("_")[0] in app.button(key=f"home_example_{number}").label
               for number, example in enumerate(SAMPLE_EXAMPLES))  # fmt: skip
    repeat = [example.shows for example in SAMPLE_EXAMPLES].index(Shows.REPEAT)
    app.button(key=f"home_example_{repeat}").click().run()
    app.button(key=f"home_example_{repeat}").click().run()
    assert [row.query for row in rows(knowledge_base)] == [
        "ERR_TIMEOUT",
        "ERR_TIMEOUT 是什么？",
        "ERR_TIMEOUT 是什么？",
    ]
    assert [row.dedup_reason for row in rows(knowledge_base)] == [None, *[DedupReason.DOC_RETRIEVED] * 2]
    assert any("sample" in each.value for each in app.info)


def test_the_figures_are_those_of_the_knowledge_base(app: AppTest, knowledge_base: KnowledgeBase) -> None:
    open_page_of(app, Page.HOME)
    chunks = sum(record.chunk_count for record in knowledge_base.documents())
    assert [each.value for each in app.metric] == ["3", str(chunks), "2", "3"]
    assert "Owner" in shown(app)
    assert "openai\\:tiny" in shown(app)


def test_an_empty_knowledge_base_says_where_documents_go(app: AppTest, knowledge_base: KnowledgeBase) -> None:
    for record in knowledge_base.documents():
        knowledge_base.delete(record.path)
    open_page_of(app, Page.HOME)
    assert not app.exception
    assert any("knowledge_base" in each.value for each in app.info)
    ask(app, "anything")
    assert ":gray-badge" in shown(app)


def test_degraded_a_failed_document_and_lost_semantics_are_said_and_l0_still_answers(
    app: AppTest, knowledge_base: KnowledgeBase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "knowledge_base" / "bad\\*[x](y)<img>.md".replace("\\", "")).write_bytes(b"\xff\xfe\x00\xd8\x00")
    knowledge_base.reindex()
    open_page_of(app, Page.HOME)
    assert knowledge_base.overview().notices
    assert "bad\\*\\[x\\]\\(y\\)\\<img\\>\\.md" in shown(app)
    ask(app, "ERR_TIMEOUT")
    assert rows(knowledge_base)[0].relevance_level is RelevanceLevel.PRECISE


def test_both_languages_show_the_page(app: AppTest) -> None:
    app.query_params["lang"] = "zh"
    open_page_of(app, Page.HOME)
    ask(app, "ERR_TIMEOUT")
    assert "PRECISE 精确" in shown(app)
    assert "State at a glance" not in shown(app)


def entry(path: str, *keywords: str) -> KnowledgeEntry:
    return KnowledgeEntry(path, f"Title of {path}", keywords, None)


def queries(examples: Sequence[Example]) -> list[str]:
    return [example.query for example in examples]


def test_own_examples_prefer_a_keyword_of_one_document_and_take_domains_in_turn() -> None:
    entries = [entry("a/1.md", "common", "one"), entry("a/2.md", "common", "two"), entry("b/3.md", "common", "three")]
    assert queries(examples_for(entries)) == ["one", "three", "two"]


def test_own_examples_are_few_distinct_and_titles_where_there_is_no_keyword() -> None:
    entries = [entry(f"{number}/x.md", "same") for number in range(5)] + [entry("a/x.md")]
    assert queries(examples_for(entries)) == ["same", "Title of a/x.md"]
    assert len(examples_for([entry(f"{number}/x.md", f"word{number}") for number in range(50)])) == MAX_OFFERED
    assert examples_for([]) == ()


def test_an_example_asks_first_what_it_builds_on_unless_the_session_has_asked_it() -> None:
    example = Example(Shows.REPEAT, "again", before="first")
    assert queries_of(example, ["other"]) == ("first", "again")
    assert queries_of(example, ["first"]) == ("again",)
    assert queries_of(Example(Shows.PRECISE, "one"), []) == ("one",)


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "just now"), (2, "2 s ago"), (119, "1 min ago"), (7200, "2 h ago"), (200_000, "2 d ago")]
)
def test_the_age_of_a_scan_is_in_the_largest_unit_that_fits(seconds: int, text: str) -> None:
    now = datetime(2026, 3, 1, tzinfo=UTC)
    assert age_text((now - timedelta(seconds=seconds)).isoformat(), now) == text


@pytest.mark.parametrize(
    ("engine", "word"),
    [
        (None, "Idle"),
        (Engine("attached", "http://127.0.0.1:1", 42, None), "42"),
        (Engine("remote", "http://milvus:19530", None, None), "http\\://milvus\\:19530"),
        (Engine("unavailable", None, None, "held"), "Unavailable"),
    ],
)
def test_the_engine_has_a_sign_and_a_word(engine: Engine | None, word: str) -> None:
    assert word in engine_text(engine)
    assert ":material/" in engine_text(engine)


def test_the_examples_stay_when_a_query_of_ones_own_is_looked_up(app: AppTest) -> None:
    page = open_page_of(app, Page.HOME)
    examples = [button.key for button in page.button if str(button.key).startswith("home_example_")]
    page.text_input(key="home_query").input("Nginx")
    page.button(key="home_submit").click().run()
    assert [button.key for button in page.button if str(button.key).startswith("home_example_")] == examples
    assert examples


def test_x9_a_source_is_switched_off_for_a_demonstration_and_on_again(
    app: AppTest, knowledge_base: KnowledgeBase
) -> None:
    open_page_of(app, Page.HOME)
    assert "Full text\n" in shown(app)
    app.toggle(key="home_source_vectors").set_value(True).run()
    assert "Switched off for a demonstration" in shown(app)
    assert [source.is_forced for source in knowledge_base.overview().sources] == [True, False]
    assert "A source of the search is not asked now" in shown(app)
    ask(app, "缓存的配置怎么写")
    [row] = rows(knowledge_base)
    assert row.outcome == "degraded"
    assert "switched off for a demonstration" in shown(app)
    app.toggle(key="home_source_vectors").set_value(False).run()
    assert [source.is_forced for source in knowledge_base.overview().sources] == [False, False]
    assert "Switched off for a demonstration" not in shown(app)


def test_the_state_of_a_breaker_has_a_sign_and_says_when_it_is_tried_again() -> None:
    source = SourceState("vectors", "vector search", BreakerKind.OPEN, 0.0, 6, 5, "it is down", 12.0, False, 1)
    assert source_text(source) == ":red[:material/pause_circle:] Paused after 5 of 6 calls failed; tried again in 12 s"
    assert source_text(replace(source, kind=BreakerKind.HALF_OPEN)).endswith("Being tried again")
    assert source_text(replace(source, is_forced=True)).endswith("Switched off for a demonstration")
