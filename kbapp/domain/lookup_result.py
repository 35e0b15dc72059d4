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


def parse_result(value: JsonValue) -> LookupResult | None:
    """The result from its camelCase form, as a telemetry row holds it; None: it is none."""
    if not isinstance(value, dict):
        return None
    try:
        level, reason = value["relevanceLevel"], value["dedupReason"]
        return LookupResult(
            found=bool(value["found"]),
            primary=_parse_primary(value["primary"]),
            supplement=_parse_supplement(value["supplement"]),
            relevance_level=None if level is None else RelevanceLevel(str(level)),
            completeness_hint=_text_or_none(value["completenessHint"]),
            retrieved_domains=_texts(value["retrievedDomainsThisSession"]),
            message=_text_or_none(value["message"]),
            dedup_reason=None if reason is None else DedupReason(str(reason)),
            degraded=_text_or_none(value["degraded"]),
            invocation_id=str(value["invocationId"]),
        )
    except (KeyError, ValueError):
        return None


def _parse_primary(value: JsonValue) -> PrimaryResult | None:
    if not isinstance(value, dict):
        return None
    sections = value["availableSections"]
    return PrimaryResult(
        str(value["content"]),
        str(value["source"]),
        str(value["title"]),
        Confidence(str(value["confidence"])),
        None if sections is None else _texts(sections),
    )


def _parse_supplement(value: JsonValue) -> SupplementResult | None:
    if not isinstance(value, dict):
        return None
    return SupplementResult(str(value["content"]), str(value["source"]), str(value["title"]), str(value["breadcrumb"]))


def _texts(value: JsonValue) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, list) else ()


def _text_or_none(value: JsonValue) -> str | None:
    return None if value is None else str(value)
