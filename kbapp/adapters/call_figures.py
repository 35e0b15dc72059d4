"""The figures of all lookups, packed: what statistics over many calls read.

SQLite takes 0.2 µs for every row that a statement touches. So a row of ``call_block`` is up to ``_LINES`` calls of the
same ten minutes: a line of hexadecimal digits for each, which numpy counts. Triggers keep the blocks in step with
``tool_invocation``, whoever writes it. Of a session a line has the number: its name is in ``call_session`` as long as
it has calls. Moments compare as texts, so that only those of the form that kbapp writes are in the order of their time:
calls with any other stand in ``call_apart``, each with its moment as it was written.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from kbapp.domain.invocation import TOOL_NAME, Outcome
from kbapp.domain.lookup_result import DedupReason
from kbapp.domain.relevance import RelevanceLevel
from kbapp.domain.telemetry_summary import BIN_WIDTH

Calls = npt.NDArray[np.void]

# The database holds places in these, from 1 on, and 0 for none: only append.
OUTCOMES = (Outcome.ERROR, Outcome.DEGRADED, Outcome.DEDUPED, Outcome.NOT_FOUND, Outcome.OK)
LEVELS = (
    RelevanceLevel.PRECISE,
    RelevanceLevel.HIGHLY_RELEVANT,
    RelevanceLevel.REFERENCE,
    RelevanceLevel.DEDUPED,
)
REASONS = (DedupReason.DOC_RETRIEVED, DedupReason.DOMAIN_RETRIEVED)
BINS = round(1 / BIN_WIDTH)
NO_TIME, NO_BIN = 0xFFFFFFFF, 0xFF
NO_MOMENT = 0xFFFFFFFFFFFFFFFF

_SPAN_SECONDS = 600
_BLOCKS = 1 << 20  # numbers of blocks that a span has for itself
_LINES = 56  # fills a page of the database: what each call writes stays as small, however many there are
_EPSILON = 1e-9  # 0.15 / 0.05 is 2.9999999999999996: a bound belongs to the bin above it
_FORM = "%Y-%m-%dT%H:%M:%f+00:00"
# The last year is excluded: in any time zone it is one that Python has. Days are Julian.
_FIRST_YEAR, _FIRST_DAY = "1970", 2440587.5
_LAST_YEAR, _LAST_DAY = "9999", 5373119.5
_TIMES = ("duration_ms", "l0_ms", "embed_ms", "l1_ms")
_CODES = ("bin", "outcome", "relevance_level", "dedup_reason", "found")
_LINE = np.dtype(
    [("at", ">u8"), ("session", ">u4"), *((name, ">u4") for name in _TIMES), *((name, "u1") for name in _CODES)]
)
_LENGTH = 2 * _LINE.itemsize + 1  # of a line, with its end


_TRIGGERS = {
    "added": ("INSERT", "NEW."),
    "removed": ("DELETE", "OLD."),
    "replaced_old": ("UPDATE", "OLD."),
    "replaced_new": ("UPDATE", "NEW."),
}


def read_calls(connection: sqlite3.Connection, since: str | None = None) -> Calls:
    """A record for each lookup since then (as ``created_at`` compares), in no order.

    ``at``: milliseconds since 1970, or ``NO_MOMENT``; ``session``: 0 for none; times: hundredths of a millisecond, or
    ``NO_TIME``.
    """
    apart = "SELECT figures FROM call_apart WHERE ? IS NULL OR created_at >= ?"
    odd = _unpacked(connection.execute(apart, (since, since)))
    calls = _since(connection, since)
    return np.concatenate((calls, odd)) if odd.size else calls


def _since(connection: sqlite3.Connection, since: str | None) -> Calls:
    if since is None:
        return _unpacked(connection.execute("SELECT figures FROM call_block"))
    found = connection.execute(
        f"SELECT {_milliseconds('')} FROM tool_invocation WHERE created_at >= ? AND {_is_in_order('')}"
        " ORDER BY created_at LIMIT 1",
        (since,),
    ).fetchone()
    if found is None:
        return np.empty(0, _LINE)
    number = found[0] // 1000 // _SPAN_SECONDS * _BLOCKS
    calls = _unpacked(connection.execute("SELECT figures FROM call_block WHERE number >= ?", (number,)))
    later: Calls = calls[calls["at"] >= found[0]]
    return later


def _unpacked(rows: Iterable[sqlite3.Row]) -> Calls:
    return np.frombuffer(b"".join(bytes.fromhex(row[0]) for row in rows), _LINE)


def schema() -> Iterator[str]:
    """The statements that make the tables, in the place of former ones, fill them, and keep them in step."""
    for name in _TRIGGERS:
        yield f"DROP TRIGGER IF EXISTS call_{name}"
    for name in ("session", "block", "apart"):
        yield f"DROP TABLE IF EXISTS call_{name}"
    yield "CREATE TABLE call_session (number INTEGER PRIMARY KEY, session_id TEXT NOT NULL UNIQUE)"
    yield "CREATE TABLE call_block (number INTEGER PRIMARY KEY, figures TEXT NOT NULL)"
    yield "CREATE TABLE call_apart (id TEXT, created_at TEXT, figures TEXT NOT NULL)"
    yield "CREATE INDEX call_apart_id ON call_apart (id)"
    is_lookup = f"tool_name = '{TOOL_NAME}'"
    yield (
        "INSERT INTO call_session (session_id)"
        f" SELECT DISTINCT session_id FROM tool_invocation WHERE {is_lookup} AND session_id IS NOT NULL"
    )
    yield (
        f"INSERT INTO call_block SELECT first + (place - 1) / {_LINES} AS number, group_concat(line, '') FROM ("
        f"SELECT {_first('')} AS first, row_number() OVER (PARTITION BY {_first('')}) AS place, {_line('')} AS line"
        f" FROM tool_invocation WHERE {is_lookup} AND {_is_in_order('')}) GROUP BY number"
    )
    yield (
        f"INSERT INTO call_apart SELECT id, created_at, {_line('')} FROM tool_invocation"
        f" WHERE {is_lookup} AND NOT {_is_in_order('')}"
    )
    for name, (event, row) in _TRIGGERS.items():
        body = _add() if row == "NEW." else _remove()
        condition = f"{row}tool_name = '{TOOL_NAME}'"
        yield f"CREATE TRIGGER call_{name} AFTER {event} ON tool_invocation WHEN {condition} BEGIN {body} END"


def _add() -> str:
    in_force = f"number BETWEEN {_first('NEW.')} AND {_first('NEW.')} + {_BLOCKS - 1}"
    last = f"SELECT number + (length(figures) >= {_LINES * _LENGTH}) FROM call_block WHERE {in_force}"
    return (
        "INSERT INTO call_session (session_id) SELECT NEW.session_id WHERE NEW.session_id IS NOT NULL"
        " ON CONFLICT DO NOTHING;"
        f" INSERT INTO call_block SELECT"
        f" coalesce(({last} ORDER BY number DESC LIMIT 1), {_first('NEW.')}), {_line('NEW.')}"
        f" WHERE {_is_in_order('NEW.')}"
        " ON CONFLICT (number) DO UPDATE SET figures = figures || excluded.figures;"
        f" INSERT INTO call_apart SELECT NEW.id, NEW.created_at, {_line('NEW.')} WHERE NOT {_is_in_order('NEW.')};"
    )


def _remove() -> str:
    """One line that is equal to the row's: of calls with equal figures one is as good as the other."""
    line = _line("OLD.")
    in_force = f"number BETWEEN {_first('OLD.')} AND {_first('OLD.')} + {_BLOCKS - 1}"
    at = f"instr(figures, {line})"
    # The plus signs keep SQLite from walking over all calls by an index that begins with the tool's name.
    return (
        f"UPDATE call_block SET figures = substr(figures, 1, {at} - 1) || substr(figures, {at} + {_LENGTH})"
        f" WHERE number = (SELECT number FROM call_block WHERE {in_force} AND {_is_in_order('OLD.')} AND {at} LIMIT 1);"
        f" DELETE FROM call_block WHERE {in_force} AND figures = '';"
        " DELETE FROM call_apart WHERE rowid = (SELECT rowid FROM call_apart WHERE id IS OLD.id"
        " AND created_at IS OLD.created_at LIMIT 1);"
        " DELETE FROM call_session WHERE session_id = OLD.session_id"
        " AND NOT EXISTS (SELECT 1 FROM tool_invocation"
        f" WHERE session_id = OLD.session_id AND +tool_name = '{TOOL_NAME}');"
    )


def _line(row: str) -> str:
    session = f"(SELECT number FROM call_session WHERE call_session.session_id = {row or 'tool_invocation.'}session_id)"
    similarity = f"min(CAST({_number(row + 'l1_top_similarity')} * {BINS} + {_EPSILON} AS INTEGER), {BINS - 1})"
    values = (
        f"coalesce({session}, 0)",
        *(f"coalesce(min({_hundredths(_number(row + name))}, {NO_TIME - 1}), {NO_TIME})" for name in _TIMES),
        f"coalesce({similarity}, {NO_BIN})",
        _code(f"{row}outcome", OUTCOMES),
        _code(f"{row}relevance_level", LEVELS),
        _code(f"{row}dedup_reason", REASONS),
        f"{row}found <> 0",
    )
    at, *names = _LINE.names or ()
    digits = [2 * _LINE[name].itemsize for name in names]
    form = f"%0{2 * _LINE[at].itemsize}x" + "".join(f"%0{count}x" for count in digits)
    # More digits than its field has make a line, and so all after it, unreadable.
    fitting = (f"max(0, min({value}, {16**count - 1}))" for value, count in zip(values, digits, strict=True))
    return f"printf('{form}', coalesce({_milliseconds(row)}, -1), {', '.join(fitting)}) || char(10)"


def _code(column: str, kinds: Sequence[Outcome | RelevanceLevel | DedupReason]) -> str:
    cases = " ".join(f"WHEN '{kind.value}' THEN {place}" for place, kind in enumerate(kinds, 1))
    return f"CASE {column} {cases} ELSE 0 END"


def _first(row: str) -> str:
    """The number of the first block of the ten minutes in which a call was made."""
    return f"coalesce(({_milliseconds(row)}) / 1000 / {_SPAN_SECONDS} * {_BLOCKS}, 0)"


def _milliseconds(row: str) -> str:
    """Since 1970; NULL for what is no moment of these years."""
    days = f"julianday({row}created_at)"
    value = f"CAST(round(({days} - {_FIRST_DAY}) * 86400000) AS INTEGER)"
    return f"CASE WHEN {days} BETWEEN {_FIRST_DAY} AND {_LAST_DAY} THEN {value} END"


def _is_in_order(row: str) -> str:
    years = f"{row}created_at >= '{_FIRST_YEAR}' AND {row}created_at < '{_LAST_YEAR}'"
    return f"({years} AND strftime('{_FORM}', {row}created_at) IS {row}created_at)"


def _number(column: str) -> str:
    """NULL for what is none."""
    return f"CASE WHEN typeof({column}) IN ('integer', 'real') THEN {column} END"


def _hundredths(column: str) -> str:
    """Milliseconds to three digits, as hundredths.

    Rounding keeps the order, so that a percentile of rounded values is the rounded percentile.
    """
    return (
        f"CASE WHEN {column} IS NULL THEN NULL WHEN {column} < 10 THEN CAST({column} * 100 + 0.5 AS INTEGER)"
        f" WHEN {column} < 100 THEN CAST({column} * 10 + 0.5 AS INTEGER) * 10"
        f" WHEN {column} < 1000 THEN CAST({column} + 0.5 AS INTEGER) * 100"
        f" ELSE CAST({column} / 10 + 0.5 AS INTEGER) * 1000 END"
    )
