"""When rows and chunks are compared: after a crash, a failure, a change from outside; never after a clean run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

import pytest

from kbapp.adapters.database import Database
from kbapp.adapters.document_records import DocumentRecords
from kbapp.adapters.embedding_cache import EmbeddingCache
from kbapp.adapters.full_text import FullTextIndex
from kbapp.domain.documents import StoredChunk
from kbapp.domain.errors import IndexUnavailable
from kbapp.domain.index_state import MODEL_STATE
from kbapp.domain.ports import VectorDifferences, VectorHit, Vectors
from kbapp.service.chunk_rows import ChunkRows
from kbapp.service.passage_vectors import PassageVectors
from tests.embedding import TinyEmbedder
from tests.values import make_chunk, make_record

A, B = make_chunk("甲"), make_chunk("乙", path="api/b.md", document_id="d2")
NONE: frozenset[str] = frozenset()


class FakeVectors:
    """Ids in memory; tells a fingerprint of them, and how often they were compared."""

    def __init__(self) -> None:
        self.ids: set[str] = set()
        self.compared, self.is_down, self.is_remote = 0, False, False

    def write(self, chunks: Sequence[StoredChunk], vectors: Vectors) -> None:
        assert len(chunks) == len(vectors)
        self.ids |= {chunk.id for chunk in chunks}
        self.fail_when_down()

    def delete(self, chunk_ids: Sequence[str]) -> None:
        self.fail_when_down()
        self.ids -= set(chunk_ids)

    def fail_when_down(self) -> None:
        if self.is_down:
            raise IndexUnavailable("no answer")

    def count(self) -> int:
        return len(self.ids)

    def differences(self, chunks: Iterable[StoredChunk]) -> VectorDifferences:
        self.compared += 1
        wanted = {chunk.id for chunk in chunks}
        return VectorDifferences(len(self.ids), frozenset(wanted - self.ids), frozenset(self.ids - wanted), NONE, NONE)

    address = ""

    def fingerprint(self) -> str:
        return "" if self.is_remote else repr(sorted(self.ids))

    def drop_other_collections(self) -> tuple[str, ...]:
        self.fail_when_down()
        return ()

    def search(self, vector: Vectors, limit: int) -> list[VectorHit]:
        raise NotImplementedError

    def close(self) -> None:
        raise NotImplementedError


class Store:
    """Real records and cache, fake vectors."""

    def __init__(self, database: Database) -> None:
        self.records, self.full_text = DocumentRecords(database, "knowledge_base"), FullTextIndex(database)
        self.cache, self.vectors = EmbeddingCache(database, "tiny:64"), FakeVectors()
        self.embedder = TinyEmbedder()
        self.rows = self.opened()
        self.repair()
        self.vectors.compared = 0

    def opened(self) -> ChunkRows:
        return ChunkRows(self.records, self.vectors, self.full_text, self.cache, "tiny:64")

    def passages(self) -> PassageVectors:
        return PassageVectors(self.embedder, self.cache, None)

    def repair(self) -> None:
        self.rows.repair(self.passages())

    def put(self, chunk: StoredChunk) -> None:
        self.rows.doubt()
        self.rows.write([chunk], self.passages().rows_of([chunk]))
        self.records.commit_chunks(make_record(chunk.path, chunk.document_id), [chunk])


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with closing(Database(tmp_path / "kbapp.sqlite3")) as database:
        yield Store(database)


def test_a_clean_run_compares_nothing(store: Store) -> None:
    for chunk in (A, B):
        store.rows.begin()
        store.put(chunk)
        store.rows.end()
        store.repair()
    assert (store.vectors.compared, store.vectors.ids) == (0, {A.id, B.id})


def test_s4_a_run_that_died_is_compared_by_the_next(store: Store) -> None:
    store.rows.begin()
    store.put(A)
    store.vectors.ids = {"as many as before"}
    store.rows = store.opened()
    store.rows.begin()
    store.put(B)
    store.rows.end()
    store.repair()
    assert (store.vectors.compared, store.vectors.ids) == (1, {A.id, B.id})


def test_s4_a_run_that_an_error_ended_is_compared_by_the_next_in_the_same_process(store: Store) -> None:
    store.rows.begin()
    store.put(A)
    store.vectors.ids = {"as many as before"}
    store.rows.begin()
    store.rows.end()
    store.repair()
    assert (store.vectors.compared, store.vectors.ids) == (1, {A.id})


@pytest.mark.parametrize("change", ["write", "delete"])
def test_a_change_that_failed_is_compared(store: Store, change: str) -> None:
    store.rows.begin()
    store.put(A)
    store.vectors.is_down = True
    if change == "delete":
        store.rows.delete([A.id])
    else:
        with pytest.raises(IndexUnavailable):
            store.put(B)
    store.vectors.is_down = False
    store.rows.end()
    store.repair()
    assert (store.vectors.compared, store.vectors.ids) == (1, {A.id})


def test_an_engine_that_holds_another_number_after_a_clean_run_is_compared(store: Store) -> None:
    store.rows.begin()
    store.put(A)
    store.vectors.ids.clear()  # as when another process took over from a folder that was damaged
    store.rows.end()
    store.repair()
    assert (store.vectors.compared, store.vectors.ids) == (1, {A.id})


def test_a_change_from_outside_is_compared(store: Store) -> None:
    store.vectors.ids.add("from outside")
    store.rows.begin()
    store.rows.end()
    store.repair()
    assert (store.vectors.compared, store.vectors.ids) == (1, set())


def test_a_server_is_compared_when_it_is_doubted(store: Store) -> None:
    store.vectors.is_remote = True
    store.repair()
    store.repair()
    assert store.vectors.compared == 1
    store.rows.doubt_unseen_changes()
    store.repair()
    assert store.vectors.compared == 2


def test_another_server_is_compared_at_once(store: Store) -> None:
    store.vectors.is_remote = True
    store.vectors.address = "http://first:19530"
    store.repair()
    store.repair()
    assert store.vectors.compared == 1
    store.vectors.address = "http://second:19530"
    store.repair()
    assert store.vectors.compared == 2


def test_an_engine_that_is_down_is_asked_again_the_next_time(store: Store) -> None:
    store.rows.doubt()
    store.vectors.is_down = True
    store.repair()
    store.vectors.is_down = False
    store.repair()
    assert store.vectors.compared == 1


def test_a_document_that_cannot_be_embedded_holds_up_no_other(store: Store) -> None:
    class Refusing(TinyEmbedder):
        def embed_passages(self, texts: Sequence[str]) -> Vectors:
            if any("甲" in text for text in texts):
                raise IndexUnavailable("the model refuses this text")
            return super().embed_passages(texts)

    store.embedder = Refusing()
    for chunk in (A, B):
        store.records.commit_chunks(make_record(chunk.path, chunk.document_id), [chunk])
    store.rows.doubt()
    store.repair()
    assert store.vectors.ids == {B.id}
    assert store.records.state(MODEL_STATE) == "tiny:64"
    store.embedder = TinyEmbedder()
    store.repair()
    assert store.vectors.ids == {A.id, B.id}
    store.repair()
    assert store.vectors.compared == 2


def test_a_run_that_its_caller_distrusts_is_compared(store: Store) -> None:
    store.rows.begin()
    store.put(A)
    store.rows.distrust()
    store.rows.end()
    store.repair()
    assert store.vectors.compared == 1
