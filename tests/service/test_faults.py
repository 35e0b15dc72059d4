"""Faults at every port: what the caller sees, what the telemetry keeps, what the next call does (reliability.md)."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import pytest

from kbapp.adapters.database import Database
from kbapp.adapters.invocation_log import InvocationLog
from kbapp.adapters.milvus_index import MilvusIndex
from kbapp.bootstrap import DATABASE_FILE
from kbapp.domain.errors import IndexUnavailable
from kbapp.domain.invocation import Invocation, Outcome
from kbapp.domain.lookup_result import DedupReason, LookupResult
from kbapp.domain.ports import VectorHit
from kbapp.domain.relevance import RelevanceLevel
from kbapp.service import lookup
from kbapp.service.knowledge_base import KnowledgeBase
from tests.faults import DOCUMENTS, NEW, BadEmbedder, asked, database_of, failing, substance
from tests.knowledge import document, open_for_test, write_documents


@pytest.fixture
def embedder() -> BadEmbedder:
    return BadEmbedder()


@pytest.fixture
def kb(tmp_path: Path, embedder: BadEmbedder) -> Iterator[KnowledgeBase]:
    write_documents(tmp_path / "knowledge_base", DOCUMENTS)
    with open_for_test(tmp_path, embedder) as kb:
        kb.reindex()
        yield kb


def test_hits_that_sqlite_does_not_know_do_not_exist(
    tmp_path: Path, embedder: BadEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_documents(tmp_path / "knowledge_base", DOCUMENTS)
    with open_for_test(tmp_path, embedder, milvus__read_replica="false") as kb:
        kb.reindex()
        expected = substance(asked(kb)[0])
        search = MilvusIndex.search
        ghost = VectorHit("ghost", 0.0)
        monkeypatch.setattr(MilvusIndex, "search", lambda *arguments: [ghost, *search(*arguments)])
        assert substance(asked(kb)[0]) == expected


@pytest.mark.parametrize(
    "error", [IndexUnavailable("the engine does not answer"), RuntimeError("grpc"), OSError("reset"), TimeoutError()]
)
def test_a_vector_search_that_fails_is_answered_by_words_and_the_next_one_asks_again(
    tmp_path: Path, embedder: BadEmbedder, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    write_documents(tmp_path / "knowledge_base", DOCUMENTS)
    with open_for_test(tmp_path, embedder, milvus__read_replica="false") as kb:
        kb.reindex()
        expected = substance(asked(kb)[0])
        with monkeypatch.context() as broken:
            broken.setattr(MilvusIndex, "search", lambda *_: failing(error)())
            result, row = asked(kb)
        assert result.supplement is not None
        assert result.degraded is not None
        assert row.outcome is Outcome.DEGRADED
        assert substance(asked(kb)[0]) == expected


def full_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLite gets not a page more."""
    connect = Database._connect

    def connected(database: Database) -> sqlite3.Connection:
        connection = connect(database)
        connection.execute(f"PRAGMA max_page_count = {connection.execute('PRAGMA page_count').fetchone()[0]}")
        return connection

    monkeypatch.setattr(Database, "_connect", connected)


def test_a_full_disk_takes_no_answer_away_and_the_lost_row_is_counted(
    tmp_path: Path, embedder: BadEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_documents(tmp_path / "knowledge_base", DOCUMENTS)
    with open_for_test(tmp_path, embedder) as kb:
        kb.reindex()
        expected = substance(asked(kb, "ERR_TIMEOUT")[0])
    with monkeypatch.context() as full:
        full_disk(full)
        kb = open_for_test(tmp_path, embedder)
        for _ in range(40):
            assert substance(asked(kb, "ERR_TIMEOUT")[0]) == expected
        lost = [notice for notice in kb.overview().notices if notice.kind == "telemetry"]
        assert lost
        uploaded = kb.upload("new.md", NEW * 400, "api")
        assert uploaded.outcome == "failed"
        assert "full" in str(uploaded.record.error)
        kb.close()
    with open_for_test(tmp_path, embedder) as kb:
        kb.reindex()
        assert kb.health().consistent
        rows = len(kb.telemetry())
        asked(kb)
        assert len(kb.telemetry()) == rows + 1


def test_a_database_that_is_damaged_leaves_keywords_and_says_where_the_way_out_is(
    kb: KnowledgeBase, tmp_path: Path
) -> None:
    kb.close()
    file = tmp_path / "state" / DATABASE_FILE
    file.write_bytes(b"damaged" * 4096)
    file.with_name(file.name + "-wal").unlink(missing_ok=True)
    with open_for_test(tmp_path, BadEmbedder()) as damaged:
        assert asked(damaged, "ERR_TIMEOUT")[0].relevance_level is RelevanceLevel.PRECISE
        result, _ = asked(damaged)
        assert not result.found
        assert "move it away and run `kbapp index`" in str(result.degraded)
    file.unlink()
    with open_for_test(tmp_path, BadEmbedder()) as mended:
        mended.reindex()
        assert mended.health().consistent
        assert asked(mended)[0].degraded is None


def test_a_database_that_is_deleted_under_a_running_process_is_made_anew_and_loses_no_later_row(
    kb: KnowledgeBase, tmp_path: Path, embedder: BadEmbedder
) -> None:
    expected = substance(asked(kb)[0])
    for file in (tmp_path / "state").glob(f"{DATABASE_FILE}*"):
        file.unlink()
    result, row = asked(kb)
    assert not result.found
    assert result.degraded == "还有 3 份文档尚未建立索引，语义检索的结果可能不完整"
    kb.reindex()
    assert kb.health().consistent
    assert substance(asked(kb)[0]) == expected
    kb.close()
    with open_for_test(tmp_path, embedder) as again:
        assert row.id in {kept.id for kept in again.telemetry()}
        assert len(again.telemetry()) == 2


def test_a_database_put_in_the_place_of_another_is_read_and_nothing_of_the_former_is_held(
    kb: KnowledgeBase, tmp_path: Path, embedder: BadEmbedder
) -> None:
    asked(kb)
    other = tmp_path / "other"
    write_documents(
        other / "knowledge_base", {"api/other.md": document("别的", "别的词", "银行卡退款多久到账：五天。")}
    )
    with open_for_test(other, embedder) as another:
        another.reindex()
    for file in (tmp_path / "state").glob(f"{DATABASE_FILE}*"):
        file.unlink()
    (other / "state" / DATABASE_FILE).rename(tmp_path / "state" / DATABASE_FILE)
    found = asked(kb)[0].supplement
    assert found is not None
    assert found.source == "knowledge_base/api/other.md"


def test_what_was_never_indexed_is_not_said_to_be_missing(tmp_path: Path, embedder: BadEmbedder) -> None:
    write_documents(tmp_path / "knowledge_base", DOCUMENTS)
    with open_for_test(tmp_path, embedder) as kb:
        result, row = asked(kb)
        assert (result.found, row.outcome) == (False, Outcome.DEGRADED)
        assert "3 份文档" in str(result.degraded)
        assert "知识库中没有" not in str(result.message)


def test_a_lookup_does_not_wait_for_a_process_that_writes(kb: KnowledgeBase, tmp_path: Path) -> None:
    expected = substance(asked(kb)[0])
    with database_of(tmp_path) as connection:
        connection.execute("BEGIN IMMEDIATE")
        result, row = asked(kb)
        assert substance(result) == expected
        connection.execute("ROLLBACK")
    known = {known.id for known in kb.telemetry()}
    assert (row.id in known) != any(notice.kind == "telemetry" for notice in kb.overview().notices)


def test_a_lookup_does_not_wait_for_indexing(kb: KnowledgeBase, embedder: BadEmbedder) -> None:
    during: list[LookupResult] = []
    expected = substance(asked(kb)[0])

    def look_up_meanwhile(texts: Sequence[str]) -> object:
        embedder.bad = None
        during.append(asked(kb)[0])
        return embedder.embed_passages(texts)

    embedder.bad = look_up_meanwhile
    assert kb.upload("new.md", NEW, "api").outcome == "indexed"
    [result] = during
    assert "尚未建立索引" in str(result.degraded)
    assert substance(result) | {"degraded": None} == expected


def test_a_wall_clock_that_is_set_back_takes_no_memory_and_no_row(
    tmp_path: Path, embedder: BadEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_documents(tmp_path / "knowledge_base", DOCUMENTS)
    with open_for_test(tmp_path, embedder) as kb:
        kb.reindex()
        assert asked(kb, session="s")[0].found
        monkeypatch.setattr(lookup, "now", lambda: "2001-01-01T00:00:00.000+00:00")
        again, _ = asked(kb, session="s")
        assert again.dedup_reason is DedupReason.DOC_RETRIEVED
        assert len(kb.telemetry()) == 2
    monkeypatch.undo()
    with open_for_test(tmp_path, embedder) as kb:
        assert asked(kb, session="s")[0].dedup_reason is DedupReason.DOC_RETRIEVED


def test_reading_a_session_takes_nothing_from_what_a_lookup_adds_meanwhile(
    tmp_path: Path, embedder: BadEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_documents(tmp_path / "knowledge_base", DOCUMENTS)
    with open_for_test(tmp_path, embedder) as kb:
        kb.reindex()
        rows = InvocationLog.session_rows

        def rows_before_a_lookup(log: InvocationLog, session: str, since: str) -> list[Invocation]:
            found = rows(log, session, since)
            monkeypatch.undo()
            asked(kb, "ERR_TIMEOUT", session="s")
            return found

        monkeypatch.setattr(InvocationLog, "session_rows", rows_before_a_lookup)
        kb.session("s")
        assert len(kb.session("s").calls) == 1
        assert asked(kb, "ERR_TIMEOUT", session="s")[0].dedup_reason is DedupReason.DOC_RETRIEVED


def test_a_session_that_could_not_be_read_is_read_by_the_next_call(tmp_path: Path, embedder: BadEmbedder) -> None:
    write_documents(tmp_path / "knowledge_base", DOCUMENTS)
    with open_for_test(tmp_path, embedder) as kb:
        kb.reindex()
        asked(kb, "ERR_TIMEOUT", session="s")
    file = tmp_path / "state" / DATABASE_FILE
    with open_for_test(tmp_path, embedder) as kb:
        with closing(sqlite3.connect(file)) as connection:
            connection.execute("ALTER TABLE tool_invocation RENAME TO away")
        assert asked(kb, "退款流程", session="s")[0].found
        with closing(sqlite3.connect(file)) as connection:
            connection.execute("ALTER TABLE away RENAME TO tool_invocation")
        assert asked(kb, "ERR_TIMEOUT", session="s")[0].dedup_reason is DedupReason.DOC_RETRIEVED
