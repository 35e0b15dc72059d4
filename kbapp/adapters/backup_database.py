"""The database in a backup: copied while others write, judged and migrated before it takes the place of another.

A file of SQLite is never opened but by SQLite here: closing it would end all locks that this process has on it (POSIX).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from kbapp.adapters.database import MIGRATION_NAMES, MIGRATION_SET, Database
from kbapp.domain.backup_reports import DatabaseFacts
from kbapp.domain.errors import IndexBusy, IndexUnavailable, UserError
from kbapp.domain.index_state import CONSISTENT_STATE, MODEL_STATE

_WAIT_SECONDS = 10.0
_TABLES = ("api_document", "tool_invocation", "feedback", "embedding_cache")


class DamagedDatabase(UserError):
    """SQLite cannot read the file."""


def snapshot(database: Path, target: Path, *, vectors: bool) -> DatabaseFacts:
    """Write the state of this moment to a new file, without what was deleted; others go on reading and writing.

    Raises:
        DamagedDatabase: the database cannot be read.
        IndexUnavailable: there is no space, or another process keeps it locked.
    """
    with _translated(database), closing(_connect(database)) as connection:
        connection.execute("VACUUM INTO ?", (str(target),))
    with _translated(target), closing(_connect(target)) as connection:
        if not vectors and "embedding_cache" in _tables(connection):
            connection.execute("DELETE FROM embedding_cache")
            connection.execute("VACUUM")
        _check(connection, target)
        return _facts(connection)


def is_unused(database: Path) -> bool:
    """Whether no connection to it is open, of any process; what a killed one left in its journal is taken in.

    Raises:
        DamagedDatabase: the database cannot be read.
        IndexUnavailable: it cannot be written.
    """
    try:
        with _translated(database), closing(_connect(database, wait_seconds=0)) as connection:
            # Every connection in WAL mode keeps a shared lock as long as it is open; to leave the mode nobody else may.
            connection.execute("PRAGMA journal_mode = DELETE")
    except IndexBusy:
        return False
    return True


def facts(database: Path) -> DatabaseFacts:
    """The figures of a database that nobody writes.

    Raises:
        DamagedDatabase: it cannot be read, or is none of ours.
    """
    with _translated(database), closing(_connect(database)) as connection:
        if _tables(connection):
            _check(connection, database)
        return _facts(connection)


def prepare(database: Path) -> DatabaseFacts:
    """Check and migrate a database that came from elsewhere, or make one; the next index run compares all vectors.

    Raises:
        UserError: it is none of ours, of a newer kbapp, or damaged.
        IndexUnavailable: it cannot be migrated.
    """
    if database.exists():
        try:
            schema = facts(database).schema
        except DamagedDatabase as error:
            raise UserError("its database is damaged, or none of kbapp: take another archive") from error
        check_schema(schema)
    migrated = Database(database)
    try:
        with migrated.write() as connection:
            connection.execute("UPDATE index_state SET value = '' WHERE name = ?", (CONSISTENT_STATE,))
    finally:
        migrated.close()
    is_unused(database)  # one file again, ready to be moved
    return facts(database)


def check_schema(schema: str | None) -> None:
    """Whether this program can use a database of this schema.

    Raises:
        UserError: it is newer than the program.
    """
    newest = MIGRATION_NAMES[-1]
    if schema is not None and schema not in MIGRATION_NAMES:
        raise UserError(
            f"schema downgrade refused: its database has schema {schema}, this kbapp knows {newest} at most: update"
            " kbapp"
        )


def _connect(database: Path, wait_seconds: float = _WAIT_SECONDS) -> sqlite3.Connection:
    if not database.is_file():
        raise UserError(f"{database} is not there")
    return sqlite3.connect(database, timeout=wait_seconds, isolation_level=None)


def _check(connection: sqlite3.Connection, database: Path) -> None:
    found = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    if found != "ok":
        raise _damaged(database, found)
    if _facts(connection).schema is None:
        raise _damaged(database, "it is none of kbapp")


def _facts(connection: sqlite3.Connection) -> DatabaseFacts:
    tables = _tables(connection)
    counts = [
        connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0] if table in tables else 0 for table in _TABLES
    ]
    return DatabaseFacts(_schema(connection, tables), _model(connection, tables), *counts)


def _tables(connection: sqlite3.Connection) -> set[str]:
    return {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}


def _schema(connection: sqlite3.Connection, tables: set[str]) -> str | None:
    if "_sqlite_migrations" not in tables:
        return None
    statement = "SELECT max(name) FROM _sqlite_migrations WHERE migration_set = ?"
    schema: str | None = connection.execute(statement, (MIGRATION_SET,)).fetchone()[0]
    return schema


def _model(connection: sqlite3.Connection, tables: set[str]) -> str | None:
    if "index_state" not in tables:
        return None
    row = connection.execute("SELECT value FROM index_state WHERE name = ?", (MODEL_STATE,)).fetchone()
    return row[0] if row else None


def _damaged(database: Path, reason: str) -> DamagedDatabase:
    return DamagedDatabase(
        f"the database {database} is damaged ({reason}): move it away and run `kbapp index`; the documents are not"
        " touched"
    )


@contextmanager
def _translated(database: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.OperationalError as error:
        if "locked" in str(error):
            raise IndexBusy(f"another process uses the database {database}") from error
        raise IndexUnavailable(
            f"the database {database} cannot be copied ({error}): make space on its disk and its folder writable"
        ) from error
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
        raise _damaged(database, str(error)) from error
