"""Evaluation on real stores: one path with lookup, no traces, figures of outcomes that are known."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from kbapp.bootstrap import open_knowledge_base
from kbapp.domain.answer_checks import holds_all
from kbapp.domain.errors import IndexUnavailable, UserError
from kbapp.domain.labelled_queries import Kind, LabelledQuery
from kbapp.domain.relevance import RelevanceLevel
from kbapp.service.baselines import bm25, substring_search
from kbapp.service.evaluation import QueryOutcome, evaluate, read_labels
from kbapp.service.evaluation_report import report_of
from kbapp.service.knowledge_base import KnowledgeBase
from kbapp.service.lookup import Lookup, LookupRequest
from kbapp.settings import Settings
from tests.embedding import TinyEmbedder
from tests.knowledge import document, open_for_test, write_documents

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = {
    "api/payment.md": document(
        "支付网关错误码", "ERR_TIMEOUT, 网关", "## 超时类错误\n\n支付网关请求超时时返回 ERR_TIMEOUT，重试三次。"
    ),
    "api/refund.md": document("退款接口", "REFUND, 网关", "## 限制\n\n退款最晚 90 天内提交。\n\n## 查询\n\n每秒两次。"),
    "infrastructure/pool.md": document("连接池", "HikariCP", "## 参数\n\nmaximumPoolSize 取核数的两倍。"),
    "guides/weather.md": "# Notes\n\nWalking in the hills when the weather is fine, with a map and a flask of tea.\n",
}
QUERIES = [
    "ERR_TIMEOUT",
    "网关",
    "退款最晚几天内提交",
    "weather in the hills",
    "maximumPoolSize 取核数",
    "zqxv",
    "？？？",
]


@pytest.fixture
def kb(tmp_path: Path) -> Iterator[KnowledgeBase]:
    write_documents(tmp_path / "knowledge_base", DOCUMENTS)
    with open_for_test(tmp_path, retrieval__fusion__min_documents="1") as kb:
        kb.reindex()
        yield kb


def label(query: str, *relevant: str, kind: Kind = Kind.QUESTION, language: str = "zh", **more: str) -> LabelledQuery:
    evidence = (more["evidence"],) if "evidence" in more else ()
    return LabelledQuery(query, query, kind, language, relevant, more.get("heading"), more.get("note", ""), evidence)


def outcome(kb: KnowledgeBase, each: LabelledQuery) -> QueryOutcome:
    (only,) = evaluate(kb, [each])
    return only


def without_id(values: dict[str, object]) -> dict[str, object]:
    return {key: value for key, value in values.items() if key != "invocationId"}


@pytest.mark.parametrize("query", QUERIES)
def test_what_is_measured_is_what_lookup_gives_in_a_fresh_session(kb: KnowledgeBase, query: str) -> None:
    measured = outcome(kb, label(query, "api/payment.md"))
    assert without_id(measured.result.to_dict()) == without_id(kb.lookup(query).to_dict())


def test_lookup_and_evaluation_run_through_the_same_code(kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    run, queries = Lookup.run, []

    def counted(self: Lookup, request: LookupRequest, *memory: object) -> object:
        queries.append(request.query)
        return run(self, request, *memory)  # type: ignore[arg-type]

    monkeypatch.setattr(Lookup, "run", counted)
    kb.lookup("网关")
    evaluate(kb, [label("退款", "api/refund.md")])
    assert queries == ["网关", "退款"]


@pytest.mark.parametrize("query", QUERIES)
def test_the_ranking_begins_with_what_lookup_gives_and_keeps_the_order_of_its_candidates(
    kb: KnowledgeBase, query: str
) -> None:
    result, row = kb.explained_lookup(LookupRequest(query))
    ranking = kb.ranking(query)
    given = row.retrieval_details["given"]
    assert isinstance(given, list)
    documents = [document.document for document in ranking.documents]
    assert documents[:1] == [text["document"] for text in given if isinstance(text, dict)] or not given
    assert not given or ranking.hits[0].level is result.relevance_level
    candidates = row.retrieval_details["l1_candidates"]
    assert isinstance(candidates, list)
    ranks = [(c["vector_rank"], c["full_text_rank"]) for c in candidates if isinstance(c, dict) and c["level"]]
    found = [(hit.vector_rank, hit.full_text_rank) for hit in ranking.hits if hit.keyword_rank is None and hit.level]
    assert found[: len(ranks)] == ranks
    assert len(documents) == len(set(documents))


def test_the_ranking_names_the_legs_of_each_document_also_when_one_keyword_made_the_search_needless(
    kb: KnowledgeBase,
) -> None:
    first, *others = kb.ranking("ERR_TIMEOUT").documents
    assert (first.document, first.level, first.keyword_rank) == ("api/payment.md", RelevanceLevel.PRECISE, 1)
    assert first.vector_rank is not None
    assert first.full_text_rank == 1
    assert {each.document for each in others} == DOCUMENTS.keys() - {"api/payment.md"}
    assert all(each.keyword_rank is None and each.vector_rank for each in others)


def test_measuring_leaves_no_row_and_no_session(kb: KnowledgeBase) -> None:
    evaluate(kb, [label(query, "api/payment.md") for query in QUERIES])
    assert kb.telemetry() == []
    assert kb.recent_sessions() == []


def test_a_metadata_summary_hands_a_document_out_but_is_not_the_first_hit(kb: KnowledgeBase) -> None:
    both = outcome(kb, label("ERR_TIMEOUT 网关 限制 退款最晚 90 天内提交", "api/refund.md"))
    assert both.result.primary is not None
    assert both.result.supplement is not None
    assert both.given == ("api/refund.md", "api/payment.md")
    assert both.is_right


def test_the_text_is_checked_for_the_answer_and_the_section_for_its_heading(kb: KnowledgeBase) -> None:
    limits = outcome(
        kb, label("退款最晚几天内提交", "api/refund.md", kind=Kind.SECTION, heading="限制", evidence="90 天")
    )
    other = outcome(
        kb, label("退款最晚几天内提交", "api/refund.md", kind=Kind.SECTION, heading="查询", evidence="每秒两次")
    )
    assert [limits.is_right, limits.holds_evidence, limits.is_under_heading] == [True, True, True]
    assert [other.is_right, other.holds_evidence, other.is_under_heading] == [True, False, False]
    lacking = outcome(kb, label("退款", "api/refund.md", kind=Kind.SECTION, heading="没有这一节"))
    assert [lacking.holds_evidence, lacking.is_under_heading] == [None, None]


def test_evidence_that_stands_in_no_relevant_document_is_named_with_its_line(kb: KnowledgeBase) -> None:
    with pytest.raises(UserError, match=r"line 1: '每秒两次' stands in no relevant document"):
        evaluate(kb, [label("退款", "api/payment.md", evidence="每秒两次")])


def test_a_query_that_lookup_refuses_is_named_with_its_line(kb: KnowledgeBase) -> None:
    with pytest.raises(UserError, match=r"^line 1: the query is empty"):
        evaluate(kb, [label("\u200b", "api/payment.md")])


class BrokenEmbedder(TinyEmbedder):
    broken = False

    def embed_queries(self, texts):  # type: ignore[no-untyped-def]
        if self.broken and texts != ["kbapp"]:
            raise IndexUnavailable("the model is gone")
        return super().embed_queries(texts)


@pytest.mark.parametrize("query", ["ERR_TIMEOUT", "退款最晚几天内提交"])
def test_nothing_is_computed_while_a_level_cannot_answer(tmp_path: Path, query: str) -> None:
    write_documents(tmp_path / "knowledge_base", DOCUMENTS)
    embedder = BrokenEmbedder()
    with open_for_test(tmp_path, embedder) as kb:
        kb.reindex()
        embedder.broken = True
        with pytest.raises(IndexUnavailable, match=r"nothing is computed, line 1 .*the model is gone"):
            evaluate(kb, [label(query, "api/payment.md")])


def test_an_empty_knowledge_base_has_nothing_to_measure(tmp_path: Path) -> None:
    with open_for_test(tmp_path) as kb, pytest.raises(UserError, match="holds no document"):
        read_labels("{}", kb)


def test_the_report_counts_what_became_of_each_query(kb: KnowledgeBase) -> None:
    labels = [
        label("ERR_TIMEOUT", "api/payment.md", kind=Kind.KEYWORD, language="en"),
        label("HikariCP", "api/payment.md", kind=Kind.KEYWORD, language="en"),  # a wrong label: PRECISE, not right
        label("退款最晚 90 天内提交", "api/refund.md", evidence="90 天"),
        label("爬山时的天气", "guides/weather.md", kind=Kind.PARAPHRASE),
        label("zqxv blorp", kind=Kind.OFFTOPIC, language="en"),
        label("连接池", kind=Kind.OFFTOPIC, note="keyword trap: 连接池"),
    ]
    report = report_of(evaluate(kb, labels))
    values = json.loads(json.dumps(report.to_dict()))
    assert list(values) == [
        "overall", "ranking", "kinds", "languages", "legs", "baselines",
        "levels", "offtopic", "in_topic_highly_or_better", "latency_ms",
    ]  # fmt: skip
    assert (values["overall"]["queries"], values["overall"]["recall@1"]["count"]) == (3, 2)
    assert set(values["kinds"]) == {"keyword", "question"}
    assert values["languages"]["en"]["recall@1"]["count"] == 1
    assert values["languages"]["cross_language"]["queries"] == 1
    assert values["overall"]["evidence"]["of"] == 1
    assert values["levels"]["PRECISE"]["count"] == 1
    assert (values["levels"]["PRECISE"]["of"], values["levels"]["PRECISE"]["in_topic"]["of"]) == (3, 2)
    assert (values["offtopic"]["queries"], values["offtopic"]["traps"]["PRECISE"]["count"]) == (1, 1)
    assert values["in_topic_highly_or_better"]["of"] == 3
    assert values["in_topic_highly_or_better"]["paraphrase"]["of"] == 0
    assert values["legs"]["l0"]["recall@1"] == values["kinds"]["keyword"]["recall@1"] | {
        "of": 3, "rate": 0.3333, "interval": values["legs"]["l0"]["recall@1"]["interval"],
    }  # fmt: skip
    assert values["legs"]["full_text"]["recall@5"]["count"] == 2
    assert values["baselines"].keys() == {"substring", "bm25"}
    assert values["latency_ms"]["p50"] <= values["latency_ms"]["p95"]


def test_every_outcome_is_told_as_it_comes(kb: KnowledgeBase) -> None:
    told: list[str] = []
    outcomes = evaluate(
        kb, [label("网关", "api/payment.md"), label("退款", "api/refund.md")], lambda o: told.append(o.label.id)
    )
    assert told == [each.label.id for each in outcomes] == ["网关", "退款"]


def test_substring_search_counts_terms_then_occurrences_whatever_the_case() -> None:
    search = substring_search({"a": "Pool pool 连接", "b": "POOL 连接 size", "c": "pool", "d": "nothing"})
    assert search("pool size 的连接") == ("b", "a", "c")
    assert search("zqxv") == ()


def test_bm25_prefers_rare_terms_and_short_documents() -> None:
    bodies = {"a": "redis 集群", "b": "redis 集群 " + "其他 内容 " * 20, "c": "redis", "d": "kafka redis"}
    assert bm25(bodies)("集群 怎么扩") == ("a", "b")
    assert bm25(bodies)("kafka redis")[0] == "d"
    assert bm25({})("redis") == bm25({"a": ""})("redis") == ()


def test_each_evidence_string_of_the_sample_stands_in_a_relevant_document(tmp_path: Path) -> None:
    overrides = {"knowledge.base-path": str(ROOT / "knowledge_base"), "state-dir": str(tmp_path)}
    text = (ROOT / "benchmarks/sample_queries.jsonl").read_text(encoding="utf-8")
    with open_knowledge_base(Settings.load(environ={}, overrides=overrides), embedder=TinyEmbedder()) as kb:
        labels = [json.loads(line) for line in text.split("\n") if line]
        with_evidence = [each for each in labels if "evidence" in each]
        assert len(with_evidence) >= 60
        for each in with_evidence:
            bodies = "\n".join(kb.document(path).body for path in each["relevant"])
            strings = [each["evidence"]] if isinstance(each["evidence"], str) else each["evidence"]
            assert holds_all(bodies, strings), each["id"]
