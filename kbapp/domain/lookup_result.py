"""What the executor gets back from ``lookup_knowledge`` (Q5, A1); no score of any kind in it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from kbapp.domain.documents import JsonValue
from kbapp.domain.relevance import RelevanceLevel


class Confidence(StrEnum):
    """Whether the L0 match was the only one (Q1)."""

    HIGH = "high"
    LOW = "low"


class DedupReason(StrEnum):
    """Why content is withheld (M3, M4)."""

    DOC_RETRIEVED = "doc_retrieved"
    DOMAIN_RETRIEVED = "domain_retrieved"


@dataclass(frozen=True, slots=True)
class PrimaryResult:
    """What L0 found; ``available_sections`` is None when no text of the document was given."""

    content: str
    source: str
    title: str
    confidence: Confidence
    available_sections: tuple[str, ...] | None

    def to_dict(self) -> dict[str, JsonValue]:
        """The documents' camelCase form."""
        return {
            "content": self.content,
            "source": self.source,
            "title": self.title,
            "matchType": "exact_L0",
            "confidence": self.confidence.value,
            "availableSections": None if self.available_sections is None else list(self.available_sections),
        }


@dataclass(frozen=True, slots=True)
class SupplementResult:
    """What L1 found: one chunk."""

    content: str
    source: str
    title: str
    breadcrumb: str

    def to_dict(self) -> dict[str, JsonValue]:
        """The documents' camelCase form."""
        return {
            "content": self.content,
            "source": self.source,
            "title": self.title,
            "breadcrumb": self.breadcrumb,
            "matchType": "semantic_L1",
        }


@dataclass(frozen=True, slots=True)
class LookupResult:
    """The answer to one invocation; always the same schema (Q7)."""

    found: bool
    primary: PrimaryResult | None
    supplement: SupplementResult | None
    relevance_level: RelevanceLevel | None
    completeness_hint: str | None
    retrieved_domains: tuple[str, ...]
    message: str | None
    dedup_reason: DedupReason | None
    degraded: str | None
    invocation_id: str

    def to_dict(self) -> dict[str, JsonValue]:
        """The documents' camelCase form (A1)."""
        return {
            "found": self.found,
            "primary": self.primary.to_dict() if self.primary else None,
            "supplement": self.supplement.to_dict() if self.supplement else None,
            "relevanceLevel": self.relevance_level.value if self.relevance_level else None,
            "completenessHint": self.completeness_hint,
            "retrievedDomainsThisSession": list(self.retrieved_domains),
            "message": self.message,
            "dedupReason": self.dedup_reason.value if self.dedup_reason else None,
            "degraded": self.degraded,
            "invocationId": self.invocation_id,
        }
