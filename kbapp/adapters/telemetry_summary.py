"""Statistics over ``tool_invocation``, all computed by SQLite.

The row of a call is several kilobytes of details. The index ``tool_invocation_figures`` holds every column that is
read here, so that 100,000 calls are 20 MB to scan; a query that names another column would read 300.
"""

from __future__ import annotations

import sqlite3
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import accumulate
from math import ceil

from kbapp.adapters.database import Database
from kbapp.adapters.invocation_filter import where
from kbapp.domain.invocation import TOOL_NAME, Outcome
from kbapp.domain.lookup_result import DedupReason
from kbapp.domain.relevance import RelevanceLevel
from kbapp.domain.telemetry import InvocationFilter
from kbapp.domain.telemetry_summary import (
    BIN_WIDTH,
    LONGEST_LISTS,
    AnswerCount,
    GivenCount,
    LatencyBucket,
    MissedQuery,
    SessionCalls,
    SessionSize,
    SimilarityBin,
    Stage,
    StageTimes,
    TelemetrySummary,
    bucket_seconds,
)

_STAGE_COLUMNS = {Stage.L0: "l0_ms", Stage.EMBEDDING: "embed_ms", Stage.L1: "l1_ms"}
_BINS = round(1 / BIN_WIDTH)
_EPSILON = 1e-9  # 0.15 / 0.05 is 2.9999999999999996: a bound belongs to the bin above it


class CallStatistics:
    """Reads only; thread-safe; raises ``IndexUnavailable`` as the database does."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def summary(self, wanted: InvocationFilter, utc_offset_seconds: int = 0) -> TelemetrySummary:
        """The figures of the lookups that pass the filter, whatever its limit is, as of one moment.

        ``utc_offset_seconds``: of the clock on which a day begins.
        """
        with self._snapshot() as connection:
            calls = _Calls(connection, *where(replace(wanted, tool_name=TOOL_NAME)))
            width = bucket_seconds(calls.span_seconds())
            durations = calls.durations(width, utc_offset_seconds)
            return TelemetrySummary(
                answers=tuple(calls.answers()),
                times=tuple(calls.times(sum(durations.values(), Counter()))),
                similarities=tuple(calls.similarities()),
                session_sizes=tuple(calls.session_sizes()),
                busiest=tuple(calls.busiest()),
                bucket_seconds=width,
                latencies=tuple(_latencies(durations)),
                missed=tuple(calls.missed()),
                given=tuple(calls.given()),
            )

    def recent_sessions(self, limit: int) -> list[str]:
        """The ids of the sessions that called last, the last one first."""
        with self._database.read() as connection:
            rows = connection.execute(
                "SELECT session_id FROM tool_invocation WHERE session_id IS NOT NULL"
                " GROUP BY session_id ORDER BY max(created_at) DESC LIMIT ?",
                (limit,),
            ).fetchall()
        return [row["session_id"] for row in rows]

    @contextmanager
    def _snapshot(self) -> Iterator[sqlite3.Connection]:
        """All statements see the same rows, so that the figures agree with each other."""
        with self._database.read() as connection:
            connection.execute("BEGIN")
            try:
                yield connection
            finally:
                connection.rollback()


@dataclass(frozen=True, slots=True)
class _Calls:
    """The calls behind one WHERE clause."""

    connection: sqlite3.Connection
    where: str
    values: list[str]

    def _rows(self, sql: str, *more: str | int | float) -> Iterator[sqlite3.Row]:
        return iter(self.connection.execute(sql.format(calls=f"tool_invocation {self.where}"), [*self.values, *more]))

    def span_seconds(self) -> float:
        # Two statements: each finds its end of the index, one for both would scan it.
        first, last = (next(self._rows(f"SELECT {end}(created_at) FROM {{calls}}"))[0] for end in ("min", "max"))
        return (datetime.fromisoformat(last) - datetime.fromisoformat(first)).total_seconds() if first else 0.0

    def answers(self) -> Iterator[AnswerCount]:
        for row in self._rows(
            "SELECT outcome, relevance_level, dedup_reason, found, count(*) AS calls FROM {calls} GROUP BY 1, 2, 3, 4"
        ):
            level, reason = row["relevance_level"], row["dedup_reason"]
            yield AnswerCount(
                outcome=Outcome(row["outcome"]),
                level=RelevanceLevel(level) if level else None,
                dedup_reason=DedupReason(reason) if reason else None,
                found=bool(row["found"]),
                calls=row["calls"],
            )

    def times(self, totals: Counter[int]) -> Iterator[StageTimes]:
        """``totals``: how many calls took so long in all."""
        yield from _stage_times(Stage.TOTAL, totals)
        for stage, column in _STAGE_COLUMNS.items():
            rows = self._rows(
                f"SELECT {_hundredths(column)} AS ms, count(*) AS calls FROM {{calls}} AND {column} IS NOT NULL"
                " GROUP BY 1"
            )
            yield from _stage_times(stage, Counter({row["ms"]: row["calls"] for row in rows}))

    def similarities(self) -> Iterator[SimilarityBin]:
        for row in self._rows(
            f"SELECT min(CAST(l1_top_similarity * {_BINS} + {_EPSILON} AS INTEGER), {_BINS - 1}) AS bin,"
            " count(*) AS calls FROM {calls} AND l1_top_similarity IS NOT NULL GROUP BY bin ORDER BY bin"
        ):
            yield SimilarityBin(row["bin"] / _BINS, row["calls"])

    def session_sizes(self) -> Iterator[SessionSize]:
        for row in self._rows(
            "SELECT calls, count(*) AS sessions FROM"
            " (SELECT count(*) AS calls FROM {calls} AND session_id IS NOT NULL GROUP BY session_id)"
            " GROUP BY calls ORDER BY calls"
        ):
            yield SessionSize(row["calls"], row["sessions"])

    def busiest(self) -> Iterator[SessionCalls]:
        for row in self._rows(
            "SELECT session_id, count(*) AS calls, sum(outcome = 'deduped') AS deduped, max(created_at) AS last"
            " FROM {calls} AND session_id IS NOT NULL GROUP BY session_id ORDER BY calls DESC, last DESC LIMIT ?",
            LONGEST_LISTS,
        ):
            yield SessionCalls(row["session_id"], row["calls"], row["deduped"], row["last"])

    def durations(self, width: int, utc_offset_seconds: int) -> dict[int, Counter[int]]:
        """By the start of a span of time, how many calls took so long in all."""
        bucket = f"(CAST(strftime('%s', created_at) AS INTEGER) + {int(utc_offset_seconds)}) / {width}"
        durations: defaultdict[int, Counter[int]] = defaultdict(Counter)
        for row in self._rows(
            f"SELECT {bucket} AS bucket, {_hundredths('duration_ms')} AS ms, count(*) AS calls FROM {{calls}}"
            " GROUP BY 1, 2"
        ):
            durations[row["bucket"] * width - utc_offset_seconds][row["ms"]] = row["calls"]
        return durations

    def missed(self) -> Iterator[MissedQuery]:
        for row in self._rows(
            "SELECT query, count(*) AS calls, max(created_at) AS last FROM {calls} AND outcome = 'not_found'"
            " GROUP BY query ORDER BY calls DESC, last DESC LIMIT ?",
            LONGEST_LISTS,
        ):
            yield MissedQuery(row["query"], row["calls"], row["last"])

    def given(self) -> Iterator[GivenCount]:
        for row in self._rows(
            "SELECT document, count(*) AS calls FROM given_document"
            " JOIN (SELECT id FROM {calls}) ON id = invocation_id GROUP BY document ORDER BY calls DESC, document"
        ):
            yield GivenCount(row["document"], row["calls"])


def _hundredths(column: str) -> str:
    """Milliseconds to three digits, as hundredths: rows fall together, and no percentile is sorted for.

    Rounding keeps the order, so that a percentile of rounded values is the rounded percentile.
    """
    return (
        f"CASE WHEN {column} < 10 THEN CAST({column} * 100 + 0.5 AS INTEGER)"
        f" WHEN {column} < 100 THEN CAST({column} * 10 + 0.5 AS INTEGER) * 10"
        f" WHEN {column} < 1000 THEN CAST({column} + 0.5 AS INTEGER) * 100"
        f" ELSE CAST({column} / 10 + 0.5 AS INTEGER) * 1000 END"
    )


def _stage_times(stage: Stage, counts: Counter[int]) -> Iterator[StageTimes]:
    if counts:
        yield StageTimes(stage, counts.total(), *_percentiles(counts))


def _latencies(durations: dict[int, Counter[int]]) -> Iterator[LatencyBucket]:
    for start, counts in sorted(durations.items()):
        yield LatencyBucket(start, counts.total(), *_percentiles(counts))


def _percentiles(hundredths: Counter[int]) -> tuple[float, float]:
    """p50 and p95 in milliseconds by nearest rank: the smallest value that so many of 100 do not exceed."""
    values = sorted(hundredths)
    ranks = list(accumulate(hundredths[value] for value in values))
    p50, p95 = (values[bisect_left(ranks, ceil(ranks[-1] * share / 100))] / 100 for share in (50, 95))
    return p50, p95
