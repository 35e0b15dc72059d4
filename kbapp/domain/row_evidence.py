"""``retrieval_details`` of a telemetry row back into the values that a level is computed from (T2, T7)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from kbapp.domain.documents import JsonValue
from kbapp.domain.keyword_matching import MatchTier
from kbapp.domain.relevance import (
    CandidateEvidence,
    DistanceProfile,
    EvidenceProfile,
    RelevanceLevel,
    RelevanceProfile,
    Thresholds,
    level_of,
)

_PROFILES: dict[JsonValue, type[DistanceProfile] | type[EvidenceProfile]] = {
    kind.__name__: kind for kind in (DistanceProfile, EvidenceProfile)
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
    """

    matches: tuple[KeywordEvidence, ...]
    min_coverage: float
    goes_deeper: bool
    candidates: tuple[GradedCandidate, ...]
    profile: RelevanceProfile
    thresholds: Thresholds
    section_candidate: GradedCandidate | None
    nothing_readable: bool

    @property
    def is_confident(self) -> bool:
        """Whether L0 alone answers: one match, no guess, covers enough and is asked for as a whole (Q1, K6, K11)."""
        if self.goes_deeper or len(self.matches) != 1 or self.matches[0].is_guess:
            return False
        return self.matches[0].coverage >= self.min_coverage

    @property
    def decisive(self) -> GradedCandidate | None:
        """The candidate whose level is that of the answer; None: no chunk is good enough."""
        if self.section_candidate is not None:
            return self.section_candidate
        return next((candidate for candidate in self.candidates if candidate.level(self)), None)

    @property
    def level(self) -> RelevanceLevel | None:
        """The level before anything is withheld (G2); None: nothing found."""
        if self.nothing_readable:
            return None
        if self.is_confident:
            return RelevanceLevel.PRECISE
        if self.decisive is not None:
            return self.decisive.level(self)
        return RelevanceLevel.REFERENCE if self.matches else None

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
        distance=_number(row["distance"]),
        coverage=_number(row["coverage"]),
        unknown_share=_number(row["unknown_share"]),
        found_terms=int(_number(row["found_terms"])),
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
