"""The telemetry in SQLite: one row per invocation, and what people say about it (T1, T5, T6)."""

from __future__ import annotations

import json
import logging
import secrets
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from itertools import takewhile

from kbapp.adapters.database import Database
from kbapp.adapters.read_only_sql import run_select
from kbapp.domain.errors import IndexUnavailable, UserError
from kbapp.domain.invocation import CLEAR_TOOL_NAME, Invocation, Outcome
from kbapp.domain.lookup_result import DedupReason
from kbapp.domain.relevance import RelevanceLevel
from kbapp.domain.telemetry import Feedback, InvocationFilter, SqlResult, Verdict

logger = logging.getLogger("kbapp")

RECORD_WAIT_SECONDS = 2.0  # a lookup waits no longer than this for another process that writes
GIVEN_ROWS = 10_000  # the newest rows, in which a document is looked for
PRUNE_BATCH = 1000  # rows per transaction, so that nobody waits long for the pruning

_COLUMNS = tuple(field.name for field in fields(Invocation))
_INSERT = f"INSERT INTO tool_invocation ({', '.join(_COLUMNS)}) VALUES ({', '.join('?' * len(_COLUMNS))})"
_SELECT = f"SELECT {', '.join(_COLUMNS)} FROM tool_invocation"
_PRUNE = "DELETE FROM tool_invocation WHERE rowid IN (SELECT rowid FROM tool_invocation WHERE created_at < ? LIMIT ?)"
_GAVE = f"""
    WHERE id IN (
        SELECT recent.id
        FROM (SELECT id, retrieval_details FROM tool_invocation ORDER BY created_at DESC LIMIT {GIVEN_ROWS}) AS recent
        JOIN json_each(recent.retrieval_details, '$.given') AS given
        WHERE instr(recent.retrieval_details, ?)
        AND CASE given.type WHEN 'object' THEN json_extract(given.value, '$.document') END = ?
    )
"""
_NEWEST_FIRST = "ORDER BY created_at DESC, rowid DESC"


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
            values = _values(invocation)
            with self._database.write(RECORD_WAIT_SECONDS) as connection:
                connection.execute(_INSERT, values)
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
        return next(iter(self._rows("WHERE id = ?", [_storable(invocation_id)])), None)

    def rows(self, wanted: InvocationFilter) -> list[Invocation]:
        """The rows that pass the filter, newest first."""
        conditions: list[str] = []
        values: list[str | int] = []
        for condition, given in _conditions(wanted):
            conditions.append(condition)
            values += given
        where = f"WHERE {' AND '.join(conditions)}" if conditions else ""
        return self._rows(f"{where} {_NEWEST_FIRST} LIMIT ? OFFSET ?", [*values, wanted.limit, wanted.offset])

    def rows_that_gave(self, document: str, limit: int) -> list[Invocation]:
        """Rows that gave text of the document at this path (T2), newest first, among the newest ``GIVEN_ROWS``."""
        path = _storable(document)
        as_written = json.dumps(path, ensure_ascii=False)  # spares the parsing of the rows that do not name it
        return self._rows(f"{_GAVE} {_NEWEST_FIRST} LIMIT ?", [as_written, path, limit])

    def session_rows(self, session_id: str, since: str) -> list[Invocation]:
        """What a session did since then (UTC, ISO 8601, inclusive) and after its last clear, oldest first (T8)."""
        rows = self._rows(f"WHERE session_id = ? AND created_at >= ? {_NEWEST_FIRST}", [_storable(session_id), since])
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
        feedback = Feedback(secrets.token_hex(8), _storable(invocation_id), verdict, _storable(note), _moment())
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
        where = "" if invocation_id is None else "WHERE invocation_id = ?"
        values = [] if invocation_id is None else [_storable(invocation_id)]
        with self._database.read() as connection:
            rows = connection.execute(f"SELECT * FROM feedback {where} ORDER BY created_at, rowid", values).fetchall()
        return [
            Feedback(row["id"], row["invocation_id"], Verdict(row["verdict"]), row["note"], row["created_at"])
            for row in rows
        ]

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
        return pruned

    def _has_older(self, before: str) -> bool:
        with self._database.read() as connection:
            found = connection.execute("SELECT 1 FROM tool_invocation WHERE created_at < ? LIMIT 1", (before,))
            return found.fetchone() is not None

    def _rows(self, clauses: str, values: Sequence[str | int]) -> list[Invocation]:
        with self._database.read() as connection:
            rows = connection.execute(f"{_SELECT} {clauses}", values).fetchall()
        return [_invocation(row) for row in rows]


def _conditions(wanted: InvocationFilter) -> Iterator[tuple[str, Sequence[str]]]:
    if wanted.session_id is not None:
        yield "session_id = ?", [_storable(wanted.session_id)]
    if wanted.since is not None:
        yield "created_at >= ?", [wanted.since]
    for column, kinds in (("relevance_level", wanted.levels), ("outcome", wanted.outcomes)):
        if kinds:
            yield f"{column} IN ({', '.join('?' * len(kinds))})", [kind.value for kind in kinds]


def _values(invocation: Invocation) -> list[object]:
    details = invocation.retrieval_details
    text = json.dumps(details, ensure_ascii=False, allow_nan=False) if details else None
    values = (text if name == "retrieval_details" else getattr(invocation, name) for name in _COLUMNS)
    return [_storable(value) if isinstance(value, str) else value for value in values]


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


def _storable(text: str) -> str:
    """Lone surrogates (of a file's name, say) have no UTF-8 form."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _moment(days_ago: float = 0) -> str:
    """UTC, ISO 8601, to the millisecond."""
    return (datetime.now(UTC) - timedelta(days=days_ago)).isoformat(timespec="milliseconds")
