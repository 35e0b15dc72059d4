"""The telemetry in SQLite: one row per invocation, and what people say about it (T1, T5, T6)."""

from __future__ import annotations

import json
import logging
import secrets
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from itertools import takewhile

from kbapp.adapters.database import Database
from kbapp.adapters.invocation_filter import NEWEST_FIRST, storable, where
from kbapp.adapters.read_only_sql import run_select
from kbapp.domain.documents import JsonValue
from kbapp.domain.errors import IndexUnavailable, UserError
from kbapp.domain.invocation import CLEAR_TOOL_NAME, Invocation, Outcome
from kbapp.domain.lookup_result import DedupReason
from kbapp.domain.relevance import RelevanceLevel
from kbapp.domain.telemetry import Feedback, InvocationFilter, MarkedCall, SqlResult, Verdict

logger = logging.getLogger("kbapp")

RECORD_WAIT_SECONDS = 2.0  # a lookup waits no longer than this for another process that writes
PRUNE_BATCH = 100  # rows per transaction: a lookup that writes its row waits some 25 ms for the pruning
_PRUNE_PAUSE_SECONDS = 0.01  # between two, or the same thread takes the lock again before any that waits

SIMILARITY = "l1_top_similarity"  # of the details, also a column
_COLUMNS = tuple(field.name for field in fields(Invocation))
_STORED = (*_COLUMNS, SIMILARITY)
_INSERT = f"INSERT INTO tool_invocation ({', '.join(_STORED)}) VALUES ({', '.join('?' * len(_STORED))})"
_SELECT = f"SELECT {', '.join(_COLUMNS)} FROM tool_invocation"
_PRUNE = "DELETE FROM tool_invocation WHERE rowid IN (SELECT rowid FROM tool_invocation WHERE created_at < ? LIMIT ?)"
_INSERT_GIVEN = (
    "INSERT OR IGNORE INTO given_document SELECT id, ?, created_at, session_id, outcome, relevance_level"
    " FROM tool_invocation WHERE id = ?"
)
_LAST_MARKS = """SELECT * FROM feedback AS mark WHERE NOT EXISTS (
    SELECT 1 FROM feedback AS later WHERE later.invocation_id = mark.invocation_id
    AND (later.created_at, later.rowid) > (mark.created_at, mark.rowid)
) ORDER BY created_at DESC, rowid DESC LIMIT ?"""
_GAVE = (
    "SELECT id FROM given_document AS given JOIN tool_invocation AS call ON id = invocation_id WHERE document = ?"
    " ORDER BY given.created_at DESC, call.rowid DESC LIMIT ?"
)


class InvocationLog:
    """Tables ``tool_invocation`` and ``feedback``. Thread-safe; all but ``record`` may raise ``IndexUnavailable``."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = threading.Lock()  # guards the next field
        self._failures = 0

    @property
    def failures(self) -> int:
        """How many rows could not be kept since the start."""
        with self._lock:
            return self._failures

    def record(self, invocation: Invocation) -> bool:
        """Keep a row; false when it cannot be kept, which is logged the first time."""
        try:
            values, given = _values(invocation), _given_documents(invocation)
            with self._database.write(RECORD_WAIT_SECONDS) as connection:
                connection.execute(_INSERT, values)
                connection.executemany(_INSERT_GIVEN, [(document, invocation.id) for document in given])
        except (IndexUnavailable, ValueError, TypeError, OverflowError) as error:
            with self._lock:
                self._failures += 1
                is_first = self._failures == 1
            if is_first:
                logger.error("telemetry is not recorded: %s", error)
            return False
        return True

    def row(self, invocation_id: str) -> Invocation | None:
        """One row; None: there is none of this id."""
        return next(iter(self._rows("WHERE id = ?", [storable(invocation_id)])), None)

    def rows(self, wanted: InvocationFilter) -> list[Invocation]:
        """The rows that pass the filter, newest first."""
        return list(self.stream(wanted))

    def stream(self, wanted: InvocationFilter) -> Iterator[Invocation]:
        """``rows`` one by one, as of the moment of the first, for those who do not hold them all."""
        condition, values = where(wanted)
        with self._database.read() as connection:
            for row in connection.execute(
                f"{_SELECT} WHERE id IN ({_ids(condition or 'WHERE true')}) {NEWEST_FIRST}",
                [*values, wanted.offset, *values, wanted.limit, wanted.offset, *values],
            ):
                yield _invocation(row)

    def rows_that_gave(self, document: str, limit: int) -> list[Invocation]:
        """Rows that gave text of the document at this path (T2), newest first."""
        return self._rows(f"WHERE id IN ({_GAVE}) {NEWEST_FIRST}", [storable(document), limit])

    def session_rows(self, session_id: str, since: str) -> list[Invocation]:
        """What a session did since then (UTC, ISO 8601, inclusive) and after its last clear, oldest first (T8)."""
        rows = self._rows(f"WHERE session_id = ? AND created_at >= ? {NEWEST_FIRST}", [storable(session_id), since])
        return list(takewhile(lambda row: row.tool_name != CLEAR_TOOL_NAME, rows))[::-1]

    def select(self, sql: str) -> SqlResult:
        """The result of exactly one SELECT (it may begin with WITH), within the limits of ``SqlLimits``.

        Raises:
            UserError: anything else, or a statement that SQLite does not accept or that takes too long.
        """
        with self._database.read():  # makes and migrates the file, or says why it cannot be used
            pass
        return run_select(self._database.file, sql)

    def add_feedback(self, invocation_id: str, verdict: Verdict, note: str) -> Feedback:
        """Mark an invocation.

        Raises:
            UserError: there is no such invocation.
        """
        feedback = Feedback(secrets.token_hex(8), storable(invocation_id), verdict, storable(note), _moment())
        with self._database.write() as connection:
            known = connection.execute("SELECT 1 FROM tool_invocation WHERE id = ?", (feedback.invocation_id,))
            if known.fetchone() is None:
                raise UserError(
                    f"there is no invocation {feedback.invocation_id[:40]!r}: `kbapp telemetry` lists the ids"
                )
            connection.execute(
                "INSERT INTO feedback (id, invocation_id, verdict, note, created_at) VALUES (?, ?, ?, ?, ?)",
                (feedback.id, feedback.invocation_id, verdict.value, feedback.note, feedback.created_at),
            )
        return feedback

    def feedback(self, invocation_id: str | None = None) -> list[Feedback]:
        """The marks on one invocation, or on all, oldest first."""
        condition = "" if invocation_id is None else "WHERE invocation_id = ?"
        values = [] if invocation_id is None else [storable(invocation_id)]
        with self._database.read() as connection:
            rows = connection.execute(
                f"SELECT * FROM feedback {condition} ORDER BY created_at, rowid", values
            ).fetchall()
        return [_feedback(row) for row in rows]

    def marked_calls(self, limit: int) -> list[MarkedCall]:
        """Every invocation that was marked, with its last mark; the newest mark first."""
        with self._database.read() as connection:
            rows = connection.execute(_LAST_MARKS, (limit,)).fetchall()
        marks = [_feedback(row) for row in rows]
        names = ", ".join("?" * len(marks))
        calls = {row.id: row for row in self._rows(f"WHERE id IN ({names})", [mark.invocation_id for mark in marks])}
        return [MarkedCall(mark, calls[mark.invocation_id]) for mark in marks if mark.invocation_id in calls]

    def prune(self, keep_days: float, should_stop: Callable[[], bool] = lambda: False) -> int:
        """Delete the rows that are older than this, with their feedback; how many rows that were.

        ``should_stop`` ends it after the batch at hand.
        """
        if not self._database.file.exists():
            return 0
        before, pruned = _moment(keep_days), 0
        while self._has_older(before):
            with self._database.write() as connection:
                pruned += connection.execute(_PRUNE, (before, PRUNE_BATCH)).rowcount
            if should_stop():
                break
            time.sleep(_PRUNE_PAUSE_SECONDS)
        return pruned

    def _has_older(self, before: str) -> bool:
        with self._database.read() as connection:
            found = connection.execute("SELECT 1 FROM tool_invocation WHERE created_at < ? LIMIT 1", (before,))
            return found.fetchone() is not None

    def _rows(self, clauses: str, values: Sequence[str | int]) -> list[Invocation]:
        with self._database.read() as connection:
            rows = connection.execute(f"{_SELECT} {clauses}", values).fetchall()
        return [_invocation(row) for row in rows]


def _ids(condition: str) -> str:
    """Of a page of rows: skipping reads no details, and sorts none but the rows of the moment where the page begins.

    Parameters: those of the condition and the offset, then those of the condition, the limit, the offset, and those
    of the condition again.
    """
    rows = f"FROM tool_invocation {condition}"
    begins = f"SELECT created_at {rows} ORDER BY created_at DESC LIMIT 1 OFFSET ?"
    newer = f"SELECT count(*) {rows} AND created_at > (SELECT created_at FROM begin)"
    return (
        f"WITH begin AS MATERIALIZED ({begins})"
        f" SELECT id {rows} AND created_at <= (SELECT created_at FROM begin)"
        f" {NEWEST_FIRST} LIMIT ? OFFSET ? - ({newer})"
    )


def _values(invocation: Invocation) -> list[object]:
    details = invocation.retrieval_details
    text = json.dumps(details, ensure_ascii=False, allow_nan=False) if details else None
    values = (text if name == "retrieval_details" else getattr(invocation, name) for name in _COLUMNS)
    return [*(storable(value) if isinstance(value, str) else value for value in values), _similarity(details)]


def _similarity(details: Mapping[str, JsonValue]) -> float | None:
    value = details.get(SIMILARITY)
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _given_documents(invocation: Invocation) -> list[str]:
    given = invocation.retrieval_details.get("given")
    documents = (each.get("document") for each in given if isinstance(each, dict)) if isinstance(given, list) else ()
    return [storable(document) for document in documents if isinstance(document, str)]


def _feedback(row: sqlite3.Row) -> Feedback:
    return Feedback(row["id"], row["invocation_id"], Verdict(row["verdict"]), row["note"], row["created_at"])


def _invocation(row: sqlite3.Row) -> Invocation:
    values = dict(row)
    return Invocation(
        **values
        | {
            "l1_called": bool(row["l1_called"]),
            "found": bool(row["found"]),
            "outcome": Outcome(row["outcome"]),
            "relevance_level": RelevanceLevel(row["relevance_level"]) if row["relevance_level"] else None,
            "dedup_reason": DedupReason(row["dedup_reason"]) if row["dedup_reason"] else None,
            "retrieval_details": json.loads(row["retrieval_details"] or "{}"),
        }
    )


def _moment(days_ago: float = 0) -> str:
    """UTC, ISO 8601, to the millisecond."""
    return (datetime.now(UTC) - timedelta(days=days_ago)).isoformat(timespec="milliseconds")
