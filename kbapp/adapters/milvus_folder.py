"""The folder of Milvus Lite: served by a process, and given up.

Traps of Milvus Lite 3.2, each one seen:

- ``start_and_get_uri`` is not thread-safe and answers None for every failure; the reason is in its log only.
- ``MilvusClient.close()`` keeps the folder's lock; ``release_server`` frees it.
"""

from __future__ import annotations

import logging
import threading
from pathlib import Path
from uuid import uuid4

from kbapp.adapters.disk import make_private_folder
from kbapp.adapters.milvus_client import failure_reason, silence_loggers
from kbapp.domain.hashing import sha256_hex

COLLECTIONS_FOLDER = "collections"
INDEXES_FOLDER = "indexes"
_START_LOGGER = "milvus_lite.server_manager"


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
    try:
        make_private_folder(folder)  # the engine makes its files as the umask says
    except OSError as error:
        raise FolderRefused(f"{folder} cannot be made ({error.strerror})", is_locked=False) from error
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
        is_untold = failure.error is None and lock_holder(folder) is not None  # logging.disable() silences the reason
        is_locked = is_untold or isinstance(cause, DataDirLockedError)
        raise FolderRefused(failure_reason(cause), is_locked=is_locked) from cause
    return str(uri)


def folder_fingerprint(folder: Path) -> str:
    """Names, sizes and times of the collections' files, as a hash; one like no other while they change.

    Without the search indexes, which the engine makes of the other files some time after a write.
    """
    collections = folder / COLLECTIONS_FOLDER
    files = (file for file in collections.rglob("*") if file.parent.name != INDEXES_FOLDER and file.is_file())
    try:
        states = sorted((str(file.relative_to(collections)), *_size_and_time(file)) for file in files)
    except OSError:  # the engine replaced a file meanwhile
        return uuid4().hex
    return sha256_hex(repr(states).encode())[:16]


def _size_and_time(file: Path) -> tuple[int, int]:
    state = file.stat()
    return state.st_size, state.st_mtime_ns


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
