"""A telemetry row into sentences for a person, and into the level that follows from it (T7): from the row alone."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from kbapp.domain.documents import JsonValue
from kbapp.domain.invocation import CLEAR_TOOL_NAME, Invocation
from kbapp.domain.lookup_result import DedupReason
from kbapp.domain.relevance import RelevanceLevel, Thresholds
from kbapp.domain.row_evidence import GradedCandidate, KeywordEvidence, RowEvidence, row_evidence

_DIGITS = 4

_WITHHELD = {
    DedupReason.DOC_RETRIEVED: "the session had already been given this document",
    DedupReason.DOMAIN_RETRIEVED: "the session had already been given this domain, and the query asks for it again",
}


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why an invocation came out as it did: the decision, and a sentence for each thing that it rests on."""

    decision: str
    keywords: tuple[str, ...]
    candidates: tuple[str, ...]
    recomputed_level: RelevanceLevel | None

    @property
    def sentences(self) -> tuple[str, ...]:
        """All of it, the decision first."""
        return (self.decision, *self.keywords, *self.candidates)


def recompute_level(details: dict[str, JsonValue]) -> RelevanceLevel | None:
    """The level before anything is withheld, from the evidence in ``retrieval_details`` (G2); None: nothing found.

    None as well when the row holds no evidence: it is of an older version, of another tool, or the call was refused.
    """
    evidence = row_evidence(details)
    return _level(evidence) if evidence else None


def explain(invocation: Invocation) -> Explanation:
    """Sentences in English; the same for the same row, whatever the knowledge base holds by now."""
    evidence = row_evidence(invocation.retrieval_details)
    if evidence is None:
        return Explanation(_without_evidence(invocation), (), (), None)
    level = _level(evidence)
    return Explanation(
        decision=_decision(invocation, evidence, level),
        keywords=tuple(_keyword_sentence(match) for match in evidence.matches),
        candidates=tuple(_candidate_sentences(evidence)),
        recomputed_level=level,
    )


def _level(evidence: RowEvidence) -> RelevanceLevel | None:
    if evidence.nothing_readable:
        return None
    if evidence.is_confident:
        return RelevanceLevel.PRECISE
    decisive = evidence.decisive
    if decisive is not None:
        return decisive.level(evidence)
    return RelevanceLevel.REFERENCE if evidence.matches else None


def _without_evidence(invocation: Invocation) -> str:
    if invocation.tool_name == CLEAR_TOOL_NAME:
        return "The session was cleared: what was given before does not count any more."
    if invocation.error:
        return f"Refused: {invocation.error}."
    return "The row does not say how the level came about."


def _decision(invocation: Invocation, evidence: RowEvidence, level: RelevanceLevel | None) -> str:
    """The decision in one sentence."""
    reason = _reason(invocation, evidence, level)
    if invocation.relevance_level is RelevanceLevel.DEDUPED:
        why = _WITHHELD[invocation.dedup_reason] if invocation.dedup_reason else "it was given before"
        return f"DEDUPED: {why}; without that it is {level}, since {reason}."
    if invocation.relevance_level is not level:
        return f"{invocation.relevance_level or 'Not found'}, although {level or 'nothing'} follows: {reason}."
    return f"{level or 'Not found'}: {reason}."


def _reason(invocation: Invocation, evidence: RowEvidence, level: RelevanceLevel | None) -> str:
    if evidence.nothing_readable:
        return "something was found, but no document of it could be read"
    if level is RelevanceLevel.PRECISE:
        share = _shown(evidence.matches[0].coverage, evidence.min_coverage)
        return f"exactly one document matches by keyword, and covers {share} of the query; vectors were not searched"
    chunks = _chunks_reason(invocation, evidence)
    if evidence.decisive is not None:
        return chunks
    return f"{_keywords_reason(evidence)}, and {chunks}"


def _keywords_reason(evidence: RowEvidence) -> str:
    if not evidence.matches:
        return "no keyword matches"
    if len(evidence.matches) > 1:
        return f"{len(evidence.matches)} documents match by keyword"
    share = _shown(evidence.matches[0].coverage, evidence.min_coverage)
    return f"the only match by keyword covers {share} of the query, less than {evidence.min_coverage}"


def _chunks_reason(invocation: Invocation, evidence: RowEvidence) -> str:
    thresholds = evidence.thresholds
    decisive = evidence.decisive
    if decisive is not None:
        which = "the best chunk" if evidence.section_candidate is None else "the chunk of the document with the section"
        return f"{which} has similarity {_against_thresholds(decisive, thresholds)}"
    if invocation.l1_called and invocation.l1_ms is None:
        return "vectors could not be searched"
    if not evidence.candidates:
        return "no chunk was found"
    best = max(candidate.similarity for candidate in evidence.candidates)
    return f"no chunk reaches {thresholds.reference} (the best has {_similarity(best, thresholds)})"


def _against_thresholds(candidate: GradedCandidate, thresholds: Thresholds) -> str:
    shown = _similarity(candidate.similarity, thresholds)
    if candidate.similarity >= thresholds.highly_relevant:
        return f"{shown}, at least {thresholds.highly_relevant}"
    if candidate.similarity >= thresholds.reference:
        return f"{shown}, at least {thresholds.reference} and less than {thresholds.highly_relevant}"
    return f"{shown}, less than {thresholds.reference}"


def _keyword_sentence(match: KeywordEvidence) -> str:
    return f"L0 {match.document}: {match.reason} It covers {round(match.coverage, _DIGITS)} of the query."


def _candidate_sentences(evidence: RowEvidence) -> Iterator[str]:
    for candidate in evidence.candidates:
        found = candidate.evidence
        ranks = [f"{rank} by {leg}" for leg, rank in candidate.ranks if rank is not None]
        yield (
            f"L1 {candidate.document} ({candidate.breadcrumb}):"
            f" similarity {_against_thresholds(candidate, evidence.thresholds)};"
            f" distance {round(found.distance, _DIGITS)}, cosine {round(found.cosine, _DIGITS)},"
            f" words found {found.found_terms} ({found.coverage:.0%} by weight),"
            f" unknown names {found.unknown_share:.0%}; rank {' and '.join(ranks) or '–'}."
        )


def _similarity(value: float, thresholds: Thresholds) -> str:
    return _shown(value, thresholds.reference, thresholds.highly_relevant)


def _shown(value: float, *bounds: float) -> str:
    """Four digits, rounded down where rounding up would show a value as if it reached a bound."""
    rounded = round(value, _DIGITS)
    if any(value < bound <= rounded for bound in bounds):
        rounded = math.floor(value * 10**_DIGITS) / 10**_DIGITS
    return str(rounded)
