"""The vectors in memory answer as Milvus does, and follow what any process indexes."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from kbapp.adapters.database import Database
from kbapp.adapters.embedding_cache import EmbeddingCache
from kbapp.adapters.indexed_vectors import IndexedVectors
from kbapp.adapters.milvus_engine import LocalEngine
from kbapp.adapters.milvus_index import MilvusIndex
from kbapp.adapters.vector_replica import VectorReplica
from kbapp.bootstrap import DATABASE_FILE
from kbapp.domain.errors import IndexUnavailable
from kbapp.domain.ports import VectorHit, Vectors
from kbapp.service.knowledge_base import KnowledgeBase
from tests.embedding import TinyEmbedder
from tests.knowledge import open_for_test, write_documents

WORDS = "支付 网关 超时 重试 连接池 缓存 队列 索引 证书 部署 redis kafka nginx timeout retry escalation".split()
QUERIES = [*WORDS, "连接池怎么配置", "kafka 队列 超时", "没有这个词", "redis timeout"]


@dataclass
class CountingIndex:
    """Milvus, and how often it was searched."""

    index: MilvusIndex
    cache: EmbeddingCache
    searches: int = field(default=0)

    def search(self, vector: Vectors, limit: int) -> list[VectorHit]:
        self.searches += 1
        return self.index.search(vector, limit)

    def distances(self, vector: Vectors, hashes: Mapping[str, str]) -> dict[str, float]:
        return IndexedVectors(self.index, self.cache).distances(vector, hashes)


@dataclass
class Place:
    """A knowledge base beside its vectors, in memory and in Milvus."""

    kb: KnowledgeBase
    root: Path
    database: Path
    embedder: TinyEmbedder
    milvus: CountingIndex
    replica: VectorReplica

    def assert_answers_as_milvus(self, limit: int = 20) -> None:
        for vector in self.embedder.embed_queries(QUERIES):
            searches = self.milvus.searches
            found = self.replica.search(vector, limit)
            assert self.milvus.searches == searches, "Milvus was asked"
            in_milvus = self.milvus.index.search(vector, 1000)
            distances = {hit.chunk_id: hit.distance for hit in in_milvus}
            # Distances that are equal but for rounding come in the order of the rounding, which is not the same.
            assert [hit.distance for hit in found] == about([hit.distance for hit in in_milvus[:limit]])
            assert [hit.distance for hit in found] == about([distances[hit.chunk_id] for hit in found])

    def execute(self, sql: str, *values: object) -> None:
        with sqlite3.connect(self.database) as connection:
            connection.execute(sql, values)
        connection.close()


def about(distances: list[float]) -> object:
    return pytest.approx(distances, abs=1e-6)


def text(number: int) -> str:
    words = [WORDS[(number * step + step) % len(WORDS)] for step in (1, 3, 7, 11)]
    return f"# {words[0]} {number}\n\n{' '.join(words)}\n\n## {words[2]}\n\n{words[3]} {words[1]} 第 {number} 份\n"


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    root = tmp_path / "knowledge_base"
    write_documents(root, {f"api/{number}.md": text(number) for number in range(40)})
    embedder = TinyEmbedder()
    file = tmp_path / "state" / DATABASE_FILE
    database = Database(file)
    with open_for_test(tmp_path, embedder) as kb:
        kb.reindex()
        index = MilvusIndex(LocalEngine(tmp_path / "state"), model=embedder, base_folder=root.name)
        milvus = CountingIndex(index, EmbeddingCache(database, embedder.model_id))
        yield Place(kb, root, file, embedder, milvus, VectorReplica(database, embedder, milvus))
        milvus.index.close()
    database.close()


def test_the_answers_are_those_of_milvus(place: Place) -> None:
    for limit in (1, 7, 50, 1000):
        place.assert_answers_as_milvus(limit)
    assert place.replica.size() == place.milvus.index.count() == 80


def test_it_follows_uploads_deletions_renames_and_changes(place: Place) -> None:
    place.assert_answers_as_milvus()
    place.kb.upload("neu.md", "# kafka\n\nkafka 队列 超时\n".encode(), "api")
    place.assert_answers_as_milvus()
    place.kb.delete("api/3.md")
    place.assert_answers_as_milvus()
    (place.root / "api" / "4.md").rename(place.root / "api" / "moved.md")
    (place.root / "api" / "5.md").write_text(text(77), encoding="utf-8")
    place.kb.reindex()
    place.assert_answers_as_milvus()
    assert place.replica.size() == place.milvus.index.count()


def test_the_distances_of_single_chunks_are_those_of_the_cache(place: Place) -> None:
    with sqlite3.connect(place.database) as connection:
        hashes = dict(connection.execute("SELECT id, content_hash FROM chunk").fetchall())
    connection.close()
    [vector] = place.embedder.embed_queries(["kafka 队列"])
    expected = place.milvus.distances(vector, hashes)
    assert len(expected) == 80
    assert place.replica.distances(vector, hashes | {"unknown": "0"}) == expected, "before the vectors are in memory"
    place.replica.search(vector, 1)
    assert place.replica.distances(vector, hashes | {"unknown": "0"}) == expected
    assert place.replica.distances(vector, {}) == {}


def test_it_loads_anew_when_it_fell_behind_the_log(place: Place) -> None:
    place.assert_answers_as_milvus()
    place.kb.delete("api/3.md")
    place.execute("DELETE FROM chunk_change WHERE number < (SELECT max(number) FROM chunk_change)")
    place.assert_answers_as_milvus()


def test_the_log_of_changes_stays_small(place: Place) -> None:
    place.execute("INSERT INTO chunk_change (number, chunk_id) VALUES (50000, 'x')")
    place.kb.delete("api/3.md")
    with sqlite3.connect(place.database) as connection:
        numbers = [row[0] for row in connection.execute("SELECT number FROM chunk_change ORDER BY number")]
    connection.close()
    assert numbers == [50000, 50001, 50002]


def test_milvus_is_asked_while_a_vector_is_missing(place: Place) -> None:
    place.execute("DELETE FROM embedding_cache WHERE text_hash = (SELECT content_hash FROM chunk LIMIT 1)")
    [vector] = place.embedder.embed_queries(["redis"])
    assert place.replica.search(vector, 100) == place.milvus.index.search(vector, 100)
    assert (place.milvus.searches, place.replica.size()) == (1, None)


@pytest.mark.parametrize("row", [b"abc", np.zeros(64, "<f4"), np.full(64, np.nan, "<f4"), np.full(64, 3e38, "<f4")])
@pytest.mark.filterwarnings("error")
def test_milvus_is_asked_while_a_vector_is_damaged(place: Place, row: bytes | Vectors) -> None:
    place.execute(
        "UPDATE embedding_cache SET vector = ? WHERE text_hash = (SELECT content_hash FROM chunk LIMIT 1)", bytes(row)
    )
    [vector] = place.embedder.embed_queries(["redis"])
    assert place.replica.search(vector, 100) == place.milvus.index.search(vector, 100)
    assert (place.milvus.searches, place.replica.size()) == (1, None)


def test_a_vector_that_goes_missing_afterwards_is_noticed_with_the_change_that_needs_it(place: Place) -> None:
    place.assert_answers_as_milvus()
    place.kb.upload("neu.md", b"# kafka\n\nkafka\n", "api")
    place.execute(
        "DELETE FROM embedding_cache WHERE text_hash IN (SELECT content_hash FROM chunk WHERE title = 'kafka')"
    )
    [vector] = place.embedder.embed_queries(["kafka"])
    assert place.replica.search(vector, 100) == place.milvus.index.search(vector, 100)
    assert place.milvus.searches == 1


def test_the_vectors_of_another_model_are_not_its_own(place: Place, tmp_path: Path) -> None:
    other = TinyEmbedder(32)
    database = Database(place.database)
    replica = VectorReplica(database, other, place.milvus)
    [vector] = other.embed_queries(["redis"])
    assert replica.search(vector, 10) == []
    place.kb.close()
    with open_for_test(tmp_path, other) as kb:
        kb.reindex()
    assert len(replica.search(vector, 10)) == 10
    assert place.milvus.searches == 0
    database.close()


@pytest.mark.parametrize("vector", [np.zeros(64), np.full(64, np.nan), np.ones(64), np.eye(63)[0]])
def test_a_vector_that_is_no_unit_vector_of_the_model_is_refused(place: Place, vector: Vectors) -> None:
    with pytest.raises(IndexUnavailable):
        place.replica.search(vector, 10)


def test_two_processes_see_each_others_changes(place: Place, tmp_path: Path) -> None:
    place.assert_answers_as_milvus()
    with open_for_test(tmp_path, TinyEmbedder()) as other:
        other.upload("neu.md", "# kafka\n\nkafka 队列 超时\n".encode(), "api")
    place.assert_answers_as_milvus()


def test_a_server_is_asked_although_the_vectors_are_at_hand(tmp_path: Path) -> None:
    write_documents(tmp_path / "knowledge_base", {"api/a.md": "# redis\n\n缓存击穿\n"})
    with open_for_test(tmp_path) as kb:
        kb.reindex()
        assert kb.lookup("缓存击穿 怎么办").degraded is None
    with open_for_test(tmp_path, milvus__uri="http://127.0.0.1:1") as kb:
        assert "did not answer" in str(kb.lookup("缓存击穿 怎么办").degraded)


def test_no_engine_is_opened_for_a_lookup(tmp_path: Path) -> None:
    write_documents(tmp_path / "knowledge_base", {"api/a.md": "# redis\n\n缓存击穿\n"})
    with open_for_test(tmp_path) as kb:
        kb.reindex()
    with open_for_test(tmp_path) as kb:
        assert kb.lookup("缓存击穿 怎么办").supplement is not None
        assert (kb.overview().engine, kb.overview().in_memory) == (None, 1)
