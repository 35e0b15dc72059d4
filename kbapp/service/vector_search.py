"""L1: a query into graded candidates: embed, search, fuse full text in, complete the evidence, grade (Q2, Q9, G7)."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from kbapp.domain.documents import ChunkPlace, StoredChunk
from kbapp.domain.errors import IndexUnavailable, RequestRefused
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
from kbapp.domain.relevance import L1_LEVELS, WORDS_ALONE, CandidateEvidence, RelevanceLevel, level_of
from kbapp.domain.tokens import content_tokens, tokens_of
from kbapp.service.grading import Grading, GradingInForce
from kbapp.service.stages import Stages


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
    these were given before. ``vector_problem``: found and graded by their words alone.
    """

    candidates: tuple[Candidate, ...]
    grading: Grading
    top_k: int
    embed_ms: float | None
    search_ms: float
    vector_problem: str | None = None
    full_text_problem: str | None = None
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
class _Near:
    """The chunks nearest to a query, its vector, and the milliseconds that the vector took."""

    vector: Vectors
    hits: list[VectorHit]
    embed_ms: float


@dataclass(frozen=True, slots=True)
class _Words:
    """The chunks that hold the words of a query; ``are_fused``: it is a leg of the search, else only evidence."""

    hits: list[FullTextHit]
    are_fused: bool
    terms: QueryTerms


@dataclass(frozen=True, slots=True)
class _Legs:
    """What each leg found, or why it did not; ``near`` None: there are the words alone."""

    near: _Near | None
    words: _Words
    vector_problem: str | None
    full_text_problem: str | None
    grading: Grading
    pending: int


@dataclass(frozen=True, slots=True)
class _Found:
    """The best candidates; ``is_torn``: the chunks in force were not the same all the while."""

    candidates: tuple[Candidate, ...]
    is_torn: bool


class VectorSearch:
    """L1: vectors with full text fused in, or what one of them finds while the other fails. Thread-safe; close it."""

    def __init__(
        self,
        *,
        embedder: Embedder,
        vectors: VectorSearcher,
        full_text: FullText,
        records: DocumentRecords,
        grading: GradingInForce,
        options: SearchOptions,
        stages: Stages,
        unrecorded: Callable[[], int] = lambda: 0,
    ) -> None:
        """``unrecorded``: how many documents there are while nothing is known of any; asked when nothing is found."""
        self._embedder = embedder
        self._vectors = vectors
        self._full_text = full_text
        self._records = records
        self._stages = stages
        self._unrecorded = unrecorded
        self.grading = grading
        self.options = options

    def search(self, query: str, *, alternatives: int = 0, vector: Vectors | None = None) -> SearchOutcome:
        """The best ``top_k`` candidates for a query, and so many more; ``vector``: its own, where it is known.

        Raises:
            IndexUnavailable: neither vectors nor full text can be had, or the database cannot be used.
        """
        start = time.perf_counter()
        wanted = self.options.top_k + alternatives
        legs = self._legs(query, vector)
        found = self._found(legs, wanted)
        if found.is_torn:
            legs = self._legs(query, legs.near.vector if legs.near else vector)
            found = self._found(legs, wanted)
        embed_ms = legs.near.embed_ms if legs.near else None
        pending = legs.pending if legs.pending or found.candidates else self._unrecorded()
        return SearchOutcome(
            found.candidates,
            legs.grading,
            self.options.top_k,
            embed_ms,
            (time.perf_counter() - start) * 1000 - (embed_ms or 0.0),
            legs.vector_problem,
            legs.full_text_problem,
            pending,
        )

    def search_vectors(self, query: str, *, vector: Vectors | None = None) -> SearchOutcome:
        """``search`` for those who need the distances.

        Raises:
            IndexUnavailable: vectors cannot be had.
        """
        outcome = self.search(query, vector=vector)
        if outcome.vector_problem:
            raise IndexUnavailable(outcome.vector_problem)
        return outcome

    def close(self) -> None:
        """End the threads that search."""
        self._stages.close()

    def _legs(self, query: str, vector: Vectors | None) -> _Legs:
        """Both legs, side by side: the model works without the interpreter's lock."""
        searching = self._stages.start(self._stages.vectors, self._nearest, query, vector)
        held, full_text_problem = self._stages.run(self._stages.full_text, self._holders, query)
        near, vector_problem = searching.answer()
        if near is None and held is None:
            raise IndexUnavailable("; ".join(dict.fromkeys([str(vector_problem), str(full_text_problem)])))
        grading, pending = self.grading.now(), self._records.pending_count()
        words = held or _Words([], are_fused=False, terms=_unweighed(query))
        if near is None:
            words, grading = replace(words, are_fused=True), Grading(WORDS_ALONE, grading.thresholds)
        return _Legs(near, words, vector_problem, full_text_problem, grading, pending)

    def _nearest(self, query: str, vector: Vectors | None) -> _Near:
        start = time.perf_counter()
        vector = self._embedder.embed_queries([query])[0] if vector is None else vector
        embed_ms = (time.perf_counter() - start) * 1000
        hits = self._vectors.search(vector, self.options.candidates)
        self._check_model(are_found=bool(hits))
        return _Near(vector, hits, embed_ms)

    def _holders(self, query: str) -> _Words:
        tokens = content_tokens(query)
        terms = weigh_terms(query, self._full_text.chunk_frequencies(tokens), self._records.chunk_count())
        are_fused = self._records.document_count() >= self.options.fusion_min_documents
        return _Words(self._full_text.search(query, self.options.candidates), are_fused, terms)

    def _check_model(self, *, are_found: bool) -> None:
        """What another model made is no answer, and no vector at all is one for an empty knowledge base only."""
        former = self._records.state(MODEL_STATE)
        is_of_another = former is not None and former != self._embedder.model_id
        if (are_found and not is_of_another) or not self._records.chunk_count() or self._records.pending_count():
            return
        if former and is_of_another:
            raise RequestRefused(other_model(former, self._embedder.model_id))
        raise RequestRefused("the vector index is empty: run `kbapp index`")

    def _found(self, legs: _Legs, wanted: int) -> _Found:
        """The best candidates of the legs that answered, graded."""
        near = legs.near.hits if legs.near else []
        found = dict.fromkeys([*(hit.chunk_id for hit in near), *(hit.chunk_id for hit in legs.words.hits)])
        places = self._records.places(list(found))
        distances = self._distances(legs.near, places)
        hits = fuse(_leg_hits(near, legs.words, places, distances), legs.grading.profile.fusion_weight)[:wanted]
        chunks = self._records.chunks([hit.chunk_id for hit in hits])
        candidates = tuple(
            _graded(legs, hit, chunks[hit.chunk_id], distances[hit.chunk_id]) for hit in hits if hit.chunk_id in chunks
        )
        return _Found(candidates, is_torn=len(places) < len(found) or len(candidates) < len(hits))

    def _distances(self, near: _Near | None, places: Mapping[str, ChunkPlace]) -> dict[str, float | None]:
        """Squared L2 distances by id, also of the chunks that full text alone found (Q9); None without vectors."""
        if near is None:
            return dict.fromkeys(places)
        distances = {hit.chunk_id: hit.distance for hit in near.hits}
        hashes = {chunk_id: place.content_hash for chunk_id, place in places.items() if chunk_id not in distances}
        return {**distances, **self._vectors.distances(near.vector, hashes)}


def _unweighed(query: str) -> QueryTerms:
    """What a query names, while nobody can say how rare it is: every token weighs the same and none is unknown."""
    return QueryTerms(dict.fromkeys(content_tokens(query), 1.0), 0.0, tuple(tokens_of(query)))


def _leg_hits(
    near: Sequence[VectorHit],
    words: _Words,
    places: Mapping[str, ChunkPlace],
    distances: Mapping[str, float | None],
) -> list[LegHit]:
    """What the legs found, as far as it is in force: a hit that SQLite does not know does not exist."""
    vector_ranks = {hit.chunk_id: rank for rank, hit in enumerate(near, 1) if hit.chunk_id in places}
    gradable = places.keys() & distances.keys()
    text_ranks = {hit.chunk_id: rank for rank, hit in enumerate(words.hits, 1) if hit.chunk_id in gradable}
    shares = {hit.chunk_id: words.terms.share_of(hit.score) for hit in words.hits} if words.are_fused else {}
    found = dict.fromkeys([*vector_ranks, *text_ranks] if words.are_fused else vector_ranks)
    return [
        LegHit(
            chunk_id=chunk_id,
            document=places[chunk_id].path,
            cosine=_cosine(distances[chunk_id]),
            text_share=shares.get(chunk_id, 0.0),
            vector_rank=vector_ranks.get(chunk_id),
            full_text_rank=text_ranks.get(chunk_id),
        )
        for chunk_id in found
    ]


def _cosine(distance: float | None) -> float:
    """0 without vectors: the words alone make the order."""
    return 0.0 if distance is None else 1 - distance / 2


def _graded(legs: _Legs, hit: FusedHit, chunk: StoredChunk, distance: float | None) -> Candidate:
    profile, thresholds, terms = legs.grading.profile, legs.grading.thresholds, legs.words.terms
    found = terms.found_in(chunk.chunk.embedded_text)
    evidence = CandidateEvidence(
        distance=distance,
        query_weight=terms.weight,
        found_weight=found.weight,
        unknown_weight=terms.unknown_weight,
        found_terms=found.terms,
        found_runs=found.runs,
        leads_both=hit.leads_both,
    )
    similarity = profile.similarity(evidence, thresholds)
    return Candidate(chunk, hit, evidence, similarity, level_of(similarity, thresholds))
