"""The documents' model end to end: BGE-M3's profile over real Milvus vectors of known distances (G1, G2, G4)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from kbapp.domain.ports import Vectors
from kbapp.service.knowledge_base import KnowledgeBase
from kbapp.service.lookup import LookupRequest
from tests.knowledge import open_for_test, write_documents

DISTANCES = {
    "同一": 0.0,
    "很近": 0.383,
    "边界": 0.5,
    "稍远": 0.6031,
    "半远": 1.0,
    "太远": 1.2,
    "正交": 2.0,
    "相反": 4.0,
}


class FixedEmbedder:
    """Puts a passage at the squared L2 distance that its text names, as seen from every query."""

    model_id = "BAAI/bge-m3"
    dimension = 8

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        return np.tile(np.eye(1, self.dimension, dtype=np.float32), (len(texts), 1))

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        return np.stack([self._at(next(d for word, d in DISTANCES.items() if word in text)) for text in texts])

    def _at(self, distance: float) -> Vectors:
        cosine = 1 - distance / 2
        row = np.zeros(self.dimension, dtype=np.float32)
        row[0], row[1] = cosine, math.sqrt(max(0.0, 1 - cosine**2))
        return row


@pytest.fixture
def kb(tmp_path: Path) -> Iterator[KnowledgeBase]:
    with open_for_test(tmp_path, FixedEmbedder()) as kb:
        yield kb


@pytest.mark.parametrize(
    ("word", "similarity", "level"),
    [
        ("同一", 1.0, "HIGHLY_RELEVANT"),
        ("很近", 0.8085, "HIGHLY_RELEVANT"),
        ("边界", 0.75, "HIGHLY_RELEVANT"),
        ("稍远", 0.69845, "REFERENCE"),
        ("半远", 0.5, "REFERENCE"),
        ("太远", 0.4, None),
        ("正交", 0.0, None),
        ("相反", 0.0, None),
    ],
)
def test_g2_levels_of_bge_m3_at_the_documents_distances(
    kb: KnowledgeBase, tmp_path: Path, word: str, similarity: float, level: str | None
) -> None:
    write_documents(tmp_path / "knowledge_base", {"domain/a.md": f"{word}的正文\n"})
    kb.reindex()
    result, invocation = kb.explained_lookup(LookupRequest("随便问问"))
    assert result.relevance_level == level
    assert result.found == (level is not None)
    details = invocation.retrieval_details
    assert details["l1_top_similarity"] == pytest.approx(similarity, abs=2e-6)
    assert details["l1_top_score"] == pytest.approx(DISTANCES[word], abs=4e-6)
    assert details["thresholds"] == {"max_l2_distance": 2.0, "highly_relevant": 0.75, "reference": 0.5}


def test_g4_thresholds_are_settings(tmp_path: Path) -> None:
    write_documents(tmp_path / "knowledge_base", {"domain/a.md": "很近的正文\n"})
    overrides = {
        "retrieval__normalization__highly_relevant_threshold": "0.9",
        "retrieval__normalization__reference_threshold": "0.6",
    }
    with open_for_test(tmp_path, FixedEmbedder(), **overrides) as kb:
        kb.reindex()
        assert kb.lookup("随便问问").relevance_level == "REFERENCE"


def test_q9_a_chunk_that_full_text_alone_found_is_graded_by_its_own_distance(tmp_path: Path) -> None:
    documents = {f"domain/{number}.md": f"很近的正文 {number}\n" for number in range(5)}
    write_documents(tmp_path / "knowledge_base", documents | {"api/far.md": "正交的 UNIQUEWORD\n"})
    overrides = {"retrieval__fusion__min_documents": "0", "retrieval__l1__candidates": "3"}
    with open_for_test(tmp_path, FixedEmbedder(), **overrides) as kb:
        kb.reindex()
        _, invocation = kb.explained_lookup(LookupRequest("UNIQUEWORD"))
        rows = {row["document"]: row for row in invocation.retrieval_details["l1_candidates"]}  # type: ignore[union-attr, call-overload, index]
        far = rows["api/far.md"]
        assert (far["vector_rank"], far["full_text_rank"]) == (None, 1)  # type: ignore[index, call-overload]
        assert far["distance"] == pytest.approx(2.0, abs=4e-6)  # type: ignore[index, call-overload]
        assert far["level"] is None  # type: ignore[index, call-overload]
