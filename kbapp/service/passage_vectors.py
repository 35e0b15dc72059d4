"""Chunks to their vectors: from the cache, else from the embedder, with progress (S3)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import islice

import numpy as np

from kbapp.domain.documents import StoredChunk
from kbapp.domain.errors import IndexUnavailable
from kbapp.domain.ports import Embedder, EmbeddingCache, Vectors
from kbapp.service.index_report import IndexProgress, OnProgress

TEXTS_PER_CALL = 16  # enough for eight cores; progress and the cache move on after each call
FAILURES_IN_A_ROW = 2  # one may be a text that the model refuses, two are an outage


class PassageVectors:
    """The vectors of one reconcile; after two failures in a row the embedder is not asked again.

    A call that a document does not fill takes texts of the next ones along: most documents have too few for all cores.
    """

    def __init__(self, embedder: Embedder, cache: EmbeddingCache, on_progress: OnProgress | None) -> None:
        self._embedder = embedder
        self._cache = cache
        self._on_progress = on_progress
        self._errors: list[IndexUnavailable] = []
        self._ahead: dict[str, StoredChunk] = {}
        self._answers = False
        self._total = 0
        self.embedded = 0

    def expect(self, chunks: Iterable[StoredChunk]) -> None:
        """Take note of the chunks that will be asked for, in this order: progress gets a total, calls get full."""
        texts = {chunk.content_hash: chunk for chunk in chunks}
        known = self._cache.get(list(texts))
        self._ahead = {key: chunk for key, chunk in texts.items() if key not in known}
        self._total = len(self._ahead)

    def rows_of(self, chunks: Sequence[StoredChunk]) -> Vectors:
        """``(n, dimension)``, one row per chunk.

        Raises:
            IndexUnavailable: a text cannot be embedded, or the embedder is down.
        """
        texts = {chunk.content_hash: chunk for chunk in chunks}
        vectors = self._cache.get(list(texts))
        missing = [(key, chunk) for key, chunk in texts.items() if key not in vectors]
        for start in range(0, len(missing), TEXTS_PER_CALL):
            part = dict(missing[start : start + TEXTS_PER_CALL])
            new = self._embed(part)
            self._cache.put(new)
            vectors |= new
            self._progress(len(new), next(iter(part.values())).path)
        return np.stack([vectors[chunk.content_hash] for chunk in chunks])

    def _embed(self, texts: Mapping[str, StoredChunk]) -> dict[str, Vectors]:
        """The vectors of these texts, and of some that come after them."""
        if len(self._errors) >= FAILURES_IN_A_ROW:
            raise self._errors[-1]
        for key in texts:
            self._ahead.pop(key, None)
        if more := self._taken_along(TEXTS_PER_CALL - len(texts)):
            # One that the model refuses is left to its own document.
            with suppress(IndexUnavailable):
                return self._ask({**texts, **more})
        try:
            vectors = self._ask(texts)
        except IndexUnavailable as error:
            self._errors.append(error)
            raise
        self._errors.clear()
        return vectors

    def _taken_along(self, count: int) -> dict[str, StoredChunk]:
        """None while it is not known that the embedder answers: one that is down is not asked once more for them."""
        keys = list(islice(self._ahead, count)) if self._answers else []
        return {key: self._ahead.pop(key) for key in keys}

    def _ask(self, texts: Mapping[str, StoredChunk]) -> dict[str, Vectors]:
        self._answers = False
        rows = self._embedder.embed_passages([chunk.chunk.embedded_text for chunk in texts.values()])
        self._answers = True
        return dict(zip(texts, rows, strict=True))

    def _progress(self, count: int, path: str) -> None:
        self.embedded += count
        if self._on_progress:
            self._on_progress(IndexProgress(self.embedded, max(self._total, self.embedded), path))
