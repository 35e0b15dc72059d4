"""What the result hides, as the JSON of ``retrieval_details`` (T2): enough to recompute the level and to explain it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from kbapp.domain.documents import JsonValue
from kbapp.domain.keyword_matching import KeywordMatch
from kbapp.domain.lookup_result import LookupResult
from kbapp.domain.relevance import RelevanceProfile, Thresholds
from kbapp.service.vector_search import Candidate, SearchOutcome


def retrieval_details(
    *,
    matches: Sequence[KeywordMatch],
    search: SearchOutcome | None,
    profile: RelevanceProfile,
    thresholds: Thresholds,
    result: LookupResult,
) -> dict[str, JsonValue]:
    """The keys of 000 §6 and T2; L1 keys are ``[]`` or null when L1 was not called."""
    candidates = search.candidates if search else ()
    graded = next((candidate for candidate in candidates if candidate.level is not None), None)
    graded = graded or (candidates[0] if candidates else None)
    return {
        "l0_titles": [match.entry.title for match in matches],
        "l0_matches": [_match(match) for match in matches],
        "l1_scores": [round(candidate.evidence.distance, 6) for candidate in candidates],
        "l1_top_score": min((round(candidate.evidence.distance, 6) for candidate in candidates), default=None),
        "l1_top_similarity": round(graded.similarity, 6) if graded else None,
        "l1_top_cosine": round(graded.evidence.cosine, 6) if graded else None,
        "l1_candidates": [_candidate(candidate) for candidate in candidates],
        "relevance_level": result.relevance_level.value if result.relevance_level else None,
        "completeness_hint": result.completeness_hint,
        "retrieved_domains": list(result.retrieved_domains),
        "dedup_reason": result.dedup_reason.value if result.dedup_reason else None,
        "profile": {"kind": type(profile).__name__, **asdict(profile)},
        "thresholds": asdict(thresholds),
    }


def _match(match: KeywordMatch) -> dict[str, JsonValue]:
    return {
        "document": match.entry.path,
        "tier": match.tier.name.lower(),
        "score": round(match.score, 6),
        "coverage": round(match.coverage, 6),
        "keywords": [matched.keyword for matched in match.matched],
        "reason": match.reason,
    }


def _candidate(candidate: Candidate) -> dict[str, JsonValue]:
    return {
        "chunk": candidate.stored.id,
        "document": candidate.stored.path,
        "breadcrumb": candidate.stored.chunk.breadcrumb,
        "lines": list(candidate.stored.chunk.lines),
        "distance": round(candidate.evidence.distance, 6),
        "cosine": round(candidate.evidence.cosine, 6),
        "coverage": round(candidate.evidence.coverage, 6),
        "unknown_share": round(candidate.evidence.unknown_share, 6),
        "found_terms": candidate.evidence.found_terms,
        "similarity": round(candidate.similarity, 6),
        "level": candidate.level.value if candidate.level else None,
        "vector_rank": candidate.hit.vector_rank,
        "full_text_rank": candidate.hit.full_text_rank,
    }
