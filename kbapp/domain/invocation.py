"""One call of ``lookup_knowledge`` as a telemetry row (T1, T2): everything that the result hides."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from enum import StrEnum

from kbapp.domain.documents import JsonValue
from kbapp.domain.lookup_result import DedupReason
from kbapp.domain.relevance import RelevanceLevel

TOOL_NAME = "lookup_knowledge"
CLEAR_TOOL_NAME = "clear_session"
"""A row of this name ends what a session remembers (M5, T8)."""


class Outcome(StrEnum):
    """What became of an invocation; the first that applies, in this order (T1)."""

    ERROR = "error"
    DEGRADED = "degraded"
    DEDUPED = "deduped"
    NOT_FOUND = "not_found"
    OK = "ok"


def outcome_of(*, error: str | None, degraded: str | None, level: RelevanceLevel | None, found: bool) -> Outcome:
    """``error`` > ``degraded`` > ``deduped`` > ``not_found`` > ``ok`` (T1)."""
    if error:
        return Outcome.ERROR
    if degraded:
        return Outcome.DEGRADED
    if level is RelevanceLevel.DEDUPED:
        return Outcome.DEDUPED
    return Outcome.OK if found else Outcome.NOT_FOUND


@dataclass(frozen=True, slots=True)
class Invocation:
    """A row of ``tool_invocation``; times in milliseconds, ``created_at`` in UTC, ISO 8601."""

    id: str
    session_id: str | None
    tool_name: str
    query: str
    section_title: str | None
    missing_dimension: str | None
    created_at: str
    duration_ms: float = 0.0
    l0_ms: float = 0.0
    embed_ms: float | None = None
    l1_ms: float | None = None
    l0_match_count: int = 0
    l1_called: bool = False
    found: bool = False
    outcome: Outcome = Outcome.OK
    relevance_level: RelevanceLevel | None = None
    dedup_reason: DedupReason | None = None
    retrieval_details: dict[str, JsonValue] = field(default_factory=dict)
    error: str | None = None

    def to_dict(self) -> dict[str, JsonValue]:
        """The columns of T1."""
        return asdict(self)


def clear_invocation(invocation_id: str, session_id: str, created_at: str) -> Invocation:
    """The row that says that a session was cleared (M5)."""
    return Invocation(invocation_id, session_id, CLEAR_TOOL_NAME, "", None, None, created_at)
