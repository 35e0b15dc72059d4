"""A small, fast, deterministic embedder for tests."""

from __future__ import annotations

import re
import threading
import unicodedata
import zlib
from collections.abc import Iterator, Sequence

import numpy as np

from kbapp.domain.ports import Vectors


class TinyEmbedder:
    """Signed feature hashing of ASCII words and of character bigrams of everything else. Thread-safe.

    Texts that share words or Chinese bigrams are near, others about orthogonal; a text without either gives the first
    unit vector. ``calls`` and ``texts`` tell what was embedded: ``assert embedder.texts == []`` says that nothing was.
    """

    def __init__(self, dimension: int = 64) -> None:
        self.dimension = dimension
        self.model_id = f"tiny:{dimension}"
        self.calls = 0
        self.texts: list[str] = []
        self._lock = threading.Lock()

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        return self._embed(texts)

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        return self._embed(texts)

    def _embed(self, texts: Sequence[str]) -> Vectors:
        with self._lock:
            self.calls += 1
            self.texts.extend(texts)
        rows = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            for feature in _features(text):
                code = zlib.crc32(feature.encode("utf-8", "replace"))
                row[(code >> 1) % self.dimension] += 1.0 if code & 1 else -1.0
            if not row.any():
                row[0] = 1.0
            row /= np.linalg.norm(row)
        return rows


def _features(text: str) -> Iterator[str]:
    for run in re.findall(r"[a-z0-9_]+|[^\x00-\x7f]+", unicodedata.normalize("NFKC", text).lower()):
        if run.isascii() or len(run) == 1:
            yield run
        else:
            yield from (run[i : i + 2] for i in range(len(run) - 1))
