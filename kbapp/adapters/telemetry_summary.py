"""Statistics over ``tool_invocation``: counted from the packed figures of the calls, but for what needs their texts."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import ceil

import numpy as np
import numpy.typing as npt

from kbapp.adapters.call_figures import BINS, LEVELS, NO_BIN, NO_MOMENT, NO_TIME, OUTCOMES, REASONS, Calls, read_calls
from kbapp.adapters.database import Database
from kbapp.adapters.invocation_filter import storable, where
from kbapp.domain.invocation import TOOL_NAME, Outcome
from kbapp.domain.telemetry import InvocationFilter
from kbapp.domain.telemetry_summary import (
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

Numbers = npt.NDArray[np.int64]

_STAGE_TIMES = {
    Stage.TOTAL: "duration_ms",
    Stage.L0: "l0_ms",
    Stage.EMBEDDING: "embed_ms",
    Stage.L1: "l1_ms",
}
_SHARES = (50, 95)


class CallStatistics:
    """Reads only; thread-safe; raises ``IndexUnavailable`` as the database does."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def summary(self, wanted: InvocationFilter, utc_offset_seconds: int = 0) -> TelemetrySummary:
        """The figures of the lookups that pass the filter, whatever its limit is, as of one moment.

        ``utc_offset_seconds``: of the clock on which a day begins.
        """
        wanted = replace(wanted, tool_name=TOOL_NAME)
        with self._snapshot() as connection:
            texts = _Texts(connection, wanted)
            calls = _passing(connection, wanted)
            timed = _timed(calls)
            width = bucket_seconds(int(np.ptp(timed["at"])) / 1000 if timed.size else 0)
            return TelemetrySummary(
                answers=tuple(_answers(calls)),
                times=tuple(_times(calls)),
                similarities=tuple(_similarities(calls)),
                session_sizes=tuple(_session_sizes(calls)),
                busiest=tuple(texts.named(_busiest(calls))),
                bucket_seconds=width,
                latencies=tuple(_latencies(timed, width, utc_offset_seconds)),
                missed=tuple(texts.missed()),
                given=tuple(texts.given()),
            )

    def recent_sessions(self, limit: int) -> list[str]:
        """The ids of the sessions that called last, the last one first."""
        last: dict[str, None] = {}
        with self._database.read() as connection:
            for row in connection.execute(
                "SELECT session_id FROM tool_invocation WHERE session_id IS NOT NULL ORDER BY created_at DESC"
            ):
                if len(last) == limit:
                    break
                last.setdefault(row["session_id"])
        return list(last)

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
class _Texts:
    """What is not among the figures of the calls that pass a filter: names, queries, documents."""

    connection: sqlite3.Connection
    wanted: InvocationFilter

    def named(self, busiest: list[tuple[int, int, int]]) -> Iterator[SessionCalls]:
        """``busiest``: number, calls and repeats of a session."""
        condition, values = where(replace(self.wanted, session_id=None))
        for number, calls, deduped in busiest:
            row = self.connection.execute(
                f"SELECT session_id, created_at FROM tool_invocation {condition}"
                " AND session_id = (SELECT session_id FROM call_session WHERE number = ?)"
                " ORDER BY created_at DESC LIMIT 1",
                [*values, number],
            ).fetchone()
            yield SessionCalls(row["session_id"], calls, deduped, row["created_at"])

    def missed(self) -> Iterator[MissedQuery]:
        """From an index of its own, of which no other column can be asked."""
        if self.wanted.outcomes and Outcome.NOT_FOUND not in self.wanted.outcomes:
            return
        condition, values = where(replace(self.wanted, outcomes=(), tool_name=None))
        for row in self.connection.execute(
            "SELECT query, count(*) AS calls, max(created_at) AS last"
            f" FROM tool_invocation INDEXED BY tool_invocation_missed {condition or 'WHERE true'}"
            f" AND tool_name = '{TOOL_NAME}' AND outcome = '{Outcome.NOT_FOUND.value}'"
            " GROUP BY query ORDER BY calls DESC, last DESC LIMIT ?",
            [*values, LONGEST_LISTS],
        ):
            yield MissedQuery(row["query"], row["calls"], row["last"])

    def given(self) -> Iterator[GivenCount]:
        condition, values = where(replace(self.wanted, tool_name=None))
        for row in self.connection.execute(
            f"SELECT document, count(*) AS calls FROM given_document {condition}"
            " GROUP BY document ORDER BY calls DESC, document",
            values,
        ):
            yield GivenCount(row["document"], row["calls"])


def _passing(connection: sqlite3.Connection, wanted: InvocationFilter) -> Calls:
    calls = read_calls(connection, wanted.since)
    if wanted.session_id is not None:
        known = "SELECT number FROM call_session WHERE session_id = ?"
        found = connection.execute(known, (storable(wanted.session_id),)).fetchone()
        calls = calls[calls["session"] == (found["number"] if found else -1)]
    if wanted.levels:
        calls = calls[np.isin(calls["relevance_level"], [LEVELS.index(level) + 1 for level in wanted.levels])]
    if wanted.outcomes:
        calls = calls[np.isin(calls["outcome"], [OUTCOMES.index(outcome) + 1 for outcome in wanted.outcomes])]
    return calls


def _answers(calls: Calls) -> list[AnswerCount]:
    shape = (len(OUTCOMES) + 1, len(LEVELS) + 1, len(REASONS) + 1, 2)
    columns = ("outcome", "relevance_level", "dedup_reason", "found")
    kinds = np.ravel_multi_index(tuple(calls[column] for column in columns), shape)
    counts = np.bincount(kinds, minlength=1)
    places = [tuple(map(int, np.unravel_index(kind, shape))) for kind in np.flatnonzero(counts)]
    answers = [
        AnswerCount(
            outcome=OUTCOMES[outcome - 1],
            level=LEVELS[level - 1] if level else None,
            dedup_reason=REASONS[reason - 1] if reason else None,
            found=bool(found),
            calls=int(counts[np.ravel_multi_index((outcome, level, reason, found), shape)]),
        )
        for outcome, level, reason, found in places
    ]
    return sorted(answers, key=lambda each: (each.outcome, each.level or "", each.dedup_reason or "", each.found))


def _times(calls: Calls) -> Iterator[StageTimes]:
    for stage, column in _STAGE_TIMES.items():
        hundredths = calls[column].astype(np.int64)
        hundredths = hundredths[hundredths != NO_TIME]
        if hundredths.size:
            ranks = _ranks(hundredths.size)
            p50, p95 = np.partition(hundredths, ranks)[ranks] / 100
            yield StageTimes(stage, hundredths.size, float(p50), float(p95))


def _similarities(calls: Calls) -> Iterator[SimilarityBin]:
    counts = np.bincount(calls["bin"], minlength=NO_BIN + 1)[:NO_BIN]
    for place in np.flatnonzero(counts):
        yield SimilarityBin(int(place) / BINS, int(counts[place]))


def _session_sizes(calls: Calls) -> Iterator[SessionSize]:
    sizes = np.bincount(_by_session(calls["session"]))
    sessions = np.bincount(sizes)
    for size in np.flatnonzero(sessions):
        if size:
            yield SessionSize(int(size), int(sessions[size]))


def _busiest(calls: Calls) -> list[tuple[int, int, int]]:
    """Number, calls and repeats of the sessions that called most; of equals, those that called last."""
    sessions = _by_session(calls["session"])
    sizes = np.bincount(sessions, minlength=1)
    last = np.zeros(sizes.size, np.int64)
    moments = np.where(calls["at"] == NO_MOMENT, 0, calls["at"])
    np.maximum.at(last, sessions, moments[calls["session"] != 0].astype(np.int64))
    first = np.lexsort((-last, -sizes))[:LONGEST_LISTS]
    is_repeat = calls["outcome"] == OUTCOMES.index(Outcome.DEDUPED) + 1
    repeats = np.bincount(_by_session(calls["session"][is_repeat]), minlength=sizes.size)
    return [(int(number), int(sizes[number]), int(repeats[number])) for number in first if sizes[number]]


def _by_session(numbers: npt.NDArray[np.uint32]) -> Numbers:
    in_sessions: Numbers = numbers[numbers != 0].astype(np.int64)
    return in_sessions


def _timed(calls: Calls) -> Calls:
    """Those that have a place in the chart over time: nearly always all, of which no copy is made."""
    is_timed = (calls["at"] != NO_MOMENT) & (calls["duration_ms"] != NO_TIME)
    return calls if is_timed.all() else calls[is_timed]


def _latencies(calls: Calls, width: int, utc_offset_seconds: int) -> Iterator[LatencyBucket]:
    if not calls.size:
        return
    buckets = (calls["at"].astype(np.int64) // 1000 + utc_offset_seconds) // width
    first = int(buckets.min())
    keys = np.sort((buckets - first) << 32 | calls["duration_ms"].astype(np.int64))
    counts = np.bincount(keys >> 32)
    start = 0
    for bucket in np.flatnonzero(counts):
        count = int(counts[bucket])
        p50, p95 = (keys[start : start + count][_ranks(count)] & 0xFFFFFFFF) / 100
        yield LatencyBucket((first + int(bucket)) * width - utc_offset_seconds, count, float(p50), float(p95))
        start += count


def _ranks(count: int) -> list[int]:
    """Places of p50 and p95 among sorted values by nearest rank: so many of 100 do not exceed it."""
    return [ceil(count * share / 100) - 1 for share in _SHARES]
