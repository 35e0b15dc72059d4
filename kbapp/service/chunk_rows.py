"""The rows that vector index and full text hold for the chunks in force: changed so that a crash is seen afterwards.

``CONSISTENT_STATE`` is a seal: rows and chunks were equal when the store looked as its fingerprint says. It is broken
before the first change of a run. A run whose changes all succeeded seals again; after any other the next ``repair``
compares everything.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from itertools import groupby

from kbapp.domain.documents import StoredChunk
from kbapp.domain.errors import IndexUnavailable
from kbapp.domain.index_state import CONSISTENT_STATE, MODEL_STATE
from kbapp.domain.ports import DocumentRecords, EmbeddingCache, FullText, VectorIndex, Vectors
from kbapp.service.passage_vectors import PassageVectors

logger = logging.getLogger("kbapp.indexing")

BATCH_CHUNKS = 256  # chunks written to the vector index at a time: a flush costs the same for one and for many


class ChunkRows:
    """For one writer at a time: the caller holds the index lock from ``begin`` to ``end``."""

    def __init__(
        self,
        records: DocumentRecords,
        vectors: VectorIndex,
        full_text: FullText,
        cache: EmbeddingCache,
        model_id: str,
    ) -> None:
        self._records = records
        self._cache = cache
        self._vectors = vectors
        self._full_text = full_text
        self._model_id = model_id
        self._is_sure = False

    def begin(self) -> None:
        """A run of changes begins."""
        self._is_sure = self._is_sealed()

    def doubt(self) -> None:
        """Break the seal: said before vectors or chunks change, and of a store that does not look right."""
        if self._records.state(CONSISTENT_STATE) != "":
            self._records.set_state(CONSISTENT_STATE, "")

    def distrust(self) -> None:
        """Have this run compared, although every change succeeded."""
        self._is_sure = False

    def doubt_unseen_changes(self) -> None:
        """``doubt`` a store that does not tell whether somebody else has changed it."""
        if not self._vectors.fingerprint():
            self.doubt()

    def write(self, chunks: Sequence[StoredChunk], vectors: Vectors) -> None:
        """Rows of chunks that are to come into force.

        Raises:
            IndexUnavailable: the vector index does not take them; some may be there.
        """
        try:
            self._vectors.write(chunks, vectors)
        except IndexUnavailable:
            self._is_sure = False
            raise

    def delete(self, chunk_ids: Sequence[str]) -> None:
        """Rows that no chunk names any more; those that cannot go now stay unseen until the next ``repair``."""
        if not chunk_ids:
            return
        try:
            self._vectors.delete(chunk_ids)
        except IndexUnavailable as error:
            self._is_sure = False
            logger.warning("%d old vectors are left to the next reconcile: %s", len(chunk_ids), error)

    def end(self) -> None:
        """The run is over; sealed again when nothing failed and the engine, which may be another now, holds as many."""
        if not self._is_sure or self._is_sealed():
            return
        try:
            if self._vectors.count() == self._records.chunk_count():
                self._seal()
        except IndexUnavailable as error:
            logger.warning("the vectors are left to the next reconcile: %s", error)

    def repair(self, passages: PassageVectors) -> str | None:
        """Unless sealed: rows that no chunk names go, chunks without a right one get theirs from the cache.

        A cache that lacks a vector, which lookups would miss, breaks the seal. Returns why that could not be done.
        """
        if self._is_sealed() and not self._cache.lacks_any():
            return None
        if not self._full_text.is_consistent():
            self._full_text.rebuild()
        try:
            self._vectors.drop_other_collections()
            self._records.set_state(MODEL_STATE, self._model_id)
            if self._mend(passages):
                self._seal()
        except IndexUnavailable as error:
            logger.warning("the vectors are not compared with the chunks: %s", error)
            return str(error)
        return None

    def _mend(self, passages: PassageVectors) -> bool:
        """Make rows and chunks equal, and the cache whole; False when a text cannot be embedded."""
        chunks = self._records.chunks(sorted(self._records.chunk_ids()))
        uncached = self._uncached(list(chunks.values()))
        is_cached = len(list(_embedded(uncached, passages))) == len(uncached)
        found = self._vectors.differences(chunks.values())
        if found.orphaned:
            self._vectors.delete(sorted(found.orphaned))
        wanted = [chunks[chunk_id] for chunk_id in sorted(found.to_write)]
        at_hand = list(_embedded(wanted, passages))
        for start in range(0, len(at_hand), BATCH_CHUNKS):
            part = at_hand[start : start + BATCH_CHUNKS]
            self._vectors.write(part, passages.rows_of(part))
        return is_cached and len(at_hand) == len(wanted)

    def _uncached(self, chunks: Sequence[StoredChunk]) -> list[StoredChunk]:
        """The chunks without a usable vector in the cache, some at a time: all at once take their place in memory."""
        uncached = []
        for start in range(0, len(chunks), BATCH_CHUNKS):
            part = chunks[start : start + BATCH_CHUNKS]
            known = self._cache.get([chunk.content_hash for chunk in part])
            uncached += [chunk for chunk in part if chunk.content_hash not in known]
        return uncached

    def _is_sealed(self) -> bool:
        return self._records.state(CONSISTENT_STATE) == self._sealed_state()

    def _seal(self) -> None:
        self._records.set_state(CONSISTENT_STATE, self._sealed_state())

    def _sealed_state(self) -> str:
        return f"{self._model_id} {self._vectors.address}{self._vectors.fingerprint()}"


def _embedded(chunks: Sequence[StoredChunk], passages: PassageVectors) -> Iterator[StoredChunk]:
    """The chunks whose vectors are in the cache now; a document that cannot be embedded holds up no other."""
    for _, group in groupby(chunks, key=lambda chunk: chunk.document_id):
        part = list(group)
        try:
            passages.rows_of(part)
        except IndexUnavailable as error:
            logger.warning("%s has no vectors: %s", part[0].path, error)
            continue
        yield from part
