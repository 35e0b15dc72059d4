"""One writer of the indexes at a time, across processes: a lock file in the state folder that names its holder."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from kbapp.domain.errors import IndexBusy, IndexUnavailable

LOCK_FILE = "index.lock"
HOLDER_FILE = "index.pid"


@contextmanager
def hold_index_lock(state_folder: Path, wait_seconds: float) -> Iterator[None]:
    """Hold the lock during the block.

    Raises:
        IndexBusy: another process still holds it after ``wait_seconds``.
        IndexUnavailable: the folder cannot be written.
    """
    lock = FileLock(state_folder / LOCK_FILE)
    try:
        state_folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock.acquire(timeout=wait_seconds)
    except Timeout:
        raise IndexBusy(f"{_holder(state_folder)} is indexing: try again when it has finished") from None
    except OSError as error:
        raise IndexUnavailable(f"{state_folder} cannot be written ({error}): name another --state-dir") from error
    try:
        (state_folder / HOLDER_FILE).write_text(str(os.getpid()), encoding="ascii")
        yield
    finally:
        lock.release()


def _holder(state_folder: Path) -> str:
    try:
        return f"process {int((state_folder / HOLDER_FILE).read_text(encoding='ascii'))}"
    except (OSError, ValueError):
        return "another process"
