"""Where an import is made ready, beside the places that it is for."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from kbapp.adapters.backup_places import STAGED_DOCUMENTS, STAGING_FOLDER
from kbapp.domain.backup import DATABASE_MEMBER, SETTINGS_MEMBER, Manifest
from kbapp.domain.errors import UserError

_JOURNAL = "journal.json"
_DELETED = "deleted"


class Staging:
    """The folders in which an import is made ready."""

    def __init__(self, state_folder: Path) -> None:
        self.folder = state_folder / STAGING_FOLDER
        self.database = self.folder / DATABASE_MEMBER
        self.settings = self.folder / SETTINGS_MEMBER  # only what is to be written
        self.archived_settings = self.folder / "archived.yaml"
        self.kept = self.folder / "before.tar.gz"
        self.journal = self.folder / _JOURNAL
        self.deleted = self.folder / _DELETED
        self.base = self.folder / "base"  # names the base folder that the documents are staged in

    def remove(self) -> None:
        """Throw away what was staged."""
        with suppress(OSError, UnicodeDecodeError):
            shutil.rmtree(Path(self.base.read_text(encoding="utf-8")) / STAGED_DOCUMENTS, ignore_errors=True)
        shutil.rmtree(self.folder, ignore_errors=True)


def unpack(file: Path, blocks: Iterable[bytes]) -> None:
    """Write a new file.

    Raises:
        UserError: it cannot be written, or is there.
    """
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("xb") as stream:
            for block in blocks:
                stream.write(block)
    except (FileExistsError, NotADirectoryError) as error:
        raise UserError(f"{file.name} has the name of another file or folder in it") from error
    except OSError as error:
        raise UserError(f"{file} cannot be written ({error.strerror}): make space on its disk") from error


def check_space(manifest: Manifest, folders: Iterable[Path]) -> None:
    """Whether each folder has space for the whole archive.

    Raises:
        UserError: one has not.
    """
    for folder in folders:
        free = shutil.disk_usage(folder).free
        if free < manifest.size_bytes:
            raise UserError(
                f"the archive unpacks to {manifest.size_bytes:,} bytes, and {folder} has {free:,} left: make space"
            )


def check_writable(folder: Path, base: Path) -> None:
    """Whether files can be moved to a folder below ``base``, which need not be there yet.

    Raises:
        UserError: they cannot.
    """
    there = folder
    while not os.path.lexists(there) and there != base:
        there = there.parent
    if not there.is_dir():
        raise UserError(f"{there} is in the way: it is no folder, so move it away")
    if not os.access(there, os.W_OK | os.X_OK):
        raise UserError(f"the folder {there} cannot be written: make it writable")


def make_durable() -> None:
    """All that was staged is on the disk before the journal is: one call is faster than one for each file."""
    if hasattr(os, "sync"):
        os.sync()
