from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from kbapp.adapters.database import Database
from kbapp.adapters.document_records import DocumentRecords
from kbapp.adapters.embedding_cache import EmbeddingCache
from kbapp.adapters.full_text import FullTextIndex
from kbapp.domain.documents import DocumentStatus
from kbapp.domain.errors import IndexUnavailable
from tests.values import make_chunk, make_record


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    database = Database(tmp_path / "kbapp.sqlite3")
    yield database
    database.close()


@pytest.fixture
def records(database: Database) -> DocumentRecords:
    return DocumentRecords(database, "knowledge_base")


def test_u3_a_record_comes_back_as_it_was_saved(records: DocumentRecords) -> None:
    record = make_record(
        "api/支付.md", metadata={"title": "支付", "keywords": ["a", "b"]}, status=DocumentStatus.FAILED
    )
    records.save([record])
    assert records.documents() == {"api/支付.md": record}


def test_u3_metadata_is_null_without_frontmatter_and_the_path_is_the_source(
    records: DocumentRecords, database: Database
) -> None:
    records.save([make_record("a.md")])
    with database.read() as connection:
        row = connection.execute("SELECT metadata, file_path, category, file_name FROM api_document").fetchone()
    assert tuple(row) == (None, "knowledge_base/a.md", "general", "a.md")


def test_two_records_may_change_places(records: DocumentRecords) -> None:
    records.save([make_record("a.md", "d1"), make_record("b.md", "d2")])
    records.save([make_record("b.md", "d1"), make_record("a.md", "d2")])
    assert {path: record.id for path, record in records.documents().items()} == {"a.md": "d2", "b.md": "d1"}


def test_a_chunk_set_replaces_the_former_one_and_full_text_follows(
    records: DocumentRecords, database: Database
) -> None:
    full_text = FullTextIndex(database)
    first, second, third = make_chunk("支付网关"), make_chunk("连接池"), make_chunk("缓存击穿")
    records.commit_chunks(make_record(), [first, second])
    records.commit_chunks(make_record(), [second, third])
    assert records.chunk_ids() == {second.id, third.id}
    assert [hit.chunk_id for hit in full_text.search("支付网关 缓存击穿", 10)] == [third.id]
    assert full_text.is_consistent()
    assert records.chunks([first.id, second.id]) == {second.id: second}


def test_a_chunk_that_only_moved_keeps_its_row(records: DocumentRecords, database: Database) -> None:
    records.commit_chunks(make_record(), [make_chunk("支付网关")])
    moved = make_chunk("支付网关", index=3, total=5)
    records.commit_chunks(make_record(), [moved])
    assert records.chunks_of("d1") == (moved,)
    assert len(FullTextIndex(database).search("支付", 10)) == 1


def test_u7_a_deleted_document_leaves_nothing(records: DocumentRecords, database: Database) -> None:
    records.commit_chunks(make_record(), [make_chunk("支付网关")])
    records.commit_chunks(make_record("b.md", "d2"), [make_chunk("连接池", path="b.md", document_id="d2")])
    records.delete("d1")
    assert list(records.documents()) == ["b.md"]
    assert FullTextIndex(database).search("支付网关", 10) == []
    assert (records.document_count(), records.chunk_count()) == (1, 1)


@pytest.mark.parametrize(
    "query", ["", "???", '"', "a OR", "NEAR(", "tokens:x", "col*", "';--", "支付 AND NOT", "^", "-"]
)
def test_full_text_takes_any_query(records: DocumentRecords, database: Database, query: str) -> None:
    records.commit_chunks(make_record(), [make_chunk("支付网关")])
    assert isinstance(FullTextIndex(database).search(query, 5), list)


def test_full_text_ranks_by_rarity_and_ties_by_id(records: DocumentRecords, database: Database) -> None:
    chunks = [make_chunk(f"{text} 相同", index=i) for i, text in enumerate(["ERR_TIMEOUT", "支付网关", "连接池"])]
    records.commit_chunks(make_record(), chunks)
    full_text = FullTextIndex(database)
    assert full_text.search("err_timeout 相同", 3)[0].chunk_id == chunks[0].id
    assert full_text.search("timeout", 3)[0].chunk_id == chunks[0].id
    assert full_text.chunk_frequencies(["相同", "timeout", "nowhere"]) == {"相同": 3, "timeout": 1}


def test_s3_the_cache_keeps_vectors_to_the_bit_and_apart_by_model(database: Database) -> None:
    vector = np.eye(8, dtype=np.float32)[0]
    EmbeddingCache(database, "m1").put({"h": vector})
    assert np.array_equal(EmbeddingCache(database, "m1").get(["h", "other"])["h"], vector)
    assert EmbeddingCache(database, "m2").get(["h"]) == {}


def test_a_chunk_without_its_document_is_refused(records: DocumentRecords, database: Database) -> None:
    records.commit_chunks(make_record(), [make_chunk("one")])
    with pytest.raises(IndexUnavailable, match="FOREIGN KEY"), database.write() as connection:
        connection.execute("DELETE FROM api_document")
    assert records.chunk_count() == len(records.documents()) == 1
