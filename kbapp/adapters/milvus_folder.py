"""The folder of Milvus Lite: started, mended after a crash, and given up.

Traps of Milvus Lite 3.2, each one seen:

- ``start_and_get_uri`` is not thread-safe and answers None for every failure; the reason is in its log only.
- ``MilvusClient.close()`` keeps the folder's lock; ``release_server`` frees it.
- Two first requests at once open one collection twice, each with a write-ahead log of its own: all collections are
  opened before anybody else knows the address.
- Killed between the commit of its manifest and the deletion of the log, it shows rows twice after opening. A flush
  mends that only if it comes before any other write and before the compaction that starts with the opening; so rows
  that are there twice are written once more.
- A flush after a kill writes the same Parquet file in place: killed there, the collection can never be opened again,
  and ``list_collections`` fails with it. Such a collection is set aside: vectors can be made again from the files.
- Killed while it creates a collection, it leaves a folder without ``schema.json``, and that name can never be created
  again.
"""

from __future__ import annotations

import logging
import shutil
import threading
from collections import Counter
from pathlib import Path
from uuid import uuid4

from kbapp.adapters.milvus_client import (
    MilvusClient,
    failure_code,
    failure_reason,
    milvus_failures,
    silence_loggers,
)
from kbapp.adapters.milvus_schema import is_collection_of

_MARKER_PREFIX = "kbapp_"
_ENGINE_FAILED = 1
_ALL_ROWS = 10_000_000  # Milvus Lite has no limit of its own
_ROWS_AT_ONCE = 500
_START_LOGGER = "milvus_lite.server_manager"

_log = logging.getLogger(__name__)


class FolderRefused(Exception):
    """Milvus Lite did not open the folder; ``is_locked`` when another process holds it."""

    def __init__(self, reason: str, *, is_locked: bool) -> None:
        super().__init__(reason)
        self.is_locked = is_locked


class ServedFolders:
    """The folders that this process serves, each with the number of its users. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users: dict[Path, int] = {}

    def join(self, folder: Path) -> str | None:
        """The address of a folder that is served already, with one more user."""
        with self._lock:
            return self._start(folder) if folder in self._users else None

    def serve(self, folder: Path) -> str:
        """The address of the folder, with one more user.

        Raises:
            FolderRefused: Milvus Lite is not there, or does not open the folder.
        """
        with self._lock:
            return self._start(folder)

    def leave(self, folder: Path) -> None:
        """One user less; the last one ends the server."""
        from milvus_lite.server_manager import server_manager_instance

        with self._lock:
            users = self._users.pop(folder) - 1
            if users:
                self._users[folder] = users
            else:
                server_manager_instance.release_server(str(folder))

    def users(self, folder: Path) -> int:
        """How many use the folder."""
        with self._lock:
            return self._users.get(folder, 0)

    def _start(self, folder: Path) -> str:
        uri = _start_server(folder)
        self._users[folder] = self._users.get(folder, 0) + 1
        return uri


# The one thing that belongs to the process: so does the lock of the folder.
SERVED_FOLDERS = ServedFolders()


class _LastFailure(logging.Handler):
    """Keeps the exception that Milvus Lite logs in place of raising it."""

    error: Exception | None = None

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the exception."""
        error = record.exc_info[1] if record.exc_info else None
        self.error = error if isinstance(error, Exception) else self.error


def _start_server(folder: Path) -> str:
    try:
        from milvus_lite.exceptions import DataDirLockedError
        from milvus_lite.server_manager import server_manager_instance
    except ImportError as error:
        reason = f"milvus-lite cannot be imported ({error}): install it, or set milvus.uri to a Milvus server"
        raise FolderRefused(reason, is_locked=False) from error
    silence_loggers()
    logger, failure = logging.getLogger(_START_LOGGER), _LastFailure()
    logger.setLevel(logging.ERROR)
    logger.propagate = False
    logger.addHandler(failure)
    try:
        uri = server_manager_instance.start_and_get_uri(str(folder))
    finally:
        logger.removeHandler(failure)
    if uri is None:
        cause = failure.error or OSError("Milvus Lite does not say why")
        raise FolderRefused(failure_reason(cause), is_locked=isinstance(cause, DataDirLockedError)) from cause
    return str(uri)


def remove_unfinished(folder: Path) -> None:
    """Remove what a kill during the creation of a collection left; only before the server starts."""
    for collection in folder.glob("collections/*"):
        if is_collection_of("", collection.name) and not (collection / "schema.json").exists():
            shutil.rmtree(collection)


def open_folder(client: MilvusClient, folder: Path, damaged: Path, seconds: float) -> str:
    """Open and flush each of our collections; give the name of an empty database that this folder alone has.

    A collection that cannot be opened moves to the folder ``damaged``.

    Raises:
        MilvusException: a flush failed, for want of space for instance.
    """
    _open_collections(client, folder, damaged, seconds)
    return _marker(client, seconds)


def _open_collections(client: MilvusClient, folder: Path, damaged: Path, seconds: float) -> None:
    for schema in sorted(folder.glob("collections/*/schema.json")):
        name = schema.parent.name
        if not is_collection_of("", name):
            continue
        was_killed = any(schema.parent.glob("wal/*"))
        try:
            client.load_collection(name, timeout=seconds)
        except milvus_failures() as error:
            if failure_code(error) != _ENGINE_FAILED:
                raise
            _log.warning("The vectors in %s cannot be read and will be made again: %s", name, failure_reason(error))
            _set_aside(schema.parent, damaged)
        else:
            if was_killed:
                _merge_twins(client, name, seconds)
            client.flush(name, timeout=seconds)


def _merge_twins(client: MilvusClient, name: str, seconds: float) -> None:
    """Write again what the log and a file both hold; killed here, the log is still there and it is done again."""
    rows = client.query(name, filter="", limit=_ALL_ROWS, output_fields=["id"], timeout=seconds)
    twins = [str(chunk_id) for chunk_id, count in Counter(row["id"] for row in rows).items() if count > 1]
    for start in range(0, len(twins), _ROWS_AT_ONCE):
        some = twins[start : start + _ROWS_AT_ONCE]
        client.upsert(name, client.get(name, ids=some, output_fields=["*"], timeout=seconds), timeout=seconds)


def _set_aside(collection: Path, damaged: Path) -> None:
    damaged.mkdir(exist_ok=True)
    shutil.rmtree(damaged / collection.name, ignore_errors=True)
    collection.replace(damaged / collection.name)


def _marker(client: MilvusClient, seconds: float) -> str:
    names = [str(name) for name in client.list_databases(timeout=seconds)]
    found = sorted(name for name in names if name.startswith(_MARKER_PREFIX))
    if found:
        return found[0]
    marker = f"{_MARKER_PREFIX}{uuid4().hex}"
    client.create_database(marker, timeout=seconds)
    return marker


def lock_holder(folder: Path) -> int | None:
    """The process that holds the folder, where the system tells (Linux)."""
    try:
        inode = (folder / "LOCK").stat().st_ino
        lines = Path("/proc/locks").read_text(encoding="ascii").splitlines()
    except (OSError, UnicodeDecodeError):
        return None
    for line in lines:
        # "1: FLOCK ADVISORY WRITE <pid> <device>:<inode> 0 EOF"; a waiting process has "->" in the second place.
        fields = line.split()
        if len(fields) > 5 and fields[4].isdigit() and fields[5].rpartition(":")[2] == str(inode):
            return int(fields[4]) or None
    return None
