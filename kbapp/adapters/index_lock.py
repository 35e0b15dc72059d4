"""One writer of the indexes at a time, across processes: a lock file in the state folder that names its holder."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from kbapp.adapters.disk import PRIVATE_FILE, make_private_file
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
    lock = FileLock(state_folder / LOCK_FILE, mode=PRIVATE_FILE)
    try:
        state_folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock.acquire(timeout=wait_seconds)
    except Timeout:
        holder = _holder(state_folder)
        who = f"process {holder}" if holder else "another process"
        message = f"{who} is indexing: try again when it has finished"
        raise IndexBusy(message, by_this_process=holder == os.getpid()) from None
    except OSError as error:
        raise IndexUnavailable(f"{state_folder} cannot be written ({error}): name another --state-dir") from error
    try:
        make_private_file(state_folder / HOLDER_FILE)
        (state_folder / HOLDER_FILE).write_text(str(os.getpid()), encoding="ascii")
        yield
    finally:
        lock.release()


def _holder(state_folder: Path) -> int | None:
    try:
        return int((state_folder / HOLDER_FILE).read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None
