"""Finds where levels begin in this knowledge base, by probe queries, after it was indexed (G5)."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Sequence

from kbapp.domain.errors import IndexUnavailable
from kbapp.domain.hashing import text_hash
from kbapp.domain.index_state import LEVEL_CUTS_STATE
from kbapp.domain.level_cuts import MIN_CHUNKS, LevelCuts, cuts_of, fingerprint, read_cuts
from kbapp.domain.ports import DocumentRecords, Embedder, EmbeddingCache, Vectors
from kbapp.domain.relevance import EvidenceProfile, RelevanceProfile
from kbapp.service.clock import now
from kbapp.service.index_report import IndexProgress, IndexReport, IndexStage, OnProgress
from kbapp.service.vector_search import VectorSearch

logger = logging.getLogger("kbapp.levels")


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

    def follow(self, report: IndexReport, on_progress: OnProgress | None) -> None:
        """Calibrate when the index that was just brought in line is not the one of the last time.

        What cannot be searched now is left to the next time; a lookup is graded by what there is.
        """
        try:
            if self._is_due(report):
                self._calibrate(on_progress)
        except IndexUnavailable as error:
            logger.warning("levels are not calibrated now: %s", error)

    def _is_due(self, report: IndexReport) -> bool:
        if not isinstance(self._profile, EvidenceProfile) or self._profile.has_own_cuts:
            return False
        if report.chunks < MIN_CHUNKS:
            return False
        cuts = read_cuts(self._records.state(LEVEL_CUTS_STATE))
        if cuts is None or not cuts.fit(self._profile):
            return True
        if report.embedded:
            cuts = cuts.with_changes(report.embedded)
            self._records.set_state(LEVEL_CUTS_STATE, cuts.to_json())
        return cuts.are_outdated(report.chunks)

    def _calibrate(self, on_progress: OnProgress | None) -> None:
        assert isinstance(self._profile, EvidenceProfile)  # noqa: S101 - asked by _is_due
        probes = self._probes()
        vectors = self._known_vectors(probes)
        known = set(vectors)
        scores = []
        for number, probe in enumerate(probes):
            if on_progress:
                on_progress(IndexProgress(number, len(probes), "", IndexStage.LEVELS))
            if probe not in vectors:
                vectors[probe] = self._embedder.embed_queries([probe])[0]
            scores.append(self._score(self._profile, probe, vectors[probe]))
        self._cache.put({_key(probe): vectors[probe] for probe in probes if probe not in known})
        reference, highly_relevant = cuts_of(scores)
        cuts = LevelCuts(
            profile=fingerprint(self._profile),
            reference=reference,
            highly_relevant=highly_relevant,
            probes=len(probes),
            chunks=self._records.chunk_count(),
            calibrated_at=now(),
        )
        self._records.set_state(LEVEL_CUTS_STATE, cuts.to_json())
        logger.info(
            "levels begin at log-odds %.2f (REFERENCE) and %.2f (HIGHLY_RELEVANT), by %d probe queries",
            reference,
            highly_relevant,
            len(probes),
        )

    def _known_vectors(self, probes: Sequence[str]) -> dict[str, Vectors]:
        cached = self._cache.get([_key(probe) for probe in probes])
        return {probe: cached[_key(probe)] for probe in probes if _key(probe) in cached}

    def _score(self, profile: EvidenceProfile, probe: str, vector: Vectors) -> float:
        """The best log-odds among what a lookup considers for it."""
        outcome = self._search.search(probe, vector=vector)
        considered = outcome.candidates[: outcome.top_k]
        return max((profile.logit(candidate.evidence) for candidate in considered), default=-math.inf)


def _key(probe: str) -> str:
    """Its name in the embedding cache: that of a query, which no passage has."""
    return text_hash(f"probe query: {probe}")
