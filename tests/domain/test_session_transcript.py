"""The export of a session: every call in order, from the telemetry rows alone (T7)."""

from __future__ import annotations

import json

from kbapp.domain.explanation import explain
from kbapp.domain.invocation import Invocation, clear_invocation
from kbapp.domain.lookup_result import DedupReason, LookupResult, SupplementResult
from kbapp.domain.relevance import RelevanceLevel
from kbapp.domain.session_transcript import session_to_dict, session_to_markdown
from tests.values import make_invocation

GIVEN = "连接池上限 20。\n# 不是标题 <b>"


def call(query: str, result: LookupResult, **values: object) -> Invocation:
    return make_invocation(
        query=query, relevance_level=result.relevance_level, retrieval_details={"result": result.to_dict()}, **values
    )


def given() -> Invocation:
    supplement = SupplementResult(GIVEN, "kb/a.md", "参数 *重要*", "连接池 > 参数")
    result = LookupResult(
        True, None, supplement, RelevanceLevel.HIGHLY_RELEVANT, "提示", ("infra",), None, None, None, "i1"
    )
    return call("连接池 [x](javascript:1)", result, missing_dimension="上限")


def repeated() -> Invocation:
    result = LookupResult(
        True, None, None, RelevanceLevel.DEDUPED, "提示", (), "给过了", DedupReason.DOC_RETRIEVED, None, "i2"
    )
    return call("连接池", result, dedup_reason=DedupReason.DOC_RETRIEVED)


def test_the_json_holds_every_row_whole_with_its_decision() -> None:
    calls = [given(), repeated()]
    exported = json.loads(json.dumps(session_to_dict("s1", calls), ensure_ascii=False))
    assert exported["session"] == "s1"
    assert [row["decision"] for row in exported["calls"]] == [explain(each).decision for each in calls]
    assert exported["calls"][0]["retrieval_details"]["result"]["supplement"]["content"] == GIVEN


def test_the_markdown_numbers_the_calls_and_quotes_what_was_given() -> None:
    clear = clear_invocation("c", "s1", "2026-01-01T00:00:00.000+00:00")
    text = session_to_markdown("s1", [given(), clear, repeated()])
    headings = [line for line in text.split("\n") if line.startswith("#")]
    assert headings == ["# Session s1", "## 1. 连接池 \\[x\\](javascript:1)", "## 2. 连接池"]
    assert "> 连接池上限 20。\n> # 不是标题 <b>" in text
    assert "**参数 \\*重要\\*** (kb/a.md)" in text
    assert "- missing dimension: 上限" in text
    assert "the session was cleared" in text
    assert "- 给过了" in text


def test_a_session_without_calls_is_a_heading() -> None:
    assert session_to_markdown("s\n# x", []) == "# Session s \\# x\n"
    assert session_to_dict("s", []) == {"session": "s", "calls": []}
