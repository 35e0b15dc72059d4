"""The vectors as Milvus searches them; those of single chunks come from the embedding cache, which is nearer."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from kbapp.adapters.embedding_cache import EmbeddingCache
from kbapp.adapters.milvus_index import MilvusIndex
from kbapp.domain.ports import VectorHit, Vectors


class IndexedVectors:
    """``VectorSearcher``. Thread-safe."""

    def __init__(self, index: MilvusIndex, cache: EmbeddingCache) -> None:
        self._index = index
        self._cache = cache

    def search(self, vector: Vectors, limit: int) -> list[VectorHit]:
        """The nearest chunks of one unit vector ``(dimension,)``, nearest first, ties by chunk id.

        Raises:
            IndexUnavailable: the vector is of another model, or Milvus does not answer.
        """
        return self._index.search(vector, limit)

    def distances(self, vector: Vectors, hashes: Mapping[str, str]) -> dict[str, float]:
        """The squared L2 distances of chunks, by id, from the hashes of their texts; unknown ones are left out.

        Raises:
            IndexUnavailable: the database cannot be used.
        """
        cached = self._cache.get(list(dict.fromkeys(hashes.values()))) if hashes else {}
        alike = {text_hash for text_hash, row in cached.items() if row.shape == vector.shape}
        known = [chunk_id for chunk_id, text_hash in hashes.items() if text_hash in alike]
        if not known:
            return {}
        rows = np.stack([cached[hashes[chunk_id]] for chunk_id in known])
        return dict(zip(known, np.sum((rows - vector) ** 2, axis=1).tolist(), strict=True))
