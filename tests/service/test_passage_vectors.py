"""Which texts are put to the embedder, together with which, and what happens when it refuses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kbapp.domain.documents import StoredChunk
from kbapp.domain.errors import IndexUnavailable
from kbapp.domain.ports import CacheSize, Vectors
from kbapp.service.index_report import IndexProgress
from kbapp.service.passage_vectors import FAILURES_IN_A_ROW, TEXTS_PER_CALL, PassageVectors
from tests.embedding import TinyEmbedder
from tests.values import make_chunk


class MemoryCache:
    """A cache in a dictionary."""

    def __init__(self) -> None:
        self.vectors: dict[str, Vectors] = {}

    def get(self, hashes: Sequence[str]) -> dict[str, Vectors]:
        return {key: self.vectors[key] for key in hashes if key in self.vectors}

    def put(self, vectors: Mapping[str, Vectors]) -> None:
        self.vectors.update(vectors)

    def size(self) -> CacheSize:
        raise NotImplementedError

    def prune(self) -> int:
        raise NotImplementedError


class Moody(TinyEmbedder):
    """Keeps the texts of each call; refuses those that hold a word of ``refused``; the empty word is in all."""

    def __init__(self, *refused: str) -> None:
        super().__init__()
        self.refused = refused
        self.asked: list[list[str]] = []

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        self.asked.append(list(texts))
        if any(word in text for word in self.refused for text in texts):
            raise IndexUnavailable("refused")
        return super().embed_passages(texts)


Documents = list[list[StoredChunk]]


def documents(*texts: Sequence[str]) -> Documents:
    return [[make_chunk(text, document_id=f"d{number}") for text in part] for number, part in enumerate(texts)]


def numbered(count: int, chunks: int) -> Documents:
    return documents(*([f"文档{document}第{chunk}节" for chunk in range(chunks)] for document in range(count)))


def embedded_texts(wanted: Documents) -> list[str]:
    return [chunk.chunk.embedded_text for part in wanted for chunk in part]


def expecting(embedder: Moody, wanted: Documents, cache: MemoryCache | None = None) -> PassageVectors:
    passages = PassageVectors(embedder, cache or MemoryCache(), None)
    passages.expect(chunk for part in wanted for chunk in part)
    return passages


def failures(passages: PassageVectors, wanted: Documents) -> list[int]:
    """The documents that get no vectors, by number."""
    failed = []
    for number, part in enumerate(wanted):
        try:
            passages.rows_of(part)
        except IndexUnavailable:
            failed.append(number)
    return failed


@given(
    st.lists(
        st.lists(st.sampled_from("甲乙丙丁戊己庚辛壬癸子丑寅卯辰巳午未申酉戌亥"), min_size=1, max_size=40), max_size=8
    )
)
def test_s3_each_chunk_gets_the_vector_of_its_text_and_equal_texts_are_embedded_once(texts: list[list[str]]) -> None:
    embedder, wanted = Moody(), documents(*texts)
    passages = expecting(embedder, wanted)
    for chunks in wanted:
        assert np.array_equal(passages.rows_of(chunks), TinyEmbedder().embed_passages(embedded_texts([chunks])))
    assert sorted(embedder.texts) == sorted(set(embedded_texts(wanted)))
    assert all(len(call) <= TEXTS_PER_CALL for call in embedder.asked)


def test_calls_are_filled_with_the_texts_of_the_documents_that_follow() -> None:
    embedder, wanted = Moody(), numbered(9, chunks=4)
    assert failures(expecting(embedder, wanted), wanted) == []
    assert [len(call) for call in embedder.asked] == [4, 16, 16]
    assert embedder.texts == embedded_texts(wanted)


def test_texts_in_the_cache_are_not_taken_along() -> None:
    embedder, wanted, cache = Moody(), numbered(4, chunks=2), MemoryCache()
    PassageVectors(Moody(), cache, None).rows_of(wanted[2])
    assert failures(expecting(embedder, wanted, cache), wanted) == []
    assert [len(call) for call in embedder.asked] == [2, 4]


@pytest.mark.parametrize("bad", [[0], [1], [2], [5], [0, 2], [1, 4], [0, 2, 4]])
def test_u4_a_refused_text_fails_its_own_document_alone_wherever_it_is(bad: list[int]) -> None:
    wanted = numbered(6, chunks=2)
    embedder = Moody(*(f"文档{number}第1节" for number in bad))
    assert failures(expecting(embedder, wanted), wanted) == bad


def test_an_embedder_that_is_down_from_the_start_is_asked_twice() -> None:
    embedder, wanted = Moody(""), numbered(6, chunks=2)
    assert failures(expecting(embedder, wanted), wanted) == [0, 1, 2, 3, 4, 5]
    assert len(embedder.asked) == FAILURES_IN_A_ROW


def test_an_embedder_that_goes_down_is_asked_once_for_several_documents_and_for_two_alone() -> None:
    embedder, wanted = Moody(), numbered(8, chunks=10)
    passages = expecting(embedder, wanted)
    passages.rows_of(wanted[0])
    embedder.refused, embedder.asked = ("",), []
    assert failures(passages, wanted[1:]) == [0, 1, 2, 3, 4, 5, 6]
    assert [len(call) for call in embedder.asked] == [16, 10, 10]


def test_progress_counts_every_text_and_ends_at_the_total() -> None:
    seen: list[IndexProgress] = []
    wanted = numbered(9, chunks=4)
    passages = PassageVectors(Moody(), MemoryCache(), seen.append)
    passages.expect(chunk for part in wanted for chunk in part)
    assert failures(passages, wanted) == []
    assert [(step.done, step.total) for step in seen] == [(4, 36), (20, 36), (36, 36)]
    assert passages.embedded == 36
