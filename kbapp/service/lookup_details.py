"""What the result hides, as the JSON of ``retrieval_details`` (T2): enough to recompute the level and to explain it.

Whatever a level depends on is held to the last digit (JSON keeps a float as its shortest exact form): a rounded value
could fall on the other side of a threshold, and recomputing would not give the level that was given (T7).
"""

from __future__ import annotations

from dataclasses import asdict

from kbapp.domain.documents import JsonValue
from kbapp.domain.keyword_matching import KeywordMatch
from kbapp.domain.lookup_result import LookupResult
from kbapp.service.answering import Answer
from kbapp.service.findings import Findings
from kbapp.service.grading import Grading
from kbapp.service.vector_search import Candidate


def retrieval_details(
    findings: Findings, answer: Answer, result: LookupResult, grading: Grading, min_coverage: float
) -> dict[str, JsonValue]:
    """The keys of 000 §6 and T2; L1 keys are ``[]`` or null when L1 was not called.

    ``answer`` is the one before anything is withheld.
    """
    candidates = findings.search.candidates[: findings.search.top_k] if findings.search else ()
    graded = answer.section_from or next(iter(findings.results or candidates), None)
    distances = [candidate.evidence.distance for candidate in candidates]
    return {
        "l0_titles": [match.entry.title for match in findings.matches],
        "l0_matches": [_match(match) for match in findings.matches],
        "confident": findings.confident,
        "goes_deeper": findings.goes_deeper,
        "min_coverage": min_coverage,
        "l1_scores": [distance for distance in distances if distance is not None],
        "l1_top_score": graded.evidence.distance if graded else None,
        "l1_top_similarity": graded.similarity if graded else None,
        "l1_top_cosine": graded.evidence.cosine if graded else None,
        "l1_candidates": [_candidate(candidate) for candidate in candidates],
        "section_candidate": candidates.index(answer.section_from) if answer.section_from else None,
        "nothing_readable": answer.level is None
        and bool(findings.results or (findings.matches and not findings.is_unsupported)),
        "l1_is_complete": findings.l1_is_complete,
        "level_before_dedup": answer.level.value if answer.level else None,
        "relevance_level": result.relevance_level.value if result.relevance_level else None,
        "completeness_hint": result.completeness_hint,
        "retrieved_domains": list(result.retrieved_domains),
        "dedup_reason": result.dedup_reason.value if result.dedup_reason else None,
        "profile": {"kind": type(grading.profile).__name__, **asdict(grading.profile)},
        "thresholds": asdict(grading.thresholds),
        "result": result.to_dict(),
    }


def _match(match: KeywordMatch) -> dict[str, JsonValue]:
    return {
        "document": match.entry.path,
        "tier": match.tier.name.lower(),
        "score": round(match.score, 6),
        "coverage": match.coverage,
        "keywords": [matched.keyword for matched in match.matched],
        "reason": match.reason,
    }


def _candidate(candidate: Candidate) -> dict[str, JsonValue]:
    return {
        "chunk": candidate.stored.id,
        "document": candidate.stored.path,
        "breadcrumb": candidate.stored.chunk.breadcrumb,
        "lines": list(candidate.stored.chunk.lines),
        "distance": candidate.evidence.distance,
        "cosine": candidate.evidence.cosine,
        "query_weight": candidate.evidence.query_weight,
        "found_weight": candidate.evidence.found_weight,
        "unknown_weight": candidate.evidence.unknown_weight,
        "found_terms": candidate.evidence.found_terms,
        "found_runs": candidate.evidence.found_runs,
        "leads_both": candidate.evidence.leads_both,
        "similarity": candidate.similarity,
        "level": candidate.level.value if candidate.level else None,
        "vector_rank": candidate.hit.vector_rank,
        "full_text_rank": candidate.hit.full_text_rank,
    }
