"""L1: a query into graded candidates: embed, search, fuse full text in, complete the evidence, grade (Q2, Q9, G7)."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from kbapp.domain.documents import StoredChunk
from kbapp.domain.errors import IndexUnavailable
from kbapp.domain.fusion import FusedHit, fuse_by_rank
from kbapp.domain.index_state import MODEL_STATE, other_model
from kbapp.domain.ports import DocumentRecords, Embedder, EmbeddingCache, FullText, FullTextHit, VectorIndex, Vectors
from kbapp.domain.query_terms import QueryTerms, weigh_terms
from kbapp.domain.relevance import CandidateEvidence, RelevanceLevel, level_of
from kbapp.domain.tokens import content_tokens
from kbapp.service.grading import Grading, GradingInForce


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """How L1 searches; the names of the settings stand in ``docs/settings.md``."""

    top_k: int
    candidates: int
    fusion_min_documents: int


@dataclass(frozen=True, slots=True)
class Candidate:
    """A chunk with all that it is graded by; ``level`` None: not a result."""

    stored: StoredChunk
    hit: FusedHit
    evidence: CandidateEvidence
    similarity: float
    level: RelevanceLevel | None


@dataclass(frozen=True, slots=True)
class SearchOutcome:
    """The best candidates, best first, what graded them, the times of the stages, and what was missing (None: nothing).

    The first ``top_k`` candidates are considered; the others are there in case these were given before.
    """

    candidates: tuple[Candidate, ...]
    grading: Grading
    top_k: int
    embed_ms: float
    search_ms: float
    full_text_problem: str | None
    pending: int = 0  # documents that are still being indexed

    @property
    def results(self) -> tuple[Candidate, ...]:
        """The considered candidates that are good enough to be given."""
        return tuple(candidate for candidate in self.candidates[: self.top_k] if candidate.level is not None)

    @property
    def alternatives(self) -> tuple[Candidate, ...]:
        """All candidates that are good enough to be given."""
        return tuple(candidate for candidate in self.candidates if candidate.level is not None)


@dataclass(frozen=True, slots=True)
class _Words:
    """What SQLite knows of a query, read while the model embeds it."""

    hits: list[FullTextHit]
    problem: str | None
    terms: QueryTerms
    pending: int


class VectorSearch:
    """L1 with full text fused in. Thread-safe as its ports are; close it."""

    def __init__(
        self,
        *,
        embedder: Embedder,
        vectors: VectorIndex,
        full_text: FullText,
        records: DocumentRecords,
        cache: EmbeddingCache,
        grading: GradingInForce,
        options: SearchOptions,
    ) -> None:
        self._embedder = embedder
        self._vectors = vectors
        self._full_text = full_text
        self._records = records
        self._cache = cache
        self._lexical_leg = ThreadPoolExecutor(thread_name_prefix="kbapp-words")
        self.grading = grading
        self.options = options

    def search(self, query: str, *, alternatives: int = 0) -> SearchOutcome:
        """The best ``top_k`` candidates for a query, and so many more.

        Raises:
            IndexUnavailable: vectors cannot be had, so that nothing can be graded.
        """
        start = time.perf_counter()
        lexical = self._lexical_leg.submit(self._look_up_words, query)
        vector = self._embedder.embed_queries([query])[0]
        embedded = time.perf_counter()
        vector_hits = self._vectors.search(vector, self.options.candidates)
        if not vector_hits:
            self._check_indexed()
        words = lexical.result()
        distances = {hit.chunk_id: hit.distance for hit in vector_hits}
        fused = fuse_by_rank([hit.chunk_id for hit in vector_hits], [hit.chunk_id for hit in words.hits])
        best = self._in_force(fused, self.options.top_k + alternatives)
        distances |= self._missing_distances(vector, [chunk for _, chunk in best if chunk.id not in distances])
        gradable = [(hit, chunk) for hit, chunk in best if chunk.id in distances]
        grading = self.grading.now()
        candidates = self._grade(grading, words.terms, gradable, distances)
        ended = time.perf_counter()
        return SearchOutcome(
            candidates,
            grading,
            self.options.top_k,
            (embedded - start) * 1000,
            (ended - embedded) * 1000,
            words.problem,
            words.pending,
        )

    def _check_indexed(self) -> None:
        """No vector at all is an answer for an empty knowledge base only, or for one that is just being indexed."""
        if not self._records.chunk_count() or self._records.pending_count():
            return
        former = self._records.state(MODEL_STATE)
        if former and former != self._embedder.model_id:
            raise IndexUnavailable(other_model(former, self._embedder.model_id))
        raise IndexUnavailable("the vector index is empty: run `kbapp index`")

    def close(self) -> None:
        """End the threads of the lexical leg."""
        self._lexical_leg.shutdown()

    def _look_up_words(self, query: str) -> _Words:
        hits, problem = self._full_text_hits(query)
        return _Words(hits, problem, self._terms(query), self._records.pending_count())

    def _full_text_hits(self, query: str) -> tuple[list[FullTextHit], str | None]:
        try:
            if self._records.document_count() < self.options.fusion_min_documents:
                return [], None
            return self._full_text.search(query, self.options.candidates), None
        except IndexUnavailable as error:
            return [], str(error)

    def _in_force(self, fused: Sequence[FusedHit], count: int) -> list[tuple[FusedHit, StoredChunk]]:
        """The best hits whose chunk is in force: a hit that SQLite does not know does not exist."""
        best: list[tuple[FusedHit, StoredChunk]] = []
        for start in range(0, len(fused), count):
            part = fused[start : start + count]
            chunks = self._records.chunks([hit.chunk_id for hit in part])
            best += [(hit, chunks[hit.chunk_id]) for hit in part if hit.chunk_id in chunks]
            if len(best) >= count:
                break
        return best[:count]

    def _missing_distances(self, vector: Vectors, chunks: Sequence[StoredChunk]) -> dict[str, float]:
        """Squared L2 distances of chunks that full text alone found (Q9)."""
        cached = self._cache.get([chunk.content_hash for chunk in chunks]) if chunks else {}
        return {
            chunk.id: float(np.sum((cached[chunk.content_hash] - vector) ** 2))
            for chunk in chunks
            if chunk.content_hash in cached
        }

    def _grade(
        self,
        grading: Grading,
        terms: QueryTerms,
        best: Sequence[tuple[FusedHit, StoredChunk]],
        distances: dict[str, float],
    ) -> tuple[Candidate, ...]:
        candidates = []
        for hit, chunk in best:
            coverage, found_terms = terms.found_in(chunk.chunk.embedded_text)
            evidence = CandidateEvidence(distances[chunk.id], coverage, terms.unknown_share, found_terms)
            similarity = grading.profile.similarity(evidence, grading.thresholds)
            level = level_of(similarity, grading.thresholds)
            candidates.append(Candidate(chunk, hit, evidence, similarity, level))
        return tuple(candidates)

    def _terms(self, query: str) -> QueryTerms:
        """What the query names; without full text every token weighs the same and none is unknown."""
        tokens = content_tokens(query)
        try:
            return weigh_terms(query, self._full_text.chunk_frequencies(tokens), self._records.chunk_count())
        except IndexUnavailable:
            return QueryTerms(dict.fromkeys(tokens, 1.0), 0.0)
