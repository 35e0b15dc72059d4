"""The SQLite file of the state folder: connections, transactions, errors.

WAL mode; one writer at a time (``BEGIN IMMEDIATE``), readers from a small pool of their own connections, so that a
lookup never waits for indexing. sqlite-utils is imported only when a migration is pending (it imports pandas, 0.35 s).
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock

from kbapp.adapters.disk import PRIVATE_FILE, make_private_file
from kbapp.domain.errors import IndexUnavailable

MIGRATION_SET = "kbapp"
MIGRATION_NAMES = tuple(f"V{number:03}" for number in range(1, 24))  # of migrations.py, known without importing it
BUSY_TIMEOUT_SECONDS = 10.0


class Database:
    """Thread-safe; opened and migrated at the first use; whoever made it closes it.

    Every method raises ``IndexUnavailable`` with a sentence when SQLite cannot do what is asked.
    """

    def __init__(self, file: Path) -> None:
        self.file = file
        self._lock = threading.Lock()  # guards the fields; never held during a statement of a caller
        self._write_lock = threading.RLock()  # held for a whole transaction
        self._writer: sqlite3.Connection | None = None
        self._idle_readers: list[sqlite3.Connection] = []
        self._generation = 0
        self._opened: tuple[int, int] | None = None  # which file the connections are of
        self._opened_wal: tuple[int, int] | None = None  # and which log beside it

    @property
    def generation(self) -> int:
        """Another one: the file is another, and what was read of the former one is void."""
        return self._generation

    @contextmanager
    def write(self, wait_seconds: float = BUSY_TIMEOUT_SECONDS) -> Iterator[sqlite3.Connection]:
        """One transaction: committed at the end, rolled back when an exception leaves the block.

        ``wait_seconds``: how long to wait while another thread or process writes, each.
        """
        with self._locked_for_writing(wait_seconds), self._translated():
            connection = self._waiting_writer(wait_seconds)
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
            except BaseException:
                connection.rollback()
                raise
            connection.commit()

    @contextmanager
    def _locked_for_writing(self, wait_seconds: float) -> Iterator[None]:
        if not self._write_lock.acquire(timeout=wait_seconds):
            raise IndexUnavailable(f"the database {self.file} is being written to: try again")
        try:
            yield
        finally:
            self._write_lock.release()

    @contextmanager
    def read(self, *, at_one_moment: bool = False) -> Iterator[sqlite3.Connection]:
        """A connection for reading: each statement, or all of them together, sees what was committed last."""
        with self._translated():
            with self._lock:
                self._open_writer()
                generation = self._generation
                connection = self._idle_readers.pop() if self._idle_readers else None
            if connection is None:
                connection = self._connect()
                connection.execute("PRAGMA query_only = ON")
            try:
                if at_one_moment:
                    connection.execute("BEGIN")
                yield connection
            finally:
                if connection.in_transaction:
                    connection.rollback()
                with self._lock:
                    keep = generation == self._generation
                    if keep:
                        self._idle_readers.append(connection)
                if not keep:
                    connection.close()

    def compact(self) -> None:
        """Give the place of what was deleted back to the disk."""
        with self._write_lock, self._translated():
            self._waiting_writer(BUSY_TIMEOUT_SECONDS).execute("VACUUM")

    def close(self) -> None:
        """Close all connections; the next use opens anew."""
        with self._write_lock, self._lock:
            self._close()

    def _close(self) -> None:
        for connection in [*self._idle_readers, *([self._writer] if self._writer else [])]:
            connection.close()
        self._idle_readers.clear()
        self._writer = None
        self._generation += 1

    def _follow_file(self) -> None:
        """Let go of a file that was deleted or replaced: what is written to it is lost."""
        if self._writer is None or self._writer.in_transaction or _identity(self.file) == self._opened:
            return
        if self._write_lock.acquire(blocking=False):  # else a transaction is under way: the next use finds out
            try:
                self._close()
            finally:
                self._write_lock.release()

    def _waiting_writer(self, wait_seconds: float) -> sqlite3.Connection:
        with self._lock:
            connection = self._open_writer()
        connection.execute(f"PRAGMA busy_timeout = {round(wait_seconds * 1000)}")
        return connection

    def _open_writer(self) -> sqlite3.Connection:
        self._follow_file()
        if self._writer is None:
            self.file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            # SQLite does not wait for others when it changes the journal: one process at a time. Who holds the lock may
            # also put another file in its place (an import).
            lock = self.file.with_suffix(".lock")
            with FileLock(lock, timeout=BUSY_TIMEOUT_SECONDS, mode=PRIVATE_FILE):
                self._refuse_foreign_log()
                make_private_file(self.file)  # SQLite gives its mode to the files beside it
                connection = self._connect()
                try:
                    connection.execute("PRAGMA journal_mode = WAL")
                    self._migrate(connection)
                    connection.execute("PRAGMA synchronous = NORMAL")
                    connection.execute("PRAGMA foreign_keys = ON")  # no chunk without its document
                except BaseException:
                    connection.close()
                    raise
            self._writer = connection
            self._opened, self._opened_wal = _identity(self.file), _identity(self._wal)
        return self._writer

    @property
    def _wal(self) -> Path:
        return self.file.with_name(self.file.name + "-wal")

    def _refuse_foreign_log(self) -> None:
        """The log of a file that is gone must not be read as that of the file in its place."""
        is_other = self._opened is not None and _identity(self.file) != self._opened
        if is_other and self._opened_wal is not None and _identity(self._wal) == self._opened_wal:
            raise IndexUnavailable(
                f"{self.file} was deleted or replaced while it was open: end what uses this knowledge base, and delete"
                f" {self._wal.name} beside it, which belongs to the former file"
            )

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self.file, timeout=BUSY_TIMEOUT_SECONDS, isolation_level=None, check_same_thread=False
        )
        connection.row_factory = sqlite3.Row
        return connection

    def _migrate(self, connection: sqlite3.Connection) -> None:
        applied = _applied_migrations(connection)
        newer = sorted(applied - set(MIGRATION_NAMES))
        if newer:
            raise IndexUnavailable(
                f"{self.file} was written by a newer kbapp (it has schema {newer[-1]}, this one knows"
                f" {MIGRATION_NAMES[-1]}): update kbapp, or name another --state-dir"
            )
        if applied == set(MIGRATION_NAMES):
            return
        from sqlite_utils import Database as UtilsDatabase

        from kbapp.adapters.migrations import migrations

        migrations.apply(UtilsDatabase(connection))

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise IndexUnavailable(f"the database {self.file} cannot be used ({error}): {_way_out(error)}") from error
        except OSError as error:
            raise IndexUnavailable(f"{self.file} cannot be used ({error}): name another --state-dir") from error


def _identity(file: Path) -> tuple[int, int] | None:
    """Which file has this name; None: none has."""
    try:
        status = os.stat(file)  # noqa: PTH116 - at every use of the database, where Path costs more than the call
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino


def _applied_migrations(connection: sqlite3.Connection) -> set[str]:
    table = connection.execute("SELECT 1 FROM sqlite_master WHERE name = '_sqlite_migrations'").fetchone()
    if table is None:
        return set()
    rows = connection.execute("SELECT name FROM _sqlite_migrations WHERE migration_set = ?", (MIGRATION_SET,))
    return {row["name"] for row in rows}


def _way_out(error: sqlite3.Error) -> str:
    text = str(error)
    if "locked" in text:
        return "another process is writing; try again"
    if "malformed" in text or "not a database" in text:
        return "move it away and run `kbapp index`; the documents are not touched"
    return "check that the folder is writable and the disk is not full, or name another --state-dir"
