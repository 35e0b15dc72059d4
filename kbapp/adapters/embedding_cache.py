"""Vectors by (model, hash of the text) in SQLite: what was embedded once is not embedded again (S3).

float32, not float16: a row written to Milvus from the cache must be the row that was computed, or answers would
change at a rename.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from kbapp.adapters.database import Database
from kbapp.domain.ports import Vectors

_MAX_PARAMETERS = 500


class EmbeddingCache:
    """Table ``embedding_cache``; thread-safe; raises ``IndexUnavailable`` as the database does."""

    def __init__(self, database: Database, model_id: str) -> None:
        self._database = database
        self._model_id = model_id

    def get(self, hashes: Sequence[str]) -> dict[str, Vectors]:
        """The cached vectors among these text hashes, each ``(dimension,)``."""
        found: dict[str, Vectors] = {}
        with self._database.read() as connection:
            for start in range(0, len(hashes), _MAX_PARAMETERS):
                part = list(hashes[start : start + _MAX_PARAMETERS])
                rows = connection.execute(
                    f"SELECT text_hash, vector FROM embedding_cache"
                    f" WHERE model = ? AND text_hash IN ({','.join('?' * len(part))})",
                    [self._model_id, *part],
                )
                found.update((row["text_hash"], np.frombuffer(row["vector"], dtype="<f4")) for row in rows)
        return found

    def put(self, vectors: Mapping[str, Vectors]) -> None:
        """Keep vectors by text hash."""
        with self._database.write() as connection:
            connection.executemany(
                "INSERT OR REPLACE INTO embedding_cache (model, text_hash, vector) VALUES (?, ?, ?)",
                [(self._model_id, key, vector.astype("<f4").tobytes()) for key, vector in vectors.items()],
            )
