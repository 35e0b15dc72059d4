"""The embedding cache: vectors as they were, its size, and what a prune leaves."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from kbapp.adapters.database import Database
from kbapp.adapters.document_records import DocumentRecords
from kbapp.adapters.embedding_cache import EmbeddingCache
from kbapp.domain.documents import DocumentStatus, StoredChunk
from kbapp.domain.ports import CacheSize, Vectors
from tests.values import make_chunk, make_record

A, B, C = (make_chunk(text, path=f"{text}.md", document_id=text) for text in "abc")


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with closing(Database(tmp_path / "kbapp.sqlite3")) as database:
        yield database


def rows(*chunks: StoredChunk) -> dict[str, Vectors]:
    return {chunk.content_hash: unit_vector(8) for chunk in chunks}


def unit_vector(dimension: int) -> Vectors:
    vector = np.random.default_rng(7).normal(size=dimension).astype(np.float32)
    return vector / np.linalg.norm(vector)


def index(database: Database, chunk: StoredChunk, made_with: str | None, **values: object) -> None:
    record = make_record(chunk.path, chunk.document_id, indexed_with=made_with, **values)
    DocumentRecords(database, "knowledge_base").commit_chunks(record, [chunk])


def hashes(cache: EmbeddingCache) -> set[str]:
    return set(cache.get([chunk.content_hash for chunk in (A, B, C)]))


def test_s3_a_vector_comes_back_as_it_was_and_for_its_model_only(database: Database) -> None:
    tiny, other = EmbeddingCache(database, "tiny"), EmbeddingCache(database, "other")
    kept = rows(A)
    tiny.put(kept)
    assert np.array_equal(tiny.get([A.content_hash])[A.content_hash], kept[A.content_hash])
    assert other.get([A.content_hash]) == {}


def test_more_hashes_than_sqlite_takes_parameters_are_found(database: Database) -> None:
    cache = EmbeddingCache(database, "tiny")
    many = {f"{number:064x}": unit_vector(2) for number in range(1_200)}
    cache.put(many)
    assert cache.get(list(many)).keys() == many.keys()


def test_the_size_counts_all_models(database: Database) -> None:
    assert EmbeddingCache(database, "tiny").size() == CacheSize(0, 0)
    EmbeddingCache(database, "tiny").put(rows(A, B))
    EmbeddingCache(database, "other").put(rows(A))
    assert EmbeddingCache(database, "tiny").size() == CacheSize(3, 3 * 8 * 4)


def test_a_prune_deletes_what_no_chunk_in_force_was_made_with(database: Database) -> None:
    tiny, other = EmbeddingCache(database, "tiny"), EmbeddingCache(database, "other")
    tiny.put(rows(A, B))
    other.put(rows(A, B))
    index(database, A, "tiny v1 500/0 knowledge_base")
    assert tiny.prune() == 3
    assert (hashes(tiny), hashes(other)) == ({A.content_hash}, set())
    assert tiny.prune() == 0


def test_a_prune_keeps_the_vectors_of_a_version_that_answers_whoever_made_it(database: Database) -> None:
    tiny, other, third = (EmbeddingCache(database, model) for model in ("tiny", "tiny v2", "third"))
    for cache in (tiny, other, third):
        cache.put(rows(A, B, C))
    index(database, A, "tiny v2 v1 500/0 knowledge_base", status=DocumentStatus.FAILED)
    index(database, B, None, status=DocumentStatus.PENDING)
    assert tiny.prune() == 6
    assert hashes(tiny) == {A.content_hash, B.content_hash}
    assert hashes(other) == {A.content_hash}
    assert hashes(third) == set()


def test_a_prune_gives_the_place_back_to_the_disk(database: Database) -> None:
    cache = EmbeddingCache(database, "tiny")
    cache.put({f"{number:064x}": np.zeros(1_000, dtype=np.float32) for number in range(500)})
    before = disk_size(database)
    assert cache.prune() == 500
    database.close()
    assert disk_size(database) < before / 4


def disk_size(database: Database) -> int:
    return sum(file.stat().st_size for file in database.file.parent.iterdir())


@pytest.mark.parametrize(
    "stored",
    [
        b"",
        b"abc",
        unit_vector(8).tobytes()[:-4],
        np.zeros(8, "<f4").tobytes(),
        np.full(8, np.nan, "<f4").tobytes(),
        np.full(8, np.inf, "<f4").tobytes(),
        np.full(8, 3e38, "<f4").tobytes(),
        (2 * unit_vector(8)).tobytes(),
        "text",
        7,
        None,
    ],
)
@pytest.mark.filterwarnings("error")
def test_what_is_no_unit_vector_counts_as_missing(database: Database, stored: object) -> None:
    cache = EmbeddingCache(database, "tiny")
    cache.put(rows(A, B))
    with database.write() as connection:
        if stored is None:
            connection.execute("DELETE FROM embedding_cache WHERE text_hash = ?", (A.content_hash,))
        else:
            connection.execute("UPDATE embedding_cache SET vector = ? WHERE text_hash = ?", (stored, A.content_hash))
    assert hashes(cache) == {B.content_hash}


def test_a_chunk_in_force_without_a_row_is_noticed(database: Database) -> None:
    cache = EmbeddingCache(database, "tiny")
    assert not cache.lacks_any()
    index(database, A, "tiny v1")
    EmbeddingCache(database, "other").put(rows(A))
    assert cache.lacks_any()
    cache.put(rows(A))
    assert not cache.lacks_any()
