"""An archive in the place of what is here: read whole, staged, checked, and only then put in force."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from kbapp.adapters.backup_apply import Journal, closed_database, commit, finish_locked
from kbapp.adapters.backup_archive import read_archive
from kbapp.adapters.backup_database import DamagedDatabase, check_schema, facts, prepare
from kbapp.adapters.backup_export import BackupExport
from kbapp.adapters.backup_places import STAGED_DOCUMENTS, Places
from kbapp.adapters.backup_settings import archived_settings, read_settings, settings_text
from kbapp.adapters.backup_staging import Staging, check_space, check_writable, make_durable, unpack
from kbapp.adapters.disk import locate
from kbapp.adapters.document_files import DocumentFiles
from kbapp.adapters.index_lock import hold_index_lock
from kbapp.domain.backup import (
    DATABASE_MEMBER,
    DOCUMENTS_PREFIX,
    SETTINGS_MEMBER,
    Manifest,
    count_documents,
)
from kbapp.domain.backup_reports import DatabaseFacts, ImportReport
from kbapp.domain.backup_settings import differing, without_places
from kbapp.domain.errors import UserError
from kbapp.domain.synonyms import SYNONYMS_FILE

CheckSettings = Callable[[Path], object]
"""Raises ``UserError`` when a program could not start with this file."""


@dataclass(frozen=True, slots=True)
class _Held:
    """What is here before an import; ``database`` is None without one, and when it cannot be read."""

    documents: tuple[str, ...]
    database: DatabaseFacts | None
    is_damaged: bool

    @property
    def is_nothing(self) -> bool:
        """Whether nothing would be lost."""
        rows = self.database.records + self.database.telemetry if self.database else 0
        return not (self.documents or rows or self.is_damaged)


class BackupImport:
    """Puts archives in force; holds nothing open."""

    def __init__(self, places: Places, files: DocumentFiles, check_settings: CheckSettings) -> None:
        self._places = places
        self._files = files
        self._check_settings = check_settings
        self._staging = Staging(places.state_folder)

    def run(self, archive: Path, *, replacing: bool = False) -> ImportReport:
        """Put an archive in force; ``replacing`` what is here, which is kept as an archive in the state folder.

        Raises:
            UserError: the archive is not whole, not ours, or newer than this program; or something is here and
                ``replacing`` is not set; or something cannot be written. Nothing has changed then.
            IndexUnavailable: another process has the knowledge base open or indexes it; nothing has changed either.
                Or what was begun cannot be finished: the next start goes on.
        """
        started = time.perf_counter()
        manifest = read_archive(archive)
        with _naming(archive):
            check_schema(manifest.schema)
        with hold_index_lock(self._places.state_folder, 0):
            was_finished = finish_locked(self._staging)
            with closed_database(self._places.database):
                held = self._held()
            if not (replacing or held.is_nothing):
                finished = "an import that was interrupted has been finished now. " if was_finished else ""
                raise UserError(finished + self._refusal(held))
            with self._undone_unless_committed():
                report = self._import(archive, manifest, held)
        return replace(report, seconds=time.perf_counter() - started)

    def _import(self, archive: Path, manifest: Manifest, held: _Held) -> ImportReport:
        self._stage(archive, manifest)
        with _naming(archive):
            database = prepare(self._staging.database)
            written, others = self._stage_settings()
        saved = self._keep(held)
        journal = self._journal(manifest, held, saved)
        self._check_targets(journal, saved)
        make_durable()
        commit(self._staging, journal)
        return ImportReport(
            file=archive,
            documents=count_documents(manifest.documents),
            database=database,
            migrated_from=manifest.schema if manifest.schema != database.schema else None,
            kept=tuple(Path(kept) for kept in (journal.kept, journal.damaged) if kept),
            settings_file=self._places.settings_file,
            settings=written,
            other_settings=others,
            seconds=0.0,
        )

    def _held(self) -> _Held:
        base, database = self._places.base_folder, self._places.database
        documents = self._files.scan().paths if base.is_dir() else ()
        if (base / SYNONYMS_FILE).exists():
            documents += (SYNONYMS_FILE,)
        try:
            return _Held(documents, facts(database) if database.exists() else None, is_damaged=False)
        except DamagedDatabase:
            return _Held(documents, None, is_damaged=True)

    def _refusal(self, held: _Held) -> str:
        calls = held.database.telemetry if held.database else 0
        return (
            f"{self._places.base_folder} holds {count_documents(held.documents)} documents, and {self._places.database}"
            f" {'cannot be read' if held.is_damaged else f'{calls} telemetry rows'}: --replace puts the archive in"
            " their place and keeps them as an archive, or name other folders with --root and --state-dir"
        )

    def _stage(self, archive: Path, manifest: Manifest) -> None:
        """Unpack what was found whole."""
        base, staging = self._places.base_folder, self._staging
        staging.remove()
        staging.folder.mkdir(mode=0o700)
        base.mkdir(parents=True, exist_ok=True)
        staging.base.write_text(str(base), encoding="utf-8")
        documents = base / STAGED_DOCUMENTS
        shutil.rmtree(documents, ignore_errors=True)
        documents.mkdir(mode=0o700)
        check_space(manifest, (base, staging.folder))
        files = {DATABASE_MEMBER: staging.database, SETTINGS_MEMBER: staging.archived_settings}

        def take(name: str, blocks: Iterator[bytes]) -> None:
            unpack(files.get(name) or locate(documents, name.removeprefix(DOCUMENTS_PREFIX)), blocks)

        if read_archive(archive, take) != manifest:
            raise UserError(f"{archive} has changed meanwhile: try again")
        for path, member in manifest.documents.items():
            with suppress(OSError, OverflowError):
                os.utime(locate(documents, path), ns=(member.mtime_ns, member.mtime_ns))

    def _stage_settings(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The settings that are to be written, and those that differ, for what is here stays."""
        values = without_places(archived_settings(self._staging.archived_settings))
        if self._places.settings_file.exists():
            return (), differing(values, read_settings(self._places.settings_file))
        if values:
            self._staging.settings.write_bytes(settings_text(values))
            self._check_settings(self._staging.settings)
        return tuple(values), ()

    def _keep(self, held: _Held) -> set[str]:
        """Write what is here to an archive; the documents in it, which may be deleted."""
        if held.is_nothing:
            return set()
        # A database that cannot be read is moved away as it is.
        nowhere = self._staging.folder / "none"
        places = replace(self._places, database=nowhere) if held.is_damaged else self._places
        report = BackupExport(places, self._files).write(self._staging.kept)
        return set(held.documents) - {problem.path for problem in report.left_out}

    def _journal(self, manifest: Manifest, held: _Held, saved: set[str]) -> Journal:
        stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S-%f")
        state, database = self._places.state_folder, self._places.database
        arriving = tuple(manifest.documents)
        return Journal(
            base_folder=str(self._places.base_folder),
            database=str(database),
            settings_file=str(self._places.settings_file),
            arriving=arriving,
            going=tuple(sorted(saved - set(arriving))),
            kept=None if held.is_nothing else str(state / f"before-import-{stamp}.tar.gz"),
            damaged=f"{database}.damaged-{stamp}" if held.is_damaged else None,
        )

    def _check_targets(self, journal: Journal, saved: set[str]) -> None:
        """Each move will succeed, as far as one can tell, and overwrites nothing that is not kept."""
        base = self._places.base_folder
        folders = set()
        for path in (*journal.going, *journal.arriving):
            file = locate(base, path)
            folders.add(file.parent)
            if os.path.lexists(file) and path not in saved:
                raise UserError(f"{file} is in the way and is no document that could be kept: move it away")
        for folder in folders:
            check_writable(folder, base)

    @contextmanager
    def _undone_unless_committed(self) -> Iterator[None]:
        base = self._places.base_folder
        is_new = not base.exists()
        try:
            yield
        except BaseException as error:
            if not self._staging.journal.exists():
                self._staging.remove()
                if is_new:
                    with suppress(OSError):
                        base.rmdir()
            if isinstance(error, OSError):
                raise UserError(
                    f"{base} or {self._places.state_folder} cannot be written ({error.strerror or error}), and nothing"
                    " has changed: make space and both writable"
                ) from error
            raise


@contextmanager
def _naming(archive: Path) -> Iterator[None]:
    try:
        yield
    except UserError as error:
        raise UserError(f"{archive}: {error}") from error
