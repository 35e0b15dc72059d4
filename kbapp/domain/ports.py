"""What the services need from the outside world."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt

from kbapp.domain.documents import ChunkPlace, Document, DocumentRecord, FileScan, KnowledgeEntry, StoredChunk
from kbapp.domain.invocation import Invocation
from kbapp.domain.keyword_matching import KeywordMatch
from kbapp.domain.synonyms import Synonyms
from kbapp.domain.telemetry import Feedback, InvocationFilter, MarkedCall, SqlResult, Verdict
from kbapp.domain.telemetry_summary import TelemetrySummary

Vectors = npt.NDArray[np.float32]


class EmbeddingModel(Protocol):
    """Which vectors these are. The dimension may be asked of the model itself, which can raise ``IndexUnavailable``."""

    @property
    def model_id(self) -> str:
        """The value of ``embedding.model``, stored with the vectors: another id means other vectors."""

    @property
    def dimension(self) -> int:
        """The length of a vector."""


class Embedder(EmbeddingModel, Protocol):
    """Turns text into unit vectors. Thread-safe.

    Raises:
        IndexUnavailable: the model cannot be loaded or reached, or what it returned is not ``(n, dimension)`` finite
        unit rows. Never a zero or random vector in place of a failed one.
    """

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """``(n, dimension)`` float32, unit rows."""

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """``(n, dimension)`` float32, unit rows."""


@dataclass(frozen=True, slots=True)
class VectorHit:
    """One chunk found by the vector index; ``distance`` is the squared L2 distance, 0 … 4 for unit vectors."""

    chunk_id: str
    distance: float


@dataclass(frozen=True, slots=True)
class FullTextHit:
    """One chunk found by full text; ``score`` is BM25, greater is better, comparable within one query only."""

    chunk_id: str
    score: float


@dataclass(frozen=True, slots=True)
class VectorDifferences:
    """How the vector index differs from the chunks in force, by chunk id; ``rows`` is how many it holds."""

    rows: int
    missing: frozenset[str]
    orphaned: frozenset[str]
    repeated: frozenset[str]
    outdated: frozenset[str]

    @property
    def to_write(self) -> frozenset[str]:
        """The chunks that are right once they are written again."""
        return self.missing | self.repeated - self.orphaned | self.outdated


class VectorSearcher(Protocol):
    """Finds chunks by vector. Thread-safe; may raise ``IndexUnavailable``."""

    def search(self, vector: Vectors, limit: int) -> list[VectorHit]:
        """At most ``limit`` chunks nearest to one query vector ``(dimension,)``, nearest first, ties by chunk id."""

    def distances(self, vector: Vectors, hashes: Mapping[str, str]) -> dict[str, float]:
        """The distances of these chunks, as in ``VectorHit``, by id; ``hashes``: of the chunks' texts, by id.

        A chunk whose vector is not at hand is left out.
        """


class VectorIndex(Protocol):
    """L1: the vectors of the chunks. Thread-safe; every method may raise ``IndexUnavailable``."""

    @property
    def address(self) -> str:
        """Of the server that holds them: another one holds other rows; ``""`` for our own folder."""

    def search(self, vector: Vectors, limit: int) -> list[VectorHit]:
        """At most ``limit`` chunks nearest to one query vector ``(dimension,)``, nearest first, ties by chunk id."""

    def write(self, chunks: Sequence[StoredChunk], vectors: Vectors) -> None:
        """Insert or replace chunks by id, with their metadata; durable when it returns."""

    def delete(self, chunk_ids: Sequence[str]) -> None:
        """Remove chunks by id; unknown ids are ignored."""

    def count(self) -> int:
        """How many chunks are held; cheap, and not to be relied upon after a crash."""

    def differences(self, chunks: Iterable[StoredChunk]) -> VectorDifferences:
        """What is not as if these chunks, and no others, had been written once each."""

    def fingerprint(self) -> str:
        """Changes whenever what is stored changes, without opening the engine; ``""`` where that cannot be seen."""

    def drop_other_collections(self) -> tuple[str, ...]:
        """Delete the vectors of all other models; the names of what was deleted."""

    def close(self) -> None:
        """Release the engine."""


class KeywordIndex(Protocol):
    """L0: entries by keyword and title, in memory. Thread-safe."""

    def match(self, query: str) -> list[KeywordMatch]:
        """The matching entries of the best tier present, best first, ties by path."""

    def replace(self, entries: Iterable[KnowledgeEntry]) -> None:
        """Hold these entries and no others."""

    def put(self, entry: KnowledgeEntry) -> None:
        """Add or replace one document's entry."""

    def remove(self, path: str) -> None:
        """Forget a document; an unknown path is ignored."""

    def use_synonyms(self, groups: Iterable[Sequence[str]]) -> None:
        """Take the terms of each group to mean the same, in place of the groups before (K6)."""

    def entry(self, path: str) -> KnowledgeEntry | None:
        """The entry of this document."""

    def entries(self) -> tuple[KnowledgeEntry, ...]:
        """All entries, by path."""


class DocumentFiles(Protocol):
    """The files of the knowledge base; what one of them cannot give is a ``UserError`` that names it."""

    @property
    def base_folder(self) -> str:
        """The name of the base folder, first part of every ``source``."""

    def scan(self) -> FileScan:
        """All documents that are there now, by path, and what could not be looked at."""

    def read_bytes(self, path: str) -> bytes:
        """The bytes of a document."""

    def parse(self, path: str, data: bytes) -> Document:
        """A document from its bytes."""

    def read(self, path: str) -> Document:
        """``parse`` of ``read_bytes``."""

    def parse_entry(self, path: str, data: bytes) -> KnowledgeEntry | None:
        """The L0 entry alone, faster than ``parse``."""

    def read_entry(self, path: str) -> KnowledgeEntry | None:
        """``parse_entry`` of ``read_bytes``."""

    def read_synonyms(self) -> Synonyms:
        """What ``synonyms.yaml`` in the base folder holds now (K6); never raises."""

    def resolve(self, path: str) -> str:
        """The relative path of a document, from it or from its ``source``."""

    def find(self, path: str) -> str | None:
        """The path under which a scan lists the document at this path; None: no document is there."""

    def save(self, path: str, data: bytes) -> None:
        """Write a document whole; on failure nothing has changed."""

    def delete(self, path: str) -> None:
        """Delete a document's file."""

    def remove_leftovers(self) -> None:
        """Delete what writers that were killed left behind; only while nobody writes."""


class DocumentRecords(Protocol):
    """Records and chunk sets; which chunk is in force is said here. Methods may raise ``IndexUnavailable``."""

    def documents(self) -> dict[str, DocumentRecord]:
        """All records by relative path, in the order of the paths."""

    def least_hashes(self, count: int) -> tuple[str, ...]:
        """The least content hashes of the chunks in force, each once: a sketch of what is indexed."""

    def document_count(self) -> int:
        """How many documents have chunks in force."""

    def pending_count(self) -> int:
        """How many documents are still to be indexed."""

    def save(self, records: Iterable[DocumentRecord]) -> None:
        """Insert or update records by id, in one transaction; paths may change places."""

    def commit_chunks(self, record: DocumentRecord, chunks: Sequence[StoredChunk]) -> None:
        """Put a document's new chunk set in force together with its record."""

    def delete(self, document_id: str) -> None:
        """Remove a record with its chunks."""

    def chunks_of(self, document_id: str) -> tuple[StoredChunk, ...]:
        """The chunk set in force of one document, in order."""

    def chunks(self, chunk_ids: Sequence[str]) -> dict[str, StoredChunk]:
        """The chunks in force among these ids."""

    def places(self, chunk_ids: Sequence[str]) -> dict[str, ChunkPlace]:
        """Where the chunks in force among these ids stand."""

    def chunk_ids(self) -> set[str]:
        """The ids of all chunks in force."""

    def chunk_count(self) -> int:
        """How many chunks are in force."""

    def state(self, name: str) -> str | None:
        """A value kept for the index as a whole."""

    def set_state(self, name: str, value: str) -> None:
        """Keep a value for the index as a whole."""


class FullText(Protocol):
    """Full text over the chunks in force. Methods may raise ``IndexUnavailable``."""

    def search(self, query: str, limit: int) -> list[FullTextHit]:
        """At most ``limit`` chunks that hold any token of the query, best first, ties by id."""

    def chunk_frequencies(self, tokens: Sequence[str]) -> dict[str, int]:
        """In how many chunks each token stands; a token that stands in none is left out."""

    def is_consistent(self) -> bool:
        """Whether every chunk has the full-text row of its text, and no other row is there."""

    def rebuild(self) -> None:
        """Make all rows anew from the chunks in force."""


@dataclass(frozen=True, slots=True)
class CacheSize:
    """How many vectors are cached, of all models, and their bytes."""

    rows: int
    size_bytes: int


class EmbeddingCache(Protocol):
    """Vectors by hash of the text, of one model. Methods may raise ``IndexUnavailable``."""

    def get(self, hashes: Sequence[str]) -> dict[str, Vectors]:
        """The cached vectors among these text hashes, each ``(dimension,)``."""

    def lacks_any(self) -> bool:
        """Whether a chunk in force has none."""

    def put(self, vectors: Mapping[str, Vectors]) -> None:
        """Keep vectors by text hash."""

    def size(self) -> CacheSize:
        """How much is kept, of all models."""

    def prune(self) -> int:
        """Delete the vectors, of all models, that no chunk in force was made with; only while nobody writes."""


class InvocationLog(Protocol):
    """The rows of ``tool_invocation``. Thread-safe; every method but ``record`` may raise ``IndexUnavailable``."""

    def record(self, invocation: Invocation) -> bool:
        """Keep a row; false, and no exception, when it cannot be kept."""

    def rows(self, wanted: InvocationFilter) -> list[Invocation]:
        """Rows, newest first."""

    def stream(self, wanted: InvocationFilter) -> Iterator[Invocation]:
        """``rows`` one by one, for those who do not hold them all; read to the end, or close it."""

    def rows_that_gave(self, document: str, limit: int) -> list[Invocation]:
        """Rows that gave text of the document at this path, newest first."""

    def session_rows(self, session_id: str, since: str) -> list[Invocation]:
        """What a session did since then (UTC, ISO 8601) and after its last clear, oldest first (T8)."""

    def select(self, sql: str) -> SqlResult:
        """The result of exactly one SELECT; ``UserError`` for anything else."""

    def add_feedback(self, invocation_id: str, verdict: Verdict, note: str) -> Feedback:
        """Mark an invocation; ``UserError`` when it is unknown."""

    def feedback(self, invocation_id: str | None) -> list[Feedback]:
        """The marks on one invocation, or on all, oldest first."""

    def marked_calls(self, limit: int) -> list[MarkedCall]:
        """Every invocation that was marked, with its last mark; the newest mark first."""

    def prune(self, keep_days: int, should_stop: Callable[[], bool]) -> int:
        """Delete what is older, with its feedback; how many rows that were."""


class SettingsFile(Protocol):
    """The file that the next start reads its settings from."""

    @property
    def path(self) -> Path:
        """Where it is, or would be."""

    def write(self, values: Mapping[str, float | str]) -> None:
        """Set these settings by dotted name; ``UserError`` when that cannot be: nothing has changed then."""


class CallStatistics(Protocol):
    """Figures over the lookups in ``tool_invocation``. Thread-safe; every method may raise ``IndexUnavailable``."""

    def summary(self, wanted: InvocationFilter, utc_offset_seconds: int = 0) -> TelemetrySummary:
        """The figures of the lookups that pass the filter, whatever its limit is.

        ``utc_offset_seconds``: of the clock on which a day begins.
        """

    def recent_sessions(self, limit: int) -> list[str]:
        """The ids of the sessions that called last, the last one first."""
