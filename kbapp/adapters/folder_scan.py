"""The Markdown files under a folder, found without following a link out of it or round in a circle."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterator
from pathlib import Path

from kbapp.domain.document_paths import is_document_name, unreadable_characters
from kbapp.domain.documents import FileProblem, FileScan
from kbapp.domain.errors import UserError


def scan_folder(root: Path) -> FileScan:
    """All documents under ``root``, sorted by path; what cannot be read is a problem, and the rest goes on.

    Raises:
        UserError: ``root`` itself cannot be listed; then nothing is known of any document.
    """
    real_root = os.path.realpath(root)
    try:
        os.scandir(real_root).close()
    except OSError as error:
        raise UserError(
            f"the folder {root} cannot be listed ({error.strerror}): create it or set knowledge.base-path"
        ) from error
    return _Walk(real_root).scan()


class _Walk:
    """One walk over real paths. Links wait until the real folders are known, so that no file is listed twice."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._paths: list[str] = []
        self._problems: list[FileProblem] = []
        self._links: list[tuple[str, Path]] = []
        self._seen: set[str] = set()

    def scan(self) -> FileScan:
        """Walk everything; for one use."""
        self._walk(self._root, "")
        while self._links:
            self._follow(*self._links.pop(0))
        problems = sorted(self._problems, key=lambda problem: problem.path)
        return FileScan(tuple(sorted(self._paths)), tuple(problems))

    def _walk(self, folder: str, path: str) -> None:
        pending = [(folder, path)]
        while pending:
            folder, path = pending.pop()
            self._seen.add(folder)
            for name, entry in self._entries(folder, path):
                entry_path = f"{path}/{name}" if path else name
                try:
                    if self._is_folder(entry, entry_path):
                        pending.append((entry.path, entry_path))
                except OSError as error:  # some network file systems ask the server for the kind of an entry
                    self._problem(
                        entry_path, f"it cannot be looked at ({error.strerror}): make it readable", hides=True
                    )

    def _is_folder(self, entry: os.DirEntry[str], path: str) -> bool:
        """Whether the entry is a folder to walk; keeps a document or a link."""
        if entry.is_symlink():
            self._links.append((path, Path(entry.path)))
            return False
        if is_document_name(entry.name) and entry.is_file(follow_symlinks=False):
            self._add(path, entry.path)
            return False
        return entry.is_dir(follow_symlinks=False)

    def _entries(self, folder: str, path: str) -> Iterator[tuple[str, os.DirEntry[str]]]:
        """The visible entries by NFC name; of two forms of a name the one that ``locate`` finds."""
        try:
            with os.scandir(folder) as found:
                entries = sorted((entry for entry in found if entry.name[0] != "."), key=_order)
        except OSError as error:
            self._problem(path, f"the folder cannot be listed ({error.strerror}): make it readable", hides=True)
            return
        taken = set()
        for entry in entries:
            name = unicodedata.normalize("NFC", entry.name)
            shown = unreadable_characters(name)
            if shown is not None:
                self._problem(f"{path}/{shown}".lstrip("/"), "the name is not readable text: rename it")
            elif name in taken:
                self._problem(f"{path}/{name}".lstrip("/"), "two have this name, in two Unicode forms: rename one")
            else:
                taken.add(name)
                yield name, entry

    def _add(self, path: str, file: str) -> None:
        self._paths.append(path)
        self._seen.add(file)

    def _follow(self, path: str, link: Path) -> None:
        try:
            target = Path(os.path.realpath(link, strict=True))
        except OSError as error:
            hides = isinstance(error, PermissionError)
            self._problem(path, "the link leads nowhere: mend or delete it", hides=hides)
            return
        if not target.is_relative_to(self._root):
            if target.is_dir() or is_document_name(link.name):
                self._problem(path, "the link leads outside the knowledge base: copy what it leads to")
        elif str(target) in self._seen:
            return
        elif target.is_dir():
            self._walk(str(target), path)
        elif target.is_file() and is_document_name(link.name):
            self._add(path, str(target))

    def _problem(self, path: str, error: str, *, hides: bool = False) -> None:
        self._problems.append(FileProblem(path, error, hides))


def _order(entry: os.DirEntry[str]) -> tuple[bool, str]:
    return not unicodedata.is_normalized("NFC", entry.name), entry.name
