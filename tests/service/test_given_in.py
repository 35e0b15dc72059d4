"""In which sessions a document was given, from the telemetry (T2)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from kbapp.adapters.database import Database
from kbapp.adapters.invocation_log import InvocationLog
from kbapp.domain.documents import JsonValue
from kbapp.domain.invocation import Invocation
from kbapp.service.knowledge_base import KnowledgeBase
from tests.knowledge import document, open_for_test, write_documents

PAYMENT = document("支付网关", "ERR_TIMEOUT", "## 超时类错误\n\n重试三次。")
CACHE = document("缓存", "击穿", "加互斥锁。")


@pytest.fixture
def kb(tmp_path: Path) -> Iterator[KnowledgeBase]:
    write_documents(tmp_path / "knowledge_base", {"api/payment.md": PAYMENT, "domain/cache.md": CACHE})
    with open_for_test(tmp_path) as kb:
        kb.reindex()
        yield kb


@pytest.fixture
def database(tmp_path: Path) -> Database:
    return Database(tmp_path / "kbapp.sqlite3")


@pytest.fixture
def log(database: Database) -> InvocationLog:
    return InvocationLog(database)


def row(number: int, *documents: str) -> Invocation:
    given: list[JsonValue] = [{"document": document} for document in documents]
    created_at = f"2026-01-01T00:00:0{number}.000Z"
    details: dict[str, JsonValue] = {"given": given, "result": {"source": "api/named.md"}}
    return Invocation(f"i{number}", "s", "lookup_knowledge", "q", None, None, created_at, retrieval_details=details)


def test_a_document_is_given_in_the_sessions_that_got_its_text_newest_first(kb: KnowledgeBase) -> None:
    first = kb.lookup("ERR_TIMEOUT", session_id="one")
    second = kb.lookup("ERR_TIMEOUT", session_id="two")
    kb.lookup("击穿", session_id="two")
    given = kb.given_in("api/payment.md")
    assert [(row.session_id, row.id) for row in given] == [
        ("two", second.invocation_id),
        ("one", first.invocation_id),
    ]
    assert [row.session_id for row in kb.given_in("api/payment.md", limit=1)] == ["two"]
    assert [row.session_id for row in kb.given_in("domain/cache.md")] == ["two"]


def test_a_repeat_that_gave_nothing_is_not_listed(kb: KnowledgeBase) -> None:
    first = kb.lookup("ERR_TIMEOUT", session_id="one")
    kb.lookup("ERR_TIMEOUT", session_id="one")
    assert [row.id for row in kb.given_in("api/payment.md")] == [first.invocation_id]


def test_a_document_that_a_row_only_names_was_not_given(log: InvocationLog) -> None:
    log.record(row(1, "api/other.md"))
    assert log.rows_that_gave("api/named.md", 10) == []
    assert [found.id for found in log.rows_that_gave("api/other.md", 10)] == ["i1"]


@pytest.mark.parametrize("path", ['api/a"b.md', "api/a\\b.md", "接口/支付 超时.md", "api/%_*.md", "api/\udc80.md"])
def test_any_path_is_found_and_no_other(log: InvocationLog, path: str) -> None:
    log.record(row(1, path, path))
    log.record(row(2, "api/aXb.md"))
    assert [found.id for found in log.rows_that_gave(path, 10)] == ["i1"]


def test_rows_without_details_or_with_odd_ones_are_passed_over(log: InvocationLog) -> None:
    assert log.record(Invocation("bare", "s", "lookup_knowledge", "q", None, None, "2026-01-01T00:00:00.000Z"))
    assert log.record(replace(row(1), retrieval_details={"given": "api/odd.md"}))
    assert log.record(replace(row(2), retrieval_details={"given": ["api/odd.md", {"document": ["api/odd.md"]}]}))
    assert log.rows_that_gave("api/odd.md", 10) == []
