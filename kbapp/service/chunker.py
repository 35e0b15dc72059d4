"""Documents to the chunk sets that are to be in force, and whether those in force are so still."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from kbapp.domain.chunking import ChunkingOptions, split_document, without_lines
from kbapp.domain.documents import Chunk, Document, DocumentRecord, DocumentStatus, StoredChunk
from kbapp.domain.hashing import text_hash

CHUNKING_VERSION = 1  # raised when the same settings cut or embed differently: everything is chunked anew


class Chunker:
    """One way to chunk: options, model and base folder; holds no state."""

    def __init__(self, options: ChunkingOptions, model_id: str, base_folder: str) -> None:
        self._options = options
        self.made_with = (
            f"{model_id} v{CHUNKING_VERSION} {options.max_characters}/{options.overlap_characters} {base_folder}"
        )

    def is_stale(self, record: DocumentRecord | None, content_hash: str) -> bool:
        """Whether the chunk set of a document is not that of this version, or was made in another way."""
        return (
            record is None
            or record.status is not DocumentStatus.INDEXED
            or record.indexed_hash != content_hash
            or record.indexed_with != self.made_with
        )

    def chunks(self, record: DocumentRecord, document: Document, repeated: frozenset[str]) -> tuple[StoredChunk, ...]:
        """The chunk set of a document, the repeated lines left out of the embedded texts (C8)."""
        return _identify(record, split_document(document, self._options), repeated)


def _identify(record: DocumentRecord, chunks: Sequence[Chunk], repeated: frozenset[str]) -> tuple[StoredChunk, ...]:
    """Chunks with their ids: document id, hash of the embedded text without repeated lines, occurrence (C7, C8)."""
    seen: Counter[str] = Counter()
    stored = []
    for whole in chunks:
        chunk = replace(whole, embedded_text=without_lines(whole.embedded_text, repeated))
        content_hash = text_hash(chunk.embedded_text)
        chunk_id = f"{record.id}-{content_hash[:16]}-{seen[content_hash]}"
        seen[content_hash] += 1
        stored.append(StoredChunk(chunk_id, record.id, record.path, content_hash, chunk))
    return tuple(stored)
