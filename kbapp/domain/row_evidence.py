"""``retrieval_details`` of a telemetry row back into the values that a level is computed from (T2, T7)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from kbapp.domain.documents import JsonValue
from kbapp.domain.keyword_matching import MatchTier
from kbapp.domain.relevance import (
    L1_LEVELS,
    CandidateEvidence,
    DistanceProfile,
    EvidenceProfile,
    RelevanceLevel,
    RelevanceProfile,
    Thresholds,
    WordsProfile,
    level_of,
)

_PROFILES: dict[JsonValue, type[DistanceProfile] | type[EvidenceProfile] | type[WordsProfile]] = {
    kind.__name__: kind for kind in (DistanceProfile, EvidenceProfile, WordsProfile)
}

_GUESSES = frozenset(tier.name.lower() for tier in MatchTier if not tier.is_literal)


@dataclass(frozen=True, slots=True)
class KeywordEvidence:
    """A document that L0 matched; ``coverage`` is the share of the query that its keywords cover, 0 … 1.

    ``tier`` and ``keywords`` say how and by which; empty in rows that do not hold them.
    """

    document: str
    coverage: float
    reason: str
    tier: str
    keywords: tuple[str, ...]

    @property
    def is_guess(self) -> bool:
        """Whether only a synonym or a mistyped word matches (K6)."""
        return self.tier in _GUESSES


@dataclass(frozen=True, slots=True)
class GradedCandidate:
    """A chunk that L1 found; ``similarity`` as recorded, ``level`` computes it anew."""

    document: str
    breadcrumb: str
    evidence: CandidateEvidence
    similarity: float
    ranks: tuple[tuple[str, int | None], ...]

    def level(self, row: RowEvidence) -> RelevanceLevel | None:
        """The level by the profile and the thresholds that were in force (G2)."""
        return level_of(row.profile.similarity(self.evidence, row.thresholds), row.thresholds)


@dataclass(frozen=True, slots=True)
class RowEvidence:
    """All that a level depends on.

    ``section_candidate``: the candidate whose document has the section that was asked for.
    ``nothing_readable``: something was found, but no file of it could be read.
    ``l1_is_complete``: L1 was searched with every document in it.
    """

    matches: tuple[KeywordEvidence, ...]
    min_coverage: float
    goes_deeper: bool
    candidates: tuple[GradedCandidate, ...]
    profile: RelevanceProfile
    thresholds: Thresholds
    section_candidate: GradedCandidate | None
    nothing_readable: bool
    l1_is_complete: bool = False

    @property
    def is_confident(self) -> bool:
        """Whether L0 alone answers: one match, no guess, covers enough and is asked for as a whole (Q1, K6, K11)."""
        if self.goes_deeper or len(self.matches) != 1 or self.matches[0].is_guess:
            return False
        return self.matches[0].coverage >= self.min_coverage

    @property
    def is_unsupported(self) -> bool:
        """Whether the only match covers too little of the query (K11), and all of L1 has nothing that supports it."""
        covers_little = len(self.matches) == 1 and self.matches[0].coverage < self.min_coverage
        return covers_little and self.l1_is_complete and not any(candidate.level(self) for candidate in self.candidates)

    @property
    def decisive(self) -> GradedCandidate | None:
        """The candidate whose level is that of the answer: the first of the best level; None: none is good enough."""
        if self.section_candidate is not None:
            return self.section_candidate
        graded = [(candidate, candidate.level(self)) for candidate in self.candidates]
        return next((candidate for best in L1_LEVELS for candidate, level in graded if level is best), None)

    @property
    def level(self) -> RelevanceLevel | None:
        """The level before anything is withheld (G2); None: nothing found."""
        if self.nothing_readable:
            return None
        if self.is_confident:
            return RelevanceLevel.PRECISE
        if self.decisive is not None:
            return self.decisive.level(self)
        return RelevanceLevel.REFERENCE if self.matches and not self.is_unsupported else None

    @property
    def document(self) -> str | None:
        """The document whose text comes with that level in a fresh session; None: nothing found."""
        if self.level is None:
            return None
        if self.decisive is not None and not self.is_confident:
            return self.decisive.document
        return self.matches[0].document

    def under(self, thresholds: Thresholds) -> RowEvidence:
        """The same evidence, judged by other thresholds."""
        return replace(self, thresholds=thresholds)


def row_evidence(details: dict[str, JsonValue]) -> RowEvidence | None:
    """The evidence in a row; None: it does not hold all of it."""
    try:
        section = details["section_candidate"]
        candidates = tuple(_candidate(row) for row in _rows(details["l1_candidates"]))
        return RowEvidence(
            matches=tuple(_match(row) for row in _rows(details["l0_matches"])),
            min_coverage=_number(details["min_coverage"]),
            goes_deeper=bool(details.get("goes_deeper")),
            candidates=candidates,
            profile=_profile(details["profile"]),
            thresholds=Thresholds(**{name: _number(value) for name, value in _row(details["thresholds"]).items()}),
            section_candidate=None if section is None else candidates[int(_number(section))],
            nothing_readable=bool(details["nothing_readable"]),
            l1_is_complete=bool(details.get("l1_is_complete")),
        )
    except (KeyError, IndexError, TypeError):
        return None


def _match(row: dict[str, JsonValue]) -> KeywordEvidence:
    keywords = row.get("keywords")
    return KeywordEvidence(
        document=str(row["document"]),
        coverage=_number(row["coverage"]),
        reason=str(row["reason"]),
        tier=str(row.get("tier", "")),
        keywords=tuple(map(str, keywords)) if isinstance(keywords, list) else (),
    )


def _candidate(row: dict[str, JsonValue]) -> GradedCandidate:
    evidence = CandidateEvidence(
        distance=None if row["distance"] is None else _number(row["distance"]),
        query_weight=_number(row["query_weight"]),
        found_weight=_number(row["found_weight"]),
        unknown_weight=_number(row["unknown_weight"]),
        found_terms=int(_number(row["found_terms"])),
        found_runs=int(_number(row["found_runs"])),
        leads_both=bool(row["leads_both"]),
    )
    ranks = tuple((leg, _rank(row[key])) for leg, key in (("vector", "vector_rank"), ("full text", "full_text_rank")))
    return GradedCandidate(str(row["document"]), str(row["breadcrumb"]), evidence, _number(row["similarity"]), ranks)


def _profile(value: JsonValue) -> RelevanceProfile:
    fields = _row(value)
    return _PROFILES[fields["kind"]](**{name: field for name, field in fields.items() if name != "kind"})  # type: ignore[arg-type]  # as asdict wrote it


def _rank(value: JsonValue) -> int | None:
    return None if value is None else int(_number(value))


def _number(value: JsonValue) -> float:
    if not isinstance(value, (int, float)):
        raise TypeError(f"{value!r} is not a number")
    return value


def _row(value: JsonValue) -> dict[str, JsonValue]:
    if not isinstance(value, dict):
        raise TypeError(f"{value!r} is not an object")
    return value


def _rows(value: JsonValue) -> list[dict[str, JsonValue]]:
    if not isinstance(value, list):
        raise TypeError(f"{value!r} is not a list")
    return [_row(row) for row in value]
