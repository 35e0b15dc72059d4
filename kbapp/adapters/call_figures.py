"""The figures of all lookups, packed: what statistics over many calls read.

SQLite takes 0.2 µs for every row that a statement touches. So a row of ``call_block`` is up to ``_LINES`` calls of the
same ten minutes: a line of hexadecimal digits for each, which numpy counts. Triggers keep the blocks in step with
``tool_invocation``, whoever writes it. Of a session a line has the number: its name is in ``call_session`` as long as
it has calls.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence

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

_SPAN_SECONDS = 600
_BLOCKS = 1 << 20  # numbers of blocks that a span has for itself
_LINES = 56  # fills a page of the database: what each call writes stays as small, however many there are
_EPSILON = 1e-9  # 0.15 / 0.05 is 2.9999999999999996: a bound belongs to the bin above it
_TIMES = ("duration_ms", "l0_ms", "embed_ms", "l1_ms")
_CODES = ("bin", "outcome", "relevance_level", "dedup_reason", "found")
_LINE = np.dtype(
    [("at", ">u8"), ("session", ">u4"), *((name, ">u4") for name in _TIMES), *((name, "u1") for name in _CODES)]
)
_LENGTH = 2 * _LINE.itemsize + 1  # of a line, with its end


def read_calls(connection: sqlite3.Connection, since: str | None = None) -> Calls:
    """A record for each lookup since then (as ``created_at`` compares), in no order.

    ``at``: milliseconds since 1970; ``session``: 0 for none; times: hundredths of a millisecond, or ``NO_TIME``.
    """
    first = 0
    if since is not None:
        oldest = "(SELECT min(created_at) AS created_at FROM tool_invocation WHERE created_at >= ?)"
        first = connection.execute(f"SELECT {_milliseconds('')} FROM {oldest}", (since,)).fetchone()[0]
        if first is None:
            return np.empty(0, _LINE)
    number = first // 1000 // _SPAN_SECONDS * _BLOCKS
    blocks = connection.execute("SELECT figures FROM call_block WHERE number >= ?", (number,))
    calls = np.frombuffer(b"".join(bytes.fromhex(block[0]) for block in blocks), _LINE)
    return calls if since is None else calls[calls["at"] >= first]


def schema() -> Iterator[str]:
    """The statements that make the tables, fill them, and keep them in step."""
    yield "CREATE TABLE call_session (number INTEGER PRIMARY KEY, session_id TEXT NOT NULL UNIQUE)"
    yield "CREATE TABLE call_block (number INTEGER PRIMARY KEY, figures TEXT NOT NULL)"
    is_lookup = f"tool_name = '{TOOL_NAME}'"
    yield (
        "INSERT INTO call_session (session_id)"
        f" SELECT DISTINCT session_id FROM tool_invocation WHERE {is_lookup} AND session_id IS NOT NULL"
    )
    yield (
        f"INSERT INTO call_block SELECT first + (place - 1) / {_LINES} AS number, group_concat(line, '') FROM ("
        f"SELECT {_first('')} AS first, row_number() OVER (PARTITION BY {_first('')}) AS place, {_line('')} AS line"
        f" FROM tool_invocation WHERE {is_lookup}) GROUP BY number"
    )
    yield _trigger("added", "INSERT", "NEW", _add())
    yield _trigger("removed", "DELETE", "OLD", _remove())
    yield _trigger("replaced_old", "UPDATE", "OLD", _remove())
    yield _trigger("replaced_new", "UPDATE", "NEW", _add())


def _trigger(name: str, event: str, row: str, body: str) -> str:
    condition = f"{row}.tool_name = '{TOOL_NAME}'"
    return f"CREATE TRIGGER call_{name} AFTER {event} ON tool_invocation WHEN {condition} BEGIN {body} END"


def _add() -> str:
    in_force = f"number BETWEEN {_first('NEW.')} AND {_first('NEW.')} + {_BLOCKS - 1}"
    last = f"SELECT number + (length(figures) >= {_LINES * _LENGTH}) FROM call_block WHERE {in_force}"
    return (
        "INSERT INTO call_session (session_id) SELECT NEW.session_id WHERE NEW.session_id IS NOT NULL"
        " ON CONFLICT DO NOTHING;"
        f" INSERT INTO call_block VALUES ("
        f"coalesce(({last} ORDER BY number DESC LIMIT 1), {_first('NEW.')}), {_line('NEW.')})"
        " ON CONFLICT (number) DO UPDATE SET figures = figures || excluded.figures;"
    )


def _remove() -> str:
    """One line that is equal to the row's: of calls with equal figures one is as good as the other."""
    line = _line("OLD.")
    in_force = f"number BETWEEN {_first('OLD.')} AND {_first('OLD.')} + {_BLOCKS - 1}"
    at = f"instr(figures, {line})"
    # The plus signs keep SQLite from walking over all calls by an index that begins with the tool's name.
    return (
        f"UPDATE call_block SET figures = substr(figures, 1, {at} - 1) || substr(figures, {at} + {_LENGTH})"
        f" WHERE number = (SELECT number FROM call_block WHERE {in_force} AND {at} LIMIT 1);"
        f" DELETE FROM call_block WHERE {in_force} AND figures = '';"
        " DELETE FROM call_session WHERE session_id = OLD.session_id"
        " AND NOT EXISTS (SELECT 1 FROM tool_invocation"
        f" WHERE session_id = OLD.session_id AND +tool_name = '{TOOL_NAME}');"
    )


def _line(row: str) -> str:
    session = f"(SELECT number FROM call_session WHERE call_session.session_id = {row or 'tool_invocation.'}session_id)"
    similarity = f"min(CAST({row}l1_top_similarity * {BINS} + {_EPSILON} AS INTEGER), {BINS - 1})"
    values = (
        _milliseconds(row),
        f"coalesce({session}, 0)",
        *(f"coalesce(min({_hundredths(row + name)}, {NO_TIME - 1}), {NO_TIME})" for name in _TIMES),
        f"coalesce({similarity}, {NO_BIN})",
        _code(f"{row}outcome", OUTCOMES),
        _code(f"{row}relevance_level", LEVELS),
        _code(f"{row}dedup_reason", REASONS),
        f"{row}found <> 0",
    )
    form = "".join(f"%0{2 * _LINE[name].itemsize}x" for name in _LINE.names or ())
    return f"printf('{form}', {', '.join(values)}) || char(10)"


def _code(column: str, kinds: Sequence[Outcome | RelevanceLevel | DedupReason]) -> str:
    cases = " ".join(f"WHEN '{kind.value}' THEN {place}" for place, kind in enumerate(kinds, 1))
    return f"CASE {column} {cases} ELSE 0 END"


def _first(row: str) -> str:
    """The number of the first block of the ten minutes in which a call was made."""
    return f"coalesce({_seconds(row)} / {_SPAN_SECONDS} * {_BLOCKS}, 0)"


def _seconds(row: str) -> str:
    return f"CAST(strftime('%s', {row}created_at) AS INTEGER)"


def _milliseconds(row: str) -> str:
    # %f is SS.SSS: what stands behind the point.
    return f"({_seconds(row)} * 1000 + CAST(substr(strftime('%f', {row}created_at), 4) AS INTEGER))"


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
