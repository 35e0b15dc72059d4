"""Documents, their frontmatter, L0 entries and chunks as values."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import PurePosixPath
from typing import NamedTuple

GENERAL_DOMAIN = "general"

JsonValue = str | int | float | bool | None | list["JsonValue"] | dict[str, "JsonValue"]


class TitleSource(StrEnum):
    """Where a document's title comes from (F7), best first."""

    FRONTMATTER = "frontmatter"
    HEADING = "heading"
    FILE_NAME = "file_name"


@dataclass(frozen=True, slots=True)
class Frontmatter:
    """A valid YAML frontmatter (F1, F4, F7).

    ``values`` holds every key as written, scalars as strings; ``title``, ``keywords`` and ``summary`` are read from it.
    """

    title: str | None
    keywords: tuple[str, ...]
    summary: str | None
    values: dict[str, JsonValue]


@dataclass(frozen=True, slots=True)
class Document:
    """One Markdown file, parsed.

    ``path`` is relative to the knowledge base, NFC, with ``/``. ``body`` is the text after the frontmatter, LF only,
    and starts at line ``body_first_line`` (1-based) of the file. Its first ``literal_lines`` lines are a broken or
    foreign ``---`` block: plain text in which no heading is looked for. ``content_hash`` is the SHA-256 of the file's
    bytes, in hex.
    """

    path: str
    title: str
    title_source: TitleSource
    frontmatter: Frontmatter | None
    body: str
    body_first_line: int
    literal_lines: int
    content_hash: str
    warning: str | None

    @property
    def domain(self) -> str:
        """The first folder under the knowledge base, ``general`` for a file in its root."""
        return domain_of(self.path)

    @property
    def entry(self) -> KnowledgeEntry | None:
        """The L0 entry: only with valid frontmatter that has a title or a keyword (F8)."""
        if self.frontmatter is None or not (self.frontmatter.title or self.frontmatter.keywords):
            return None
        return KnowledgeEntry(self.path, self.title, self.frontmatter.keywords, self.frontmatter.summary)


@dataclass(frozen=True, slots=True)
class KnowledgeEntry:
    """A document in the L0 index."""

    path: str
    title: str
    keywords: tuple[str, ...]
    summary: str | None

    @property
    def domain(self) -> str:
        """The domain of the entry's document."""
        return domain_of(self.path)


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a document that is embedded (C1).

    ``index`` counts from 0. ``content`` is what is shown, ``embedded_text`` what is embedded (C4, C8). ``title`` is
    the nearest H2, without one the document's title; a heading that is not there is ``""``. ``lines`` is the range in
    the file, 1-based, inclusive.
    """

    index: int
    total: int
    content: str
    embedded_text: str
    title: str
    breadcrumb: str
    heading_h1: str
    heading_h2: str
    heading_h3: str
    lines: tuple[int, int]


class ChunkPlace(NamedTuple):
    """Of a chunk in force the path of its document and the hash of its embedded text."""

    path: str
    content_hash: str


@dataclass(frozen=True, slots=True)
class StoredChunk:
    """A chunk with its identity: ``id`` = document id + hash of the embedded text + occurrence (C7)."""

    id: str
    document_id: str
    path: str
    content_hash: str
    chunk: Chunk
    document_hash: str = field(default="", compare=False)  # of the document's bytes; not part of what a row holds

    @property
    def domain(self) -> str:
        """The domain of the chunk's document."""
        return domain_of(self.path)

    @property
    def file_name(self) -> str:
        """The last part of the path."""
        return PurePosixPath(self.path).name

    def to_metadata(self, base_folder: str) -> dict[str, JsonValue]:
        """The chunk under the names of C1, as Milvus and ``kbapp chunks --json`` hold it."""
        chunk = self.chunk
        return {
            "_source": source_of(base_folder, self.path),
            "_file_name": self.file_name,
            "category": self.domain,
            "chunkIndex": chunk.index,
            "totalChunks": chunk.total,
            "title": chunk.title,
            "breadcrumb": chunk.breadcrumb,
            "heading_h1": chunk.heading_h1,
            "heading_h2": chunk.heading_h2,
            "heading_h3": chunk.heading_h3,
            "content": chunk.content,
            "lines": list(chunk.lines),
        }


def domain_of(path: str) -> str:
    """The domain of a document's relative path."""
    first, separator, _ = path.partition("/")
    return first if separator else GENERAL_DOMAIN


def source_of(base_folder: str, path: str) -> str:
    """``knowledge_base/api/x.md`` for ``api/x.md`` under the base folder ``knowledge_base``."""
    return f"{base_folder}/{path}"


class DocumentStatus(StrEnum):
    """How far a document has come (U4)."""

    PENDING = "PENDING"
    INDEXED = "INDEXED"
    FAILED = "FAILED"


@dataclass(frozen=True, slots=True)
class DocumentRecord:
    """The record of a document in ``api_document``; times in UTC, ISO 8601.

    ``content_hash`` is that of the file as it was seen last, ``indexed_hash`` that of the version whose chunks answer
    (None: none yet), and ``indexed_with`` names the settings and the model they were made with.
    """

    id: str
    path: str
    title: str
    metadata: dict[str, JsonValue] | None
    content_hash: str
    status: DocumentStatus
    error: str | None
    warning: str | None
    chunk_count: int
    indexed_hash: str | None
    indexed_with: str | None
    created_at: str
    updated_at: str

    def to_dict(self, base_folder: str) -> dict[str, JsonValue]:
        """The record as ``kbapp documents --json`` shows it."""
        return {
            "id": self.id,
            "path": self.path,
            "source": source_of(base_folder, self.path),
            "file_name": PurePosixPath(self.path).name,
            "category": domain_of(self.path),
            "title": self.title,
            "metadata": self.metadata,
            "status": self.status.value,
            "error": self.error,
            "warning": self.warning,
            "chunk_count": self.chunk_count,
            "content_hash": self.content_hash,
            "created_at": self.created_at,
            "updated_at": self.updated_at,
        }


@dataclass(frozen=True, slots=True)
class FileProblem:
    """A file or folder that is left out, with a sentence that says why.

    ``hides``: it could not be looked at, so that documents known at or below it may still be there.
    """

    path: str
    error: str
    hides: bool = False


@dataclass(frozen=True, slots=True)
class FileScan:
    """The documents found under the knowledge base, by path, and the problems met on the way."""

    paths: tuple[str, ...]
    problems: tuple[FileProblem, ...]

    def hides(self, path: str) -> bool:
        """Whether a document may be at this path although nobody could look."""
        hidden = (f"{problem.path}/" if problem.path else "" for problem in self.problems if problem.hides)
        return f"{path}/".startswith(tuple(hidden))
