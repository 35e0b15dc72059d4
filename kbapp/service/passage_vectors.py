"""Chunks to their vectors: from the cache, else from the embedder, with progress (S3)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from kbapp.domain.documents import StoredChunk
from kbapp.domain.errors import IndexUnavailable
from kbapp.domain.ports import Embedder, EmbeddingCache, Vectors
from kbapp.service.index_report import IndexProgress, OnProgress

TEXTS_PER_CALL = 8  # progress and the cache move on after each call
FAILURES_IN_A_ROW = 2  # one may be a text that the model refuses, two are an outage


class PassageVectors:
    """The vectors of one reconcile; after two failures in a row the embedder is not asked again."""

    def __init__(self, embedder: Embedder, cache: EmbeddingCache, on_progress: OnProgress | None) -> None:
        self._embedder = embedder
        self._cache = cache
        self._on_progress = on_progress
        self._errors: list[IndexUnavailable] = []
        self._total = 0
        self.embedded = 0

    def expect(self, chunks: Iterable[StoredChunk]) -> None:
        """Take note of the chunks that will be asked for, so that progress has a total."""
        hashes = {chunk.content_hash for chunk in chunks}
        self._total = len(hashes - self._cache.get(list(hashes)).keys())

    def rows_of(self, chunks: Sequence[StoredChunk]) -> Vectors:
        """``(n, dimension)``, one row per chunk.

        Raises:
            IndexUnavailable: a text cannot be embedded, or the embedder is down.
        """
        texts = {chunk.content_hash: chunk for chunk in chunks}
        vectors = self._cache.get(list(texts))
        missing = [key for key in texts if key not in vectors]
        for start in range(0, len(missing), TEXTS_PER_CALL):
            keys = missing[start : start + TEXTS_PER_CALL]
            rows = self._embed([texts[key].chunk.embedded_text for key in keys])
            new = dict(zip(keys, rows, strict=True))
            self._cache.put(new)
            vectors |= new
            self._progress(len(new), texts[keys[0]].path)
        return np.stack([vectors[chunk.content_hash] for chunk in chunks])

    def _embed(self, texts: Sequence[str]) -> Vectors:
        if len(self._errors) >= FAILURES_IN_A_ROW:
            raise self._errors[-1]
        try:
            rows = self._embedder.embed_passages(texts)
        except IndexUnavailable as error:
            self._errors.append(error)
            raise
        self._errors.clear()
        return rows

    def _progress(self, count: int, path: str) -> None:
        self.embedded += count
        if self._on_progress:
            self._on_progress(IndexProgress(self.embedded, max(self._total, self.embedded), path))
