"""The JSON schema of a lookup's result, as MCP clients are told it: of what ``LookupResult.to_dict`` makes."""

from __future__ import annotations

from kbapp.domain.documents import JsonValue
from kbapp.domain.lookup_result import Confidence, DedupReason
from kbapp.domain.relevance import RelevanceLevel

_TEXT: JsonValue = {"type": "string"}
_TEXT_OR_NULL: JsonValue = {"type": ["string", "null"]}
_TEXTS: JsonValue = {"type": "array", "items": _TEXT}


def result_schema() -> dict[str, JsonValue]:
    """The schema; every key is always there."""
    primary = _object_or_null(
        {
            "content": _TEXT,
            "source": _TEXT,
            "title": _TEXT,
            "matchType": {"const": "exact_L0"},
            "confidence": {"enum": [str(confidence) for confidence in Confidence]},
            "availableSections": {"type": ["array", "null"], "items": _TEXT},
        }
    )
    supplement = _object_or_null(
        {
            "content": _TEXT,
            "source": _TEXT,
            "title": _TEXT,
            "breadcrumb": _TEXT,
            "matchType": {"const": "semantic_L1"},
        }
    )
    return _object(
        {
            "found": {"type": "boolean"},
            "primary": primary,
            "supplement": supplement,
            "relevanceLevel": {"enum": [*map(str, RelevanceLevel), None]},
            "completenessHint": _TEXT_OR_NULL,
            "retrievedDomainsThisSession": _TEXTS,
            "message": _TEXT_OR_NULL,
            "dedupReason": {"enum": [*map(str, DedupReason), None]},
            "degraded": _TEXT_OR_NULL,
            "invocationId": _TEXT,
        }
    )


def _object(properties: dict[str, JsonValue], type_: JsonValue = "object") -> dict[str, JsonValue]:
    return {"type": type_, "properties": properties, "required": list(properties), "additionalProperties": False}


def _object_or_null(properties: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """Without ``anyOf``, which clients that check each answer are slow at."""
    return _object(properties, ["object", "null"])
