"""The telemetry of many calls in figures: what was answered how, how fast, and what was never found or given."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum

from kbapp.domain.invocation import Outcome
from kbapp.domain.lookup_result import DedupReason
from kbapp.domain.relevance import RelevanceLevel, Thresholds

BIN_WIDTH = 0.05  # of the similarity histogram
LONGEST_LISTS = 12  # queries and sessions that are named
_MAX_BUCKETS = 48
_MINUTE, _HOUR, _DAY = 60, 3600, 86_400
_BUCKET_SECONDS = (
    _MINUTE,
    5 * _MINUTE,
    15 * _MINUTE,
    _HOUR,
    3 * _HOUR,
    6 * _HOUR,
    12 * _HOUR,
    _DAY,
    7 * _DAY,
    28 * _DAY,
    364 * _DAY,
)


class Stage(StrEnum):
    """What a call spends its time on; ``TOTAL`` is more than the sum of the others."""

    TOTAL = "total"
    L0 = "l0"
    EMBEDDING = "embedding"
    L1 = "l1"


@dataclass(frozen=True, slots=True)
class StageTimes:
    """Milliseconds of the ``calls`` that went through this stage, by nearest rank."""

    stage: Stage
    calls: int
    p50_ms: float
    p95_ms: float


@dataclass(frozen=True, slots=True)
class AnswerCount:
    """How many calls were answered alike."""

    outcome: Outcome
    level: RelevanceLevel | None
    dedup_reason: DedupReason | None
    found: bool
    calls: int


@dataclass(frozen=True, slots=True)
class SimilarityBin:
    """Calls whose graded similarity is in ``[lower, lower + BIN_WIDTH)``; the last bin holds 1.0 too."""

    lower: float
    calls: int

    def level(self, thresholds: Thresholds) -> RelevanceLevel | None:
        """The level of its middle: exact where the thresholds are bounds of bins."""
        middle = self.lower + BIN_WIDTH / 2
        if middle >= thresholds.highly_relevant:
            return RelevanceLevel.HIGHLY_RELEVANT
        return RelevanceLevel.REFERENCE if middle >= thresholds.reference else None


@dataclass(frozen=True, slots=True)
class SessionSize:
    """How many sessions made so many calls."""

    calls: int
    sessions: int


@dataclass(frozen=True, slots=True)
class SessionCalls:
    """What one session did; ``last_at``: UTC, ISO 8601."""

    session_id: str
    calls: int
    deduped: int
    last_at: str


@dataclass(frozen=True, slots=True)
class LatencyBucket:
    """The calls of a span of time that begins at ``start`` (seconds since 1970, UTC)."""

    start: int
    calls: int
    p50_ms: float
    p95_ms: float


@dataclass(frozen=True, slots=True)
class MissedQuery:
    """A query that found nothing, though nothing was broken; ``last_at``: UTC, ISO 8601."""

    query: str
    calls: int
    last_at: str


@dataclass(frozen=True, slots=True)
class GivenCount:
    """How many calls gave text of a document."""

    document: str
    calls: int


@dataclass(frozen=True, slots=True)
class TelemetrySummary:
    """All figures of the calls that pass a filter; a clear of a session is no call.

    ``busiest`` and ``missed`` hold the first ``LONGEST_LISTS``; ``given`` holds every document that was given, the
    most given first; ``bucket_seconds`` is the width of a latency bucket.
    """

    answers: tuple[AnswerCount, ...]
    times: tuple[StageTimes, ...]
    similarities: tuple[SimilarityBin, ...]
    session_sizes: tuple[SessionSize, ...]
    busiest: tuple[SessionCalls, ...]
    bucket_seconds: int
    latencies: tuple[LatencyBucket, ...]
    missed: tuple[MissedQuery, ...]
    given: tuple[GivenCount, ...]

    @property
    def calls(self) -> int:
        """How many calls pass the filter."""
        return self.count(lambda _: True)

    @property
    def found(self) -> int:
        """Calls that found something; what was withheld as a repeat had been found."""
        return self.count(lambda answer: answer.found)

    @property
    def sessions(self) -> int:
        """How many sessions made these calls."""
        return sum(size.sessions for size in self.session_sizes)

    def of(self, outcome: Outcome) -> int:
        """How many calls had this outcome: an error, a degraded answer, a repeat and a miss are never the same call."""
        return self.count(lambda answer: answer.outcome is outcome)

    def of_reason(self, reason: DedupReason) -> int:
        """How many repeats were withheld for this reason."""
        return self.count(lambda answer: answer.dedup_reason is reason)

    def share(self, calls: int) -> float:
        """A number of calls as a share of all, 0 … 1."""
        return calls / self.calls if self.calls else 0.0

    def count(self, condition: Callable[[AnswerCount], bool]) -> int:
        """How many calls were answered like that."""
        return sum(answer.calls for answer in self.answers if condition(answer))

    def never_given(self, documents: Iterable[str]) -> tuple[str, ...]:
        """Those of these documents whose text no call gave, in their order."""
        given = {count.document for count in self.given}
        return tuple(document for document in documents if document not in given)


def bucket_seconds(span_seconds: float) -> int:
    """The narrowest width that cuts the span into not too many buckets."""
    fitting = (width for width in _BUCKET_SECONDS if span_seconds / width <= _MAX_BUCKETS)
    return next(fitting, _BUCKET_SECONDS[-1])
