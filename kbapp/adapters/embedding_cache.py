"""Vectors by (model, hash of the text) in SQLite: what was embedded once is not embedded again (S3).

float32, not float16: a row written to Milvus from the cache must be the row that was computed, or answers would
change at a rename.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from kbapp.adapters.database import Database
from kbapp.domain.ports import CacheSize, Vectors

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

    def size(self) -> CacheSize:
        """How much is kept, of all models."""
        with self._database.read() as connection:
            row = connection.execute(
                "SELECT count(*), coalesce(sum(length(vector)), 0) FROM embedding_cache"
            ).fetchone()
        return CacheSize(row[0], row[1])

    def prune(self) -> int:
        """Delete the vectors that no chunk in force was made with, and give their place back to the disk.

        A document that failed keeps those of the version that answers, also when another model made it.
        """
        with self._database.write() as connection:
            deleted = connection.execute(
                "DELETE FROM embedding_cache WHERE (model, text_hash) NOT IN ("
                " SELECT ?, content_hash FROM chunk UNION ALL"
                " SELECT models.model, chunk.content_hash FROM chunk JOIN api_document AS d ON d.id = document_id"
                " JOIN (SELECT DISTINCT model FROM embedding_cache) AS models"
                " ON substr(d.indexed_with, 1, length(models.model) + 2) = models.model || ' v')",
                (self._model_id,),
            ).rowcount
        self._database.compact()
        return deleted
