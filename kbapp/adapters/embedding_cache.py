"""Vectors by (model, hash of the text) in SQLite: what was embedded once is not embedded again (S3).

float32, not float16: a row written to Milvus from the cache must be the row that was computed, or answers would
change at a rename. What is kept may be damaged (a half restored backup, a failing disk): a row that is no finite unit
vector counts as missing, so that it is made again, never as a vector.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from kbapp.adapters.database import Database
from kbapp.adapters.unit_rows import are_unit
from kbapp.domain.ports import CacheSize, Vectors

_MAX_PARAMETERS = 500


class EmbeddingCache:
    """Table ``embedding_cache``; thread-safe; raises ``IndexUnavailable`` as the database does."""

    def __init__(self, database: Database, model_id: str) -> None:
        self._database = database
        self._model_id = model_id

    def get(self, hashes: Sequence[str]) -> dict[str, Vectors]:
        """The cached vectors among these text hashes, each ``(dimension,)``."""
        found: dict[str, Vectors | None] = {}
        with self._database.read() as connection:
            for start in range(0, len(hashes), _MAX_PARAMETERS):
                part = list(hashes[start : start + _MAX_PARAMETERS])
                rows = connection.execute(
                    f"SELECT text_hash, vector FROM embedding_cache"
                    f" WHERE model = ? AND text_hash IN ({','.join('?' * len(part))})",
                    [self._model_id, *part],
                )
                found.update((row["text_hash"], vector_of(row["vector"])) for row in rows)
        return {text_hash: vector for text_hash, vector in found.items() if vector is not None}

    def lacks_any(self) -> bool:
        """Whether a chunk in force has no row; one that is damaged counts as a row."""
        with self._database.read() as connection:
            return bool(
                connection.execute(
                    "SELECT EXISTS (SELECT 1 FROM chunk WHERE NOT EXISTS ("
                    " SELECT 1 FROM embedding_cache WHERE model = ? AND text_hash = chunk.content_hash))",
                    (self._model_id,),
                ).fetchone()[0]
            )

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


def vector_of(stored: object) -> Vectors | None:
    """``(dimension,)``; None: it is no finite unit vector."""
    if not isinstance(stored, bytes) or not stored or len(stored) % 4:
        return None
    vector = np.frombuffer(stored, dtype="<f4")
    return vector if are_unit(vector[np.newaxis])[0] else None
