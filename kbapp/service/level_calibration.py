"""Finds where levels begin in this knowledge base, by probe queries, after it was indexed (G5)."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Sequence

from kbapp.domain.errors import IndexUnavailable
from kbapp.domain.hashing import text_hash
from kbapp.domain.index_state import LEVEL_CUTS_STATE
from kbapp.domain.level_cuts import MIN_CHUNKS, SKETCH_SIZE, LevelCuts, cuts_of, fingerprint, read_cuts
from kbapp.domain.ports import DocumentRecords, Embedder, EmbeddingCache, Vectors
from kbapp.domain.relevance import EvidenceProfile, RelevanceProfile
from kbapp.service.clock import now
from kbapp.service.index_report import IndexProgress, IndexStage, OnProgress
from kbapp.service.vector_search import VectorSearch

logger = logging.getLogger("kbapp.levels")

KEPT_AT_ONCE = 16  # probes that are embedded before their vectors are kept


class LevelCalibration:
    """The probes go through the product's own search; nothing is recorded. Thread-safe as its ports are."""

    def __init__(
        self,
        *,
        search: VectorSearch,
        embedder: Embedder,
        cache: EmbeddingCache,
        records: DocumentRecords,
        profile: RelevanceProfile,
        probes: Callable[[], Sequence[str]],
    ) -> None:
        self._search = search
        self._embedder = embedder
        self._cache = cache
        self._records = records
        self._profile = profile
        self._probes = probes

    def run(self, on_progress: OnProgress | None) -> None:
        """Calibrate when what is indexed is not what it was the last time.

        What cannot be searched now is left to the next time; a lookup is graded by what there is.
        """
        try:
            if isinstance(self._profile, EvidenceProfile) and self._is_due(self._profile):
                self._calibrate(self._profile, on_progress)
        except IndexUnavailable as error:
            logger.warning("levels are not calibrated now: %s", error)

    def _is_due(self, profile: EvidenceProfile) -> bool:
        stored = self._records.state(LEVEL_CUTS_STATE)
        if profile.has_own_cuts or self._records.chunk_count() < MIN_CHUNKS:
            if stored:
                self._records.set_state(LEVEL_CUTS_STATE, "")
            return False
        cuts = read_cuts(stored)
        return cuts is None or not cuts.fit(profile) or cuts.are_outdated(self._records.least_hashes(SKETCH_SIZE))

    def _calibrate(self, profile: EvidenceProfile, on_progress: OnProgress | None) -> None:
        probes = self._probes()
        chunks, sketch = self._records.chunk_count(), self._records.least_hashes(SKETCH_SIZE)
        scores = []
        for start in range(0, len(probes), KEPT_AT_ONCE):
            part = probes[start : start + KEPT_AT_ONCE]
            for number, (probe, vector) in enumerate(self._with_vectors(part), start):
                if on_progress:
                    on_progress(IndexProgress(number, len(probes), "", IndexStage.LEVELS))
                scores.append(self._score(profile, probe, vector))
        reference, highly_relevant = cuts_of(scores)
        cuts = LevelCuts(fingerprint(profile), reference, highly_relevant, len(probes), chunks, sketch, now())
        self._records.set_state(LEVEL_CUTS_STATE, cuts.to_json())
        logger.info(
            "levels begin at log-odds %.2f (REFERENCE) and %.2f (HIGHLY_RELEVANT), by %d probe queries",
            reference,
            highly_relevant,
            len(probes),
        )

    def _with_vectors(self, probes: Sequence[str]) -> list[tuple[str, Vectors]]:
        """The probes with their vectors; what was embedded is kept, so that an interrupted run goes on from there."""
        vectors = self._cache.get([_key(probe) for probe in probes])
        missing = [probe for probe in probes if _key(probe) not in vectors]
        if missing:
            embedded = self._embedder.embed_queries(missing)
            fresh = {_key(probe): vector for probe, vector in zip(missing, embedded, strict=True)}
            self._cache.put(fresh)
            vectors |= fresh
        return [(probe, vectors[_key(probe)]) for probe in probes]

    def _score(self, profile: EvidenceProfile, probe: str, vector: Vectors) -> float:
        """The best log-odds among what a lookup considers for it."""
        outcome = self._search.search_vectors(probe, vector=vector)
        if outcome.full_text_problem:
            raise IndexUnavailable(outcome.full_text_problem)  # scores without words would put the cuts too low
        considered = outcome.candidates[: outcome.top_k]
        return max((profile.logit(candidate.evidence) for candidate in considered), default=-math.inf)


def _key(probe: str) -> str:
    """Its name in the embedding cache: that of a query, which no passage has."""
    return text_hash(f"probe query: {probe}")
