"""One SELECT that a person typed, on a connection of its own that can do nothing else.

A read-only connection of SQLite still allows ATTACH: an authorizer lets nothing pass but reading, and a progress
handler ends what takes too long.
"""

from __future__ import annotations

import math
import sqlite3
import time
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

from kbapp.domain.errors import IndexUnavailable, UserError
from kbapp.domain.telemetry import SqlResult, SqlValue

_ALLOWED = frozenset({sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE})
_FORBIDDEN_FUNCTIONS = frozenset({"load_extension", "fts3_tokenizer", "icu_load_collation", "sqlite_log"})
_FIRST_WORDS = frozenset({"SELECT", "WITH"})
# What only a damaged or locked file, or the disk, can cause; all other errors are the statement's.
_FAULTS = frozenset({5, 6, 10, 11, 13, 14, 15, 26})  # BUSY LOCKED IOERR CORRUPT FULL CANTOPEN PROTOCOL NOTADB
_STEPS_BETWEEN_CHECKS = 100  # of SQLite's virtual machine; one may take a second
# `instr`, `replace` and LIKE are one step each, whose time grows with the product of the lengths.
_LIKE_PATTERN_CHARACTERS = 500


@dataclass(frozen=True, slots=True)
class SqlLimits:
    """What one statement may take: rows given, seconds, bytes of one value, characters of the result, columns."""

    rows: int = 10_000
    seconds: float = 5.0
    value_size: int = 250_000
    result_size: int = 50_000_000
    columns: int = 100


DEFAULT_LIMITS = SqlLimits()


def run_select(file: Path, sql: str, limits: SqlLimits = DEFAULT_LIMITS) -> SqlResult:
    """The result of exactly one SELECT, which may begin with WITH.

    Raises:
        UserError: anything else, or more than the limits allow.
        IndexUnavailable: the database cannot be read.
    """
    statement = _without_leading_comments(sql)
    first_word = "".join(takewhile(str.isalpha, statement[:20]))
    if first_word.upper() not in _FIRST_WORDS:
        what = f"begins with {statement[:20]!r}" if statement else "is empty"
        raise UserError(f"only one SELECT is allowed here (it may begin with WITH): the statement {what}")
    try:
        with closing(_connect(file, limits)) as connection:
            cursor = connection.execute(sql)
            columns = tuple(column[0] for column in cursor.description)
            rows, truncated = _rows(cursor, limits)
    except (sqlite3.Error, sqlite3.Warning, UnicodeEncodeError) as error:
        raise _translated(error, file, limits) from error
    return SqlResult(columns, rows, truncated)


def _connect(file: Path, limits: SqlLimits) -> sqlite3.Connection:
    connection = sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True, isolation_level=None)
    try:
        connection.text_factory = _text
        connection.execute("SELECT 1 FROM json_each('[]'), json_tree('[]')")  # their set-up is more than reading
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, limits.value_size)
        connection.setlimit(sqlite3.SQLITE_LIMIT_COLUMN, limits.columns)
        connection.setlimit(sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH, _LIKE_PATTERN_CHARACTERS)
        deadline = time.monotonic() + limits.seconds
        connection.set_progress_handler(lambda: time.monotonic() > deadline, _STEPS_BETWEEN_CHECKS)
        connection.set_authorizer(_authorize)
    except BaseException:
        connection.close()
        raise
    return connection


def _authorize(action: int, *names: str | None) -> int:
    if action not in _ALLOWED:
        return sqlite3.SQLITE_DENY
    is_forbidden = action == sqlite3.SQLITE_FUNCTION and str(names[1]).lower() in _FORBIDDEN_FUNCTIONS
    return sqlite3.SQLITE_DENY if is_forbidden else sqlite3.SQLITE_OK


def _rows(cursor: Iterable[tuple[object, ...]], limits: SqlLimits) -> tuple[tuple[tuple[SqlValue, ...], ...], bool]:
    rows: list[tuple[SqlValue, ...]] = []
    size = 0
    for row in cursor:
        size += sum(len(value) for value in row if isinstance(value, (str, bytes)))
        if len(rows) == limits.rows or size > limits.result_size:
            return tuple(rows), True
        rows.append(tuple(_value(value) for value in row))
    return tuple(rows), False


def _value(value: object) -> SqlValue:
    """A value as JSON can hold it."""
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value  # type: ignore[return-value]  # SQLite has no other types


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _translated(error: Exception, file: Path, limits: SqlLimits) -> UserError | IndexUnavailable:
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF  # the low byte of an extended code
    if code in _FAULTS:
        return IndexUnavailable(f"the database {file} cannot be read ({error}): `kbapp doctor` says more")
    if code == sqlite3.SQLITE_INTERRUPT:
        return UserError(f"the statement took longer than {limits.seconds:g} seconds and was stopped: ask for less")
    if code == sqlite3.SQLITE_AUTH or "not authorized" in str(error):
        return UserError("only one SELECT that reads tables is allowed here: this statement does more")
    return UserError(f"only one SELECT is allowed here, and this statement cannot be run: {error}")


def _without_leading_comments(sql: str) -> str:
    rest = sql.lstrip()
    while rest.startswith(("--", "/*")):
        end = "\n" if rest.startswith("--") else "*/"
        rest = rest[2:].partition(end)[2].lstrip()
    return rest
