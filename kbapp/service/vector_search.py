"""L1: a query into graded candidates: embed, search, fuse full text in, complete the evidence, grade (Q2, Q9, G7)."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from kbapp.domain.documents import ChunkPlace, StoredChunk
from kbapp.domain.errors import IndexUnavailable
from kbapp.domain.fusion import FusedHit, LegHit, fuse
from kbapp.domain.index_state import MODEL_STATE, other_model
from kbapp.domain.ports import (
    DocumentRecords,
    Embedder,
    FullText,
    FullTextHit,
    VectorHit,
    Vectors,
    VectorSearcher,
)
from kbapp.domain.query_terms import QueryTerms, weigh_terms
from kbapp.domain.relevance import L1_LEVELS, CandidateEvidence, RelevanceLevel, level_of
from kbapp.domain.tokens import content_tokens, tokens_of
from kbapp.service.grading import Grading, GradingInForce

EMBEDDINGS_AT_ONCE = 32  # more than cores: an endpoint's answers are waited for side by side


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

    The first ``top_k`` candidates are considered, the best sections of as many documents; the others are there in case
    these were given before.
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
        """The considered candidates that are good enough to be given, the best level first."""
        return best_level_first(self.candidates[: self.top_k])

    @property
    def alternatives(self) -> tuple[Candidate, ...]:
        """All candidates that are good enough to be given: the results, then the others, the best level first."""
        return self.results + best_level_first(self.candidates[self.top_k :])


def best_level_first(candidates: Sequence[Candidate]) -> tuple[Candidate, ...]:
    """Those with a level, each level in the order of the search (G7)."""
    return tuple(candidate for level in L1_LEVELS for candidate in candidates if candidate.level is level)


@dataclass(frozen=True, slots=True)
class _Words:
    """What SQLite knows of a query, read while the model embeds it; ``are_fused``: full text finds chunks, too."""

    hits: list[FullTextHit]
    are_fused: bool
    problem: str | None
    terms: QueryTerms
    pending: int
    grading: Grading


@dataclass(frozen=True, slots=True)
class _Found:
    """The best candidates; ``is_torn``: the chunks in force were not the same all the while."""

    words: _Words
    candidates: tuple[Candidate, ...]
    is_torn: bool


class VectorSearch:
    """L1 with full text fused in. Thread-safe as its ports are; close it."""

    def __init__(
        self,
        *,
        embedder: Embedder,
        vectors: VectorSearcher,
        full_text: FullText,
        records: DocumentRecords,
        grading: GradingInForce,
        options: SearchOptions,
    ) -> None:
        self._embedder = embedder
        self._vectors = vectors
        self._full_text = full_text
        self._records = records
        self._embedding = ThreadPoolExecutor(EMBEDDINGS_AT_ONCE, "kbapp-embedding")
        self.grading = grading
        self.options = options

    def search(self, query: str, *, alternatives: int = 0, vector: Vectors | None = None) -> SearchOutcome:
        """The best ``top_k`` candidates for a query, and so many more; ``vector``: its own, where it is known.

        Raises:
            IndexUnavailable: vectors cannot be had, so that nothing can be graded.
        """
        start = time.perf_counter()
        # The model works without the interpreter's lock; two threads of ours would hinder each other.
        embedding = self._embedding.submit(self._embedded, query, vector)
        words = self._look_up_words(query)
        vector, embed_ms = embedding.result()
        wanted = self.options.top_k + alternatives
        found = self._found(vector, words, wanted)
        if found.is_torn:
            found = self._found(vector, self._look_up_words(query), wanted)
        return SearchOutcome(
            found.candidates,
            found.words.grading,
            self.options.top_k,
            embed_ms,
            (time.perf_counter() - start) * 1000 - embed_ms,
            found.words.problem,
            found.words.pending,
        )

    def _embedded(self, query: str, vector: Vectors | None) -> tuple[Vectors, float]:
        """The vector of the query, and the milliseconds it took."""
        start = time.perf_counter()
        vector = self._embedder.embed_queries([query])[0] if vector is None else vector
        return vector, (time.perf_counter() - start) * 1000

    def _found(self, vector: Vectors, lexical: _Words, wanted: int) -> _Found:
        """The best candidates of both legs, graded."""
        vector_hits = self._vectors.search(vector, self.options.candidates)
        if not vector_hits:
            self._check_indexed()
        found = dict.fromkeys([*(hit.chunk_id for hit in vector_hits), *(hit.chunk_id for hit in lexical.hits)])
        places = self._records.places(list(found))
        distances = self._distances(vector, vector_hits, places)
        hits = fuse(_leg_hits(vector_hits, lexical, places, distances), lexical.grading.profile.fusion_weight)[:wanted]
        chunks = self._records.chunks([hit.chunk_id for hit in hits])
        candidates = tuple(
            _graded(lexical, hit, chunks[hit.chunk_id], distances[hit.chunk_id])
            for hit in hits
            if hit.chunk_id in chunks
        )
        return _Found(lexical, candidates, is_torn=len(places) < len(found) or len(candidates) < len(hits))

    def _check_indexed(self) -> None:
        """No vector at all is an answer for an empty knowledge base only, or for one that is just being indexed."""
        if not self._records.chunk_count() or self._records.pending_count():
            return
        former = self._records.state(MODEL_STATE)
        if former and former != self._embedder.model_id:
            raise IndexUnavailable(other_model(former, self._embedder.model_id))
        raise IndexUnavailable("the vector index is empty: run `kbapp index`")

    def close(self) -> None:
        """End the threads that embed."""
        self._embedding.shutdown()

    def _look_up_words(self, query: str) -> _Words:
        hits, are_fused, problem = self._full_text_hits(query)
        terms, pending = self._terms(query), self._records.pending_count()
        return _Words(hits, are_fused, problem, terms, pending, self.grading.now())

    def _full_text_hits(self, query: str) -> tuple[list[FullTextHit], bool, str | None]:
        try:
            are_fused = self._records.document_count() >= self.options.fusion_min_documents
            return self._full_text.search(query, self.options.candidates), are_fused, None
        except IndexUnavailable as error:
            return [], False, str(error)

    def _distances(
        self, vector: Vectors, vector_hits: Sequence[VectorHit], places: Mapping[str, ChunkPlace]
    ) -> dict[str, float]:
        """Squared L2 distances by chunk id, also of the chunks that full text alone found (Q9)."""
        distances = {hit.chunk_id: hit.distance for hit in vector_hits}
        hashes = {chunk_id: place.content_hash for chunk_id, place in places.items() if chunk_id not in distances}
        return distances | self._vectors.distances(vector, hashes)

    def _terms(self, query: str) -> QueryTerms:
        """What the query names; without full text every token weighs the same and none is unknown."""
        tokens = content_tokens(query)
        try:
            return weigh_terms(query, self._full_text.chunk_frequencies(tokens), self._records.chunk_count())
        except IndexUnavailable:
            return QueryTerms(dict.fromkeys(tokens, 1.0), 0.0, tuple(tokens_of(query)))


def _leg_hits(
    vector_hits: Sequence[VectorHit],
    words: _Words,
    places: Mapping[str, ChunkPlace],
    distances: Mapping[str, float],
) -> list[LegHit]:
    """What the legs found, as far as it is in force: a hit that SQLite does not know does not exist."""
    vector_ranks = {hit.chunk_id: rank for rank, hit in enumerate(vector_hits, 1) if hit.chunk_id in places}
    gradable = places.keys() & distances.keys()
    text_ranks = {hit.chunk_id: rank for rank, hit in enumerate(words.hits, 1) if hit.chunk_id in gradable}
    shares = {hit.chunk_id: words.terms.share_of(hit.score) for hit in words.hits} if words.are_fused else {}
    found = dict.fromkeys([*vector_ranks, *text_ranks] if words.are_fused else vector_ranks)
    return [
        LegHit(
            chunk_id=chunk_id,
            document=places[chunk_id].path,
            cosine=1 - distances[chunk_id] / 2,
            text_share=shares.get(chunk_id, 0.0),
            vector_rank=vector_ranks.get(chunk_id),
            full_text_rank=text_ranks.get(chunk_id),
        )
        for chunk_id in found
    ]


def _graded(words: _Words, hit: FusedHit, chunk: StoredChunk, distance: float) -> Candidate:
    profile, thresholds = words.grading.profile, words.grading.thresholds
    found = words.terms.found_in(chunk.chunk.embedded_text)
    evidence = CandidateEvidence(
        distance=distance,
        query_weight=words.terms.weight,
        found_weight=found.weight,
        unknown_weight=words.terms.unknown_weight,
        found_terms=found.terms,
        found_runs=found.runs,
        leads_both=hit.leads_both,
    )
    similarity = profile.similarity(evidence, thresholds)
    return Candidate(chunk, hit, evidence, similarity, level_of(similarity, thresholds))
