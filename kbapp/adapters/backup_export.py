"""A knowledge base written to one archive, which is read back and compared before it gets its name."""

from __future__ import annotations

import os
import secrets
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from filelock import FileLock, Timeout

from kbapp.adapters.backup_archive import ArchiveWriter, read_archive
from kbapp.adapters.backup_database import snapshot
from kbapp.adapters.backup_places import Places
from kbapp.adapters.backup_settings import read_settings, settings_text
from kbapp.adapters.disk import PRIVATE_FILE, locate, read_whole, sync_folder
from kbapp.adapters.document_files import DocumentFiles
from kbapp.domain.backup import (
    DATABASE_MEMBER,
    DOCUMENTS_PREFIX,
    SETTINGS_MEMBER,
    Manifest,
    count_documents,
    document_member,
)
from kbapp.domain.backup_reports import DatabaseFacts, ExportReport
from kbapp.domain.backup_settings import without_secrets
from kbapp.domain.documents import FileProblem
from kbapp.domain.errors import IndexBusy, IndexUnavailable, UserError
from kbapp.domain.synonyms import SYNONYMS_FILE
from kbapp.settings import SECRETS

LOCK_FILE = "export.lock"
SNAPSHOT_FOLDER = "export"
_TEMPORARY_SUFFIX = ".kbapp-export.tmp"


class BackupExport:
    """Writes archives; what is read goes on being used and changed meanwhile. Holds nothing open."""

    def __init__(self, places: Places, files: DocumentFiles) -> None:
        self._places = places
        self._files = files

    def run(self, target: Path, *, vectors: bool = True, force: bool = False) -> ExportReport:
        """Write documents, database and settings; ``vectors``: also what was embedded, so that it never is again.

        Raises:
            UserError: the target cannot be, or exists and ``force`` is not set; or a file cannot be read or written.
            IndexUnavailable: the database cannot be read, or another process exports. Nothing is left behind, ever.
        """
        target = Path(os.path.abspath(target))  # noqa: PTH100 - a link stays one
        try:
            self._check_target(target, force=force)
        except OSError as error:
            raise UserError(f"{target} cannot be written ({error.strerror}): name another file") from error
        return self.write(target, vectors=vectors, force=force)

    def write(self, target: Path, *, vectors: bool = True, force: bool = False) -> ExportReport:
        """``run`` to a place of our own.

        Raises:
            UserError: as ``run``.
            IndexUnavailable: as ``run``.
        """
        with self._alone() as folder:
            return self._write_whole(target, folder, vectors=vectors, force=force)

    def _check_target(self, target: Path, *, force: bool) -> None:
        base = self._places.base_folder
        if "\0" in str(target):
            raise UserError(f"{str(target)!r} cannot be written: a name holds no NUL")
        if target.is_dir():
            raise UserError(f"{target} is a folder: name a file in it, such as {target.name}.tar.gz")
        if not target.parent.is_dir():
            raise UserError(f"the folder {target.parent} does not exist: create it, or name another")
        if target.parent.resolve().is_relative_to(base.resolve()):
            raise UserError(f"{target} is inside the knowledge base {base}: name a file outside it")
        _refuse_existing(target, force=force)

    @contextmanager
    def _alone(self) -> Iterator[Path]:
        """An empty folder for the snapshot, which the next export deletes when this one is killed."""
        state = self._places.state_folder
        folder = state / SNAPSHOT_FOLDER
        try:
            state.mkdir(parents=True, exist_ok=True, mode=0o700)
            with FileLock(state / LOCK_FILE, timeout=0, mode=PRIVATE_FILE):
                shutil.rmtree(folder, ignore_errors=True)
                folder.mkdir(mode=0o700)
                try:
                    yield folder
                finally:
                    shutil.rmtree(folder, ignore_errors=True)
        except Timeout:
            raise IndexBusy("another export is running: try again when it has finished") from None
        except OSError as error:
            raise IndexUnavailable(f"{state} cannot be written ({error}): make space on its disk") from error

    def _write_whole(self, target: Path, folder: Path, *, vectors: bool, force: bool) -> ExportReport:
        """By a temporary file beside the target; when it fails everything is as before."""
        started = time.perf_counter()
        _remove_leftovers(target)
        temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}{_TEMPORARY_SUFFIX}")
        try:
            report = self._write(temporary, folder, vectors=vectors)
            _refuse_existing(target, force=force)
            temporary.replace(target)
            sync_folder(target.parent)
        except OSError as error:
            reason = error.strerror or str(error)
            raise UserError(
                f"{target} cannot be written ({reason}), and nothing is left of it: make space, or name another folder"
            ) from error
        finally:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)
        return replace(report, file=target, size_bytes=target.stat().st_size, seconds=time.perf_counter() - started)

    def _write(self, file: Path, folder: Path, *, vectors: bool) -> ExportReport:
        copy = folder / DATABASE_MEMBER
        database = snapshot(self._places.database, copy, vectors=vectors) if self._places.database.exists() else None
        settings, withheld = self._settings()
        left_out: list[FileProblem] = []
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
        with os.fdopen(descriptor, "wb") as stream, ArchiveWriter(stream) as writer:
            documents = self._add_documents(writer, left_out)
            if settings:
                writer.add(SETTINGS_MEMBER, settings)
            if database:
                writer.add_file(DATABASE_MEMBER, copy)
            manifest = _manifest(writer, database, vectors=vectors)
            writer.finish(manifest)
            stream.flush()
            os.fsync(stream.fileno())
        if read_archive(file) != manifest:
            raise UserError(f"{file.parent} does not give back what was written to it: name another folder")
        return ExportReport(file, 0, documents, database, bool(settings), tuple(withheld), tuple(left_out), 0.0)

    def _add_documents(self, writer: ArchiveWriter, left_out: list[FileProblem]) -> int:
        scan = self._files.scan()
        left_out += scan.problems
        root = self._places.base_folder
        for path in scan.paths:
            self._add(writer, path, lambda path=path: self._files.read_bytes(path), left_out)  # type: ignore[misc]
        if (root / SYNONYMS_FILE).exists():
            self._add(writer, SYNONYMS_FILE, lambda: read_whole(root / SYNONYMS_FILE, lambda _: None), left_out)
        return count_documents(member.name.removeprefix(DOCUMENTS_PREFIX) for member in writer.members)

    def _add(self, writer: ArchiveWriter, path: str, read: Callable[[], bytes], left_out: list[FileProblem]) -> None:
        """A file that cannot be read is named, and the rest goes on."""
        try:
            data = read()
            mtime_ns = max(0, locate(self._places.base_folder, path).stat().st_mtime_ns)
        except (OSError, UserError) as error:
            left_out.append(FileProblem(path, str(error)))
        else:
            writer.add(document_member(path), data, mtime_ns)

    def _settings(self) -> tuple[bytes, list[str]]:
        values = read_settings(self._places.settings_file)
        kept, withheld = without_secrets(values, SECRETS)
        return settings_text(kept), withheld


def _manifest(writer: ArchiveWriter, database: DatabaseFacts | None, *, vectors: bool) -> Manifest:
    return Manifest(
        version=version("kbapp"),
        created_at=datetime.now(UTC).isoformat(timespec="seconds"),
        schema=database.schema if database else None,
        model=database.model if database else None,
        vectors=vectors,
        members=tuple(writer.members),
    )


def _refuse_existing(target: Path, *, force: bool) -> None:
    if not force and os.path.lexists(target):
        raise UserError(f"{target} is there already: name another file, or overwrite it with --force")


def _remove_leftovers(target: Path) -> None:
    """What an export to the same file left that was killed."""
    with suppress(OSError):
        for file in target.parent.iterdir():
            if file.name.startswith(f".{target.name}.") and file.name.endswith(_TEMPORARY_SUFFIX):
                file.unlink()
