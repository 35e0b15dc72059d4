"""The last step of an import: what was staged takes its place.

Everything that is needed lies on the disk before the journal is written; from then on there is no way back, and a run
that was killed is gone on with by the next one (each move is done once: what is not in the staging folder any more has
arrived). Without a journal nothing has changed, and what was staged is thrown away.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from kbapp.adapters.backup_database import DamagedDatabase, is_unused
from kbapp.adapters.backup_places import STAGED_DOCUMENTS
from kbapp.adapters.backup_staging import Staging
from kbapp.adapters.disk import PRIVATE_FILE, locate, sync_folder, write_whole
from kbapp.adapters.index_lock import hold_index_lock
from kbapp.domain.errors import IndexBusy, IndexUnavailable, UserError

_WAIT_SECONDS = 10.0
_SIDE_FILES = ("-wal", "-shm", "-journal")


@dataclass(frozen=True, slots=True)
class Journal:
    """What is to be done: where, which documents arrive and which go.

    ``kept``: where the archive of what was there goes; ``damaged``: where a database goes that cannot be read.
    """

    base_folder: str
    database: str
    settings_file: str
    arriving: tuple[str, ...]
    going: tuple[str, ...]
    kept: str | None
    damaged: str | None


def finish_import(state_folder: Path, wait_seconds: float = _WAIT_SECONDS) -> None:
    """Go on with an import that was killed, or throw away what it staged; at once when there is none.

    Raises:
        IndexUnavailable: it cannot be finished now: it is under way, or what it writes to is not writable.
    """
    staging = Staging(state_folder)
    if not staging.folder.exists():
        return
    try:
        with hold_index_lock(state_folder, wait_seconds if staging.journal.exists() else 0):
            finish_locked(staging)
    except IndexBusy:
        if staging.journal.exists():
            raise IndexUnavailable("an import is under way: try again when it has finished") from None


def finish_locked(staging: Staging) -> bool:
    """``finish_import`` for who holds the index lock; whether there was an import to go on with."""
    is_committed = staging.journal.exists()
    if is_committed:
        values = json.loads(staging.journal.read_text(encoding="utf-8"))
        journal = Journal(**values | {"arriving": tuple(values["arriving"]), "going": tuple(values["going"])})
        with closed_database(Path(journal.database)):
            _apply(staging, journal)
    staging.remove()
    return is_committed


def commit(staging: Staging, journal: Journal) -> None:
    """Write the journal, and do what it says.

    Raises:
        IndexUnavailable: another process has opened the database: nothing has changed. Or not all could be done.
    """
    with closed_database(Path(journal.database)):
        write_whole(staging.journal, json.dumps(asdict(journal), ensure_ascii=False).encode(), mode=PRIVATE_FILE)
        _apply(staging, journal)
    staging.remove()


@contextmanager
def closed_database(database: Path) -> Iterator[None]:
    """Nobody has the database open, and nobody opens it during the block.

    Raises:
        IndexUnavailable: somebody has it open.
    """
    try:
        lock = database.with_suffix(".lock")  # under which it is opened
        with FileLock(lock, timeout=_WAIT_SECONDS, mode=PRIVATE_FILE):
            if is_open(database):
                raise IndexUnavailable(
                    f"another process has {database} open: end the app, `kbapp mcp` and whatever else uses this"
                    " knowledge base, then try again"
                )
            yield
    except Timeout:
        raise IndexUnavailable(f"another process is opening {database}: try again") from None


def is_open(database: Path) -> bool:
    """Whether somebody has the database open; nobody can use one that is damaged."""
    try:
        return database.exists() and not is_unused(database)
    except DamagedDatabase:
        return False


def _apply(staging: Staging, journal: Journal) -> None:
    try:
        if journal.kept and staging.kept.exists():
            staging.kept.replace(journal.kept)
            sync_folder(Path(journal.kept).parent)
        _move_documents(staging, journal)
        _move_database(staging, journal)
        if staging.settings.exists():
            write_whole(Path(journal.settings_file), staging.settings.read_bytes(), mode=PRIVATE_FILE)
        staging.journal.unlink()
        sync_folder(staging.folder)
    except (OSError, UserError) as error:
        raise IndexUnavailable(
            f"the import is not finished ({error}): mend that, and the next kbapp command goes on with it"
        ) from error


def _move_documents(staging: Staging, journal: Journal) -> None:
    base = Path(journal.base_folder)
    # Once: where upper and lower case are the same, what arrived may have the name of what had to go.
    if not staging.deleted.exists():
        for path in journal.going:
            _delete(base, path)
        staging.deleted.touch()
    folders = set()
    for path in journal.arriving:
        staged = base / STAGED_DOCUMENTS / path
        if staged.exists():
            target = locate(base, path)
            target.parent.mkdir(parents=True, exist_ok=True)
            staged.replace(target)
            folders.add(target.parent)
    for folder in folders:
        sync_folder(folder)


def _delete(base: Path, path: str) -> None:
    """Delete a file, and the folders that are empty then."""
    file = locate(base, path)
    file.unlink(missing_ok=True)
    for folder in file.parents:
        if folder == base:
            break
        try:
            folder.rmdir()
        except FileNotFoundError:
            continue
        except OSError:  # it holds more
            break


def _move_database(staging: Staging, journal: Journal) -> None:
    database = Path(journal.database)
    if not staging.database.exists():
        return
    for suffix in ("", *_SIDE_FILES):
        old = Path(f"{database}{suffix}")
        if journal.damaged and old.exists():
            old.replace(f"{journal.damaged}{suffix}")
        elif suffix:
            old.unlink(missing_ok=True)
    staging.database.replace(database)
    sync_folder(database.parent)
