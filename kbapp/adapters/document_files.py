"""The files of the knowledge base: found, read as documents, saved, deleted. The files are the truth (U8)."""

from __future__ import annotations

import logging
import os
import unicodedata
from functools import partial
from pathlib import Path, PurePosixPath

from kbapp.adapters.disk import locate, read_whole, remove_leftovers, write_whole
from kbapp.adapters.folder_scan import scan_folder
from kbapp.adapters.synonyms_file import SynonymsFile
from kbapp.domain import document_paths
from kbapp.domain.documents import Document, FileScan, KnowledgeEntry, TitleSource
from kbapp.domain.encodings import decode_markdown
from kbapp.domain.errors import UserError
from kbapp.domain.frontmatter import DEFAULT_ALIASES, FrontmatterAliases, FrontmatterBlock, split_frontmatter
from kbapp.domain.hashing import sha256_hex
from kbapp.domain.headings import parse_headings
from kbapp.domain.synonyms import Synonyms

DEFAULT_MAX_FILE_SIZE = 5 * 1024 * 1024

_logger = logging.getLogger(__name__)


class DocumentFiles:
    """The documents under one folder. Thread-safe; writes are to be serialised by the caller; holds nothing open.

    Paths are relative to the folder, NFC, with ``/``; on disk a name may be in another Unicode form.
    """

    def __init__(
        self,
        root: Path,
        *,
        max_file_size: int = DEFAULT_MAX_FILE_SIZE,
        aliases: FrontmatterAliases = DEFAULT_ALIASES,
    ) -> None:
        self._root = Path(os.path.abspath(root))  # noqa: PTH100 - Path.resolve would give a linked folder another name
        self._max_file_size = max_file_size
        self._aliases = aliases
        self._warned: dict[str, str] = {}
        self._synonyms = SynonymsFile(self._root, self._check_size)

    @property
    def base_folder(self) -> str:
        """The folder's name, the first part of every ``source``."""
        return self._root.name

    def scan(self) -> FileScan:
        """All documents and what was left out (K8).

        Raises:
            UserError: the folder itself cannot be listed.
        """
        found = scan_folder(self._root)
        _logger.info("found %d documents in %s", len(found.paths), self._root)
        return found

    def read_bytes(self, path: str) -> bytes:
        """The bytes of a document.

        Raises:
            UserError: missing, unreadable, no regular file, too large, or outside the knowledge base.
        """
        try:
            return read_whole(locate(self._root, path), partial(self._check_size, path))
        except OSError as error:
            raise UserError(_sentence(path, "read", error)) from error

    def read(self, path: str) -> Document:
        """The document at a path.

        Raises:
            UserError: it cannot be read, is too large, binary, or in an unknown encoding.
        """
        return self.parse(path, self.read_bytes(path))

    def parse(self, path: str, data: bytes) -> Document:
        """The document that these bytes are at this path; a broken frontmatter is warned of once (F3).

        Raises:
            UserError: too large, binary, or in an unknown encoding.
        """
        self._check_size(path, len(data))
        block = self._split(path, data)
        title, title_source = _title(path, block)
        warning = block.problem
        if warning is None and block.frontmatter is None and not block.body.strip():
            warning = "the file is empty: there is nothing to find in it"
        return Document(
            path=path,
            title=title,
            title_source=title_source,
            frontmatter=block.frontmatter,
            body=block.body,
            body_first_line=block.body_first_line,
            literal_lines=block.literal_lines,
            content_hash=sha256_hex(data),
            warning=warning,
        )

    def read_entry(self, path: str) -> KnowledgeEntry | None:
        """``read(path).entry``, without parsing Markdown where that is not needed.

        Raises:
            UserError: as ``read``.
        """
        return self.parse_entry(path, self.read_bytes(path))

    def parse_entry(self, path: str, data: bytes) -> KnowledgeEntry | None:
        """``parse(path, data).entry``, without parsing Markdown where that is not needed.

        Raises:
            UserError: as ``parse``.
        """
        block = self._split(path, data)
        frontmatter = block.frontmatter
        if frontmatter is None or not (frontmatter.title or frontmatter.keywords):
            return None
        return KnowledgeEntry(path, _title(path, block)[0], frontmatter.keywords, frontmatter.summary)

    def read_synonyms(self) -> Synonyms:
        """The synonyms that the base folder holds now (K6); a broken file is warned of once."""
        return self._synonyms.read()

    def read_document(self, path: str, max_characters: int) -> str | None:
        """The first characters of a document's text, with ``...`` when cut; None, and an ERROR, without it (K7)."""
        try:
            text = self._decode(path, self.read_bytes(self.resolve(path)))
        except UserError as error:
            _logger.error("%s", error)
            return None
        return text if len(text) <= max_characters else text[:max_characters] + "..."

    @staticmethod
    def document_path(name: str, category: str) -> str:
        """The path of an upload (U2).

        Raises:
            UserError: see ``document_paths.document_path``.
        """
        return document_paths.document_path(name, category)

    def resolve(self, path: str) -> str:
        """The relative path that a person means by ``api/x.md`` or ``knowledge_base/api/x.md``; it need not exist.

        Raises:
            UserError: outside the knowledge base, or not a document's path.
        """
        plain = str(PurePosixPath(unicodedata.normalize("NFC", path.replace(os.sep, "/"))))
        prefix = unicodedata.normalize("NFC", self.base_folder) + "/"
        relative = document_paths.relative_path(plain.removeprefix(prefix), self.base_folder)
        if plain.startswith(prefix) and locate(self._root, prefix + relative).exists():
            return prefix + relative
        return relative

    def find(self, path: str) -> str | None:
        """The path under which a scan lists the document at this path, which a link or another case may lead to.

        None: no document is there.

        Raises:
            UserError: outside the knowledge base, or it cannot be looked at.
        """
        try:
            there = locate(self._root, path).stat()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise UserError(_sentence(path, "read", error)) from error
        paths = scan_folder(self._root).paths
        if path in paths:
            return path
        return next((other for other in paths if _is_file(locate(self._root, other), there)), None)

    def save(self, path: str, data: bytes) -> None:
        """Write a document by a temporary file and a rename; on failure nothing has changed (U1, U4).

        Raises:
            UserError: too large, outside the knowledge base, or it cannot be written.
        """
        self._check_size(path, len(data))
        try:
            write_whole(locate(self._root, path), data)
        except OSError as error:
            raise UserError(_sentence(path, "written", error)) from error

    def delete(self, path: str) -> None:
        """Delete a document's file.

        Raises:
            UserError: it is not there, outside the knowledge base, or cannot be deleted.
        """
        file = locate(self._root, path)
        try:
            file.unlink()
        except OSError as error:
            raise UserError(_sentence(path, "deleted", error)) from error

    def remove_leftovers(self) -> None:
        """Delete temporary files of writes that were killed; only while no other process writes."""
        remove_leftovers(self._root)

    def _check_size(self, path: str, size_bytes: int) -> None:
        if size_bytes > self._max_file_size:
            raise UserError(
                f"{path} has {size_bytes:,} bytes, more than the {self._max_file_size:,} of knowledge.max-file-size: "
                "split it or raise the setting"
            )

    def _split(self, path: str, data: bytes) -> FrontmatterBlock:
        block = split_frontmatter(self._decode(path, data), self._aliases)
        if block.problem is not None:
            content_hash = sha256_hex(data)
            if self._warned.get(path) != content_hash:
                self._warned[path] = content_hash
                _logger.warning("%s: %s", path, block.problem)
        return block

    def _decode(self, path: str, data: bytes) -> str:
        try:
            return decode_markdown(data)
        except UserError as error:
            raise UserError(f"{path} cannot be read: {error}") from error


def _title(path: str, block: FrontmatterBlock) -> tuple[str, TitleSource]:
    """F7: the frontmatter's title, else the first H1, else the file's name."""
    if block.frontmatter is not None and block.frontmatter.title:
        return block.frontmatter.title, TitleSource.FRONTMATTER
    headings = parse_headings(block.body, block.literal_lines)
    first = next((heading.title for heading in headings if heading.level == 1 and heading.title), None)
    return (first, TitleSource.HEADING) if first else (PurePosixPath(path).stem, TitleSource.FILE_NAME)


def _is_file(file: Path, there: os.stat_result) -> bool:
    try:
        return os.path.samestat(file.stat(), there)
    except OSError:
        return False


def _sentence(path: str, done: str, error: OSError) -> str:
    """What went wrong, and the way out."""
    if isinstance(error, FileNotFoundError):
        return f"{path} is not there: it was moved or deleted, index again"
    if isinstance(error, (IsADirectoryError, NotADirectoryError, FileExistsError)):
        return f"{path} cannot be {done} ({error.strerror}): something else has its name, choose another name"
    return f"{path} cannot be {done} ({error.strerror}): check its permissions and the space on the disk"
